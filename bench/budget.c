#include "../arch/args/decode.h"
#include "machine.h"
#include "rates.h"
#include "runner.h"

#include "src/plan/plan.h"

#include <stdio.h>
#include <string.h>

/* What a run spends its time on: the operations of the kernel table by what they are for, and everything else. */
enum part { LOAD, SCORE, ADJUST, SOFTMAX, VALUE, MERGE, STORE, DRIVER, PARTS };
static const char *const part_names[PARTS] = {"load",  "score", "adjust", "softmax",
                                              "value", "merge", "store",  "driver"};

/* The table at work, and what its operations took. Runs are of one thread. */
static const fovea_kernels *table;
static double spent[PARTS], calls[PARTS];

/* TIMED(part, name, args) defines timed_name(): the table's operation `name`, whose arguments are of type `args`,
 * with its time counted for `part`. TIMED_RESULT() is for operations that return an int. */
#define TIMED(part, name, args)                                                                                    \
  static void timed_##name(const args *arguments) {                                                                \
    const double start = machine_now();                                                                            \
    table->name(arguments);                                                                                        \
    spent[part] += machine_now() - start;                                                                          \
    calls[part]++;                                                                                                 \
  }
#define TIMED_RESULT(part, name, args)                                                                             \
  static int timed_##name(const args *arguments) {                                                                 \
    const double start = machine_now();                                                                            \
    const int result = table->name(arguments);                                                                     \
    spent[part] += machine_now() - start;                                                                          \
    calls[part]++;                                                                                                 \
    return result;                                                                                                 \
  }
TIMED(LOAD, load_rows, fovea_load_args)
TIMED_RESULT(LOAD, load_pairs, fovea_load_args)
TIMED(LOAD, widen, fovea_widen_args)
TIMED(LOAD, widen_panel, fovea_widen_panel_args)
TIMED(SCORE, score, fovea_score_args)
TIMED(SCORE, score_pairs, fovea_score_args)
TIMED(SCORE, decode_score, fovea_decode_score_args)
TIMED(ADJUST, adjust, fovea_adjust_args)
TIMED(ADJUST, decode_adjust, fovea_decode_adjust_args)
TIMED_RESULT(SOFTMAX, softmax, fovea_softmax_args)
TIMED_RESULT(SOFTMAX, decode_softmax, fovea_decode_softmax_args)
TIMED(VALUE, pack_values, fovea_pack_args)
TIMED(VALUE, value, fovea_value_args)
TIMED(VALUE, value_careful, fovea_value_args)
TIMED(VALUE, decode_value, fovea_decode_value_args)
TIMED_RESULT(LOAD, pairs_safe, fovea_widen_args)
TIMED(MERGE, merge, fovea_merge_args)
TIMED(STORE, store, fovea_store_args)

static void timed_scan_mask(const fovea_mask_tile *mask, int vectors, fovea_mask_pieces *pieces) {
  const double start = machine_now();
  table->scan_mask(mask, vectors, pieces);
  spent[ADJUST] += machine_now() - start;
  calls[ADJUST]++;
}

static int timed_all_finite(const float *values, int64_t stride, int64_t rows, int64_t dim) {
  const double start = machine_now();
  const int result = table->all_finite(values, stride, rows, dim);
  spent[VALUE] += machine_now() - start;
  calls[VALUE]++;
  return result;
}

static fovea_kernels timed_table(void) {
  fovea_kernels timed = *table;
  timed.load_rows = timed_load_rows;
  timed.widen = timed_widen;
  timed.widen_panel = timed_widen_panel;
  timed.score = timed_score;
  timed.decode_score = timed_decode_score;
  timed.scan_mask = timed_scan_mask;
  timed.all_finite = timed_all_finite;
  timed.adjust = timed_adjust;
  timed.decode_adjust = timed_decode_adjust;
  timed.softmax = timed_softmax;
  timed.decode_softmax = timed_decode_softmax;
  timed.pack_values = timed_pack_values;
  timed.value = timed_value;
  timed.value_careful = timed_value_careful;
  timed.decode_value = timed_decode_value;
  timed.merge = timed_merge;
  timed.store = timed_store;
  if (table->load_pairs) timed.load_pairs = timed_load_pairs;
  if (table->score_pairs) timed.score_pairs = timed_score_pairs;
  if (table->pairs_safe) timed.pairs_safe = timed_pairs_safe;
  return timed;
}

