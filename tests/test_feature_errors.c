/* Like test_errors.c, for types, masks, softcap, sinks and allocators: each bad argument, its status and text. */
#include "support/refusals.h"

#include <math.h>

/* One of everything. */
static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 6, 3, 10, 20, 8, 16);
  problem.q_type = problem.v_type = FOVEA_F16;
  problem.k_type = problem.o_type = FOVEA_BF16;
  problem.mask.type = FOVEA_MASK_F16;
  problem.softcap = 5.0;
  problem.sink = FOVEA_SINK_PER_HEAD;
  trial = trial_create(&problem, 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  trial_destroy(&trial);
  return 0;
}

static void test_types(void **state) {
  (void)state;
  ACCEPTED((void)0);
  REFUSED(call.problem.q_type = (fovea_type)3, FOVEA_ERROR_ARGUMENT, "q_type", "3", "2");
  REFUSED(call.problem.k_type = (fovea_type)-1, FOVEA_ERROR_ARGUMENT, "k_type", "-1", "0");
  REFUSED(call.problem.v_type = (fovea_type)99, FOVEA_ERROR_ARGUMENT, "v_type", "99", "2");
  REFUSED(call.problem.o_type = (fovea_type)INT32_MAX, FOVEA_ERROR_ARGUMENT, "o_type", "2147483647", "2");
  REFUSED(call.problem.mask.type = (fovea_mask_type)6, FOVEA_ERROR_ARGUMENT, "mask.type", "6", "5");
  REFUSED(call.problem.mask.type = (fovea_mask_type)INT32_MIN, FOVEA_ERROR_ARGUMENT, "mask.type", "-2147483648");
  REFUSED(call.problem.sink = (fovea_sink)3, FOVEA_ERROR_ARGUMENT, "sink", "3", "2");
  REFUSED(call.problem.sink = (fovea_sink)-7, FOVEA_ERROR_ARGUMENT, "sink", "-7", "0");
}

static void test_masks(void **state) {
  (void)state;
  static const int64_t zeros[] = {0, 0};
  ACCEPTED(call.problem.mask.keys = FOVEA_UNLIMITED);
  REFUSED(call.problem.mask.keys = -2, FOVEA_ERROR_ARGUMENT, "mask.keys", "-2", "0", "20");
  REFUSED(call.problem.mask.keys = 21, FOVEA_ERROR_ARGUMENT, "mask.keys", "21", "20");
  REFUSED(call.problem.mask.keys = INT64_MAX, FOVEA_ERROR_ARGUMENT, "mask.keys", "9223372036854775807");
  REFUSED(call.problem.mask.strides.key = 2, FOVEA_ERROR_ARGUMENT, "mask.strides.key", "2", "1");
  REFUSED(call.problem.mask.strides.key = -1, FOVEA_ERROR_ARGUMENT, "mask.strides.key", "-1");
#define BITS                                                                                                       \
  (call.problem.mask.type = FOVEA_MASK_BITS,                                                                       \
   call.problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BITS, 2, 6, 10, 20))
  ACCEPTED(BITS);
  REFUSED((BITS, call.problem.mask.strides.row = 20), FOVEA_ERROR_ARGUMENT, "mask.strides.row", "20", "8");
  REFUSED((BITS, call.problem.mask.strides.head = 241), FOVEA_ERROR_ARGUMENT, "mask.strides.head", "241", "8");
  REFUSED((BITS, call.problem.mask.strides.batch = -4), FOVEA_ERROR_ARGUMENT, "mask.strides.batch", "-4", "8");
  ACCEPTED((BITS, call.problem.mask.strides.batch = 0, call.problem.mask.strides.row = 0));
#define NO_MASK (call.problem.mask.type = FOVEA_MASK_NONE, call.tensors.mask = NULL)
  ACCEPTED((NO_MASK, call.problem.mask.strides.key = 9)); /* a set stride cannot be told from the default */
  REFUSED((NO_MASK, call.problem.mask.keys = 20), FOVEA_ERROR_UNUSED, "mask.keys", "mask.type", "FOVEA_MASK_NONE");
  REFUSED((NO_MASK, call.problem.mask.keys = -5), FOVEA_ERROR_UNUSED, "mask.keys", "mask.type");
  REFUSED((NO_MASK, call.problem.mask.begin = 1), FOVEA_ERROR_UNUSED, "mask.begin ", "mask.type",
          "FOVEA_MASK_NONE");
  REFUSED((NO_MASK, call.problem.mask.begins = zeros), FOVEA_ERROR_UNUSED, "mask.begins", "mask.type");
  REFUSED(call.problem.mask.type = FOVEA_MASK_NONE, FOVEA_ERROR_UNUSED, "mask is not NULL", "mask.type");
}

