/* What is allocated, and what happens if there is no memory. Linked with --wrap, so that every allocation of the
 * library comes through here. */
#include "support/check.h"
#include "support/single_task.h"
#include "support/trial.h"

#include <stdlib.h>

static int allocations, held, limit = INT32_MAX;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

static int may_allocate(void) {
  const int may = ++allocations <= limit;
  held += may;
  return may;
}
void __wrap_free(void *memory) {
  held -= memory != NULL;
  __real_free(memory);
}
void *__wrap_malloc(size_t size) {
  return may_allocate() ? __real_malloc(size) : NULL;
}
void *__wrap_calloc(size_t count, size_t size) {
  return may_allocate() ? __real_calloc(count, size) : NULL;
}
void *__wrap_realloc(void *memory, size_t size) {
  held -= memory != NULL;
  return may_allocate() ? __real_realloc(memory, size) : NULL;
}

#ifndef _WIN32 /* Windows lacks these functions */
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return may_allocate() ? __real_aligned_alloc(alignment, size) : NULL;
}
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
  return may_allocate() ? __real_posix_memalign(memory, alignment, size) : 12;
}
#endif

static struct trial trial;

static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 40, 4, 2, 30, 130, 16, 16);
  fovea_problem_resolve(&problem, NULL);
  problem.k_type = FOVEA_BF16;
  problem.o_type = FOVEA_F16;
  problem.mask.type = FOVEA_MASK_F16;
  problem.softcap = 5.0;
  problem.sink = FOVEA_SINK_PER_HEAD;
  trial = trial_create(&problem, 1);
  fovea_default_threads(); /* the process finds out now what it finds out once */
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  limit = INT32_MAX;
  trial_destroy(&trial);
  return 0;
}

static fovea_execution alone(void) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  return execution;
}

/* With a plan and scratch, nothing is allocated. */
static void test_no_allocation_with_scratch(void **state) {
  (void)state;
  fovea_plan *plan;
  fovea_counts counts;
  fovea_library_info info;
  fovea_library_info_init(&info);
  assert_int_equal(fovea_plan_create(&trial.problem, NULL, &plan, NULL), FOVEA_OK);
  struct guarded scratch = guarded_create(fovea_plan_scratch_size(plan, 1), GUARD_AT_START);
  const fovea_tensors tensors = trial_tensors(&trial);
  fovea_execution execution = alone();
  execution.scratch = scratch.data;
  execution.scratch_size = scratch.size;
  allocations = 0;
  fovea_status status = fovea_plan_run(plan, &tensors, &execution, NULL);
  for (int phase = 0; phase < fovea_plan_phases(plan); phase++)
    for (int64_t task = 0; task < fovea_plan_tasks(plan, phase) && status == FOVEA_OK; task++)
      status = single_task(plan, &tensors, phase, task, 0, 1, scratch.data, scratch.size, NULL);
  fovea_plan_counts(plan, &counts);
  fovea_info(&info);
  const int met = allocations;
  assert_int_equal(status, FOVEA_OK);
  assert_int_equal(met, 0);
  trial_load(&trial);
  assert_contract(&trial, 200000);
  guarded_destroy(&scratch);
  fovea_plan_destroy(plan);
}

/* Whichever allocation fails, the call returns its status, writes nothing and keeps no memory. Returns how many
 * allocations the call needs. */
static int allocations_needed(const fovea_problem *problem, int threads) {
  const fovea_tensors tensors = trial_tensors(&trial);
  fovea_execution execution = alone();
  execution.threads = threads;
  for (int allowed = 0; allowed < 20; allowed++) {
    fovea_error error;
    trial_clear(&trial);
    allocations = held = 0;
    limit = allowed;
    const fovea_status status = fovea_attend(problem, &tensors, &execution, &error);
    limit = INT32_MAX;
    const int kept = held;
    assert_int_equal(kept, 0);
    if (status == FOVEA_OK) return allowed;
    assert_int_equal(status, FOVEA_ERROR_MEMORY);
    assert_int_equal(error.status, FOVEA_ERROR_MEMORY);
    assert_true(tensor_is_untouched(&trial.o));
    assert_true(tensor_is_untouched(&trial.lse));
  }
  return -1;
}

static void test_no_memory(void **state) {
  (void)state;
  fovea_problem few = trial.problem;
  few.batch = 2;
  for (int threads = 0; threads <= 4; threads++) {
    assert_int_equal(allocations_needed(&few, threads), 1);           /* scratch */
    assert_int_equal(allocations_needed(&trial.problem, threads), 2); /* and a plan of many batch elements */
    trial_load(&trial);
    assert_contract(&trial, 200000);
  }
}

/* The same for the run of a plan, and for the shortest call. */
static void test_no_memory_for_runs(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_plan *plan;
  fovea_error error;
  fovea_problem_init(&problem, 33, 1, 1, 40, 50, 16, 16);
  fovea_problem_resolve(&problem, NULL);
  struct trial other = trial_create(&problem, 2);
  const fovea_tensors tensors = trial_tensors(&other);
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
  held = allocations = limit = 0;
  assert_int_equal(fovea_plan_run(plan, &tensors, NULL, &error), FOVEA_ERROR_MEMORY);
  assert_int_equal(allocations, 1);
  assert_int_equal(error.status, FOVEA_ERROR_MEMORY);
  for (limit = 0; limit < 2; limit++) { /* a plan of many batch elements, and scratch */
    allocations = 0;
    const fovea_status status =
        fovea_attention(other.q.data, other.k.data, other.v.data, other.o.data, 33, 1, 1, 40, 50, 16, 0);
    assert_int_equal(status, FOVEA_ERROR_MEMORY);
    assert_int_equal(allocations, limit + 1);
  }
  assert_int_equal(held, 0);
  assert_true(tensor_is_untouched(&other.o));
  assert_true(tensor_is_untouched(&other.lse));
  limit = INT32_MAX;
  assert_int_equal(fovea_plan_run(plan, &tensors, NULL, NULL), FOVEA_OK);
  assert_contract(&other, 200000);
  fovea_plan_destroy(plan);
  trial_destroy(&other);
}

/* A plan that cannot be made is NULL. */
static void test_no_memory_for_a_plan(void **state) {
  (void)state;
  fovea_plan *plan = (fovea_plan *)(void *)&trial;
  fovea_error error;
  limit = allocations = 0;
  const fovea_status status = fovea_plan_create(&trial.problem, NULL, &plan, &error);
  limit = INT32_MAX;
  assert_int_equal(status, FOVEA_ERROR_MEMORY);
  assert_int_equal(error.status, FOVEA_ERROR_MEMORY);
  assert_null(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_allocation_with_scratch),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_no_memory_for_runs),
      cmocka_unit_test(test_no_memory_for_a_plan),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
