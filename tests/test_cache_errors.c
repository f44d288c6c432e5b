/* Appending and copying rows of caches: what is refused. One call would succeed; each case spoils one thing in it,
 * and nothing is written. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/refusals.h"

#include <fovea/cache.h>
#include <fovea/rotary.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, HEADS = 2, ROWS = 4, QK_DIM = 6, V_DIM = 5, FIRST = 30, CACHE = 4096 };

/* The memory of a good call: two sequences, each with 32 rows of keys, one panel of keys, and rows of values. */
static float k[BATCH * HEADS * ROWS * QK_DIM], v[BATCH * HEADS * ROWS * V_DIM], cache[2][CACHE], tables[2][64 * 3];
static double frequencies[64];
static fovea_segment segments[BATCH][2];
static fovea_sequence sequences[BATCH];
static int64_t firsts[BATCH], counts[BATCH];

static void set_up_segments(void) {
  for (int b = 0; b < BATCH; b++) {
    float *keys = cache[b], *values = cache[b] + 2048;
    segments[b][0] = (fovea_segment){.first = 0,
                                     .rows = 32,
                                     .k = keys,
                                     .v = values,
                                     .k_head = 32 * QK_DIM,
                                     .k_row = QK_DIM,
                                     .v_head = 32 * V_DIM,
                                     .v_row = V_DIM};
    segments[b][1] = (fovea_segment){.first = 32,
                                     .rows = 16,
                                     .k = keys + 1024,
                                     .v = values + 1024,
                                     .k_head = 16 * QK_DIM,
                                     .k_row = 0,
                                     .v_head = 16 * V_DIM,
                                     .v_row = V_DIM,
                                     .k_layout = FOVEA_KEYS_IN_PANELS};
    sequences[b] = fovea_sequence_of(segments[b], 2);
    firsts[b] = FIRST;
    counts[b] = ROWS;
  }
}

struct append_call {
  fovea_new_rows rows;
  fovea_rotary rotary;
};

static struct append_call good_append(void) {
  struct append_call call;
  set_up_segments();
  fovea_new_rows_init(&call.rows, BATCH, HEADS, ROWS, QK_DIM, V_DIM, k, v, sequences);
  call.rows.first_positions = firsts;
  call.rows.row_lens = counts;
  fovea_rotary_init(&call.rotary, FOVEA_ROTARY_HALVES, QK_DIM);
  return call;
}

static int is_untouched(const void *memory, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (((const unsigned char *)memory)[i] != 0x3a) return 0;
  return 1;
}

static void assert_append_refused(const struct append_call *call, fovea_status status, const char *const *words) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  memset(cache, 0x3a, sizeof cache);
  const fovea_status actual = fovea_append(&call->rows, &call->rotary, NULL, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  assert_says(&error, status, words);
  assert_int_equal(fovea_append(&call->rows, &call->rotary, NULL, NULL), status);
  assert_true(is_untouched(cache, sizeof cache));
}

static void assert_append_accepted(const struct append_call *call) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  const fovea_status status = fovea_append(&call->rows, &call->rotary, NULL, &error);
  if (status != FOVEA_OK) fail_msg("status %d: %.250s", (int)status, error.text);
  for (size_t i = 0; i < sizeof error.text; i++) assert_int_equal(error.text[i], 'x'); /* not written */
}

#define APPEND_REFUSED(change, status, ...)                                                                        \
  do {                                                                                                             \
    struct append_call call = good_append();                                                                       \
    fovea_new_rows *rows = &call.rows;                                                                             \
    (void)rows;                                                                                                    \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_append_refused(&call, status, words);                                                                   \
  } while (0)
#define APPEND_ACCEPTED(change)                                                                                    \
  do {                                                                                                             \
    struct append_call call = good_append();                                                                       \
    fovea_new_rows *rows = &call.rows;                                                                             \
    (void)rows;                                                                                                    \
    change;                                                                                                        \
    assert_append_accepted(&call);                                                                                 \
  } while (0)

