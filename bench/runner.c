#include "runner.h"

#include "caches.h"
#include "inputs.h"
#include "machine.h"
#include "modes.h"
#include <fovea/explain.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_run_fovea(bench_runner *runner, int threads) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = threads;
  execution.scratch = runner->scratch;
  execution.scratch_size = runner->scratch_size;
  fovea_error error;
  if (fovea_plan_run(runner->plan, &runner->workload.tensors, &execution, &error) != FOVEA_OK)
    snprintf(runner->refusal, sizeof runner->refusal, "%s", error.text);
}

int bench_isa_is_chosen(const char *isa) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  return fovea_info(&info) == FOVEA_OK && strcmp(info.isa, isa) == 0;
}

/* If Fovea chooses this instruction set, it is not asked for by name: for 16-bit types Fovea may choose a set whose
 * name begins with it and that has faster products of pairs. A plan with modes is asked for by name even so:
 * without a name it runs on AMX once a benchmark has allowed that. */
static const char *name_of_set(const bench_case *wanted) {
  const int modes = wanted->shape->scores != FOVEA_MODE_EXACT || wanted->shape->values != FOVEA_MODE_EXACT;
  if (strcmp(wanted->isa, BENCH_AMX) == 0) return NULL;
  return bench_isa_is_chosen(wanted->isa) && !modes ? NULL : wanted->isa;
}

/* Sets refusal if the plan is not what was wanted. */
static void check_plan(bench_runner *runner, const bench_case *wanted) {
  const char *isa = bench_vectors_of(wanted->isa);
  fovea_explanation explanation;
  fovea_explanation_init(&explanation);
  if (strncmp(fovea_plan_isa(runner->plan), isa, strlen(isa)) != 0) {
    snprintf(runner->refusal, sizeof runner->refusal, "the plan runs on %s", fovea_plan_isa(runner->plan));
  } else if (strcmp(wanted->isa, BENCH_AMX) == 0) {
    if (fovea_plan_explain(runner->plan, &explanation, NULL) != FOVEA_OK ||
        strcmp(explanation.products, "AMX") != 0)
      snprintf(runner->refusal, sizeof runner->refusal, "the plan does not run on AMX");
  }
}

static void plan(bench_runner *runner, const bench_case *wanted) {
  fovea_error error;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.isa = name_of_set(wanted);
  if (strcmp(wanted->isa, BENCH_AMX) == 0 && fovea_allow_amx(&error) != FOVEA_OK) {
    snprintf(runner->refusal, sizeof runner->refusal, "%s", error.text);
    return;
  }
  if (fovea_plan_create(&runner->workload.problem, &execution, &runner->plan, &error) != FOVEA_OK) {
    snprintf(runner->refusal, sizeof runner->refusal, "%s", error.text);
    return;
  }
  check_plan(runner, wanted);
}

/* A plan's own counts leave patterns out, a run's leave nothing out. */
static void count_pairs(const bench_runner *runner, fovea_counts *counts) {
  const size_t size = fovea_run_size(runner->plan);
  void *memory = bench_allocate(size);
  fovea_run *run = NULL;
  *counts = (fovea_counts){0};
  if (memory && fovea_run_bind(runner->plan, &runner->workload.tensors, 1, runner->scratch, runner->scratch_size,
                               memory, size, &run, NULL) == FOVEA_OK)
    fovea_run_counts(run, counts);
  free(memory);
}

static void check_pairs(bench_runner *runner) {
  fovea_counts counts;
  count_pairs(runner, &counts);
  if (counts.pairs_visible != runner->workload.pairs_visible)
    snprintf(runner->refusal, sizeof runner->refusal, "the run sees %lld pairs, the benchmark %lld",
             (long long)counts.pairs_visible, (long long)runner->workload.pairs_visible);
}

void bench_runner_create(bench_runner *runner, const bench_case *wanted) {
  *runner = (bench_runner){0};
  if (wanted->threads > machine_threads()) {
    snprintf(runner->refusal, sizeof runner->refusal, "no more than %d thread(s) here", machine_threads());
    return;
  }
  if (!bench_workload_create(&runner->workload, wanted->shape) || !bench_inputs_create(&runner->workload)) {
    snprintf(runner->refusal, sizeof runner->refusal, "not enough memory");
    return;
  }
  fovea_error error = {.text = ""};
  if (!bench_cache_create(&runner->workload, &error)) {
    snprintf(runner->refusal, sizeof runner->refusal, "%s", error.text);
    return;
  }
  plan(runner, wanted);
  if (runner->refusal[0]) return;
  runner->scratch_size = fovea_plan_scratch_size(runner->plan, wanted->threads);
  runner->scratch = bench_allocate(runner->scratch_size);
  if (runner->scratch)
    check_pairs(runner);
  else
    snprintf(runner->refusal, sizeof runner->refusal, "not enough memory");
}

void bench_runner_destroy(bench_runner *runner) {
  fovea_plan_destroy(runner->plan);
  free(runner->scratch);
  bench_workload_destroy(&runner->workload);
  *runner = (bench_runner){0};
}

double bench_time_fovea(bench_runner *runner, int threads) {
  int runs = 0;
  const double start = machine_now();
  double seconds = 0.0;
  while (seconds < BENCH_SLICE && !runner->refusal[0]) {
    bench_run_fovea(runner, threads);
    runs++;
    seconds = machine_now() - start;
  }
  return runs ? seconds / runs : 0.0;
}

bench_runner *bench_runner_kept_for(const bench_case *wanted) {
  static const bench_case *of;
  static bench_runner runner;
  if (of == wanted) return &runner;
  bench_runner_destroy(&runner);
  of = wanted;
  bench_runner_create(&runner, wanted);
  if (!runner.refusal[0]) bench_time_fovea(&runner, wanted->threads);
  return &runner;
}
