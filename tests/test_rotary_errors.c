/* Rotary calls that are refused. One call would succeed; each case spoils one thing in it. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/refusals.h"

#include <fovea/rotary.h>
#include <math.h>
#include <string.h>

enum { BATCH = 2, HEADS = 3, ROWS = 4, DIM = 12, DIMS = 8, COUNT = BATCH * HEADS * ROWS * DIM };

static const int64_t furthest = INT64_C(1) << 40;

/* The memory of a good call. `to` lies between guards of its own size, so that refused pointers may point there. */
static float from[2 * COUNT], to[3 * COUNT], cosines[ROWS * DIMS / 2], sines[ROWS * DIMS / 2];
static double frequencies[DIMS / 2] = {1.0, 0.1, 0.01, -4294967296.0};
static int64_t positions[BATCH * ROWS], first_positions[BATCH] = {-5, 9};

struct rotation_call {
  fovea_rotary rotary;
  fovea_rotation rotation;
};

static struct rotation_call good_rotation(void) {
  struct rotation_call call;
  fovea_rotary_init(&call.rotary, FOVEA_ROTARY_HALVES, DIMS);
  fovea_rotation_init(&call.rotation, BATCH, HEADS, ROWS, DIM, from, to + COUNT);
  return call;
}

/* The same call with tables that have rows for its positions. */
static struct rotation_call good_table(void) {
  struct rotation_call call = good_rotation();
  call.rotary.cosines = cosines;
  call.rotary.sines = sines;
  call.rotary.table_rows = ROWS;
  return call;
}

static int is_untouched(void) {
  for (size_t i = 0; i < sizeof to; i++)
    if (((const unsigned char *)to)[i] != 0x3a) return 0;
  return 1;
}

static void assert_rotation_refused(const struct rotation_call *call, fovea_status status,
                                    const char *const *words) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  memset(to, 0x3a, sizeof to);
  const fovea_status actual = fovea_rotary_apply(&call->rotary, &call->rotation, NULL, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  assert_says(&error, status, words);
  assert_int_equal(fovea_rotary_apply(&call->rotary, &call->rotation, NULL, NULL), status);
  assert_true(is_untouched());
}

static void assert_rotation_accepted(const struct rotation_call *call) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  const fovea_status status = fovea_rotary_apply(&call->rotary, &call->rotation, NULL, &error);
  if (status != FOVEA_OK) fail_msg("status %d: %.250s", (int)status, error.text);
  for (size_t i = 0; i < sizeof error.text; i++) assert_int_equal(error.text[i], 'x'); /* not written */
}

#define REFUSED_OF(good, change, status, ...)                                                                      \
  do {                                                                                                             \
    struct rotation_call call = good;                                                                              \
    fovea_rotary *rotary = &call.rotary;                                                                           \
    fovea_rotation *rotation = &call.rotation;                                                                     \
    (void)rotary, (void)rotation;                                                                                  \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_rotation_refused(&call, status, words);                                                                 \
  } while (0)
#define ROTATION_REFUSED(change, status, ...) REFUSED_OF(good_rotation(), change, status, __VA_ARGS__)
#define TABLE_REFUSED(change, status, ...)    REFUSED_OF(good_table(), change, status, __VA_ARGS__)

#define ROTATION_ACCEPTED(change)                                                                                  \
  do {                                                                                                             \
    struct rotation_call call = good_rotation();                                                                   \
    fovea_rotary *rotary = &call.rotary;                                                                           \
    fovea_rotation *rotation = &call.rotation;                                                                     \
    (void)rotary, (void)rotation;                                                                                  \
    change;                                                                                                        \
    assert_rotation_accepted(&call);                                                                               \
  } while (0)

