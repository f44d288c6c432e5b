#include "machine.h"
#include "rates.h"
#include "runner.h"
#include "unfused.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* State kept from round to round of one benchmark. Google Benchmark runs the rounds one after the other. */
static struct {
  const bench_case *of;
  bench_runner runner;
  unfused *whole, *blocked; /* NULL: nothing to compare */
  double whole_seconds;     /* spent so far */
} current;

/* Whole score matrices are slow at large shapes. After this many seconds their ratio is known well enough. */
static const double whole_seconds_limit = 6.0;

static void create_unfused(void) {
  const bench_workload *workload = &current.runner.workload;
  current.whole = unfused_create(workload, current.of->threads, INT64_MAX);
  current.blocked = unfused_create_blocked(workload, current.of->threads);
  if (!current.whole || !current.blocked)
    snprintf(current.runner.refusal, sizeof current.runner.refusal, "not enough memory for the unfused baseline");
}

/* Speeds are compared only between equal results. */
static void check_against_unfused(void) {
  const bench_workload *workload = &current.runner.workload;
  const size_t bytes = workload->output_count * sizeof(float);
  float *expected = malloc(bytes);
  if (!expected) return;
  unfused_run(current.blocked);
  memcpy(expected, workload->o, bytes);
  bench_time_fovea(&current.runner, current.of->threads);
  double worst = 0.0;
  for (size_t i = 0; i < workload->output_count; i++) {
    const double difference = fabs((double)expected[i] - (double)workload->o[i]);
    if (!(difference <= worst)) worst = difference;
  }
  free(expected);
  if (!(worst < 1e-4))
    snprintf(current.runner.refusal, sizeof current.runner.refusal, "differs from the unfused result by %g", worst);
}

static void prepare(const bench_case *wanted) {
  if (current.of == wanted) return;
  unfused_destroy(current.whole);
  unfused_destroy(current.blocked);
  bench_runner_destroy(&current.runner);
  memset(&current, 0, sizeof current);
  current.of = wanted;
  bench_runner_create(&current.runner, wanted);
  if (current.runner.refusal[0]) return;
  bench_time_fovea(&current.runner, wanted->threads);
  if (!bench_isa_is_chosen(wanted->isa)) return;
  create_unfused();
  if (!current.runner.refusal[0]) check_against_unfused();
}

static double time_unfused(const unfused *baseline) {
  int runs = 0;
  const double start = machine_now();
  double seconds = 0.0;
  while (seconds < BENCH_SLICE) {
    unfused_run(baseline);
    runs++;
    seconds = machine_now() - start;
  }
  return seconds / runs;
}

static void compare_with_unfused(bench_round *round, double fovea_seconds) {
  bench_counter(round, "vs_unfused_blocked", time_unfused(current.blocked) / fovea_seconds);
  bench_counter(round, "block_rows", (double)unfused_block_rows(current.blocked));
  if (current.whole_seconds > whole_seconds_limit) return;
  const double start = machine_now();
  bench_counter(round, "vs_unfused_whole", time_unfused(current.whole) / fovea_seconds);
  current.whole_seconds += machine_now() - start;
}

static void compare_with_reading(bench_round *round, double fovea_seconds, double peak) {
  const bench_workload *workload = &current.runner.workload;
  if (!bench_has_few_rows(workload)) return;
  const double read_rate = bench_read_rate(workload, current.of->threads, BENCH_PEAK_SLICE);
  bench_report_reading(round, workload, fovea_seconds, read_rate, peak);
}

void bench_prefill(bench_round *round, const void *argument) {
  const bench_case *wanted = argument;
  prepare(wanted);
  if (current.runner.refusal[0]) {
    bench_skip(round, current.runner.refusal);
    return;
  }
  const double peak_before = machine_fma_peak(wanted->isa, wanted->threads, BENCH_PEAK_SLICE);
  const double seconds = bench_time_fovea(&current.runner, wanted->threads);
  const double peak_after = machine_fma_peak(wanted->isa, wanted->threads, BENCH_PEAK_SLICE);
  const double peak = 0.5 * (peak_before + peak_after);
  bench_seconds(round, seconds);
  bench_report_flops(round, &current.runner.workload, seconds, peak);
  fovea_counts counts = {0};
  fovea_plan_counts(current.runner.plan, &counts);
  bench_counter(round, "computed_per_seen", (double)counts.pairs_computed / (double)counts.pairs_visible);
  compare_with_reading(round, seconds, peak);
  if (current.blocked) compare_with_unfused(round, seconds);
}
