/* Quantised caches: what decoding, prefill and appending reach beside f32, f16 and the machine. */
#ifndef FOVEA_BENCH_FORMATS_H
#define FOVEA_BENCH_FORMATS_H

#include "harness.h"
#include "workload.h"

/* The shape of a quantised cache, and the same shape in f32 and in f16. */
typedef struct bench_format_case {
  const bench_shape *shape, *f32, *f16;
  const char *isa;
  int threads;
} bench_format_case;

/* Argument: a bench_format_case of few rows. A round measures f32, the quantised cache between two readings of its
 * memory, then f16. Counters beside the counters of bench_decode():
 *   f32_bandwidth_fraction           of the rate of reading the f32 cache, which is larger than more caches
 *   tokens_per_second                of one layer
 *   tokens_over_f32, tokens_over_f16 as a ratio */
void bench_decode_format(bench_round *round, const void *argument);

typedef struct bench_append_case {
  const char *format; /* a preset, or "f32" */
  const char *isa;
  int has_tables; /* of cosines and sines; else angles are computed */
  int threads;
} bench_append_case;

/* Argument: a bench_append_case. fovea_append() of 512 rows of keys and values, 8 kv heads of 128 dims, f32, to
 * such a cache; keys are rotated. Beside a copy of the rows, by memcpy() or by vectors, whichever is faster:
 *   gigabytes_per_second, copy_gigabytes_per_second   bytes read and written
 *   copy_fraction    of the two
 *   time_over_copy   the time over the copy's time, which writes more bytes */
void bench_append(bench_round *round, const void *argument);

/* Registers these benchmarks for this instruction set, which must be one only. */
void bench_register_formats(const char *isa);

#endif