static void test_rotary_positions(void **state) {
  (void)state;
  static int64_t listed[2 * BATCH * ROWS];
  static unsigned char axes[QK_DIM / 2] = {0, 1, 1};
  const int64_t furthest = INT64_C(1) << 40;
  fovea_error error;
  APPEND_ACCEPTED(rows->rotary_positions = listed);
  APPEND_ACCEPTED(listed[ROWS - 1] = -furthest; rows->rotary_positions = listed);
  APPEND_ACCEPTED(call.rotary.axes = 2; call.rotary.pair_axes = axes; rows->rotary_positions = listed);
  listed[BATCH * ROWS + 1] = furthest + 1; /* of the second axis */
  APPEND_ACCEPTED(rows->rotary_positions = listed);
  APPEND_REFUSED(call.rotary.axes = 2; call.rotary.pair_axes = axes;
                 rows->rotary_positions = listed, FOVEA_ERROR_ARGUMENT,
                 "rotary_positions: row 1 of batch element 0", "1099511627777");
  APPEND_REFUSED(call.rotary.axes = 2; rows->rotary_positions = listed, FOVEA_ERROR_ARGUMENT, "pair_axes");
  listed[ROWS + 3] = 64;
  APPEND_REFUSED(call.rotary.cosines = call.rotary.sines = tables[0]; call.rotary.table_rows = 64;
                 listed[ROWS - 1] = 0; rows->rotary_positions = listed, FOVEA_ERROR_ARGUMENT,
                                       "rotary_positions[7]: row 3 of batch element 1", "position 64", "tables");
  APPEND_ACCEPTED(call.rotary.cosines = call.rotary.sines = tables[0]; call.rotary.table_rows = 64;
                  counts[1] = ROWS - 1; rows->rotary_positions = listed); /* that row is not new */
  APPEND_REFUSED(rows->rotary_positions = (const int64_t *)(void *)(cache[1] + 1), FOVEA_ERROR_ARGUMENT,
                 "rotary_positions");
  struct append_call call = good_append();
  memset(cache, 0, sizeof cache); /* positions in what is written */
  call.rows.rotary_positions = (const int64_t *)(void *)(cache[0] + FIRST * QK_DIM);
  assert_int_equal(fovea_append(&call.rows, &call.rotary, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "sequences[0].segments[0].k: share memory with rotary_positions");
  call.rows.rotary_positions = listed;
  assert_int_equal(fovea_append(&call.rows, NULL, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "rotary_positions is not NULL and would not be used: rotary is NULL");
}

static void test_good_appends(void **state) {
  (void)state;
  APPEND_ACCEPTED((void)0);
  APPEND_ACCEPTED(rows->first_positions = NULL);
  APPEND_ACCEPTED(rows->row_lens = NULL);
  APPEND_ACCEPTED(rows->rows = 0; rows->k = rows->v = NULL; rows->sequences = NULL);
  APPEND_ACCEPTED(counts[0] = counts[1] = 0; firsts[0] = -1; sequences[0].segments = NULL);
  APPEND_ACCEPTED(firsts[0] = 44);
  /* Memory that is not written may be shared. */
  APPEND_ACCEPTED(sequences[1].segments = segments[0]; firsts[1] = FIRST + ROWS);
  APPEND_ACCEPTED(firsts[0] = firsts[1] = 32; segments[0][0].k = k; segments[0][0].v = v);
  APPEND_ACCEPTED(segments[0][0].k_head = 0; firsts[0] = 32);
  /* The stride of a single row may be any number. */
  APPEND_ACCEPTED(rows->rows = counts[0] = counts[1] = 1; rows->row_lens = NULL;
                  rows->k_strides.row = rows->v_strides.row = INT64_MAX);
  APPEND_ACCEPTED(sequences[0].count = 1; counts[0] = 1; firsts[0] = 0; segments[0][0].rows = 1;
                  segments[0][0].k_row = INT64_MIN; segments[0][0].v_row = INT64_MAX / 2);
}

static void test_append_arguments(void **state) {
  (void)state;
  const struct append_call good = good_append();
  assert_int_equal(fovea_append(NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_append(&good.rows, NULL, NULL, NULL), FOVEA_OK);
  for (size_t other = 1; other <= 64; other++) {
    APPEND_REFUSED(rows->struct_size += other, FOVEA_ERROR_ARGUMENT, "rows.struct_size", "another version");
    APPEND_REFUSED(rows->struct_size -= other, FOVEA_ERROR_ARGUMENT, "rows.struct_size: fovea_new_rows_init");
  }
  APPEND_REFUSED(call.rotary.struct_size--, FOVEA_ERROR_ARGUMENT, "rotary");
  APPEND_REFUSED(rows->batch = 0, FOVEA_ERROR_ARGUMENT, "batch", "0");
  APPEND_REFUSED(rows->kv_heads = 0, FOVEA_ERROR_ARGUMENT, "kv_heads", "0");
  APPEND_REFUSED(rows->rows = -1, FOVEA_ERROR_ARGUMENT, "rows", "-1");
  APPEND_REFUSED(rows->qk_dim = 0, FOVEA_ERROR_ARGUMENT, "qk_dim");
  APPEND_REFUSED(rows->v_dim = INT64_MAX, FOVEA_ERROR_ARGUMENT, "v_dim");
  APPEND_REFUSED(rows->k_type = (fovea_type)3, FOVEA_ERROR_ARGUMENT, "k_type", "3");
  APPEND_REFUSED(rows->v_type = (fovea_type)-1, FOVEA_ERROR_ARGUMENT, "v_type", "-1");
  APPEND_REFUSED(rows->k = NULL, FOVEA_ERROR_ARGUMENT, "k is NULL");
  APPEND_REFUSED(rows->v = NULL, FOVEA_ERROR_ARGUMENT, "v is NULL");
  APPEND_REFUSED(rows->sequences = NULL, FOVEA_ERROR_ARGUMENT, "sequences");
  APPEND_REFUSED(rows->k = (const char *)k + 1, FOVEA_ERROR_ARGUMENT, "k is ");
  APPEND_REFUSED(rows->v_strides.row = INT64_MAX / 2, FOVEA_ERROR_ARGUMENT, "v_strides");
  assert_int_equal(fovea_append(&good.rows, NULL, on_isa("abacus"), NULL), FOVEA_ERROR_ARGUMENT);
  APPEND_REFUSED(call.rotary.dims = QK_DIM + 2, FOVEA_ERROR_ARGUMENT, "dims");
  APPEND_REFUSED(call.rotary.cosines = tables[0], FOVEA_ERROR_ARGUMENT, "sines");
  APPEND_REFUSED(call.rotary.cosines = tables[0]; call.rotary.sines = tables[1];
                 call.rotary.table_rows = FIRST + 3, FOVEA_ERROR_ARGUMENT, "first_positions[0]: 33", "tables");
}

/* A program of an earlier version may have a smaller struct; further fields of a later version are left alone. */
static void test_sized_initialisers(void **state) {
  (void)state;
  unsigned char memory[4 * sizeof(fovea_new_rows)];
  const size_t sizes[] = {sizeof(size_t), sizeof(fovea_pages) + 40, sizeof(fovea_new_rows) + 40};
  for (int i = 0; i < 3; i++) {
    memset(memory, 0x3a, sizeof memory);
    fovea_new_rows_init_sized((void *)memory, sizes[i], 1, 1, 1, 1, 1, NULL, NULL, NULL);
    assert_memory_equal(memory, &sizes[i], sizeof sizes[i]);
    const size_t known = sizes[i] < sizeof(fovea_new_rows) ? sizes[i] : sizeof(fovea_new_rows);
    assert_true(is_untouched(memory + known, sizeof memory - known));
    memset(memory, 0x3a, sizeof memory);
    fovea_pages_init_sized((void *)memory, sizes[i], sizeof(fovea_segment), 1, 1, 1, 1, 1, FOVEA_BF16,
                           FOVEA_KEYS_IN_PANELS);
    const size_t pages = sizes[i] < sizeof(fovea_pages) ? sizes[i] : sizeof(fovea_pages);
    assert_true(is_untouched(memory + pages, sizeof memory - pages));
  }
}

static void test_append_positions(void **state) {
  (void)state;
  APPEND_REFUSED(counts[1] = ROWS + 1, FOVEA_ERROR_ARGUMENT, "row_lens[1]", "5", "4");
  APPEND_REFUSED(counts[0] = -1, FOVEA_ERROR_ARGUMENT, "row_lens[0]", "-1");
  APPEND_REFUSED(rows->first_positions = NULL;
                 rows->first_position = -1, FOVEA_ERROR_ARGUMENT, "first_position is -1");
  APPEND_REFUSED(firsts[1] = -1, FOVEA_ERROR_ARGUMENT, "first_positions[1]", "-1");
  APPEND_REFUSED(firsts[0] = INT64_MAX, FOVEA_ERROR_ARGUMENT, "first_positions[0]");
  APPEND_REFUSED(firsts[1] = 45, FOVEA_ERROR_ARGUMENT, "sequences[1]", "0 to 47", "45 to 48");
  APPEND_REFUSED(segments[1][0].first = 4; segments[1][1].first = 36;
                 firsts[1] = 2, FOVEA_ERROR_ARGUMENT, "sequences[1].segments[1]: 36");
  APPEND_REFUSED(sequences[1].count = 1, FOVEA_ERROR_ARGUMENT, "sequences[1]", "0 to 31", "30 to 33");
  APPEND_REFUSED(sequences[0].count = 0, FOVEA_ERROR_ARGUMENT, "sequences[0]", "no segments");
  APPEND_REFUSED(segments[0][1].first = 48, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[1]", "48");
  APPEND_REFUSED(segments[0][1].first = 16, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[1]", "16");
  APPEND_REFUSED(segments[1][0].rows = 0, FOVEA_ERROR_ARGUMENT, "segments[0]", "0 rows");
  APPEND_REFUSED(segments[1][1].k = NULL, FOVEA_ERROR_ARGUMENT, "segments[1].k");
  APPEND_REFUSED(segments[1][1].v_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "v_type", "9");
  APPEND_REFUSED(segments[1][1].v_row = INT64_MAX / 4, FOVEA_ERROR_ARGUMENT, "segments[1].v");
}

static void test_append_memory(void **state) {
  (void)state;
  APPEND_REFUSED(sequences[1].segments = segments[0], FOVEA_ERROR_ARGUMENT, "sequences[0]", "sequences[1]");
  APPEND_REFUSED(sequences[1].segments = segments[0]; firsts[1] = FIRST + ROWS - 1, FOVEA_ERROR_ARGUMENT,
                                                      "sequences[0].segments[1].k", "sequences[1].segments[1].k");
  APPEND_REFUSED(segments[0][1].k = cache[0] + 2048 + 30 * V_DIM, FOVEA_ERROR_ARGUMENT, "segments[1].k",
                 "segments[0].v");
  APPEND_REFUSED(segments[0][0].v = k; segments[0][0].v_head = ROWS * V_DIM;
                 firsts[0] = 0, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[0].v", "rows.k");
  APPEND_REFUSED(segments[1][0].k = v; segments[1][0].k_head = ROWS * QK_DIM;
                 firsts[1] = 0, FOVEA_ERROR_ARGUMENT, "sequences[1].segments[0].k", "rows.v");
  APPEND_REFUSED(segments[0][0].v = k + 1; segments[0][0].v_head = ROWS * QK_DIM; firsts[0] = 0;
                 counts[0] = 1, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[0].v", "rows.k");
  APPEND_REFUSED(segments[0][0].k_row = QK_DIM - 1, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[0].k_row");
  APPEND_REFUSED(segments[0][0].v_head = V_DIM, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[0].v");
  APPEND_REFUSED(segments[0][1].k_head = 16, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[1].k");
  APPEND_REFUSED(call.rotary.frequencies = frequencies; segments[1][0].v = frequencies; firsts[1] = 0;
                 segments[1][0].v_head = ROWS * V_DIM, FOVEA_ERROR_ARGUMENT,
                 "sequences[1].segments[0].v: frequencies");
}

/* Rows of other heads or dims than a segment has would land in memory of others. Where a segment does not know
 * them, its rows must at least have room for the dims, also if only one is written. */
static void test_append_sizes(void **state) {
  (void)state;
  APPEND_ACCEPTED(segments[0][0].kv_heads = HEADS; segments[1][1].qk_dim = QK_DIM; segments[0][1].v_dim = V_DIM);
  APPEND_REFUSED(segments[0][0].kv_heads = 1, FOVEA_ERROR_ARGUMENT,
                 "kv_heads is 2; sequences[0].segments[0].kv_heads is 1");
  APPEND_REFUSED(segments[1][1].qk_dim = QK_DIM + 1, FOVEA_ERROR_ARGUMENT,
                 "qk_dim is 6; sequences[1].segments[1].qk_dim is 7");
  APPEND_REFUSED(segments[1][0].v_dim = 4, FOVEA_ERROR_ARGUMENT, "v_dim is 5; sequences[1].segments[0].v_dim is 4");
  APPEND_REFUSED(counts[0] = 1;
                 segments[0][0].k_row = QK_DIM - 1, FOVEA_ERROR_ARGUMENT,
                 "sequences[0].segments[0].k_row is 5; rows share memory unless its size is at least 6");
  APPEND_REFUSED(counts[0] = 1;
                 segments[0][0].v_row = 1 - V_DIM, FOVEA_ERROR_ARGUMENT,
                 "sequences[0].segments[0].v_row is -4; rows share memory unless its size is at least 5");
  APPEND_REFUSED(counts[1] = 1; firsts[1] = 47; segments[1][1].rows = 17;
                 segments[1][1].k_row = 16 * QK_DIM - 1, FOVEA_ERROR_ARGUMENT,
                 "sequences[1].segments[1].k_row is 95;", "at least 96");
  /* A segment that nothing is written to may repeat a row. */
  APPEND_ACCEPTED(firsts[0] = 32; segments[0][0].k_row = segments[0][0].v_row = 0);
}

static void test_copies(void **state) {
  (void)state;
  fovea_error error;
  set_up_segments();
  memset(cache, 0x3a, sizeof cache);
#define COPY(from, to, heads, begin, end)                                                                          \
  fovea_sequence_copy(from, to, 1, heads, QK_DIM, V_DIM, begin, end, NULL, &error)
  assert_int_equal(COPY(NULL, &sequences[1], HEADS, 0, 1), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(COPY(&sequences[0], NULL, HEADS, 0, 1), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(COPY(&sequences[0], &sequences[1], 0, 0, 1), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, 2, 1), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, -1, 1), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, 0, 49), FOVEA_ERROR_ARGUMENT);
  sequences[1].count = 1;
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, 0, 40), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "sequences[1] holds positions 0 to 31");
  assert_int_equal(COPY(&sequences[0], &sequences[0], HEADS, 0, 40), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "sequences[1].segments[0].k has rows to be written");
  segments[1][0].k_row = 1;
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, 0, 8), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(COPY(&sequences[0], &sequences[0], HEADS, 7, 7), FOVEA_OK);
  assert_true(is_untouched(cache, sizeof cache));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rotary_positions), cmocka_unit_test(test_good_appends),
      cmocka_unit_test(test_append_arguments), cmocka_unit_test(test_sized_initialisers),
      cmocka_unit_test(test_append_positions), cmocka_unit_test(test_append_memory),
      cmocka_unit_test(test_append_sizes),     cmocka_unit_test(test_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
