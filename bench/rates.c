#include "rates.h"

#include "machine.h"

/* The fraction of the FMA peak that a kernel can reach if it only multiplies and never waits for memory. */
static const double reachable_peak = 0.85;

void bench_report_flops(bench_round *round, const bench_workload *workload, double seconds, double peak) {
  const double rate = bench_useful_flops(workload) / seconds;
  bench_counter(round, "gflops", rate * 1e-9);
  if (peak <= 0.0) return;
  bench_counter(round, "peak_gflops", peak * 1e-9);
  bench_counter(round, "peak_fraction", rate / peak);
}

int bench_has_few_rows(const bench_workload *workload) {
  return workload->problem.q_len <= workload->problem.kv_len / 8;
}

double bench_read_rate(const bench_workload *workload, int threads, double seconds) {
  return machine_read_rate(workload->kv_memory, workload->kv_bytes, threads, seconds);
}

void bench_report_reading(bench_round *round, const bench_workload *workload, double seconds, double read_rate,
                          double peak) {
  if (read_rate <= 0.0) return;
  const double bytes = (double)workload->kv_bytes;
  bench_counter(round, "gigabytes_per_second", bytes / seconds * 1e-9);
  bench_counter(round, "read_gigabytes_per_second", read_rate * 1e-9);
  bench_counter(round, "bandwidth_fraction", bytes / seconds / read_rate);
  double bound = bytes / read_rate;
  if (peak > 0.0) {
    const double arithmetic = bench_useful_flops(workload) / (reachable_peak * peak);
    if (arithmetic > bound) bound = arithmetic;
  }
  bench_counter(round, "time_over_bound", seconds / bound);
}
