/* A caller's allocator: all memory of plans and runs comes from it and goes back to it, whichever request it
 * refuses. Linked with --wrap, so that a call of malloc() is noticed. */
#define _DEFAULT_SOURCE
#include "src/base/memory.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/guarded.h"
#include "support/trial.h"

#include <pthread.h>
#include <string.h>

static int mallocs;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size) {
  mallocs++;
  return __real_malloc(size);
}

/* Gives memory that ends at a guard page and holds NaN, to one thread only. */
enum { BLOCKS = 8 };

struct bank {
  pthread_t owner;
  int requests, allowed; /* further requests are refused */
  size_t shift;          /* bytes off the requested alignment */
  int wrong;             /* calls that should not happen */
  struct guarded blocks[BLOCKS];
  size_t sizes[BLOCKS];
};

static struct bank bank;

static void *bank_allocate(void *context, size_t size, size_t alignment) {
  struct bank *from = context;
  if (from != &bank || alignment != FOVEA_SCRATCH_ALIGNMENT || !pthread_equal(pthread_self(), from->owner))
    bank.wrong++;
  if (from->requests >= from->allowed || from->requests >= BLOCKS) return NULL;
  struct guarded *block = &from->blocks[from->requests];
  from->sizes[from->requests++] = size;
  *block = guarded_create((size + alignment - 1) / alignment * alignment + from->shift, GUARD_AT_END);
  memset(block->data, 0xff, block->size);
  return block->data;
}

static void bank_release(void *context, void *pointer) {
  struct bank *to = context;
  for (int i = 0; i < BLOCKS; i++) {
    if (pointer == NULL || to->blocks[i].data != pointer) continue;
    if (!guarded_slack_intact(&to->blocks[i])) bank.wrong++;
    guarded_destroy(&to->blocks[i]);
    return;
  }
  bank.wrong++;
}

static int blocks_held(void) {
  int held = 0;
  for (int i = 0; i < BLOCKS; i++) held += bank.blocks[i].data != NULL;
  return held;
}

static void open_bank(int allowed) {
  bank = (struct bank){.owner = pthread_self(), .allowed = allowed};
  mallocs = 0;
}

static const fovea_allocator from_bank = {&bank, bank_allocate, bank_release};
static struct trial trial, expected;

static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 40, 4, 2, 30, 130, 16, 16); /* too many batch elements for a plan on the stack */
  problem.causal = 1;
  problem.k_type = FOVEA_BF16;
  problem.mask.type = FOVEA_MASK_BOOL;
  expected = trial_create(&problem, 1);
  trial_run(&expected, NULL, NULL);
  trial = trial_create(&problem, 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  trial_destroy(&trial);
  trial_destroy(&expected);
  return 0;
}

static fovea_execution from_bank_with(int threads, struct executor *executor) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = threads;
  execution.allocator = from_bank;
  if (executor != NULL) {
    execution.parallel_for = threads_for;
    execution.parallel_context = executor;
  }
  return execution;
}

/* Counts every request: a plan and scratch, and nothing from malloc(). */
static void test_one_call(void **state) {
  (void)state;
  const fovea_tensors tensors = trial_tensors(&trial);
  const fovea_execution execution = from_bank_with(1, NULL);
  trial_clear(&trial);
  open_bank(BLOCKS);
  const fovea_status status = fovea_attend(&trial.problem, &tensors, &execution, NULL);
  const int met = mallocs;
  assert_int_equal(status, FOVEA_OK);
  assert_int_equal(met, 0);
  assert_int_equal(bank.requests, 2);
  assert_int_equal(blocks_held(), 0);
  assert_int_equal(bank.wrong, 0);
  assert_same_outputs(&trial, &expected);
}

/* The plan keeps the allocator after the execution is gone. Its runs request exactly their scratch. */
static void test_plan(void **state) {
  (void)state;
  fovea_problem problem = trial.problem;
  fovea_execution planning = from_bank_with(1, NULL);
  fovea_plan *plan;
  open_bank(BLOCKS);
  assert_int_equal(fovea_plan_create(&problem, &planning, &plan, NULL), FOVEA_OK);
  memset(&problem, 0xff, sizeof problem);
  memset(&planning, 0xff, sizeof planning);
  assert_ptr_equal(plan, bank.blocks[0].data);
  const fovea_tensors tensors = trial_tensors(&trial);
  for (int run = 1; run <= 3; run++) {
    struct executor executor = {TASKS_SHUFFLED, 0};
    const fovea_execution execution = from_bank_with(run, run > 1 ? &executor : NULL);
    trial_clear(&trial);
    assert_int_equal(fovea_plan_run(plan, &tensors, &execution, NULL), FOVEA_OK);
    assert_int_equal(bank.requests, 1 + run);
    assert_int_equal(bank.sizes[run], fovea_plan_scratch_size(plan, run));
    assert_int_equal(blocks_held(), 1);
    assert_same_outputs(&trial, &expected);
  }
  fovea_plan_destroy(plan);
  assert_int_equal(blocks_held(), 0);
  assert_int_equal(bank.wrong, 0);
}

