#include "made_states.h"

#include "check.h"
#include "execution.h"

#include <string.h>

struct made made_create(const fovea_problem *problem, int64_t begin, int64_t end) {
  struct made made;
  const int64_t batch = problem_q_batches(problem);
  const int64_t rows = batch * problem->heads * problem->q_len;
  made.memory = guarded_create((size_t)(rows * fovea_state_numbers(problem->v_dim, begin, end)) * sizeof(float),
                               GUARD_AT_END);
  fovea_state_init(&made.state, batch, problem->heads, problem->q_len, problem->v_dim, begin, end,
                   (float *)(void *)made.memory.data);
  return made;
}

void made_destroy(struct made *made) {
  assert_true(guarded_slack_intact(&made->memory));
  guarded_destroy(&made->memory);
}

void expect_ok(fovea_status status, const fovea_error *error, const fovea_problem *problem) {
  char text[DESCRIPTION_SIZE];
  if (status == FOVEA_OK) return;
  problem_describe(problem, text, sizeof text);
  fail_msg("status %d (%s) for %s", (int)status, error->text, text);
}

struct made run_range(const struct trial *trial, const char *isa, int threads, int64_t begin, int64_t end) {
  struct made made = made_create(&trial->problem, begin, end);
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_execution execution;
  fovea_error error;
  fovea_execution_init(&execution);
  execution.threads = threads;
  execution.isa = isa;
  problem.keys.begin = begin;
  problem.keys.end = end;
  problem.state = 1;
  problem.o_strides = problem.lse_strides = (fovea_strides){INT64_MAX, INT64_MAX, INT64_MAX}; /* not used */
  tensors.o = tensors.lse = NULL;
  tensors.sink = NULL;
  tensors.state = &made.state;
  expect_ok(fovea_attend(&problem, &tensors, &execution, &error), &error, &problem);
  return made;
}

struct made merge_states(const struct trial *trial, const char *isa, const struct made *left,
                         const struct made *right) {
  struct made made = made_create(&trial->problem, left->state.keys.begin, right->state.keys.end);
  fovea_error error;
  expect_ok(fovea_state_merge(&left->state, &right->state, &made.state, on_isa(isa), &error), &error,
            &trial->problem);
  return made;
}

void finish_state(struct trial *trial, const char *isa, const struct made *made) {
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_error error;
  tensors.state = &made->state;
  trial_clear(trial);
  expect_ok(fovea_state_finish(&problem, &tensors, on_isa(isa), &error), &error, &problem);
  trial_load(trial);
}

int random_cuts(struct generator *generator, int64_t begin, int64_t end, int64_t step, int64_t *cuts) {
  int count = 0;
  cuts[count++] = begin;
  for (int64_t at = (begin / step + 1) * step; at < end && count < MOST_RANGES; at += step) {
    if (generator_below(generator, 2) == 0) cuts[count++] = at;
  }
  cuts[count] = end;
  return count;
}

struct made merge_ranges(const struct trial *trial, struct generator *generator, const int64_t *cuts, int count) {
  struct made ranges[MOST_RANGES] = {0};
  const char *const *isas = usable_isas(), *const *merging = whole_isas();
  int isa_count = 1, merging_count = 1; /* at least portable C */
  while (isas[isa_count] != NULL) isa_count++;
  while (merging[merging_count] != NULL) merging_count++;
  for (int i = 0; i < count; i++) {
    ranges[i] = run_range(trial, isas[generator_below(generator, isa_count)],
                          1 + (int)generator_below(generator, 3), cuts[i], cuts[i + 1]);
  }
  while (count > 1) {
    const int64_t at = generator_below(generator, count - 1);
    struct made merged =
        merge_states(trial, merging[generator_below(generator, merging_count)], &ranges[at], &ranges[at + 1]);
    made_destroy(&ranges[at]);
    made_destroy(&ranges[at + 1]);
    ranges[at] = merged;
    count--;
    memmove(ranges + at + 1, ranges + at + 2, (size_t)(count - at - 1) * sizeof ranges[0]);
  }
  return ranges[0];
}
