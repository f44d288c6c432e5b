#include "explain_run.h"

#include "convert.h"

#include <stdlib.h>
#include <string.h>

enum { Q, K, V, O, TENSORS };

/* A byte that makes numbers which are neither tiny nor large in any type. */
enum { BYTE_OF_NUMBERS = 0x3c };

/* Of a tensor: systems that promise more memory than there is would promise more than this, too. */
#define MOST_BYTES 0x1p40

static void *numbers_of(int64_t batch, int64_t heads, int64_t rows, int64_t dim, fovea_type type) {
  const double bytes = (double)batch * (double)heads * (double)rows * (double)dim * (double)type_size(type);
  if (bytes > MOST_BYTES || bytes > (double)(SIZE_MAX / 4)) return NULL;
  void *numbers = malloc((size_t)bytes + 1);
  if (numbers) memset(numbers, BYTE_OF_NUMBERS, (size_t)bytes + 1);
  return numbers;
}

static bool run(trace *trace, const fovea_plan *plan, const fovea_tensors *tensors, int threads, failure *why) {
  fovea_execution execution;
  fovea_error error;
  fovea_execution_init(&execution);
  execution.threads = threads;
  if (fovea_plan_run(plan, tensors, &execution, &error) != FOVEA_OK) return fail(why, "--trace: %s", error.text);
  return trace_run(trace, plan, tensors, threads, why);
}

bool explain_run(trace *trace, const fovea_plan *plan, const fovea_problem *problem, const problem_inputs *inputs,
                 int threads, failure *why) {
  const fovea_problem *p = problem;
  void *numbers[TENSORS] = {numbers_of(p->batch, p->heads, p->q_len, p->qk_dim, p->q_type),
                            numbers_of(p->batch, p->kv_heads, p->kv_len, p->qk_dim, p->k_type),
                            numbers_of(p->batch, p->kv_heads, p->kv_len, p->v_dim, p->v_type),
                            numbers_of(p->batch, p->heads, p->q_len, p->v_dim, p->o_type)};
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, numbers[Q], numbers[K], numbers[V], numbers[O], NULL);
  tensors.mask = inputs->mask.data;
  tensors.sink = inputs->sinks.data;
  if (inputs->terms.count > 0) tensors.terms = inputs->terms.numbers;
  const bool done = numbers[Q] && numbers[K] && numbers[V] && numbers[O]
                        ? run(trace, plan, &tensors, threads, why)
                        : fail(why, "--trace: out of memory for the tensors of the problem");
  for (int i = 0; i < TENSORS; i++) free(numbers[i]);
  return done;
}
