#include "machine.h"
#include "rates.h"
#include "runner.h"

void bench_decode(bench_round *round, const void *argument) {
  const bench_case *wanted = argument;
  bench_runner *runner = bench_runner_kept_for(wanted);
  if (runner->refusal[0]) {
    bench_skip(round, runner->refusal);
    return;
  }
  const bench_workload *workload = &runner->workload;
  const double peak_before = machine_fma_peak(wanted->isa, wanted->threads, BENCH_PEAK_SLICE);
  const double rate_before = bench_read_rate(workload, wanted->threads, BENCH_SLICE);
  const double seconds = bench_time_fovea(runner, wanted->threads);
  const double rate_after = bench_read_rate(workload, wanted->threads, BENCH_SLICE);
  const double peak_after = machine_fma_peak(wanted->isa, wanted->threads, BENCH_PEAK_SLICE);
  const double peak = 0.5 * (peak_before + peak_after);
  bench_seconds(round, seconds);
  bench_report_flops(round, workload, seconds, peak);
  bench_report_reading(round, workload, seconds, 0.5 * (rate_before + rate_after), peak);
}
