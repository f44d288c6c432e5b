/* Decoding gives the bits of prefill: single rows, or a few at a time, over the keys so far, equal the rows of one
 * causal call over everything. */
#include "support/check.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

#include <string.h>

/* Computes rows first to first + count - 1 over the keys that they see if no row follows, into their places of O
 * and LSE. */
static void decode(struct trial *trial, const char *isa, int threads, int64_t first, int64_t count) {
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_execution execution;
  fovea_error error;
  const int64_t q_size = (int64_t)type_size(problem.q_type), o_size = (int64_t)type_size(problem.o_type);
  problem.q_len = count;
  problem.kv_len = trial->problem.kv_len - trial->problem.q_len + first + count;
  tensors.q = (const char *)tensors.q + first * problem.q_strides.row * q_size;
  tensors.o = (char *)tensors.o + first * problem.o_strides.row * o_size;
  tensors.lse += first * problem.lse_strides.row;
  fovea_execution_init(&execution);
  execution.isa = isa;
  execution.threads = threads;
  if (fovea_attend(&problem, &tensors, &execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

/* Computes all rows, in steps of up to `most` rows. */
static void check_steps(const struct trial *prefill, const char *isa, int threads, int64_t most, int vary,
                        struct generator *generator) {
  struct trial trial = trial_sharing_inputs(prefill);
  for (int64_t row = 0; row < trial.problem.q_len;) {
    int64_t count = vary ? 1 + generator_below(generator, most) : most;
    if (count > trial.problem.q_len - row) count = trial.problem.q_len - row;
    decode(&trial, isa, threads, row, count);
    row += count;
  }
  trial_load(&trial);
  assert_same_outputs(&trial, prefill);
  assert_true(trial_gaps_untouched(&trial));
  trial_destroy(&trial);
}

static void check_problem(fovea_problem *problem, uint64_t seed, struct generator *generator) {
  problem->causal = 1;
  problem->offset = FOVEA_OFFSET_BOTTOM_RIGHT;
  struct trial prefill = trial_create(problem, seed);
  trial_run(&prefill, "scalar", NULL);
  for (const char *const *isa = usable_isas_for(problem); *isa != NULL; isa++) {
    check_steps(&prefill, *isa, 1, 1, 0, generator);
    check_steps(&prefill, *isa, 0, 16, 1, generator);
  }
  trial_destroy(&prefill);
}

static void test_rows_alone(void **state) {
  (void)state;
  static const int64_t dims[] = {1, 5, 16, 40, 64, 80, 127, 128, 129, 200};
  static const int modes[] = {INT8_BOTH, BF16_BOTH, INT8_SCORES};
  struct generator generator = {31};
  for (int i = 0; i < USUAL_OR_LONG(4, 12); i++) {
    fovea_problem problem;
    const int64_t kv_heads = 1 + generator_below(&generator, 2), group = 1 + generator_below(&generator, 5);
    const int64_t length = 1 + generator_below(&generator, USUAL_OR_LONG(100, 300));
    fovea_problem_init(&problem, 1 + generator_below(&generator, 2), kv_heads * group, kv_heads, length, length,
                       dims[generator_below(&generator, 10)], dims[generator_below(&generator, 10)]);
    fovea_problem_resolve(&problem, NULL);
    if (i % 3 == 1) problem.window_left = generator_below(&generator, 200);
    if (i % 4 == 2) problem.softcap = 20.0;
    if (i % 5 == 3) problem.sink = FOVEA_SINK_PER_HEAD;
    if (i % 2 == 1) {
      problem.q_type = (fovea_type)generator_below(&generator, 3);
      problem.k_type = (fovea_type)generator_below(&generator, 3);
      problem.v_type = (fovea_type)generator_below(&generator, 3);
      problem.o_type = (fovea_type)generator_below(&generator, 3);
    }
    if (i % 4 == 3) problem_set_modes(&problem, modes[i / 4 % 3]);
    check_problem(&problem, (uint64_t)i, &generator);
  }
}

/* Across spans of 2,048 keys, whose states merge as a tree: the last rows of a long prefill. */
static void test_long_caches(void **state) {
  (void)state;
  struct generator generator = {32};
  for (int i = 0; i < USUAL_OR_LONG(1, 3); i++) {
    const int64_t length = 2040 * (1 + i) + generator_below(&generator, 30), rows = 24;
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 4, 1, rows, length, i % 2 ? 64 : 33, 32);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    problem.k_type = problem.v_type = (fovea_type)(i % 3);
    struct trial prefill = trial_create(&problem, (uint64_t)i);
    trial_run(&prefill, "scalar", NULL);
    for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++)
      check_steps(&prefill, *isa, i % 2, 5, 1, &generator);
    trial_destroy(&prefill);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_alone),
      cmocka_unit_test(test_long_caches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
