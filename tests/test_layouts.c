/* Any layout gives the same bits: any order of axes, gaps, directions, and axes that are repeated by a stride of 0.
 * Nothing is written between the rows of an output. */
#include "support/check.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

static void test_random_layouts(void **state) {
  (void)state;
  struct generator generator = {77};
  const char *const *isas = usable_isas();
  for (int i = 0; i < USUAL_OR_LONG(60, 400); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 1000000);
    if (i % 2 == 1) problem_random_features(&listed.problem, &generator);
    problem_random_modes(&listed.problem, &generator, 4);
    struct trial contiguous = trial_create(&listed.problem, (uint64_t)i);
    trial_run(&contiguous, isas[0], NULL);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      problem_random_layout(&listed.problem, &generator);
      struct trial trial = trial_create(&listed.problem, (uint64_t)i);
      trial_run(&trial, isas[isa], NULL);
      assert_same_outputs(&trial, &contiguous);
      assert_true(trial_gaps_untouched(&trial));
      trial_destroy(&trial);
    }
    trial_destroy(&contiguous);
  }
}

/* Repeats each axis of each input by a stride of 0, and compares with a copy that has the repetitions written out.
 */
static void test_repeated_inputs(void **state) {
  (void)state;
  const char *const *isas = usable_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int axes = 1; axes < 512; axes += USUAL_OR_LONG(9, 2)) {
      fovea_problem written;
      fovea_problem_init(&written, 2, 4, 2, 20, 140, 16, 12);
      fovea_problem_resolve(&written, NULL);
      written.causal = axes % 3 == 0;
      fovea_problem repeated = written;
      fovea_strides *strides[] = {&repeated.q_strides, &repeated.k_strides, &repeated.v_strides};
      for (int i = 0; i < 3; i++) {
        if (axes & (1 << i)) strides[i]->batch = 0;
        if (axes & (8 << i)) strides[i]->head = 0;
        if (axes & (64 << i)) strides[i]->row = 0;
      }
      struct trial actual = trial_create(&repeated, 9);
      const struct part start = {0, 0, 0};
      struct trial expected = trial_of_part(&written, &actual, start, start);
      trial_run(&actual, isas[isa], NULL);
      trial_run(&expected, isas[isa], NULL);
      assert_same_outputs(&actual, &expected);
      trial_destroy(&actual);
      trial_destroy(&expected);
    }
}

/* A tensor whose strides do not fit in 32 bits, in memory that exists only where it is touched. */
static int create_sparse(struct tensor *tensor, int64_t batch, int64_t heads, int64_t rows, int64_t dim) {
  const fovea_strides strides = {INT64_C(1) << 34, INT64_C(1) << 33, (INT64_C(1) << 30) + 3};
  const int64_t last = (batch - 1) * strides.batch + (heads - 1) * strides.head + (rows - 1) * strides.row;
  if ((uint64_t)(last + dim) > SIZE_MAX / sizeof(float)) return 0;
  const size_t size = (size_t)(last + dim) * sizeof(float);
  const struct guarded memory = guarded_create_sparse(size);
  if (memory.data == NULL) return 0;
  tensor_create(tensor, 0, heads, rows, dim, strides, GUARD_AT_END);
  guarded_destroy(&tensor->memory);
  tensor->batch = batch;
  tensor->data = (float *)(void *)memory.data;
  tensor->memory = memory;
  return 1;
}

