/* The rates of a run beside the machine's: counters that several kinds of benchmarks report. */
#ifndef FOVEA_BENCH_RATES_H
#define FOVEA_BENCH_RATES_H

#include "harness.h"
#include "workload.h"

/* gflops; with a peak, in flops per second, also peak_gflops and peak_fraction. */
void bench_report_flops(bench_round *round, const bench_workload *workload, double seconds, double peak);

/* Whether the rows are so few that the rate of memory may limit the run. */
int bench_has_few_rows(const bench_workload *workload);

/* Bytes per second at which `threads` threads read the memory that Fovea reads, for about `seconds`. */
double bench_read_rate(const bench_workload *workload, int threads, double seconds);

/* gigabytes_per_second, read_gigabytes_per_second, bandwidth_fraction, time_over_bound. Nothing without a rate. */
void bench_report_reading(bench_round *round, const bench_workload *workload, double seconds, double read_rate,
                          double peak);

#endif
