#include "outputs.h"

#include "check.h"
#include "error_says.h"
#include "executors.h"
#include "problems.h"

#include <math.h>
#include <string.h>

void assert_output(const fovea_problem *wanted, const fovea_problem *plain, uint64_t seed) {
  const char *const *isas = usable_isas_for(wanted);
  struct trial trial = trial_create(wanted, seed), without = trial_create(plain, seed);
  fovea_execution execution;
  fovea_execution_init(&execution);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    struct executor executor = {.order = (enum task_order)(seed % TASK_ORDERS)};
    execution.threads = 1 + isa % 3;
    execution.parallel_for = isa % 2 ? threads_for : NULL;
    execution.parallel_context = isa % 2 ? &executor : NULL;
    trial_run(&trial, isas[isa], &execution);
    assert_true(trial_gaps_untouched(&trial));
    trial_run(&without, isas[isa], NULL);
    assert_same_outputs(&trial, &without);
    if (isa == 0) assert_contract(&trial, USUAL_OR_LONG(60000, INT64_MAX / 2));
    if (isa == 0) continue; /* the bits of the others are those of the first */
    struct trial first = trial_sharing_inputs(&trial);
    trial_run(&first, isas[0], NULL);
    assert_same_outputs(&trial, &first);
    trial_destroy(&first);
  }
  trial_destroy(&without);
  trial_destroy(&trial);
}

static void check_with(output_setter set, const fovea_problem *problem, uint64_t seed) {
  fovea_problem wanted = *problem, plain = *problem;
  set(&wanted, 1);
  set(&plain, 0);
  assert_output(&wanted, &plain, seed);
}

void check_random_outputs(output_setter set, void (*vary)(fovea_problem *, struct generator *, int)) {
  struct generator generator = {91};
  for (int i = 0; i < USUAL_OR_LONG(25, 150); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, USUAL_OR_LONG(200000, 1000000));
    problem_random_features(&listed.problem, &generator);
    if (i % 2) problem_random_layout(&listed.problem, &generator);
    if (vary != NULL) vary(&listed.problem, &generator, i);
    check_with(set, &listed.problem, (uint64_t)i);
  }
}

void check_output_lengths(output_setter set) {
  static const int64_t lengths[][2] = {{0, 5}, {7, 0}, {1, 1}, {40, 129}, {3, 9000}, {1, 17000}};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, lengths[i][1] > 1000 ? 1 : 3, 4, 2, lengths[i][0], lengths[i][1], 64, 64);
    problem.causal = i % 2 == 1;
    if (i == 3) problem.offset = -60;
    check_with(set, &problem, i);
  }
}

void check_special_outputs(output_setter set, void (*look)(const struct trial *, size_t value)) {
  static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f, -0.0f, 1e-42f};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
    for (int64_t rows = 1; rows < 80; rows += 39) {
      fovea_problem problem;
      fovea_problem_init(&problem, 2, 2, 2, rows, 300, 20, 12);
      problem.causal = 1;
      problem.offset = 140;
      set(&problem, 1);
      struct trial trial = trial_create(&problem, v);
      tensor_row(&trial.k, 0, 1, 135)[3] = values[v];
      tensor_row(&trial.q, 1, 0, rows - 1)[0] = values[v];
      if (v > 3)
        for (int d = 0; d < 20; d++) tensor_row(&trial.q, 1, 0, 0)[d] = 0.0f; /* scores of zero */
      const char *const *isas = usable_isas_for(&problem);
      trial_run(&trial, isas[0], NULL);
      assert_contract(&trial, INT64_MAX / 2);
      if (look != NULL) look(&trial, v);
      for (int isa = 1; isas[isa] != NULL; isa++) {
        struct trial other = trial_sharing_inputs(&trial);
        trial_run(&other, isas[isa], NULL);
        assert_same_outputs(&other, &trial);
        trial_destroy(&other);
      }
      trial_destroy(&trial);
    }
}

void assert_attend_refused(const fovea_problem *problem, const fovea_tensors *tensors, fovea_status status,
                           const char *text) {
  fovea_error error;
  assert_int_equal(fovea_attend(problem, tensors, NULL, &error), status);
  assert_error_says(&error, text);
}
