/* What a plan tells: pairs of rows and keys, scratch, tasks; and that it owns what it needs. */
#include "support/check.h"
#include "support/execution.h"
#include "support/problems.h"
#include "support/trial.h"

#include <string.h>

static fovea_plan *plan_of(const fovea_problem *problem, const char *isa) {
  fovea_problem named = *problem;
  fovea_plan *plan;
  fovea_error error;
  if (fovea_plan_create(&named, on_isa(isa), &plan, &error) != FOVEA_OK) fail_msg("%s", error.text);
  return plan;
}

static fovea_counts counts_of(const fovea_problem *problem, const char *isa) {
  fovea_plan *plan = plan_of(problem, isa);
  fovea_counts counts;
  assert_int_equal(fovea_plan_counts(plan, &counts), FOVEA_OK);
  fovea_plan_destroy(plan);
  return counts;
}

static void test_counts(void **state) {
  (void)state;
  struct generator generator = {55};
  const char *const *isas = usable_isas();
  for (int i = 0; i < USUAL_OR_LONG(100, 600); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 20000000);
    const int64_t seen = problem_pairs_seen(&listed.problem);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      const fovea_counts counts = counts_of(&listed.problem, isas[isa]);
      assert_int_equal(counts.pairs_visible, seen);
      assert_true(counts.pairs_computed >= seen);
    }
  }
}

/* Keys that are not visible are skipped: from 1,024 keys on, at most 15 % more pairs are computed than are
 * visible. */
static void test_little_is_wasted(void **state) {
  (void)state;
  static const struct rule rules[] = {
      {"full", 0, -1, -1, 0, 0, 0, FOVEA_OFFSET_BOTTOM_RIGHT},
      {"causal", 1, -1, -1, 0, 0, 0, FOVEA_OFFSET_BOTTOM_RIGHT},
      {"window 512 left, causal", 1, 512, -1, 0, 0, 0, FOVEA_OFFSET_BOTTOM_RIGHT},
      {"window 256 to each side", 0, 256, 256, 0, 0, 0, FOVEA_OFFSET_BOTTOM_RIGHT},
      {"chunks of 64, 256 left", 0, -1, -1, 64, 256, 0, FOVEA_OFFSET_BOTTOM_RIGHT},
      {"chunks of 64, 256 left, 32 right", 0, -1, -1, 64, 256, 32, FOVEA_OFFSET_BOTTOM_RIGHT},
  };
  static const int64_t lengths[][2] = {{1024, 1024}, {1500, 1500}, {2048, 2048}, {700, 4100}};
  const char *const *isas = usable_isas();
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (size_t rule = 0; rule < sizeof rules / sizeof rules[0]; rule++)
      for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int64_t group = 1; group <= 4; group += 3) {
          fovea_problem problem;
          fovea_problem_init(&problem, 1, group, 1, lengths[i][0], lengths[i][1], 64, 64);
          problem_apply(&problem, &rules[rule]);
          const fovea_counts counts = counts_of(&problem, isas[isa]);
          const double ratio = (double)counts.pairs_computed / (double)counts.pairs_visible;
          if (!(ratio <= 1.15))
            fail_msg("%s, %s, %lld rows, %lld keys, %lld heads a kv head: %.3f", isas[isa], rules[rule].name,
                     (long long)lengths[i][0], (long long)lengths[i][1], (long long)group, ratio);
        }
}

static size_t scratch_of(int64_t batch, int64_t heads, int64_t q_len, int64_t kv_len, const char *isa) {
  fovea_problem problem;
  fovea_problem_init(&problem, batch, heads, 1, q_len, kv_len, 64, 48);
  fovea_plan *plan = plan_of(&problem, isa);
  const size_t size = fovea_plan_scratch_size(plan, 1);
  for (int workers = 2; workers <= 8; workers++) {
    const size_t more = fovea_plan_scratch_size(plan, workers);
    assert_true(more >= size);
    assert_true(more <= size * (size_t)workers);
  }
  fovea_plan_destroy(plan);
  return size;
}

/* Each doubling of the keys adds at most the same: scratch grows with the logarithm. Scratch for a long problem is
 * enough for every shorter one. */