static void test_strides_beyond_32_bits(void **state) {
  (void)state;
  const int64_t batch = USUAL_OR_LONG(1, 2), heads = batch;
  fovea_problem problem;
  fovea_problem_init(&problem, batch, heads, 1, 3, 5, 20, 20);
  fovea_problem_resolve(&problem, NULL);
  struct trial expected = trial_create(&problem, 12);
  struct trial sparse = {.problem = problem};
  const int there = create_sparse(&sparse.q, batch, heads, 3, 20) && create_sparse(&sparse.k, batch, 1, 5, 20) &&
                    create_sparse(&sparse.v, batch, 1, 5, 20) && create_sparse(&sparse.o, batch, heads, 3, 20) &&
                    create_sparse(&sparse.lse, batch, heads, 3, 1);
  if (there) {
    sparse.problem.q_strides = sparse.problem.k_strides = sparse.problem.v_strides = sparse.q.strides;
    sparse.problem.o_strides = sparse.problem.lse_strides = sparse.q.strides;
    tensor_copy_part(&sparse.q, &expected.q, 0, 0, 0);
    tensor_copy_part(&sparse.k, &expected.k, 0, 0, 0);
    tensor_copy_part(&sparse.v, &expected.v, 0, 0, 0);
    const char *const *isas = usable_isas_for(NULL);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&expected, isas[isa], NULL);
      trial_run(&sparse, isas[isa], NULL);
      assert_same_outputs(&sparse, &expected);
    }
  }
  trial_destroy(&expected);
  trial_destroy(&sparse);
  if (!there) skip(); /* the address space is too small */
}

static void test_rows_before_heads(void **state) {
  (void)state;
  const fovea_strides strides = fovea_strides_rows_before_heads(50, 6, 16);
  assert_int_equal(strides.batch, 50 * 6 * 16);
  assert_int_equal(strides.row, 6 * 16);
  assert_int_equal(strides.head, 16);
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 6, 6, 50, 50, 16, 16);
  fovea_problem_resolve(&problem, NULL);
  struct trial heads_first = trial_create(&problem, 10);
  problem.q_strides = problem.k_strides = problem.v_strides = problem.o_strides = strides;
  struct trial rows_first = trial_create(&problem, 10);
  trial_run(&heads_first, NULL, NULL);
  trial_run(&rows_first, NULL, NULL);
  assert_same_outputs(&rows_first, &heads_first);
  trial_destroy(&heads_first);
  trial_destroy(&rows_first);
}

/* An axis of extent 1 has no neighbours, and may have any stride. */
static void test_axes_of_one(void **state) {
  (void)state;
  const fovea_strides any = {INT64_MIN, INT64_MAX, INT64_MAX - 1};
  const char *const *isas = usable_isas();
  for (fovea_type type = FOVEA_F32; type <= FOVEA_BF16; type++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, 1, 1, 24, 24);
    fovea_problem_resolve(&problem, NULL);
    problem.q_type = problem.k_type = problem.v_type = type;
    struct trial expected = trial_create(&problem, 12), actual = trial_create(&problem, 12);
    trial_run(&expected, NULL, NULL);
    actual.problem.q_strides = actual.problem.k_strides = actual.problem.v_strides = any;
    actual.problem.o_strides = actual.problem.lse_strides = any;
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&actual, isas[isa], NULL);
      assert_same_outputs(&actual, &expected);
    }
    trial_destroy(&expected);
    trial_destroy(&actual);
  }
}

/* O is the same without LSE, and from the plain call. */
static void test_plain_call_and_no_lse(void **state) {
  (void)state;
  for (int causal = 0; causal <= 1; causal++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 2, 4, 2, 40, 150, 24, 24);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = causal;
    struct trial expected = trial_create(&problem, 11), actual = trial_create(&problem, 11);
    const int64_t numbers = 2 * 4 * 40 * 24;
    trial_run(&expected, NULL, NULL);
    fovea_tensors tensors = trial_tensors(&actual);
    tensors.lse = NULL;
    assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
    assert_memory_equal(actual.o.data, expected.o.data, (size_t)numbers * sizeof(float));
    tensor_fill_untouched(&actual.o);
    assert_int_equal(
        fovea_attention(actual.q.data, actual.k.data, actual.v.data, actual.o.data, 2, 4, 2, 40, 150, 24, causal),
        FOVEA_OK);
    assert_memory_equal(actual.o.data, expected.o.data, (size_t)numbers * sizeof(float));
    assert_true(tensor_is_untouched(&actual.lse));
    trial_destroy(&expected);
    trial_destroy(&actual);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_layouts),
      cmocka_unit_test(test_repeated_inputs),
      cmocka_unit_test(test_strides_beyond_32_bits),
      cmocka_unit_test(test_rows_before_heads),
      cmocka_unit_test(test_axes_of_one),
      cmocka_unit_test(test_plain_call_and_no_lse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