static void test_good_calls(void **state) {
  (void)state;
  ROTATION_ACCEPTED((void)0);
  ROTATION_ACCEPTED(call = good_table());
  ROTATION_ACCEPTED(rotary->dims = 0);
  ROTATION_ACCEPTED(rotary->dims = DIM);
  ROTATION_ACCEPTED(rotary->frequencies = frequencies);
  ROTATION_ACCEPTED(rotation->positions = positions);
  ROTATION_ACCEPTED(rotation->first_positions = first_positions);
  ROTATION_ACCEPTED(rotation->first_position = -furthest);
  ROTATION_ACCEPTED(rotation->first_position = furthest - ROWS + 1);
  ROTATION_ACCEPTED(rotation->to = from);
  ROTATION_ACCEPTED(rotation->to = from + COUNT); /* right after `from` */
  ROTATION_ACCEPTED(rotation->rows = 0; rotation->from = rotation->to = NULL; rotation->batch = INT64_C(1) << 40);
}

static void test_null(void **state) {
  (void)state;
  const struct rotation_call call = good_rotation();
  fovea_error error;
  assert_int_equal(fovea_rotary_apply(NULL, &call.rotation, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "rotary");
  assert_int_equal(fovea_rotary_apply(&call.rotary, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "rotation");
  ROTATION_REFUSED(rotation->from = NULL, FOVEA_ERROR_ARGUMENT, "from");
  ROTATION_REFUSED(rotation->to = NULL, FOVEA_ERROR_ARGUMENT, "to is NULL");
  TABLE_REFUSED(rotary->cosines = NULL, FOVEA_ERROR_ARGUMENT, "cosines", "both");
  TABLE_REFUSED(rotary->sines = NULL, FOVEA_ERROR_ARGUMENT, "sines", "both");
}

static void test_struct_sizes(void **state) {
  (void)state;
  for (size_t other = 1; other <= 64; other++) {
    ROTATION_REFUSED(rotary->struct_size += other, FOVEA_ERROR_ARGUMENT, "rotary.struct_size", "another version");
    ROTATION_REFUSED(rotary->struct_size -= other, FOVEA_ERROR_ARGUMENT, "rotary.struct_size", "fovea_rotary_init");
    ROTATION_REFUSED(rotation->struct_size += other, FOVEA_ERROR_ARGUMENT, "rotation.struct_size",
                     "another version");
    ROTATION_REFUSED(rotation->struct_size -= other, FOVEA_ERROR_ARGUMENT,
                     "rotation.struct_size: fovea_rotation_init");
  }
  /* A program of an earlier version may have a smaller struct. */
  unsigned char memory[2 * sizeof(fovea_rotation)];
  memset(memory, 0xf7, sizeof memory);
  fovea_rotary_init_sized((void *)memory, sizeof(size_t), FOVEA_ROTARY_HALVES, 8);
  fovea_rotation_init_sized((void *)(memory + sizeof(size_t)), sizeof(size_t), 1, 1, 1, 1, NULL, NULL);
  for (size_t i = 2 * sizeof(size_t); i < sizeof memory; i++) assert_int_equal(memory[i], 0xf7);
}

static void test_sizes(void **state) {
  (void)state;
  ROTATION_REFUSED(rotation->batch = 0, FOVEA_ERROR_ARGUMENT, "batch", "0");
  ROTATION_REFUSED(rotation->heads = 0, FOVEA_ERROR_ARGUMENT, "heads", "0");
  ROTATION_REFUSED(rotation->rows = -1, FOVEA_ERROR_ARGUMENT, "rows", "-1");
  ROTATION_REFUSED(rotation->dim = 0, FOVEA_ERROR_ARGUMENT, "dim", "0");
  ROTATION_REFUSED(rotation->batch = rotation->rows = INT64_C(1) << 40, FOVEA_ERROR_ARGUMENT, "batch", "rows");
  ROTATION_REFUSED(rotation->dim = INT64_MAX, FOVEA_ERROR_ARGUMENT, "dim");
}

static void test_embedding(void **state) {
  (void)state;
  ROTATION_REFUSED(rotary->layout = (fovea_rotary_layout)2, FOVEA_ERROR_ARGUMENT, "layout", "2");
  ROTATION_REFUSED(rotary->dims = 7, FOVEA_ERROR_ARGUMENT, "dims is 7", "even");
  ROTATION_REFUSED(rotary->dims = 14, FOVEA_ERROR_ARGUMENT, "dims is 14", "12");
  ROTATION_REFUSED(rotary->dims = -2, FOVEA_ERROR_ARGUMENT, "dims is -2");
  ROTATION_REFUSED(rotation->dim = INT64_C(1) << 30;
                   rotary->dims = (1 << 20) + 2, FOVEA_ERROR_ARGUMENT, "dims: 1048576");
  ROTATION_REFUSED(rotary->base = 0, FOVEA_ERROR_ARGUMENT, "base");
  ROTATION_REFUSED(rotary->base = 0.5, FOVEA_ERROR_ARGUMENT, "base is 0.5");
  ROTATION_REFUSED(rotary->base = -10000.0, FOVEA_ERROR_ARGUMENT, "base is -10000");
  ROTATION_REFUSED(rotary->base = (double)INFINITY, FOVEA_ERROR_ARGUMENT, "base is inf");
  ROTATION_REFUSED(rotary->base = (double)NAN, FOVEA_ERROR_ARGUMENT, "base is nan");

  static const double bad[] = {4294967297.0, -4294967297.0, (double)INFINITY, (double)NAN};
  for (int i = 0; i < 4; i++) {
    double spoilt[DIMS / 2] = {1.0, 0.5, bad[i], bad[i]};
    ROTATION_REFUSED(rotary->frequencies = spoilt, FOVEA_ERROR_ARGUMENT, "frequencies[2]", "2^32");
    ROTATION_ACCEPTED(rotary->frequencies = spoilt;
                      rotary->dims = 4); /* no more frequencies than needed are read */
  }
  TABLE_REFUSED(rotary->frequencies = frequencies, FOVEA_ERROR_ARGUMENT, "frequencies", "together");
  TABLE_REFUSED(rotary->table_stride = DIMS / 2 - 1, FOVEA_ERROR_ARGUMENT, "table_stride is 3", "4");
  TABLE_REFUSED(rotary->table_rows = -1, FOVEA_ERROR_ARGUMENT, "table_rows is -1");
  TABLE_REFUSED(rotary->table_stride = INT64_MAX / 2, FOVEA_ERROR_ARGUMENT, "table_stride");
  const struct rotation_call good = good_rotation();
  assert_int_equal(fovea_rotary_apply(&good.rotary, &good.rotation, on_isa("sse9"), NULL), FOVEA_ERROR_ARGUMENT);
}

static void test_axes(void **state) {
  (void)state;
  static unsigned char axes[DIMS / 2] = {0, 1, 2, 0};
  int64_t listed[3 * BATCH * ROWS] = {0};
  ROTATION_ACCEPTED(rotary->axes = 3; rotary->pair_axes = axes);
  ROTATION_ACCEPTED(rotary->axes = 3; rotary->pair_axes = axes; rotation->positions = listed);
  ROTATION_REFUSED(rotary->axes = 0, FOVEA_ERROR_ARGUMENT, "axes is 0", "1 to 4");
  ROTATION_REFUSED(rotary->axes = 5; rotary->pair_axes = axes, FOVEA_ERROR_ARGUMENT, "axes is 5", "1 to 4");
  ROTATION_REFUSED(rotary->axes = 3, FOVEA_ERROR_ARGUMENT, "pair_axes is NULL", "axes is 3");
  ROTATION_REFUSED(rotary->pair_axes = axes, FOVEA_ERROR_UNUSED, "pair_axes", "axes is 1");
  ROTATION_REFUSED(rotary->axes = 2; rotary->pair_axes = axes, FOVEA_ERROR_ARGUMENT, "pair_axes[2] is 2",
                                     "less than axes, which is 2");
  TABLE_REFUSED(rotary->axes = 2; rotary->pair_axes = axes, FOVEA_ERROR_ARGUMENT, "pair_axes[2] is 2");
  listed[2 * BATCH * ROWS + ROWS + 1] = furthest + 1;
  ROTATION_REFUSED(rotary->axes = 3; rotary->pair_axes = axes; rotation->positions = listed, FOVEA_ERROR_ARGUMENT,
                                                               "positions[21]: row 1 of batch element 1",
                                                               "1099511627777");
  ROTATION_ACCEPTED(rotary->axes = 2; axes[2] = 1; rotary->pair_axes = axes; rotation->positions = listed);

  struct rotation_call call = good_rotation(); /* axes in what is written, which must be axes */
  fovea_error error;
  memset(to, 0, sizeof to);
  call.rotary.axes = 2;
  call.rotary.pair_axes = (const unsigned char *)(to + 2 * COUNT) - DIMS / 2;
  assert_int_equal(fovea_rotary_apply(&call.rotary, &call.rotation, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "to shares memory with pair_axes");
}

static void test_types(void **state) {
  (void)state;
  ROTATION_REFUSED(rotation->from_type = (fovea_type)3, FOVEA_ERROR_ARGUMENT, "from_type", "3");
  ROTATION_REFUSED(rotation->to_type = (fovea_type)-1, FOVEA_ERROR_ARGUMENT, "to_type", "-1");
}

static void test_positions(void **state) {
  (void)state;
  ROTATION_REFUSED(rotation->first_position = -furthest - 1, FOVEA_ERROR_ARGUMENT, "first_position: row 0",
                   "-1099511627777");
  ROTATION_REFUSED(rotation->first_position = furthest - 2, FOVEA_ERROR_ARGUMENT, "first_position: row 3",
                   "1099511627777");
  ROTATION_REFUSED(rotation->first_position = INT64_MAX, FOVEA_ERROR_ARGUMENT, "first_position: row 0");
  ROTATION_REFUSED(rotation->first_position = INT64_MIN, FOVEA_ERROR_ARGUMENT, "first_position: row 0");
  TABLE_REFUSED(rotation->first_position = -1, FOVEA_ERROR_ARGUMENT, "first_position: position -1", "0 to 3",
                "tables");
  TABLE_REFUSED(rotation->first_position = 1, FOVEA_ERROR_ARGUMENT, "first_position: row 3", "position 4");
  TABLE_REFUSED(rotary->table_rows = 0, FOVEA_ERROR_ARGUMENT, "first_position: row 0");

  int64_t firsts[BATCH] = {0, furthest};
  ROTATION_REFUSED(rotation->first_positions = firsts, FOVEA_ERROR_ARGUMENT, "first_positions[1]: batch element 1");
  int64_t listed[BATCH * ROWS] = {0, 3, 2, 1, 0, 0, 4, 0};
  TABLE_REFUSED(rotation->positions = listed, FOVEA_ERROR_ARGUMENT, "positions[6]: row 2 of batch element 1",
                "position 4");
  ROTATION_ACCEPTED(rotation->positions = listed);
  listed[7] = INT64_MIN;
  ROTATION_REFUSED(rotation->positions = listed, FOVEA_ERROR_ARGUMENT, "positions[7]: row 3 of batch element 1");
}

static void test_strides(void **state) {
  (void)state;
  ROTATION_REFUSED(rotation->to_strides.row = DIM - 1, FOVEA_ERROR_ARGUMENT, "to_strides.row", "12");
  ROTATION_REFUSED(rotation->to_strides.head = 0, FOVEA_ERROR_ARGUMENT, "to_strides.head");
  ROTATION_REFUSED(rotation->to_strides.batch = -DIM, FOVEA_ERROR_ARGUMENT, "to_strides");
  ROTATION_REFUSED(rotation->from_strides.head = INT64_MAX, FOVEA_ERROR_ARGUMENT, "from_strides");
  ROTATION_ACCEPTED(rotation->from_strides = ((fovea_strides){0, 0, 0}));
}

static void test_memory(void **state) {
  (void)state;
  float *const at = to + COUNT;
  ROTATION_REFUSED(rotation->from = to + 1, FOVEA_ERROR_ARGUMENT, "to shares memory with from");
  ROTATION_REFUSED(rotation->from = to + 2 * COUNT - 1, FOVEA_ERROR_ARGUMENT, "to: 4 bytes");
  ROTATION_REFUSED(rotation->from = at;
                   rotation->from_type = FOVEA_F16, FOVEA_ERROR_ARGUMENT, "to shares memory with from");
  ROTATION_REFUSED(rotation->from = at;
                   rotation->from_strides.row = 0, FOVEA_ERROR_ARGUMENT, "to shares memory with from");
  ROTATION_REFUSED(rotation->from = at; rotation->from_strides = fovea_strides_rows_before_heads(ROWS, HEADS, DIM),
                                        FOVEA_ERROR_ARGUMENT, "to shares memory with from");
  ROTATION_REFUSED(rotation->positions = (const int64_t *)(void *)at, FOVEA_ERROR_ARGUMENT,
                   "to shares memory with positions");
  ROTATION_REFUSED(rotation->first_positions = (const int64_t *)(void *)at, FOVEA_ERROR_ARGUMENT,
                   "to shares memory with first_positions");
  ROTATION_REFUSED(rotary->frequencies = (const double *)(void *)at, FOVEA_ERROR_ARGUMENT,
                   "to shares memory with frequencies");
  TABLE_REFUSED(rotary->cosines = at, FOVEA_ERROR_ARGUMENT, "to shares memory with cosines");
  TABLE_REFUSED(rotary->sines = at + COUNT - 1, FOVEA_ERROR_ARGUMENT, "to shares memory with sines");
  ROTATION_REFUSED(rotation->to = (char *)at + 2, FOVEA_ERROR_ARGUMENT, "to is ");
  ROTATION_REFUSED(rotation->from = (const char *)from + 1, FOVEA_ERROR_ARGUMENT, "from is ");
  /* Integers of 64 bits are aligned as the system's compilers align them, on i386 to 32 bits. */
  const float *const odd = from + 1 - (uintptr_t)from / 4 % 2;
  const void *const unaligned = (const char *)odd + 2;
  ROTATION_REFUSED(rotary->frequencies = unaligned, FOVEA_ERROR_ARGUMENT, "frequencies");
  ROTATION_REFUSED(rotation->positions = unaligned, FOVEA_ERROR_ARGUMENT, "positions");
  ROTATION_REFUSED(rotation->first_positions = unaligned, FOVEA_ERROR_ARGUMENT, "first_positions");
  if (_Alignof(double) == 8)
    ROTATION_REFUSED(rotary->frequencies = (const void *)odd, FOVEA_ERROR_ARGUMENT, "frequencies");
  else
    ROTATION_ACCEPTED(rotary->frequencies = (const void *)odd);
  if (_Alignof(int64_t) == 8)
    ROTATION_REFUSED(rotation->positions = (const void *)odd, FOVEA_ERROR_ARGUMENT, "positions");
  else
    ROTATION_ACCEPTED(rotation->positions = (const void *)odd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good_calls), cmocka_unit_test(test_null),      cmocka_unit_test(test_struct_sizes),
      cmocka_unit_test(test_sizes),      cmocka_unit_test(test_embedding), cmocka_unit_test(test_types),
      cmocka_unit_test(test_positions),  cmocka_unit_test(test_strides),   cmocka_unit_test(test_memory),
      cmocka_unit_test(test_axes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
