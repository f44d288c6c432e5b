/* A range of keys in a problem is a rule: it gives the bits of the contract, and keys outside it may be missing. */
#include "support/check.h"
#include "support/execution.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

#include <string.h>

/* The range of keys as a rule: compared with the contract, and with a mask that hides the other keys. */
static void test_keys_as_rule(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(40, 200); seed++) {
    struct generator generator = {seed};
    struct listed_problem listed;
    problem_random(&listed, &generator, 3000000);
    problem_random_features(&listed.problem, &generator);
    listed.problem.scores.kind = FOVEA_SCORES_NONE;
    problem_random_modes(&listed.problem, &generator, 4);
    listed.problem.keys.begin = generator_below(&generator, listed.problem.kv_len + 1);
    listed.problem.keys.end = listed.problem.keys.begin +
                              generator_below(&generator, listed.problem.kv_len + 1 - listed.problem.keys.begin);
    if (seed % 4 == 0) listed.problem.keys.end = FOVEA_UNLIMITED;
    struct trial trial = trial_create(&listed.problem, seed);
    const char *const *isas = whole_isas();
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&trial, isas[isa], NULL);
      assert_contract(&trial, USUAL_OR_LONG(60000, 500000));
    }
    trial_destroy(&trial);
  }
}

/* Keys outside the range may be missing. */
static void test_keys_alone(void **state) {
  (void)state;
  enum { KEYS = 700, DIM = 24 };
  static const int64_t ranges[][2] = {{1, 700}, {130, 131}, {127, 300}, {256, 512}, {500, 699}};
  for (int i = 0; i < 5; i++) {
    for (int64_t rows = 1; rows <= 40; rows += 39) {
      const int64_t begin = ranges[i][0], end = ranges[i][1];
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, rows, KEYS, DIM, DIM);
      fovea_problem_resolve(&problem, NULL);
      problem.offset = 0;
      struct trial whole = trial_create(&problem, 2);
      whole.problem.keys.begin = begin;
      whole.problem.keys.end = end;
      trial_run(&whole, NULL, NULL);
      struct trial part = trial_sharing_inputs(&whole);
      const size_t size = (size_t)((end - begin) * DIM) * sizeof(float);
      for (int edge = 0; edge < 2; edge++) {
        struct guarded k = guarded_create(size, (enum guarded_edge)edge);
        struct guarded v = guarded_create(size, (enum guarded_edge)edge);
        memcpy(k.data, tensor_row(&whole.k, 0, 0, begin), size);
        memcpy(v.data, tensor_row(&whole.v, 0, 0, begin), size);
        fovea_tensors tensors = trial_tensors(&part);
        tensors.k = (const float *)(const void *)k.data - begin * DIM;
        tensors.v = (const float *)(const void *)v.data - begin * DIM;
        const char *const *isas = whole_isas();
        for (int isa = 0; isas[isa] != NULL; isa++) {
          problem = part.problem;
          trial_clear(&part);
          assert_int_equal(fovea_attend(&problem, &tensors, on_isa(isas[isa]), NULL), FOVEA_OK);
          trial_load(&part);
          assert_same_outputs(&part, &whole);
        }
        guarded_destroy(&k);
        guarded_destroy(&v);
      }
      trial_destroy(&part);
      trial_destroy(&whole);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_keys_as_rule),
      cmocka_unit_test(test_keys_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
