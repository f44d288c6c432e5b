#include "machine.h"
#include "rates.h"
#include "runner.h"

static void compare_reading(bench_round *round, const bench_workload *workload, int threads) {
  if (!bench_has_few_rows(workload)) return;
  const double alone_before = bench_read_rate(workload, 1, BENCH_SLICE);
  const double together = bench_read_rate(workload, threads, BENCH_SLICE);
  const double alone_after = bench_read_rate(workload, 1, BENCH_SLICE);
  if (together > 0.0) bench_counter(round, "read_speedup", together / (0.5 * (alone_before + alone_after)));
}

void bench_speedup(bench_round *round, const void *argument) {
  const bench_case *wanted = argument;
  bench_runner *runner = bench_runner_kept_for(wanted);
  if (runner->refusal[0]) {
    bench_skip(round, runner->refusal);
    return;
  }
  const double alone_before = bench_time_fovea(runner, 1);
  const double together = bench_time_fovea(runner, wanted->threads);
  const double alone_after = bench_time_fovea(runner, 1);
  const double peak_alone = machine_fma_peak(wanted->isa, 1, BENCH_PEAK_SLICE);
  const double peak_together = machine_fma_peak(wanted->isa, wanted->threads, BENCH_PEAK_SLICE);
  bench_seconds(round, together);
  bench_counter(round, "speedup", 0.5 * (alone_before + alone_after) / together);
  if (peak_alone > 0.0) bench_counter(round, "peak_speedup", peak_together / peak_alone);
  compare_reading(round, &runner->workload, wanted->threads);
}
