#include "other_ways.h"

#include "check.h"

#include <fovea/state.h>
#include <stdlib.h>

void assert_same_by_threads(const fovea_problem *problem, uint64_t seed) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  struct trial expected = trial_create(problem, seed), made = trial_sharing_inputs(&expected);
  execution.threads = 1;
  trial_run(&expected, NULL, &execution);
  for (execution.threads = 2; execution.threads < 5; execution.threads++) {
    trial_run(&made, NULL, &execution);
    assert_same_outputs(&made, &expected);
  }
  trial_destroy(&made);
  trial_destroy(&expected);
}

/* Runs some keys into a state. */
static void run_part(const fovea_problem *problem, const fovea_tensors *tensors, int64_t begin, int64_t end,
                     fovea_state *state) {
  fovea_problem part = *problem;
  fovea_tensors to = *tensors;
  part.keys.begin = begin;
  part.keys.end = end;
  part.state = 1;
  to.o = NULL;
  to.lse = NULL;
  to.sink = NULL;
  to.state = state;
  assert_int_equal(fovea_attend(&part, &to, NULL, NULL), FOVEA_OK);
}

void assert_same_by_states(const fovea_problem *problem, int64_t cut, uint64_t seed) {
  const fovea_problem *p = problem;
  const int64_t ends[] = {0, cut, p->kv_len};
  struct trial made = trial_create(p, seed), expected = trial_sharing_inputs(&made);
  fovea_tensors tensors = trial_tensors(&made);
  fovea_state states[3];
  float *numbers[3];
  trial_run(&expected, NULL, NULL);
  for (int i = 0; i < 3; i++) { /* the last is of all keys */
    const int64_t begin = i < 2 ? ends[i] : 0, end = i < 2 ? ends[i + 1] : p->kv_len;
    const int64_t spans = (end - begin) / FOVEA_SPAN_KEYS + 2; /* at least as many as there are nodes */
    numbers[i] = malloc((size_t)(p->batch * p->heads * p->q_len * (p->v_dim + 2) * spans) * sizeof(float));
    assert_non_null(numbers[i]);
    fovea_state_init(&states[i], p->batch, p->heads, p->q_len, p->v_dim, begin, end, numbers[i]);
  }
  for (int i = 0; i < 2; i++) run_part(p, &tensors, ends[i], ends[i + 1], &states[i]);
  assert_int_equal(fovea_state_merge(&states[0], &states[1], &states[2], NULL, NULL), FOVEA_OK);
  tensors.state = &states[2];
  assert_int_equal(fovea_state_finish(p, &tensors, NULL, NULL), FOVEA_OK);
  trial_load(&made);
  assert_same_outputs(&made, &expected);
  for (int i = 0; i < 3; i++) free(numbers[i]);
  trial_destroy(&expected);
  trial_destroy(&made);
}
