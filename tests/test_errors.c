/* Every bad argument gets its status and a text that names the argument, its value and the limit. The outputs stay
 * untouched. */
#include "support/refusals.h"
#include "support/single_task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 6, 3, 10, 20, 8, 16);
  trial = trial_create(&problem, 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  trial_destroy(&trial);
  return 0;
}

static void test_good_call(void **state) {
  (void)state;
  const struct call call = good_call();
  assert_accepted(&call);
}

static void test_null(void **state) {
  (void)state;
  const struct call call = good_call();
  fovea_error error;
  static const char *const problem_words[] = {"problem", NULL}, *const tensors_words[] = {"tensors", NULL};
  assert_int_equal(fovea_attend(NULL, &call.tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, problem_words);
  assert_int_equal(fovea_attend(&call.problem, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, tensors_words);
  REFUSED(call.tensors.q = NULL, FOVEA_ERROR_ARGUMENT, "q ");
  REFUSED(call.tensors.k = NULL, FOVEA_ERROR_ARGUMENT, "k ");
  REFUSED(call.tensors.v = NULL, FOVEA_ERROR_ARGUMENT, "v ");
  REFUSED(call.tensors.o = NULL, FOVEA_ERROR_ARGUMENT, "o ");
}

static void test_null_plan(void **state) {
  (void)state;
  const struct call call = good_call();
  fovea_plan *plan = NULL;
  fovea_counts counts;
  assert_int_equal(fovea_plan_create(&call.problem, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_plan_create(NULL, NULL, &plan, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_plan_run(NULL, &call.tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(single_task(NULL, &call.tensors, 0, 0, 0, 1, NULL, 0, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_plan_counts(NULL, &counts), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_plan_create(&call.problem, NULL, &plan, NULL), FOVEA_OK);
  assert_int_equal(fovea_plan_counts(plan, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_plan_run(plan, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  fovea_plan_destroy(plan);
  fovea_plan_destroy(NULL);
}

/* A tensor without elements needs no pointer. */
static void test_null_where_empty(void **state) {
  (void)state;
  struct call call = good_call();
  call.problem.kv_len = 0;
  call.tensors.k = call.tensors.v = NULL;
  assert_accepted(&call);
  call = good_call();
  call.problem.q_len = 0;
  call.tensors.q = NULL;
  call.tensors.o = NULL;
  call.tensors.lse = NULL;
  assert_accepted(&call);
}

static void test_struct_sizes(void **state) {
  (void)state;
  REFUSED(call.problem.struct_size = 0, FOVEA_ERROR_ARGUMENT, "problem", "0");
  REFUSED(call.problem.struct_size += 8, FOVEA_ERROR_ARGUMENT, "problem", "another version",
          "not initialised: call fovea_problem_init()");
  REFUSED(memset(&call.problem, 0xaa, sizeof call.problem), FOVEA_ERROR_ARGUMENT,
          "problem.struct_size: 12297829382473034410", "not initialised: call fovea_problem_init()");
  REFUSED(call.tensors.q = (const char *)call.tensors.q + 1, FOVEA_ERROR_ARGUMENT,
          "q is 1 bytes off an address that is a multiple of 4");
  char most[32];
  snprintf(most, sizeof most, "is %llu, and", (unsigned long long)SIZE_MAX);
  REFUSED(call.problem.struct_size = SIZE_MAX, FOVEA_ERROR_ARGUMENT, "problem", most);
  REFUSED(call.tensors.struct_size = SIZE_MAX, FOVEA_ERROR_ARGUMENT, "tensors", most);
  REFUSED(call.execution.struct_size = SIZE_MAX, FOVEA_ERROR_ARGUMENT, "execution", most);
  REFUSED(call.tensors.struct_size = 4, FOVEA_ERROR_ARGUMENT, "tensors", "4");
  REFUSED(call.execution.struct_size = 1, FOVEA_ERROR_ARGUMENT, "execution", "1");
  fovea_library_info info;
  fovea_library_info_init(&info);
  info.struct_size = 3;
  assert_int_equal(fovea_info(&info), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_info(NULL), FOVEA_ERROR_ARGUMENT);
}

static void test_sizes(void **state) {
  (void)state;
  REFUSED(call.problem.batch = 0, FOVEA_ERROR_ARGUMENT, "batch", "0", "1");
  REFUSED(call.problem.heads = 0, FOVEA_ERROR_ARGUMENT, "heads", "0", "1");
  REFUSED(call.problem.kv_heads = -3, FOVEA_ERROR_ARGUMENT, "kv_heads", "-3", "1");
  REFUSED(call.problem.q_len = -1, FOVEA_ERROR_ARGUMENT, "q_len", "-1", "0");
  REFUSED(call.problem.kv_len = -7, FOVEA_ERROR_ARGUMENT, "kv_len", "-7", "0");
  REFUSED(call.problem.qk_dim = 0, FOVEA_ERROR_ARGUMENT, "qk_dim", "0", "1");
  REFUSED(call.problem.v_dim = -16, FOVEA_ERROR_ARGUMENT, "v_dim", "-16", "1");
  REFUSED(call.problem.batch = INT64_MAX, FOVEA_ERROR_ARGUMENT, "batch", "9223372036854775807");
  REFUSED(call.problem.q_len = INT64_MAX, FOVEA_ERROR_ARGUMENT, "q_len", "9223372036854775807");
  REFUSED(call.problem.kv_len = INT64_MAX, FOVEA_ERROR_ARGUMENT, "kv_len", "9223372036854775807");
  REFUSED(call.problem.qk_dim = INT64_MAX, FOVEA_ERROR_ARGUMENT, "qk_dim", "9223372036854775807");
  REFUSED((call.problem.batch = INT64_C(1) << 40, call.problem.heads = 3 << 20), FOVEA_ERROR_ARGUMENT, "batch",
          "heads", "q_len", "1099511627776", "3145728");
  REFUSED(call.problem.heads = INT64_MIN, FOVEA_ERROR_ARGUMENT, "heads", "-9223372036854775808");
}

static void test_heads(void **state) {
  (void)state;
  REFUSED(call.problem.kv_heads = 4, FOVEA_ERROR_ARGUMENT, "kv_heads", "4", "6");
  REFUSED(call.problem.kv_heads = 12, FOVEA_ERROR_ARGUMENT, "kv_heads", "12", "6");
}

static void test_strides(void **state) {
  (void)state;
  REFUSED(call.problem.q_strides.batch = INT64_MAX, FOVEA_ERROR_ARGUMENT, "q_strides", "9223372036854775807");
  REFUSED(call.problem.k_strides.row = INT64_MIN + 1, FOVEA_ERROR_ARGUMENT, "k_strides", "-9223372036854775807");
  REFUSED(call.problem.v_strides.head = INT64_MAX / 2, FOVEA_ERROR_ARGUMENT, "v_strides");
  REFUSED(call.problem.v_strides.row = INT64_MIN / 19, FOVEA_ERROR_ARGUMENT, "v_strides");
  REFUSED(call.problem.o_strides.head = INT64_MIN + 1, FOVEA_ERROR_ARGUMENT, "o_strides");
  REFUSED(call.problem.lse_strides.row = INT64_MAX, FOVEA_ERROR_ARGUMENT, "lse_strides");
}

/* An output whose elements share memory. */
static void test_colliding_outputs(void **state) {
  (void)state;
  REFUSED(call.problem.o_strides.row = 0, FOVEA_ERROR_ARGUMENT, "o_strides", "row", "0");
  REFUSED(call.problem.o_strides.row = 15, FOVEA_ERROR_ARGUMENT, "o_strides", "row", "15", "16");
  REFUSED(call.problem.o_strides.row = -15, FOVEA_ERROR_ARGUMENT, "o_strides", "row", "-15", "16");
  REFUSED(call.problem.o_strides.head = 16, FOVEA_ERROR_ARGUMENT, "o_strides");
  REFUSED(call.problem.o_strides.batch = 0, FOVEA_ERROR_ARGUMENT, "o_strides", "batch", "0");
  REFUSED(call.problem.lse_strides.row = 0, FOVEA_ERROR_ARGUMENT, "lse_strides", "row", "0");
  REFUSED(call.problem.lse_strides.head = 9, FOVEA_ERROR_ARGUMENT, "lse_strides", "9");
}

static void test_scale(void **state) {
  (void)state;
  REFUSED(call.problem.scale = NAN, FOVEA_ERROR_ARGUMENT, "scale", "nan");
  REFUSED(call.problem.scale = INFINITY, FOVEA_ERROR_ARGUMENT, "scale", "inf");
  REFUSED(call.problem.scale = -INFINITY, FOVEA_ERROR_ARGUMENT, "scale", "-inf");
  REFUSED(call.problem.scale = 3e38, FOVEA_ERROR_ARGUMENT, "scale", "e38"); /* log2(e) times it is beyond f32 */
  REFUSED(call.problem.scale = -1e300, FOVEA_ERROR_ARGUMENT, "scale", "e300");
}

static void test_rules(void **state) {
  (void)state;
  REFUSED(call.problem.window_left = -2, FOVEA_ERROR_ARGUMENT, "window_left", "-2", "-1");
  REFUSED(call.problem.window_right = INT64_MIN, FOVEA_ERROR_ARGUMENT, "window_right", "-1");
  REFUSED(call.problem.chunks.size = -1, FOVEA_ERROR_ARGUMENT, "chunks.size", "-1", "0");
  REFUSED((call.problem.chunks.size = 4, call.problem.chunks.left = -2), FOVEA_ERROR_ARGUMENT, "chunks.left", "-2",
          "-1");
  REFUSED((call.problem.chunks.size = 4, call.problem.chunks.right = -9), FOVEA_ERROR_ARGUMENT, "chunks.right",
          "-9");
  REFUSED(call.problem.causal = 2, FOVEA_ERROR_ARGUMENT, "causal", "2", "1");
  REFUSED(call.problem.offset = INT64_MAX, FOVEA_ERROR_ARGUMENT, "offset", "9223372036854775807");
  REFUSED(call.problem.offset = INT64_MIN + 1, FOVEA_ERROR_ARGUMENT, "offset", "-9223372036854775807");
  static const int64_t offsets[] = {3, INT64_MAX - 5};
  REFUSED(call.problem.offsets = offsets, FOVEA_ERROR_ARGUMENT, "offsets[1]", "9223372036854775802");
}

static void test_lengths(void **state) {
  (void)state;
  static const int64_t beyond_q[] = {10, 11}, beyond_kv[] = {21, 20}, negative[] = {5, -1}, good[] = {5, 9};
  REFUSED(call.problem.q_lens = beyond_q, FOVEA_ERROR_ARGUMENT, "q_lens[1]", "11", "10");
  REFUSED(call.problem.kv_lens = beyond_kv, FOVEA_ERROR_ARGUMENT, "kv_lens[0]", "21", "20");
  REFUSED(call.problem.q_lens = negative, FOVEA_ERROR_ARGUMENT, "q_lens[1]", "-1", "0");
  REFUSED(call.problem.kv_lens = negative, FOVEA_ERROR_ARGUMENT, "kv_lens[1]", "-1", "0");

  static const int32_t decreasing[] = {0, 6, 5}, below[] = {-1, 4, 5}, beyond[] = {0, 4, 21},
                       cumulative[] = {0, 4, 5};
  REFUSED(call.problem.cu_seqlens_q = decreasing, FOVEA_ERROR_ARGUMENT, "cu_seqlens_q[2]", "5", "6");
  REFUSED(call.problem.cu_seqlens_kv = decreasing, FOVEA_ERROR_ARGUMENT, "cu_seqlens_kv[2]", "5", "6");
  REFUSED(call.problem.cu_seqlens_q = below, FOVEA_ERROR_ARGUMENT, "cu_seqlens_q[0]", "-1", "0");
  REFUSED(call.problem.cu_seqlens_q = beyond, FOVEA_ERROR_ARGUMENT, "cu_seqlens_q[2]", "21", "10");
  REFUSED(call.problem.cu_seqlens_kv = beyond, FOVEA_ERROR_ARGUMENT, "cu_seqlens_kv[2]", "21", "20");
  REFUSED((call.problem.cu_seqlens_q = cumulative, call.problem.q_lens = good), FOVEA_ERROR_ARGUMENT,
          "cu_seqlens_q");
  REFUSED((call.problem.cu_seqlens_kv = cumulative, call.problem.kv_lens = good), FOVEA_ERROR_ARGUMENT,
          "cu_seqlens_kv");
}

static size_t numbers_in(const struct tensor *tensor) {
  return tensor->memory.size / sizeof(float);
}

static void test_overlap(void **state) {
  (void)state;
  REFUSED(call.tensors.o = trial.q.data, FOVEA_ERROR_ARGUMENT, "o ", "q");
  REFUSED(call.tensors.o = trial.k.data + numbers_in(&trial.k) - 1, FOVEA_ERROR_ARGUMENT, "o ", "k");
  REFUSED(call.tensors.v = trial.o.data - (numbers_in(&trial.v) - 1), FOVEA_ERROR_ARGUMENT, "o ", "v");
  REFUSED(call.tensors.lse = trial.o.data + 5, FOVEA_ERROR_ARGUMENT, "lse", "o");
  REFUSED(call.tensors.lse = trial.k.data, FOVEA_ERROR_ARGUMENT, "lse", "k");
  REFUSED((call.problem.o_strides.row = -16, call.tensors.o = trial.q.data), FOVEA_ERROR_ARGUMENT, "o ", "q");
}

/* Inputs may overlap each other, and an output may begin where an input ends. */
static void test_allowed_neighbours(void **state) {
  (void)state;
  struct call call = good_call();
  call.tensors.k = call.tensors.q;
  call.problem.kv_len = 10;
  assert_accepted(&call);
  struct tensor both;
  tensor_create(&both, 1, 1, 1, (int64_t)(numbers_in(&trial.q) + numbers_in(&trial.o)), (fovea_strides){0, 0, 0},
                GUARD_AT_END);
  tensor_fill_random(&both, 3, 1.0f);
  call = good_call();
  call.tensors.q = both.data;
  call.tensors.o = both.data + numbers_in(&trial.q);
  assert_accepted(&call);
  tensor_destroy(&both);
}

static void test_alignment(void **state) {
  (void)state;
  const char *const q = (const char *)trial.q.data, *const k = (const char *)trial.k.data;
  const char *const v = (const char *)trial.v.data;
  char *const o = (char *)trial.o.data, *const lse = (char *)trial.lse.data;
  REFUSED(call.tensors.q = q - 1, FOVEA_ERROR_ARGUMENT, "q ", "4");
  REFUSED(call.tensors.k = k - 2, FOVEA_ERROR_ARGUMENT, "k ", "4");
  REFUSED(call.tensors.v = v - 3, FOVEA_ERROR_ARGUMENT, "v ", "4");
  REFUSED(call.tensors.o = o - 2, FOVEA_ERROR_ARGUMENT, "o ", "4");
  REFUSED(call.tensors.lse = (float *)(void *)(lse - 1), FOVEA_ERROR_ARGUMENT, "lse ", "4");
}

static void test_scratch(void **state) {
  (void)state;
  struct call call = good_call();
  fovea_plan *plan;
  assert_int_equal(fovea_plan_create(&call.problem, NULL, &plan, NULL), FOVEA_OK);
  const size_t needed = fovea_plan_scratch_size(plan, 1);
  assert_int_equal(fovea_plan_scratch_size(plan, 0), 0);
  assert_int_equal(fovea_plan_scratch_size(plan, -1), 0);
  assert_true(needed > 0);
  fovea_plan_destroy(plan);
  char size_text[32], short_text[32];
  snprintf(size_text, sizeof size_text, "%zu", needed);
  snprintf(short_text, sizeof short_text, "%zu", needed - 1);
  struct guarded memory = guarded_create(needed + FOVEA_SCRATCH_ALIGNMENT, GUARD_AT_START);
  float *const last = (float *)(void *)(memory.data + needed) - 1; /* the last element of scratch */
#define WITH_SCRATCH(at, size)                                                                                     \
  (call.execution.threads = 1, call.execution.scratch = memory.data + (at), call.execution.scratch_size = (size))
  REFUSED(WITH_SCRATCH(0, needed - 1), FOVEA_ERROR_SPACE, "scratch_size", short_text, size_text);
  REFUSED(WITH_SCRATCH(0, 0), FOVEA_ERROR_SPACE, "scratch_size", size_text);
  REFUSED(WITH_SCRATCH(4, needed), FOVEA_ERROR_SPACE, "scratch", "4", "64");
  REFUSED(WITH_SCRATCH(32, needed), FOVEA_ERROR_SPACE, "scratch", "32", "64");
  REFUSED((WITH_SCRATCH(0, needed), call.tensors.q = last), FOVEA_ERROR_ARGUMENT, "scratch shares memory with q");
  REFUSED((WITH_SCRATCH(0, needed), call.tensors.v = last), FOVEA_ERROR_ARGUMENT, "scratch shares memory with v");
  REFUSED((WITH_SCRATCH(0, needed), call.tensors.o = last), FOVEA_ERROR_ARGUMENT, "scratch shares memory with o");
  REFUSED((WITH_SCRATCH(0, needed), call.tensors.lse = last), FOVEA_ERROR_ARGUMENT,
          "scratch shares memory with lse");
  call = good_call();
  WITH_SCRATCH(0, needed);
  assert_accepted(&call);
  guarded_destroy(&memory);
}

static void test_isa(void **state) {
  (void)state;
  REFUSED(call.execution.isa = "avx9000", FOVEA_ERROR_ARGUMENT, "isa", "avx9000");
  REFUSED(call.execution.isa = "", FOVEA_ERROR_ARGUMENT, "isa");
  fovea_isa_report isa;
  fovea_isa_report_init(&isa);
  for (int i = 0; fovea_isa_at(i, &isa) == FOVEA_OK; i++)
    if (!isa.usable) REFUSED(call.execution.isa = isa.name, FOVEA_ERROR_UNSUPPORTED, "isa", isa.name);
}

static void test_threads(void **state) {
  (void)state;
  REFUSED(call.execution.threads = -1, FOVEA_ERROR_ARGUMENT, "threads", "-1", "0");
}

static void test_memory_of_runs(void **state) {
  (void)state;
  static const char *const too_small[] = {"size is", "the run needs", NULL}, *const within[] = {"scratch",
                                                                                                "the run", NULL};
  fovea_plan *plan;
  fovea_run *run;
  fovea_error error;
  assert_int_equal(fovea_plan_create(&trial.problem, NULL, &plan, NULL), FOVEA_OK);
  const fovea_tensors tensors = trial_tensors(&trial);
  const size_t needed = fovea_plan_scratch_size(plan, 1), size = fovea_run_size(plan);
  struct guarded scratch = guarded_create((needed + 63) / 64 * 64, GUARD_AT_START);
  struct guarded memory = guarded_create((size + 63) / 64 * 64, GUARD_AT_START);
#define BIND(memory, size) fovea_run_bind(plan, &tensors, 1, scratch.data, needed, memory, size, &run, &error)
  assert_int_equal(BIND(memory.data, size), FOVEA_OK);
  assert_ptr_equal(run, memory.data);
  assert_int_equal(BIND(NULL, size), FOVEA_ERROR_ARGUMENT);
  assert_null(run);
  assert_int_equal(BIND(memory.data + 8, size), FOVEA_ERROR_SPACE);
  assert_int_equal(BIND(memory.data, size - 1), FOVEA_ERROR_SPACE);
  assert_says(&error, FOVEA_ERROR_SPACE, too_small);
  assert_int_equal(BIND(scratch.data, size), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, within);
  assert_int_equal(fovea_run_task(NULL, 0, 0, 0, NULL), FOVEA_ERROR_ARGUMENT);
  fovea_counts counts;
  static const char *const unbound[] = {"run is not bound: call fovea_run_bind()", NULL};
  memset(memory.data, 0, size);
  fovea_run *zeroed = (fovea_run *)(void *)memory.data;
  assert_int_equal(fovea_run_task(zeroed, 0, 0, 0, &error), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, unbound);
  assert_int_equal(fovea_run_counts(zeroed, &counts), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_run_size(NULL), 0);
#undef BIND
  assert_true(tensor_is_untouched(&trial.o));
  guarded_destroy(&memory);
  guarded_destroy(&scratch);
  fovea_plan_destroy(plan);
}

/* One of the task's numbers is wrong. */
static void assert_task_refused(const fovea_plan *plan, int phase, int64_t task, int worker, int workers,
                                const char *word, const char *value) {
  struct guarded scratch = guarded_create(fovea_plan_scratch_size(plan, 2), GUARD_AT_START);
  const fovea_tensors tensors = trial_tensors(&trial);
  const char *const words[] = {word, value, NULL};
  fovea_error error;
  const fovea_status status =
      single_task(plan, &tensors, phase, task, worker, workers, scratch.data, scratch.size, &error);
  assert_int_equal(status, FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
  assert_true(tensor_is_untouched(&trial.o));
  guarded_destroy(&scratch);
}

static void test_tasks(void **state) {
  (void)state;
  fovea_plan *plan;
  assert_int_equal(fovea_plan_create(&trial.problem, NULL, &plan, NULL), FOVEA_OK);
  const int phases = fovea_plan_phases(plan);
  const int64_t tasks = fovea_plan_tasks(plan, 0);
  assert_true(phases >= 1);
  assert_true(tasks >= 1);
  assert_int_equal(fovea_plan_tasks(plan, -1), 0);
  assert_int_equal(fovea_plan_tasks(plan, phases), 0);
  char phases_text[32], tasks_text[32];
  snprintf(phases_text, sizeof phases_text, "%d", phases);
  snprintf(tasks_text, sizeof tasks_text, "%lld", (long long)tasks);
  assert_task_refused(plan, -1, 0, 0, 2, "phase", "-1");
  assert_task_refused(plan, phases, 0, 0, 2, "phase", phases_text);
  assert_task_refused(plan, 0, -1, 0, 2, "task", "-1");
  assert_task_refused(plan, 0, tasks, 0, 2, "task", tasks_text);
  assert_task_refused(plan, 0, 0, -1, 2, "worker", "-1");
  assert_task_refused(plan, 0, 0, 2, 2, "worker", "2");
  assert_task_refused(plan, 0, 0, 0, 0, "workers", "0");

  const fovea_tensors tensors = trial_tensors(&trial);
  const size_t needed = fovea_plan_scratch_size(plan, 2);
  struct guarded scratch = guarded_create(needed, GUARD_AT_START);
  unsigned char *at = scratch.data;
  assert_int_equal(single_task(plan, &tensors, 0, 0, 0, 2, at, needed - 1, NULL), FOVEA_ERROR_SPACE);
  assert_int_equal(single_task(plan, &tensors, 0, 0, 0, 2, at + 4, needed, NULL), FOVEA_ERROR_SPACE);
  assert_int_equal(single_task(plan, &tensors, 0, 0, 0, 2, NULL, needed, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(single_task(plan, NULL, 0, 0, 0, 2, at, needed, NULL), FOVEA_ERROR_ARGUMENT);
  assert_true(tensor_is_untouched(&trial.o));
  guarded_destroy(&scratch);
  fovea_plan_destroy(plan);
}

/* The plain call returns a status only. */
static void test_plain_call(void **state) {
  (void)state;
  const float *q = trial.q.data, *k = trial.k.data, *v = trial.v.data;
  float *o = trial.o.data;
  assert_int_equal(fovea_attention(NULL, k, v, o, 1, 2, 1, 4, 4, 8, 0), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_attention(q, k, v, NULL, 1, 2, 1, 4, 4, 8, 0), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_attention(q, k, v, o, 0, 2, 1, 4, 4, 8, 0), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_attention(q, k, v, o, 1, 2, 1, 4, 4, -8, 0), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_attention(q, k, v, o, 1, 3, 2, 4, 4, 8, 0), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_attention(q, k, v, o, 1, 2, 1, 4, 4, 8, 7), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_attention(o, k, v, o, 1, 2, 1, 4, 4, 8, 0), FOVEA_ERROR_ARGUMENT);
  assert_true(tensor_is_untouched(&trial.o));
}

static void test_status_texts(void **state) {
  (void)state;
  static const int statuses[] = {0, 1, 2, 3, 4, 5, 6}; /* no status has the last number */
  const int count = (int)(sizeof statuses / sizeof statuses[0]);
  for (int i = 0; i < count; i++) {
    assert_non_null(fovea_status_text((fovea_status)statuses[i]));
    for (int j = 0; j < i; j++)
      assert_string_not_equal(fovea_status_text((fovea_status)statuses[i]),
                              fovea_status_text((fovea_status)statuses[j]));
  }
  assert_non_null(fovea_status_text((fovea_status)12345));
  assert_non_null(fovea_status_text((fovea_status)-1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good_call),
      cmocka_unit_test(test_null),
      cmocka_unit_test(test_null_plan),
      cmocka_unit_test(test_null_where_empty),
      cmocka_unit_test(test_struct_sizes),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_heads),
      cmocka_unit_test(test_strides),
      cmocka_unit_test(test_colliding_outputs),
      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_overlap),
      cmocka_unit_test(test_allowed_neighbours),
      cmocka_unit_test(test_alignment),
      cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_isa),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_memory_of_runs),
      cmocka_unit_test(test_tasks),
      cmocka_unit_test(test_plain_call),
      cmocka_unit_test(test_status_texts),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
