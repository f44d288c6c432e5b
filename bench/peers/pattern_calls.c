/* What patterns.py calls from Python: the patterns of fovea_bench, graphs, and weights, each as a plan. */
#include "../patterns.h"

#include <fovea/pattern.h>
#include <stdlib.h>

#define CALLED __attribute__((visibility("default")))

typedef struct pattern_call {
  bench_shape shape;
  bench_workload workload;
  fovea_plan *plan;
  void *scratch;
  size_t scratch_size;
} pattern_call;

CALLED void pattern_end(pattern_call *call) {
  fovea_plan_destroy(call->plan);
  fovea_pattern_destroy(call->workload.pattern);
  free(call->scratch);
  free(call);
}

static pattern_call *begin(int64_t heads, int64_t length, int64_t dim) {
  pattern_call *call = calloc(1, sizeof *call);
  if (!call) return NULL;
  call->shape = (bench_shape){.batch = 1, .heads = heads, .q_len = length, .kv_len = length, .dim = dim};
  call->workload.shape = &call->shape;
  fovea_problem_init(&call->workload.problem, 1, heads, heads, length, length, dim, dim);
  return call;
}

static pattern_call *plan(pattern_call *call, int threads) {
  if (fovea_plan_create(&call->workload.problem, NULL, &call->plan, NULL) == FOVEA_OK) {
    call->scratch_size = fovea_plan_scratch_size(call->plan, threads);
    call->scratch = aligned_alloc(FOVEA_SCRATCH_ALIGNMENT,
                                  (call->scratch_size / FOVEA_SCRATCH_ALIGNMENT + 1) * FOVEA_SCRATCH_ALIGNMENT);
  }
  if (call->scratch) return call;
  pattern_end(call);
  return NULL;
}

/* Returns NULL if there is no memory. `pattern` is a bench_pattern; with `weights` the call writes these, too. */
CALLED pattern_call *pattern_begin(int pattern, int weights, int64_t heads, int64_t length, int64_t dim,
                                   int threads) {
  pattern_call *call = begin(heads, length, dim);
  if (!call) return NULL;
  call->shape.pattern = (bench_pattern)pattern;
  if (weights) call->workload.problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  if (bench_pattern_create(&call->workload)) return plan(call, threads);
  pattern_end(call);
  return NULL;
}

/* The same for a graph: row i sees the nodes from starts[i] to starts[i + 1] - 1. */
CALLED pattern_call *pattern_begin_graph(const int64_t *starts, const int64_t *nodes, int64_t count, int64_t dim,
                                         int threads) {
  pattern_call *call = begin(1, count, dim);
  if (!call) return NULL;
  const fovea_rule edges = fovea_rule_edges(0, count, starts, nodes);
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, &edges, count, count);
  if (fovea_pattern_create(&options, &call->workload.pattern, NULL) == FOVEA_OK) {
    call->workload.problem.pattern = call->workload.pattern;
    return plan(call, threads);
  }
  pattern_end(call);
  return NULL;
}

/* `weights` may be NULL. Returns a fovea_status. */
CALLED int pattern_run(const pattern_call *call, const float *q, const float *k, const float *v, float *o,
                       float *weights, int threads) {
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  tensors.scores = weights;
  fovea_execution_init(&execution);
  execution.threads = threads;
  execution.scratch = call->scratch;
  execution.scratch_size = call->scratch_size;
  return (int)fovea_plan_run(call->plan, &tensors, &execution, NULL);
}
