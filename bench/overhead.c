#include "cases.h"
#include "machine.h"

#include <fovea/pattern.h>
#include <stddef.h>

enum { keys = 16, dim = 64, calls = 20000, scratch_limit = 1 << 20 };

static float q[dim], k[keys * dim], v[keys * dim], o[dim];
static _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char scratch[scratch_limit];

static void prepare(fovea_problem *problem, fovea_tensors *tensors, fovea_execution *execution) {
  for (int i = 0; i < keys * dim; i++) k[i] = v[i] = (float)(i % 7) - 3.0f;
  for (int i = 0; i < dim; i++) q[i] = (float)(i % 5) - 2.0f;
  fovea_problem_init(problem, 1, 1, 1, 1, keys, dim, dim);
  fovea_tensors_init(tensors, q, k, v, o, NULL);
  fovea_execution_init(execution);
  execution->scratch = scratch;
  execution->scratch_size = scratch_limit;
}

static void report(bench_round *round, double start, int64_t failures) {
  bench_seconds(round, (machine_now() - start) / calls);
  if (failures) bench_skip(round, "the call fails");
}

void bench_call_plain(bench_round *round, const void *argument) {
  (void)argument;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  prepare(&problem, &tensors, &execution);
  int64_t failures = 0;
  const double start = machine_now();
  for (int i = 0; i < calls; i++) failures += fovea_attention(q, k, v, o, 1, 1, 1, 1, keys, dim, 0) != FOVEA_OK;
  report(round, start, failures);
}

void bench_call_plan_and_run(bench_round *round, const void *argument) {
  (void)argument;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  prepare(&problem, &tensors, &execution);
  int64_t failures = 0;
  const double start = machine_now();
  for (int i = 0; i < calls; i++) {
    fovea_plan *plan;
    failures += fovea_plan_create(&problem, NULL, &plan, NULL) != FOVEA_OK ||
                fovea_plan_run(plan, &tensors, &execution, NULL) != FOVEA_OK;
    fovea_plan_destroy(plan);
  }
  report(round, start, failures);
}

void bench_call_run(bench_round *round, const void *argument) {
  (void)argument;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  prepare(&problem, &tensors, &execution);
  fovea_plan *plan;
  if (fovea_plan_create(&problem, NULL, &plan, NULL) != FOVEA_OK) {
    bench_skip(round, "no plan");
    return;
  }
  int64_t failures = 0;
  const double start = machine_now();
  for (int i = 0; i < calls; i++) failures += fovea_plan_run(plan, &tensors, &execution, NULL) != FOVEA_OK;
  report(round, start, failures);
  fovea_plan_destroy(plan);
}

void bench_plan_long(bench_round *round, const void *argument) {
  enum { length = 1000000, globals = 64 };
  (void)argument;
  int64_t positions[globals];
  for (int i = 0; i < globals; i++) positions[i] = i;
  const fovea_rule causal = fovea_rule_causal(), window = fovea_rule_window(511, 0),
                   global = fovea_rule_global(positions, globals), either = fovea_rule_or(&window, &global),
                   rule = fovea_rule_and(&causal, &either);
  fovea_pattern_options options;
  fovea_problem problem;
  fovea_pattern *pattern;
  fovea_plan *plan = NULL;
  fovea_pattern_options_init(&options, &rule, length, length);
  fovea_problem_init(&problem, 1, 1, 1, length, length, dim, dim);
  const double start = machine_now();
  int failed = fovea_pattern_create(&options, &pattern, NULL) != FOVEA_OK;
  problem.pattern = pattern;
  failed = failed || fovea_plan_create(&problem, NULL, &plan, NULL) != FOVEA_OK;
  bench_seconds(round, machine_now() - start);
  bench_counter(round, "bytes", (double)(fovea_pattern_bytes(pattern) + fovea_plan_size(1)));
  if (failed) bench_skip(round, "no pattern or plan");
  fovea_plan_destroy(plan);
  fovea_pattern_destroy(pattern);
}
