#include "caches.h"
#include "machine.h"
#include "modes.h"
#include "rates.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>

/* State kept from round to round of one benchmark. */
static struct {
  const bench_pair_case *of;
  bench_runner wanted, plain, beside;
} current;

static void prepare(const bench_pair_case *wanted) {
  if (current.of == wanted) return;
  bench_runner_destroy(&current.wanted);
  bench_runner_destroy(&current.plain);
  bench_runner_destroy(&current.beside);
  current.of = wanted;
  const bench_case shape = {&wanted->pair->shape, wanted->isa, wanted->threads};
  const bench_case plain = {&wanted->pair->plain, bench_plain_isa(wanted), wanted->threads};
  const bench_case beside = {&wanted->pair->beside, wanted->isa, wanted->threads};
  const int three = beside.shape->name != NULL;
  bench_runner_create(&current.wanted, &shape);
  if (!current.wanted.refusal[0]) bench_runner_create(&current.plain, &plain);
  if (current.plain.refusal[0])
    memcpy(current.wanted.refusal, current.plain.refusal, sizeof current.wanted.refusal);
  if (!current.wanted.refusal[0] && three) bench_runner_create(&current.beside, &beside);
  if (three && current.beside.refusal[0])
    memcpy(current.wanted.refusal, current.beside.refusal, sizeof current.wanted.refusal);
  if (current.wanted.refusal[0]) return;
  bench_time_fovea(&current.wanted, wanted->threads);
  bench_time_fovea(&current.plain, wanted->threads);
  if (three) bench_time_fovea(&current.beside, wanted->threads);
}

/* Memory itself is slower if pages lie in no order. */
static void compare_reading(bench_round *round) {
  if (current.wanted.workload.shape->cache != BENCH_PAGES) return;
  const double plain_before = bench_read_rate(&current.plain.workload, 1, BENCH_SLICE);
  const double rate = bench_pages_read_rate(&current.wanted.workload, BENCH_SLICE);
  const double plain_after = bench_read_rate(&current.plain.workload, 1, BENCH_SLICE);
  if (rate > 0.0) bench_counter(round, "read_over_contiguous", 0.5 * (plain_before + plain_after) / rate);
}

void bench_paired(bench_round *round, const void *argument) {
  const bench_pair_case *wanted = argument;
  prepare(wanted);
  if (current.wanted.refusal[0]) {
    bench_skip(round, current.wanted.refusal);
    return;
  }
  const char *isa = bench_vectors_of(wanted->isa);
  const double peak_before = machine_fma_peak(isa, wanted->threads, BENCH_PEAK_SLICE);
  const double plain_before = bench_time_fovea(&current.plain, wanted->threads);
  const double seconds = bench_time_fovea(&current.wanted, wanted->threads);
  const int three = wanted->pair->beside.name != NULL;
  const double beside = three ? bench_time_fovea(&current.beside, wanted->threads) : 0.0;
  const double plain_after = bench_time_fovea(&current.plain, wanted->threads);
  const double peak_after = machine_fma_peak(isa, wanted->threads, BENCH_PEAK_SLICE);
  const double peak = 0.5 * (peak_before + peak_after);
  bench_seconds(round, seconds);
  bench_report_flops(round, &current.wanted.workload, seconds, peak);
  const double times = seconds / (0.5 * (plain_before + plain_after));
  const double work = bench_useful_flops(&current.wanted.workload) / bench_useful_flops(&current.plain.workload);
  bench_counter(round, wanted->pair->ratio, wanted->pair->of_speed ? work / times : times);
  if (three) bench_counter(round, wanted->pair->beside_ratio, beside / (0.5 * (plain_before + plain_after)));
  compare_reading(round);
}