static void test_scratch(void **state) {
  (void)state;
  const char *const *isas = usable_isas();
  for (int isa = 0; isas[isa] != NULL; isa++) {
    const size_t thousand = scratch_of(1, 1, 300, 1000, isas[isa]);
    const size_t state_size = (48 + 16) * 64 * 8 * sizeof(float); /* maxima, sums and outputs of some row tiles */
    size_t previous = thousand;
    for (int64_t kv_len = 2000; kv_len <= INT64_C(1) << 40; kv_len *= 2) {
      const size_t size = scratch_of(1, 1, 300, kv_len, isas[isa]);
      assert_true(size >= previous);
      assert_true(size - previous <= state_size);
      previous = size;
    }
    const size_t million = scratch_of(1, 1, 300, 1000000, isas[isa]);
    assert_true(million <= thousand + 10 * state_size);
    print_message("%s: %llu bytes a worker for a thousand keys, %llu for a million\n", isas[isa],
                  (unsigned long long)thousand, (unsigned long long)million);
    for (int64_t q_len = 1; q_len <= 300; q_len += 23)
      for (int64_t kv_len = 1; kv_len <= 1000; kv_len += 111)
        assert_true(scratch_of(1, 1, q_len, kv_len, isas[isa]) <= thousand);
    assert_true(scratch_of(7, 1, 300, 1000, isas[isa]) <= thousand);
    assert_true(scratch_of(1, 8, 300, 1000, isas[isa]) <= scratch_of(1, 8, 3000, 1000, isas[isa]));
  }
}

/* If scratch for large dims does not fit in a size_t, its size is the largest number, not the remainder. */
static void test_scratch_of_large_dims(void **state) {
  (void)state;
  for (int values = 0; values < 2; values++) {
    size_t previous = 0;
    for (int64_t dim = 1024; dim <= INT64_C(1) << 40; dim *= 2) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, 3, 9000, values ? 64 : dim, values ? dim : 64);
      fovea_plan *plan = plan_of(&problem, NULL);
      const size_t size = fovea_plan_scratch_size(plan, 1);
      assert_true(size >= previous);
      assert_true(size == SIZE_MAX || size / sizeof(float) >= (uint64_t)dim);
      previous = size;
      fovea_plan_destroy(plan);
    }
  }
}

static void *ask(void *asked, size_t size, size_t alignment) {
  (void)alignment;
  *(size_t *)asked = size;
  return NULL;
}

static void take_back(void *asked, void *memory) {
  (void)asked;
  (void)memory;
}

/* The same for a large batch: a request has more than one byte for each batch element, or there is none. */
static void test_plan_of_a_large_batch(void **state) {
  (void)state;
  const int64_t batch = (INT64_C(1) << 32) + 40;
  size_t asked = 0;
  fovea_plan *plan;
  fovea_problem problem;
  fovea_problem_init(&problem, batch, 1, 1, 0, 1, 1, 1);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.allocator = (fovea_allocator){&asked, ask, take_back};
  assert_int_equal(fovea_plan_create(&problem, &execution, &plan, NULL), FOVEA_ERROR_MEMORY);
  assert_true(asked == 0 || asked > (uint64_t)batch);
}

/* After a plan is made, the caller may free the problem's arrays. */
static void test_plan_owns_its_lengths(void **state) {
  (void)state;
  struct generator generator = {66};
  for (int i = 0; i < 200; i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 200000);
    if (i % 2 == 1) problem_random_features(&listed.problem, &generator);
    struct trial expected = trial_create(&listed.problem, 1), actual = trial_create(&listed.problem, 1);
    trial_run(&expected, NULL, NULL);
    char name[16] = "scalar";
    fovea_plan *plan = plan_of(&listed.problem, name);
    memset(listed.offsets, 0x3c, sizeof listed.offsets);
    memset(listed.q_lens, 0x3c, sizeof listed.q_lens);
    memset(listed.kv_lens, 0x3c, sizeof listed.kv_lens);
    memset(listed.cu_seqlens_q, 0x3c, sizeof listed.cu_seqlens_q);
    memset(listed.cu_seqlens_kv, 0x3c, sizeof listed.cu_seqlens_kv);
    memset(name, 'x', sizeof name);
    const fovea_tensors tensors = trial_tensors(&actual);
    for (int run = 0; run < 2; run++) {
      trial_clear(&actual);
      assert_int_equal(fovea_plan_run(plan, &tensors, NULL, NULL), FOVEA_OK);
      trial_load(&actual);
      assert_same_outputs(&actual, &expected);
    }
    assert_string_equal(fovea_plan_isa(plan), "scalar");
    fovea_plan_destroy(plan);
    trial_destroy(&expected);
    trial_destroy(&actual);
  }
}