static void test_mask_begin(void **state) {
  (void)state;
  static const int64_t zeros[] = {0, 0}, good[] = {20, 7}, beyond[] = {20, 21}, negative[] = {-1, 0},
                       lens[] = {20, 6};
  static const int32_t packed[] = {2, 9, 20};
  ACCEPTED(call.problem.mask.begin = 20);
  ACCEPTED(call.problem.mask.begins = good);
  REFUSED(call.problem.mask.begin = 21, FOVEA_ERROR_ARGUMENT, "mask.begin is 21", "kv_len", "20");
  REFUSED(call.problem.mask.begin = -1, FOVEA_ERROR_ARGUMENT, "mask.begin is -1", "from 0 to");
  REFUSED(call.problem.mask.begin = INT64_MIN, FOVEA_ERROR_ARGUMENT, "mask.begin is -9223372036854775808");
  REFUSED((call.problem.mask.begin = 3, call.problem.mask.begins = zeros), FOVEA_ERROR_UNUSED, "mask.begin is 3",
          "mask.begins");
  REFUSED(call.problem.mask.begins = beyond, FOVEA_ERROR_ARGUMENT, "mask.begins[1] is 21", "20");
  REFUSED(call.problem.mask.begins = negative, FOVEA_ERROR_ARGUMENT, "mask.begins[0] is -1");
  REFUSED((call.problem.mask.begins = good, call.problem.kv_lens = lens), FOVEA_ERROR_ARGUMENT,
          "mask.begins[1] is 7", "6");
  REFUSED((call.problem.mask.begins = good, call.problem.cu_seqlens_kv = packed), FOVEA_ERROR_ARGUMENT,
          "mask.begins[0] is 20", "7");
  ACCEPTED((call.problem.mask.begin = 5, call.problem.mask.keys = 15));
  REFUSED((call.problem.mask.begin = 5, call.problem.mask.keys = 16), FOVEA_ERROR_ARGUMENT, "mask.keys is 16",
          "mask.begin", "15");
  ACCEPTED((call.problem.mask.begins = zeros, call.problem.mask.keys = 20));
  REFUSED((call.problem.mask.begins = zeros, call.problem.mask.keys = 21), FOVEA_ERROR_ARGUMENT, "mask.keys is 21",
          "20");
  ACCEPTED((call.problem.mask.begin = 20, call.tensors.mask = NULL)); /* no element of the mask is read */
}

static void test_mask_strides(void **state) {
  (void)state;
  REFUSED(call.problem.mask.strides.batch = INT64_MAX, FOVEA_ERROR_ARGUMENT, "mask.strides", "9223372036854775807");
  REFUSED(call.problem.mask.strides.head = INT64_MIN + 1, FOVEA_ERROR_ARGUMENT, "mask.strides",
          "-9223372036854775807");
  REFUSED(call.problem.mask.strides.row = INT64_MAX / 9, FOVEA_ERROR_ARGUMENT, "mask.strides");
}

static void test_softcap(void **state) {
  (void)state;
  REFUSED(call.problem.softcap = -1.0, FOVEA_ERROR_ARGUMENT, "softcap", "-1");
  REFUSED(call.problem.softcap = NAN, FOVEA_ERROR_ARGUMENT, "softcap", "nan");
  REFUSED(call.problem.softcap = INFINITY, FOVEA_ERROR_ARGUMENT, "softcap", "inf");
  REFUSED(call.problem.softcap = 3e38, FOVEA_ERROR_ARGUMENT, "softcap", "e38"); /* log2(e) times it is beyond f32 */
  REFUSED((call.problem.softcap = 1e-30, call.problem.scale = 1e10), FOVEA_ERROR_ARGUMENT, "softcap", "scale");
  REFUSED((call.problem.softcap = 1e-30, call.problem.scale = -1e10), FOVEA_ERROR_ARGUMENT, "softcap", "scale");
  REFUSED(call.problem.softcap = 5e-324, FOVEA_ERROR_ARGUMENT, "softcap");
  REFUSED(call.problem.scale = 3e38, FOVEA_ERROR_ARGUMENT, "scale", "e38");
  ACCEPTED(call.problem.softcap = 0.0);
  ACCEPTED(call.problem.softcap = -0.0);
  ACCEPTED((call.problem.softcap = 5e-324, call.problem.scale = 0.0));
}

static void test_null(void **state) {
  (void)state;
  REFUSED(call.tensors.mask = NULL, FOVEA_ERROR_ARGUMENT, "mask ");
  REFUSED(call.tensors.sink = NULL, FOVEA_ERROR_ARGUMENT, "sink ");
  ACCEPTED((call.tensors.sink = NULL, call.problem.sink = FOVEA_SINK_ZERO));
  ACCEPTED((call.tensors.sink = NULL, call.problem.sink = FOVEA_SINK_NONE));
  ACCEPTED((call.tensors.mask = NULL, call.problem.mask.keys = 0)); /* it has no elements */
  ACCEPTED((call.tensors.mask = call.tensors.k = call.tensors.v = NULL,
            call.problem.kv_len = call.problem.mask.keys = 0));
}

static void *allocate_nothing(void *context, size_t size, size_t alignment) {
  (void)context, (void)size, (void)alignment;
  return NULL;
}

static void release_nothing(void *context, void *pointer) {
  (void)context, (void)pointer;
}

