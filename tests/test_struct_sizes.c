/* Structs of other versions. A program that was compiled with fewer fields works as before; memory beyond its
 * fields is neither read nor written. A program with more fields is refused. */
#include "support/check.h"
#include "support/trial.h"

#include <fovea/pattern.h>

#include <string.h>

/* The sizes of the first version. */
enum { FIRST_PROBLEM = offsetof(fovea_problem, q_type), FIRST_TENSORS = offsetof(fovea_tensors, mask) };

/* Sizes that a struct has had, or may have between two versions. */
static const size_t problem_sizes[] = {
    FIRST_PROBLEM,
    offsetof(fovea_problem, k_type),
    offsetof(fovea_problem, mask_type),
    offsetof(fovea_problem, mask_strides),
    offsetof(fovea_problem, mask_keys),
    offsetof(fovea_problem, softcap),
    offsetof(fovea_problem, sink),
    offsetof(fovea_problem, segmented),
    offsetof(fovea_problem, mask_begin),
    offsetof(fovea_problem, mask_begins),
    offsetof(fovea_problem, score_output),
    offsetof(fovea_problem, pattern),
    offsetof(fovea_problem, patterns),
    offsetof(fovea_problem, terms),
    offsetof(fovea_problem, scales),
    offsetof(fovea_problem, normaliser),
    offsetof(fovea_problem, score_heads),
    offsetof(fovea_problem, top_k),
    offsetof(fovea_problem, score_activation),
    offsetof(fovea_problem, shaw),
    offsetof(fovea_problem, shaw_heads),
    offsetof(fovea_problem, key_centre),
    sizeof(fovea_problem),
};
static const size_t tensors_sizes[] = {FIRST_TENSORS,
                                       offsetof(fovea_tensors, sinks),
                                       offsetof(fovea_tensors, terms),
                                       offsetof(fovea_tensors, shaw_keys),
                                       offsetof(fovea_tensors, key_centre),
                                       sizeof(fovea_tensors)};
enum {
  PROBLEM_SIZES = sizeof problem_sizes / sizeof problem_sizes[0],
  TENSORS_SIZES = sizeof tensors_sizes / sizeof tensors_sizes[0]
};

static struct trial trial, expected;

static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, 20, 150, 16, 12);
  trial = trial_create(&problem, 1);
  expected = trial_create(&problem, 1);
  trial_run(&expected, NULL, NULL);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  trial_destroy(&trial);
  trial_destroy(&expected);
  return 0;
}

/* Memory with `size` bytes right before a guard page, or followed by bytes that are nonsense as fields. */
static struct guarded create_struct(size_t size, int at_end) {
  struct guarded memory = guarded_create(at_end ? size : 2 * sizeof(fovea_problem), GUARD_AT_END);
  memset(memory.data, 0xf7, memory.size);
  return memory;
}

static int rest_is_intact(const struct guarded *memory, size_t size) {
  for (size_t i = size; i < memory->size; i++)
    if (memory->data[i] != 0xf7) return 0;
  return 1;
}

