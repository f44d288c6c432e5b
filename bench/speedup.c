#include "machine.h"
#include "rates.h"
#include "runner.h"

#include <string.h>

static struct {
  const bench_case *of;
  bench_runner runner;
} current;

static void prepare(const bench_case *wanted) {
  if (current.of == wanted) return;
  bench_runner_destroy(&current.runner);
  current.of = wanted;
  bench_runner_create(&current.runner, wanted);
  if (!current.runner.refusal[0]) bench_time_fovea(&current.runner, wanted->threads);
}

static void compare_reading(bench_round *round, int threads) {
  const bench_workload *workload = &current.runner.workload;
  if (!bench_has_few_rows(workload)) return;
  const double alone_before = bench_read_rate(workload, 1, BENCH_SLICE);
  const double together = bench_read_rate(workload, threads, BENCH_SLICE);
  const double alone_after = bench_read_rate(workload, 1, BENCH_SLICE);
  if (together > 0.0) bench_counter(round, "read_speedup", together / (0.5 * (alone_before + alone_after)));
}

void bench_speedup(bench_round *round, const void *argument) {
  const bench_case *wanted = argument;
  prepare(wanted);
  if (current.runner.refusal[0]) {
    bench_skip(round, current.runner.refusal);
    return;
  }
  const double alone_before = bench_time_fovea(&current.runner, 1);
  const double together = bench_time_fovea(&current.runner, wanted->threads);
  const double alone_after = bench_time_fovea(&current.runner, 1);
  const double peak_alone = machine_fma_peak(wanted->isa, 1, BENCH_PEAK_SLICE);
  const double peak_together = machine_fma_peak(wanted->isa, wanted->threads, BENCH_PEAK_SLICE);
  bench_seconds(round, together);
  bench_counter(round, "speedup", 0.5 * (alone_before + alone_after) / together);
  if (peak_alone > 0.0) bench_counter(round, "peak_speedup", peak_together / peak_alone);
  compare_reading(round, wanted->threads);
}
