/* No byte outside the tensors is read or written. Every buffer of every test lies before a guard page; here each
 * buffer also lies after one, inputs are read-only, and sizes are odd. */
#include "support/check.h"
#include "support/cpus.h"
#include "support/execution.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

/* The problem at one end of its pages, on one instruction set. */
static void check_edge(const fovea_problem *problem, uint64_t seed, const char *isa, enum guarded_edge edge,
                       const struct trial *expected) {
  struct trial trial = trial_create_at(problem, seed, edge);
  tensor_make_read_only(&trial.q);
  tensor_make_read_only(&trial.k);
  tensor_make_read_only(&trial.v);
  tensor_make_read_only(&trial.sinks);
  if (trial.mask.type != FOVEA_MASK_NONE) guarded_make_read_only(&trial.mask.memory);
  trial_run(&trial, isa, NULL);
  assert_same_outputs(&trial, expected);
  assert_true(trial_gaps_untouched(&trial));
  trial_destroy(&trial);
}

static void check_guards(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = usable_isas_for(problem);
  struct trial expected = trial_create(problem, seed);
  trial_run(&expected, isas[0], NULL);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    check_edge(problem, seed, isas[isa], GUARD_AT_END, &expected);
    check_edge(problem, seed, isas[isa], GUARD_AT_START, &expected);
  }
  trial_destroy(&expected);
}

static void test_small_shapes(void **state) {
  (void)state;
  for (int64_t dim = 1; dim <= USUAL_OR_LONG(20, 40); dim++)
    for (int64_t rows = 1; rows <= 9; rows += 4)
      for (int64_t keys = 1; keys <= 36; keys += 5) {
        fovea_problem problem;
        fovea_problem_init(&problem, 1, 1, 1, rows, keys, dim, 41 - dim);
        fovea_problem_resolve(&problem, NULL);
        check_guards(&problem, (uint64_t)dim);
      }
}

/* 16-bit tensors: the last element before a page's end has two bytes. */
static void test_half_types(void **state) {
  (void)state;
  for (int type = FOVEA_F16; type <= FOVEA_BF16; type++)
    for (int64_t dim = 1; dim <= USUAL_OR_LONG(20, 70); dim++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, dim % 5 + 1, 1 + dim * 7 % 40, dim, 71 - dim);
      fovea_problem_resolve(&problem, NULL);
      problem.q_type = problem.k_type = problem.v_type = problem.o_type = (fovea_type)type;
      check_guards(&problem, (uint64_t)dim);
    }
}

/* Masks with any number of keys: the last bit of the last row is the last that is read. */
static void test_masks(void **state) {
  (void)state;
  for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++)
    for (int64_t keys = 1; keys <= USUAL_OR_LONG(40, 150); keys++)
      for (int64_t missing = 0; missing <= keys % 3; missing++) {
        fovea_problem problem;
        fovea_problem_init(&problem, 1, 2, 1, 1 + keys % 9, keys, 6, 5);
        fovea_problem_resolve(&problem, NULL);
        problem.causal = (int)(keys % 2);
        problem_say_offset(&problem);
        problem.mask.type = (fovea_mask_type)type;
        problem.mask.keys = keys - missing;
        problem.mask.strides = fovea_mask_layout(problem.mask.type, 1, 2, problem.q_len, problem.mask.keys);
        if (keys % 4 == 0) problem.mask.strides.row += 8; /* the bits in the gaps are set */
        if (keys % 5 == 0) problem.mask.strides.head = 0;
        check_guards(&problem, (uint64_t)(keys + missing));
      }
}

static void test_random_shapes(void **state) {
  (void)state;
  struct generator generator = {404};
  for (int i = 0; i < USUAL_OR_LONG(80, 700); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 600000);
    if (i % 3 > 0) problem_random_features(&listed.problem, &generator);
    problem_random_layout(&listed.problem, &generator);
    problem_random_modes(&listed.problem, &generator, 4);
    if (i % 4 < 2)
      cpus_use_one();
    else
      cpus_use_all();
    check_guards(&listed.problem, (uint64_t)i);
  }
  cpus_use_all();
}

/* Keys that no row sees may lie in memory that does not exist: here, the pages before and after the tensor. */
static void check_unseen_keys(const char *isa, int64_t window) {
  enum { ROWS = 17, KEYS = 60, DIM = 20, OWN_KEY = KEYS - ROWS, PRETENDED = 40 };
  static const int64_t kv_lens[] = {KEYS};
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  problem.window_left = window;
  problem.offset = OWN_KEY;
  struct trial expected = trial_create(&problem, 5), trial = trial_create(&problem, 5);
  trial_run(&expected, isa, NULL);

  const int64_t first = OWN_KEY - window;
  struct tensor k, v;
  tensor_create(&k, 1, 1, KEYS - first, DIM, (fovea_strides){0, 0, DIM}, GUARD_AT_START);
  tensor_create(&v, 1, 1, KEYS - first, DIM, (fovea_strides){0, 0, DIM}, GUARD_AT_END);
  tensor_copy_part(&k, &expected.k, 0, 0, first);
  tensor_copy_part(&v, &expected.v, 0, 0, first);
  fovea_tensors tensors = trial_tensors(&trial);
  tensors.k = k.data - first * DIM;
  tensors.v = v.data - first * DIM;
  trial.problem.kv_len = KEYS + PRETENDED;
  trial.problem.kv_lens = kv_lens;
  assert_int_equal(fovea_attend(&trial.problem, &tensors, on_isa(isa), NULL), FOVEA_OK);
  assert_same_outputs(&trial, &expected);
  tensor_destroy(&k);
  tensor_destroy(&v);
  trial_destroy(&trial);
  trial_destroy(&expected);
}

static void test_unseen_keys_are_not_read(void **state) {
  (void)state;
  const char *const *isas = usable_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int64_t window = 0; window <= 40; window += 5) check_unseen_keys(isas[isa], window);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_shapes),
      cmocka_unit_test(test_half_types),
      cmocka_unit_test(test_masks),
      cmocka_unit_test(test_random_shapes),
      cmocka_unit_test(test_unseen_keys_are_not_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
