/* Structs have one size so far: a program that was compiled with another one is refused, and no memory beyond the size
 * that an initialiser is told is written. */
#include "support/check.h"
#include "support/trial.h"

#include <fovea/pattern.h>

#include <string.h>

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

/* Right before a guard page, and among bytes that are nonsense as fields. */
static void test_struct_memory(void **state) {
  (void)state;
  for (int at_end = 0; at_end < 2; at_end++) {
    struct guarded problem_memory = create_struct(sizeof(fovea_problem), at_end);
    struct guarded tensors_memory = create_struct(sizeof(fovea_tensors), at_end);
    fovea_problem *problem = (void *)problem_memory.data;
    fovea_tensors *tensors = (void *)tensors_memory.data;
    fovea_problem_init(problem, 2, 4, 2, 20, 150, 16, 12);
    fovea_tensors_init(tensors, trial.q.data, trial.k.data, trial.v.data, trial.o.data, trial.lse.data);
    trial_clear(&trial);
    fovea_error error;
    if (fovea_attend(problem, tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    assert_same_outputs(&trial, &expected);
    assert_true(rest_is_intact(&problem_memory, sizeof *problem));
    assert_true(rest_is_intact(&tensors_memory, sizeof *tensors));
    guarded_destroy(&problem_memory);
    guarded_destroy(&tensors_memory);
  }
}

/* An initialiser that is told a smaller size writes that much, and says so. */
static void test_smaller_sizes(void **state) {
  (void)state;
  for (size_t size = sizeof(size_t); size < sizeof(fovea_problem); size += 24) {
    struct guarded memory = create_struct(size, 0);
    fovea_problem_init_sized((void *)memory.data, size, 2, 4, 2, 20, 150, 16, 12);
    assert_memory_equal(memory.data, &size, sizeof size);
    assert_true(rest_is_intact(&memory, size));
    guarded_destroy(&memory);
  }
  for (size_t size = sizeof(size_t); size < sizeof(fovea_tensors); size += 24) {
    struct guarded memory = create_struct(size, 0);
    fovea_tensors_init_sized((void *)memory.data, size, trial.q.data, trial.k.data, trial.v.data, trial.o.data,
                             NULL);
    assert_memory_equal(memory.data, &size, sizeof size);
    assert_true(rest_is_intact(&memory, size));
    guarded_destroy(&memory);
  }
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
  for (size_t size = 0; size < problem; size++) assert_size_refused(size, tensors);
  for (size_t size = 0; size < tensors; size++) assert_size_refused(problem, size);
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
  fovea_pattern_options_init_sized((void *)memory.data, memory.size, sizeof(fovea_rule), NULL, 20, 150);
  assert_true(rest_is_intact(&memory, sizeof(fovea_pattern_options)));
  guarded_destroy(&memory);
}

/* Structs that a call sets begin empty, so that they are so after a refusal, too. */
static void test_reports(void **state) {
  (void)state;
  struct guarded memory = create_struct(0, 0);
  fovea_isa_report *report = (void *)memory.data, none = {.struct_size = sizeof none};
  fovea_isa_report_init(report);
  assert_memory_equal(report, &none, sizeof none);
  assert_true(rest_is_intact(&memory, sizeof none));
  assert_int_equal(fovea_isa_at(0, report), FOVEA_OK);
  assert_non_null(report->name);
  memset(memory.data, 0xf7, memory.size);
  fovea_library_info *info = (void *)memory.data, nothing = {.struct_size = sizeof nothing};
  fovea_library_info_init(info);
  assert_memory_equal(info, &nothing, sizeof nothing);
  assert_true(rest_is_intact(&memory, sizeof nothing));
  assert_int_equal(fovea_info(info), FOVEA_OK);
  assert_string_equal(info->version, fovea_version());
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
    fovea_pattern_options_init_sized(options, size, sizeof causal, &causal, 20, 150);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_struct_memory), cmocka_unit_test(test_smaller_sizes),
      cmocka_unit_test(test_other_sizes),   cmocka_unit_test(test_later_initialisers),
      cmocka_unit_test(test_reports),       cmocka_unit_test(test_pattern_options),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