static void test_allocator(void **state) {
  (void)state;
  REFUSED(call.execution.allocator.allocate = allocate_nothing, FOVEA_ERROR_ARGUMENT, "allocator.release ", "both");
  REFUSED(call.execution.allocator.release = release_nothing, FOVEA_ERROR_ARGUMENT, "allocator.allocate ", "both");
  REFUSED(
      (call.execution.allocator.allocate = allocate_nothing, call.execution.allocator.release = release_nothing),
      FOVEA_ERROR_MEMORY, "No memory");
}

static const char *offset_by(const void *pointer, int64_t bytes) {
  return (const char *)pointer + bytes;
}

static void test_alignment(void **state) {
  (void)state;
  REFUSED(call.tensors.q = offset_by(call.tensors.q, -1), FOVEA_ERROR_ARGUMENT, "q ", "2");
  REFUSED(call.tensors.k = offset_by(call.tensors.k, 1), FOVEA_ERROR_ARGUMENT, "k ", "2");
  REFUSED(call.tensors.v = offset_by(call.tensors.v, -3), FOVEA_ERROR_ARGUMENT, "v ", "2");
  REFUSED(call.tensors.o = (char *)call.tensors.o - 1, FOVEA_ERROR_ARGUMENT, "o ", "2");
  REFUSED(call.tensors.mask = offset_by(call.tensors.mask, -1), FOVEA_ERROR_ARGUMENT, "mask ", "2");
  REFUSED((call.tensors.mask = offset_by(call.tensors.mask, -2), call.problem.mask.type = FOVEA_MASK_F32),
          FOVEA_ERROR_ARGUMENT, "mask ", "4");
  REFUSED(call.tensors.sink = (const float *)(const void *)offset_by(call.tensors.sink, -2), FOVEA_ERROR_ARGUMENT,
          "sink ", "4");
  REFUSED((call.tensors.q = offset_by(call.tensors.q, -2), call.problem.q_type = FOVEA_F32), FOVEA_ERROR_ARGUMENT,
          "q ", "4");
  ACCEPTED((call.tensors.mask = offset_by(call.tensors.mask, 1), call.problem.mask.type = FOVEA_MASK_BOOL));
}

static void test_overlap(void **state) {
  (void)state;
  REFUSED(call.tensors.o = trial.q.stored, FOVEA_ERROR_ARGUMENT, "o ", "q");
  REFUSED(call.tensors.mask = trial.o.stored + 3, FOVEA_ERROR_ARGUMENT, "o ", "mask");
  REFUSED(call.tensors.mask = trial.o.stored - (trial.mask.memory.size / 2 - 1), FOVEA_ERROR_ARGUMENT, "o ",
          "mask");
  REFUSED(call.tensors.sink = (const float *)(const void *)(trial.o.stored + 64), FOVEA_ERROR_ARGUMENT, "o ",
          "sink");
  REFUSED(call.tensors.sink = trial.lse.data + 1, FOVEA_ERROR_ARGUMENT, "lse", "sink");
  REFUSED(call.tensors.lse = (float *)(void *)trial.mask.data, FOVEA_ERROR_ARGUMENT, "lse", "mask");
  const fovea_mask_strides one_row = {0, 0, 0, 1};
  ACCEPTED((call.tensors.mask = trial.k.stored, call.problem.mask.strides = one_row)); /* inputs may overlap */
}

static void test_mask_layout(void **state) {
  (void)state;
  static const struct {
    fovea_mask_type type;
    int64_t shape[4];
    fovea_mask_strides strides;
  } layouts[] = {
      {FOVEA_MASK_BOOL, {2, 3, 4, 5}, {60, 20, 5, 1}}, {FOVEA_MASK_F32, {2, 3, 4, 5}, {60, 20, 5, 1}},
      {FOVEA_MASK_BITS, {2, 3, 4, 5}, {96, 32, 8, 1}}, {FOVEA_MASK_BITS, {2, 3, 4, 16}, {192, 64, 16, 1}},
      {FOVEA_MASK_BF16, {1, 1, 4, 5}, {0, 0, 5, 1}},   {FOVEA_MASK_F16, {2, 1, 1, 5}, {5, 0, 0, 1}},
      {FOVEA_MASK_BITS, {2, 3, 4, 1}, {96, 32, 8, 0}}, {FOVEA_MASK_BOOL, {1, 3, 1, 1}, {0, 1, 0, 0}},
      {FOVEA_MASK_BITS, {1, 1, 7, 17}, {0, 0, 24, 1}},
  };
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    const int64_t *shape = layouts[i].shape;
    const fovea_mask_strides strides = fovea_mask_layout(layouts[i].type, shape[0], shape[1], shape[2], shape[3]);
    assert_memory_equal(&strides, &layouts[i].strides, sizeof strides);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),      cmocka_unit_test(test_masks),       cmocka_unit_test(test_mask_strides),
      cmocka_unit_test(test_softcap),    cmocka_unit_test(test_null),        cmocka_unit_test(test_alignment),
      cmocka_unit_test(test_overlap),    cmocka_unit_test(test_mask_layout), cmocka_unit_test(test_allocator),
      cmocka_unit_test(test_mask_begin),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