/* With the caller's scratch a run requests nothing. */
static void test_scratch_of_the_caller(void **state) {
  (void)state;
  fovea_plan *plan;
  fovea_execution execution = from_bank_with(1, NULL);
  open_bank(1);
  assert_int_equal(fovea_plan_create(&trial.problem, &execution, &plan, NULL), FOVEA_OK);
  struct guarded scratch = guarded_create(fovea_plan_scratch_size(plan, 1), GUARD_AT_START);
  execution.scratch = scratch.data;
  execution.scratch_size = scratch.size;
  const fovea_tensors tensors = trial_tensors(&trial);
  trial_clear(&trial);
  assert_int_equal(fovea_plan_run(plan, &tensors, &execution, NULL), FOVEA_OK);
  assert_same_outputs(&trial, &expected);
  fovea_plan_destroy(plan);
  guarded_destroy(&scratch);
  assert_int_equal(blocks_held(), 0);
  assert_int_equal(bank.wrong, 0);
}

/* If a request fails, the call returns its status, writes nothing and gives back what it has. */
static void assert_no_memory(int requests) {
  const fovea_tensors tensors = trial_tensors(&trial);
  const fovea_execution execution = from_bank_with(1, NULL);
  fovea_error error;
  trial_clear(&trial);
  assert_int_equal(fovea_attend(&trial.problem, &tensors, &execution, &error), FOVEA_ERROR_MEMORY);
  assert_int_equal(error.status, FOVEA_ERROR_MEMORY);
  assert_int_equal(bank.requests, requests);
  assert_int_equal(mallocs, 0);
  assert_int_equal(blocks_held(), 0);
  assert_int_equal(bank.wrong, 0);
  assert_true(tensor_is_untouched(&trial.o));
  assert_true(tensor_is_untouched(&trial.lse));
}

static void test_requests_turned_down(void **state) {
  (void)state;
  for (int allowed = 0; allowed < 2; allowed++) {
    open_bank(allowed);
    assert_no_memory(allowed);
  }
  fovea_plan *plan = (fovea_plan *)(void *)&trial;
  const fovea_execution execution = from_bank_with(1, NULL);
  open_bank(0);
  assert_int_equal(fovea_plan_create(&trial.problem, &execution, &plan, NULL), FOVEA_ERROR_MEMORY);
  assert_null(plan);
  open_bank(1);
  assert_int_equal(fovea_plan_create(&trial.problem, &execution, &plan, NULL), FOVEA_OK);
  const fovea_tensors tensors = trial_tensors(&trial);
  trial_clear(&trial);
  assert_int_equal(fovea_plan_run(plan, &tensors, &execution, NULL), FOVEA_ERROR_MEMORY);
  assert_true(tensor_is_untouched(&trial.o));
  fovea_plan_destroy(plan);
  assert_int_equal(blocks_held(), 0);
  assert_int_equal(bank.wrong, 0);
}

/* Memory that is not aligned as requested counts as none, and goes back. */
static void test_memory_not_aligned(void **state) {
  (void)state;
  for (size_t shift = 8; shift < FOVEA_SCRATCH_ALIGNMENT; shift *= 2) {
    open_bank(BLOCKS);
    bank.shift = shift;
    assert_no_memory(1);
  }
}

/* Sizes that no object can have are not requested. */
static void test_impossible_sizes(void **state) {
  (void)state;
  open_bank(BLOCKS);
  assert_null(fovea_allocate(&from_bank, SIZE_MAX));
  assert_null(fovea_allocate(&from_bank, (size_t)PTRDIFF_MAX + 1));
  assert_int_equal(bank.requests, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_call),
      cmocka_unit_test(test_plan),
      cmocka_unit_test(test_scratch_of_the_caller),
      cmocka_unit_test(test_requests_turned_down),
      cmocka_unit_test(test_memory_not_aligned),
      cmocka_unit_test(test_impossible_sizes),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