/* What two readings of the clock take in all, and what of it lies between them. */
static void time_clock(double *whole, double *between) {
  enum { READINGS = 1000 };
  const double begin = machine_now();
  double sum = 0.0;
  for (int i = 0; i < READINGS; i++) {
    const double start = machine_now();
    sum += machine_now() - start;
  }
  *whole = (machine_now() - begin) / READINGS;
  *between = sum / READINGS;
}

/* Seconds of each part in one run, without what the clock itself takes. */
static void time_parts(bench_runner *runner, double parts[PARTS]) {
  double clock_whole, clock_between;
  int runs = 0;
  time_clock(&clock_whole, &clock_between);
  table = runner->plan->kernels;
  const fovea_kernels timed = timed_table();
  memset(spent, 0, sizeof spent);
  memset(calls, 0, sizeof calls);
  runner->plan->kernels = &timed;
  const double start = machine_now();
  double seconds = 0.0;
  while (seconds < BENCH_SLICE && !runner->refusal[0]) {
    bench_run_fovea(runner, 1);
    runs++;
    seconds = machine_now() - start;
  }
  runner->plan->kernels = table;
  double rest = seconds;
  for (int i = 0; i < DRIVER; i++) {
    rest -= spent[i] + calls[i] * (clock_whole - clock_between);
    parts[i] = (spent[i] - calls[i] * clock_between) / runs;
  }
  parts[DRIVER] = rest / runs;
}

/* The share of what bounds it that a product reaches: the FMA peak, or if there are few rows the rate of reading.
 */
static void report_products(bench_round *round, const bench_runner *runner, const double parts[PARTS],
                            double peak) {
  const bench_workload *workload = &runner->workload;
  const double pairs = (double)workload->pairs_of_rules, dim = (double)workload->shape->dim;
  const double flops = 2.0 * pairs * dim;
  bench_counter(round, "score_peak_fraction", flops / parts[SCORE] / peak);
  bench_counter(round, "value_peak_fraction", flops / parts[VALUE] / peak);
  if (!bench_has_few_rows(workload)) return;
  const double rate = bench_read_rate(workload, 1, BENCH_PEAK_SLICE);
  const double bytes = (double)workload->kv_bytes / 2.0; /* keys, and as many of values */
  bench_counter(round, "score_bandwidth_fraction", bytes / parts[SCORE] / rate);
  bench_counter(round, "value_bandwidth_fraction", bytes / parts[VALUE] / rate);
}

void bench_budget(bench_round *round, const void *argument) {
  const bench_case *wanted = argument;
  bench_runner *runner = bench_runner_kept_for(wanted);
  if (runner->refusal[0]) {
    bench_skip(round, runner->refusal);
    return;
  }
  double parts[PARTS], sum = 0.0;
  const double peak = machine_fma_peak(wanted->isa, 1, BENCH_PEAK_SLICE);
  const double before = bench_time_fovea(runner, 1);
  time_parts(runner, parts);
  const double whole = 0.5 * (before + bench_time_fovea(runner, 1));
  bench_seconds(round, whole);
  for (int i = 0; i < PARTS; i++) sum += parts[i];
  for (int i = 0; i < PARTS; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s_share", part_names[i]);
    bench_counter(round, name, parts[i] / sum);
  }
  bench_counter(round, "parts_over_whole", sum / whole);
  report_products(round, runner, parts, peak);
}