static void check_sizes(size_t problem_size, size_t tensors_size, int at_end) {
  struct guarded problem_memory = create_struct(problem_size, at_end);
  struct guarded tensors_memory = create_struct(tensors_size, at_end);
  fovea_problem *problem = (void *)problem_memory.data;
  fovea_tensors *tensors = (void *)tensors_memory.data;
  fovea_problem_init_sized(problem, problem_size, 2, 4, 2, 20, 150, 16, 12);
  fovea_tensors_init_sized(tensors, tensors_size, trial.q.data, trial.k.data, trial.v.data, trial.o.data,
                           trial.lse.data);
  assert_memory_equal(problem_memory.data, &problem_size, sizeof problem_size);
  assert_memory_equal(tensors_memory.data, &tensors_size, sizeof tensors_size);
  assert_true(rest_is_intact(&problem_memory, problem_size));
  assert_true(rest_is_intact(&tensors_memory, tensors_size));

  trial_clear(&trial);
  fovea_error error;
  if (fovea_attend(problem, tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_same_outputs(&trial, &expected);
  fovea_plan *plan;
  if (fovea_plan_create(problem, NULL, &plan, &error) != FOVEA_OK) fail_msg("%s", error.text);
  trial_clear(&trial);
  if (fovea_plan_run(plan, tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_same_outputs(&trial, &expected);
  fovea_plan_destroy(plan);

  assert_true(rest_is_intact(&problem_memory, problem_size));
  assert_true(rest_is_intact(&tensors_memory, tensors_size));
  guarded_destroy(&problem_memory);
  guarded_destroy(&tensors_memory);
}

/* Right before a guard page a struct would be misaligned if its size is no multiple of its alignment. */
static void test_earlier_sizes(void **state) {
  (void)state;
  for (int i = 0; i < PROBLEM_SIZES; i++)
    for (int j = 0; j < TENSORS_SIZES; j++) {
      check_sizes(problem_sizes[i], tensors_sizes[j], 0);
      if (problem_sizes[i] % _Alignof(fovea_problem) == 0) check_sizes(problem_sizes[i], tensors_sizes[j], 1);
    }
}

/* The sizes of the first version, which existing programs have. */
static void test_first_sizes(void **state) {
  (void)state;
  if (sizeof(void *) != 8) skip();
  assert_int_equal(FIRST_PROBLEM, 288);
  assert_int_equal(FIRST_TENSORS, 48);
  assert_int_equal(sizeof(fovea_execution), 80);
}

static void assert_size_refused(size_t problem_size, size_t tensors_size) {
  fovea_problem problem = trial.problem;
  fovea_tensors tensors = trial_tensors(&trial);
  problem.struct_size = problem_size;
  tensors.struct_size = tensors_size;
  fovea_plan *plan;
  trial_clear(&trial);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  if (fovea_plan_create(&problem, NULL, &plan, NULL) == FOVEA_OK) {
    assert_int_equal(fovea_plan_run(plan, &tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
    fovea_plan_destroy(plan);
  }
  assert_true(tensor_is_untouched(&trial.o));
}

static void test_other_sizes(void **state) {
  (void)state;
  const size_t problem = sizeof(fovea_problem), tensors = sizeof(fovea_tensors);
  for (size_t less = 1; less <= FIRST_PROBLEM; less++) assert_size_refused(FIRST_PROBLEM - less, tensors);
  for (size_t less = 1; less <= FIRST_TENSORS; less++) assert_size_refused(problem, FIRST_TENSORS - less);
  for (size_t more = 1; more <= 64; more++) {
    assert_size_refused(problem + more, tensors);
    assert_size_refused(problem, tensors + more);
  }
  assert_size_refused(SIZE_MAX, tensors);
  assert_size_refused(problem, SIZE_MAX);
}

/* An initialiser that is called with more fields than the library knows leaves the further ones alone. */
static void test_later_initialisers(void **state) {
  (void)state;
  struct guarded memory = create_struct(0, 0);
  fovea_problem_init_sized((void *)memory.data, memory.size, 2, 4, 2, 20, 150, 16, 12);
  assert_true(rest_is_intact(&memory, sizeof(fovea_problem)));
  memset(memory.data, 0xf7, memory.size);
  fovea_tensors_init_sized((void *)memory.data, memory.size, NULL, NULL, NULL, NULL, NULL);
  assert_true(rest_is_intact(&memory, sizeof(fovea_tensors)));
  memset(memory.data, 0xf7, memory.size);
  fovea_execution_init_sized((void *)memory.data, memory.size);
  assert_true(rest_is_intact(&memory, sizeof(fovea_execution)));
  memset(memory.data, 0xf7, memory.size);
  fovea_pattern_options_init_sized((void *)memory.data, memory.size, NULL, 20, 150);
  assert_true(rest_is_intact(&memory, sizeof(fovea_pattern_options)));
  guarded_destroy(&memory);
}

/* Options of a pattern: one size so far, right before a guard page, too. */
static void test_pattern_options(void **state) {
  (void)state;
  const size_t size = sizeof(fovea_pattern_options);
  const fovea_rule causal = fovea_rule_causal();
  for (int at_end = 0; at_end < 2; at_end++) {
    struct guarded memory = create_struct(size, at_end);
    fovea_pattern_options *options = (void *)memory.data;
    fovea_pattern *pattern;
    fovea_pattern_options_init_sized(options, size, &causal, 20, 150);
    assert_int_equal(fovea_pattern_create(options, &pattern, NULL), FOVEA_OK);
    fovea_pattern_destroy(pattern);
    for (size_t other = 0; other <= size + 64; other++) {
      if (other == size) continue;
      options->struct_size = other;
      assert_int_equal(fovea_pattern_create(options, &pattern, NULL), FOVEA_ERROR_ARGUMENT);
      assert_null(pattern);
    }
    assert_true(rest_is_intact(&memory, size));
    guarded_destroy(&memory);
  }
}

/* A program that does not know patterns has none, whatever lies behind its fields. */
static void test_fields_of_patterns(void **state) {
  (void)state;
  fovea_problem problem = trial.problem;
  const fovea_tensors tensors = trial_tensors(&trial);
  fovea_pattern *pattern;
  fovea_pattern_options options;
  const fovea_rule none = fovea_rule_keys(0, 0);
  fovea_pattern_options_init(&options, &none, 150, 150);
  assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
  const fovea_pattern *const patterns[] = {pattern, pattern};
  problem.patterns = patterns;
  problem.struct_size = offsetof(fovea_problem, patterns);
  trial_clear(&trial);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_same_outputs(&trial, &expected);
  problem.pattern = pattern;
  problem.struct_size = offsetof(fovea_problem, pattern);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_same_outputs(&trial, &expected);
  problem.struct_size = offsetof(fovea_problem, patterns);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  for (int64_t d = 0; d < trial.o.dim; d++) assert_int_equal(bits_of(trial.o.data[d]), 0);
  fovea_pattern_destroy(pattern);
}

/* Fields that a program does not have count as not set, and fields that it has are read. */
static void test_fields_in_between(void **state) {
  (void)state;
  fovea_problem problem = trial.problem;
  problem.mask_type = FOVEA_MASK_BOOL;
  problem.softcap = 1.0;
  problem.sink = FOVEA_SINK_ZERO;
  problem.struct_size = offsetof(fovea_problem, mask_type); /* types, and nothing after them */
  const fovea_tensors tensors = trial_tensors(&trial);
  trial_clear(&trial);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_same_outputs(&trial, &expected);
  problem.q_type = (fovea_type)7;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_earlier_sizes),      cmocka_unit_test(test_first_sizes),
      cmocka_unit_test(test_other_sizes),        cmocka_unit_test(test_later_initialisers),
      cmocka_unit_test(test_fields_in_between),  cmocka_unit_test(test_pattern_options),
      cmocka_unit_test(test_fields_of_patterns),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
