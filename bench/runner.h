/* A workload planned for Fovea, and how long things take. */
#ifndef FOVEA_BENCH_RUNNER_H
#define FOVEA_BENCH_RUNNER_H

#include "cases.h"

typedef struct bench_runner {
  bench_workload workload;
  fovea_plan *plan;
  void *scratch;
  size_t scratch_size;
  char refusal[256]; /* why nothing can be measured; else "" */
} bench_runner;

/* Makes data, plan and scratch for up to `threads` threads. Sets refusal if that fails. */
void bench_runner_create(bench_runner *runner, const bench_case *wanted);
void bench_runner_destroy(bench_runner *runner);

/* The runner of a benchmark, kept from round to round. There is one at a time, since the rounds of a benchmark come
 * one after the other. A new runner has run once already, unless it has a refusal. */
bench_runner *bench_runner_kept_for(const bench_case *wanted);

/* Whether Fovea chooses this instruction set by itself. */
int bench_isa_is_chosen(const char *isa);

/* Runs Fovea once on `threads` threads. Sets refusal if that fails. */
void bench_run_fovea(bench_runner *runner, int threads);

/* Seconds of one run of Fovea on `threads` threads: the mean over a slice of time, at least one run. */
double bench_time_fovea(bench_runner *runner, int threads);

/* The length of a slice, in seconds: long beside the clock's steps and the warming of caches, short beside the
 * changes of a shared machine's speed. */
#define BENCH_SLICE      0.02
#define BENCH_PEAK_SLICE 0.01

#endif