/* Many rows give work for several workers. */
static void test_tasks(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 2048, 2048, 64, 64);
  fovea_plan *plan = plan_of(&problem, NULL);
  assert_true(fovea_plan_phases(plan) >= 1);
  assert_true(fovea_plan_tasks(plan, 0) >= 8);
  fovea_plan_destroy(plan);
}

/* Without rows, nothing is written by any plan. */
static void test_no_rows(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 3, 2, 1, 0, 50, 8, 8);
  struct trial trial = trial_create(&problem, 1);
  trial_run(&trial, NULL, NULL);
  assert_true(tensor_is_untouched(&trial.o));
  const fovea_counts counts = counts_of(&problem, NULL);
  assert_int_equal(counts.pairs_visible, 0);
  assert_int_equal(counts.pairs_computed, 0);
  trial_destroy(&trial);
}

/* (batch, rows, heads, dim), as projections write it. */
static void test_rows_before_heads(void **state) {
  (void)state;
  const fovea_strides strides = fovea_strides_rows_before_heads(5, 3, 7);
  assert_int_equal(strides.batch, 5 * 3 * 7);
  assert_int_equal(strides.row, 3 * 7);
  assert_int_equal(strides.head, 7);
}

/* A run names the set of its plan, or none: another would not be used. One execution serves both calls. */
static void test_runs_on_the_set_of_the_plan(void **state) {
  (void)state;
  const char *const *isas = whole_isas();
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, 3, 40, 8, 8);
  struct trial trial = trial_create(&problem, 1), expected = trial_create(&problem, 1);
  const fovea_tensors tensors = trial_tensors(&trial);
  trial_run(&expected, NULL, NULL);
  for (int planned = -1; planned < 0 || isas[planned] != NULL; planned++) {
    fovea_plan *plan = plan_of(&problem, planned < 0 ? NULL : isas[planned]);
    for (int named = -1; named < 0 || isas[named] != NULL; named++) {
      fovea_error error = {.text = ""};
      const char *isa = named < 0 ? NULL : isas[named];
      trial_clear(&trial);
      const fovea_status status = fovea_plan_run(plan, &tensors, on_isa(isa), &error);
      trial_load(&trial);
      if (named < 0 || named == planned) assert_int_equal(status, FOVEA_OK);
      if (status == FOVEA_OK) {
        assert_string_equal(set_of(isa != NULL ? isa : fovea_plan_isa(plan)), fovea_plan_isa(plan));
        assert_same_outputs(&trial, &expected);
      } else {
        assert_int_equal(status, FOVEA_ERROR_UNUSED);
        assert_non_null(strstr(error.text, "would not be used: the plan was made for"));
        assert_non_null(strstr(error.text, fovea_plan_isa(plan)));
        assert_true(tensor_is_untouched(&trial.o));
      }
    }
    assert_int_equal(fovea_plan_run(plan, &tensors, on_isa("avx9000"), NULL), FOVEA_ERROR_ARGUMENT);
    fovea_plan_destroy(plan);
  }
  trial_destroy(&trial);
  trial_destroy(&expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_runs_on_the_set_of_the_plan),
      cmocka_unit_test(test_little_is_wasted),
      cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_scratch_of_large_dims),
      cmocka_unit_test(test_plan_of_a_large_batch),
      cmocka_unit_test(test_plan_owns_its_lengths),
      cmocka_unit_test(test_tasks),
      cmocka_unit_test(test_no_rows),
      cmocka_unit_test(test_rows_before_heads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
