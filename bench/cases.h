/* The kinds of benchmarks, and their arguments. */
#ifndef FOVEA_BENCH_CASES_H
#define FOVEA_BENCH_CASES_H

#include "harness.h"
#include "workload.h"

typedef struct bench_case {
  const bench_shape *shape;
  const char *isa;
  int threads;
} bench_case;

/* Argument: a bench_case, in f32 and contiguous. Compares Fovea with the machine's limits and, on the instruction
 * set that Fovea chooses here, with the unfused baseline. A round takes a fraction of a second:
 *   gflops              over the visible pairs
 *   peak_fraction       of the FMA peak of the same instruction set and threads, measured before and after
 *   peak_gflops         that peak
 *   vs_unfused_whole, vs_unfused_blocked   how many times as long the baseline takes
 *   block_rows          rows of a block of vs_unfused_blocked
 *   computed_per_seen   computed pairs over visible pairs
 * and for few rows the counters of bench_decode(). */
void bench_prefill(bench_round *round, const void *argument);

/* Argument: a bench_case of few rows, of any type and cache. Compares Fovea with the machine's limits alone.
 * Counters beside gflops, peak_fraction and peak_gflops:
 *   bandwidth_fraction         of the rate at which the same threads read the same keys and values
 *   gigabytes_per_second       of keys and values
 *   read_gigabytes_per_second  that rate
 *   time_over_bound            over the longer of two times: to read them, to multiply at 0.85 of the FMA peak */
void bench_decode(bench_round *round, const void *argument);

/* Argument: a bench_case, whose threads are compared with one thread:
 *   speedup             of Fovea
 *   peak_speedup        of the FMA peak, the most that the machine can gain
 *   read_speedup        for few rows: of reading the same keys and values */
void bench_speedup(bench_round *round, const void *argument);

/* The same shape in two ways, and the counter for the time of the one over the time of the other; or, with
 * `of_speed`, for the speed of the one over the speed of the other, as useful flops a second. */
typedef struct bench_pair {
  bench_shape shape, plain;
  const char *ratio;
  bench_shape beside; /* a third way in the same rounds, over the plain one; no name: none */
  const char *beside_ratio;
  int of_speed;
} bench_pair;

typedef struct bench_pair_case {
  const bench_pair *pair;
  const char *isa;
  int threads;
} bench_pair_case;

/* Argument: a bench_pair_case, whose isa may be BENCH_AMX (modes.h). Both within each round:
 *   gflops          over the visible pairs
 *   peak_fraction   of the f32 FMA peak, whatever the types; it may be more than 1
 *   peak_gflops     that peak
 *   <ratio>         the time of the shape over the time of the plain shape
 *   <beside_ratio>  the time of the third shape over the time of the plain shape, if there is one
 *   read_over_contiguous   for pages: the time to read them plainly over the time for contiguous memory */
void bench_paired(bench_round *round, const void *argument);

/* Argument: a bench_case of one thread. What a run spends its time on, measured by wrapping the operations of its
 * kernel table:
 *   load_share, score_share, adjust_share, softmax_share, value_share, merge_share, store_share   of the sum
 *   driver_share        everything else
 *   parts_over_whole    the sum over the time of a run whose operations are not wrapped
 *   score_peak_fraction, value_peak_fraction             of the FMA peak, by the visible pairs
 *   score_bandwidth_fraction, value_bandwidth_fraction   for few rows: of the rate of reading */
void bench_budget(bench_round *round, const void *argument);

/* No argument. One head, one row, 16 keys, 64 dims: fovea_attention(), making and running a plan with the caller's
 * scratch, and running an existing plan. */
void bench_call_plain(bench_round *round, const void *argument);
void bench_call_plan_and_run(bench_round *round, const void *argument);
void bench_call_run(bench_round *round, const void *argument);

/* No argument. A pattern for a million rows and keys, causal and (window of 512 or 64 global tokens), is made, then
 * a plan with it. Counter: bytes, of both. */
void bench_plan_long(bench_round *round, const void *argument);

/* Defined by shapes.c: registers every benchmark. */
void bench_register_all(void);

#endif
