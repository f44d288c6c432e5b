/* Calls on caches that are refused. One call would succeed; each case spoils one thing in it, and nothing is
 * written. */
#include "support/check.h"
#include "support/refusals.h"

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
  call.rows.row_counts = counts;
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
                 rows->rotary_positions = listed, FOVEA_ERROR_POSITION, "row 1 of batch entry 0", "1099511627777");
  APPEND_REFUSED(call.rotary.axes = 2; rows->rotary_positions = listed, FOVEA_ERROR_NULL, "pair_axes");
  listed[ROWS + 3] = 64;
  APPEND_REFUSED(call.rotary.cosines = call.rotary.sines = tables[0]; call.rotary.table_rows = 64;
                 listed[ROWS - 1] = 0; rows->rotary_positions = listed, FOVEA_ERROR_POSITION,
                                       "row 3 of batch entry 1", "position 64", "tables");
  APPEND_ACCEPTED(call.rotary.cosines = call.rotary.sines = tables[0]; call.rotary.table_rows = 64;
                  counts[1] = ROWS - 1; rows->rotary_positions = listed); /* that row is not new */
  APPEND_REFUSED(rows->rotary_positions = (const int64_t *)(void *)(cache[1] + 1), FOVEA_ERROR_ALIGNMENT,
                 "rotary_positions");
  struct append_call call = good_append();
  memset(cache, 0, sizeof cache); /* positions in what is written */
  call.rows.rotary_positions = (const int64_t *)(void *)(cache[0] + FIRST * QK_DIM);
  assert_int_equal(fovea_append(&call.rows, &call.rotary, NULL, &error), FOVEA_ERROR_OVERLAP);
  assert_non_null(strstr(error.text, "share memory with rotary_positions"));
  call.rows.rotary_positions = listed;
  assert_int_equal(fovea_append(&call.rows, NULL, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_non_null(strstr(error.text, "rotary_positions is not NULL and would not be used: rotary is NULL"));
}

static void test_good_appends(void **state) {
  (void)state;
  APPEND_ACCEPTED((void)0);
  APPEND_ACCEPTED(rows->first_positions = NULL);
  APPEND_ACCEPTED(rows->row_counts = NULL);
  APPEND_ACCEPTED(rows->rows = 0; rows->k = rows->v = NULL; rows->sequences = NULL);
  APPEND_ACCEPTED(counts[0] = counts[1] = 0; firsts[0] = -1; sequences[0].segments = NULL);
  APPEND_ACCEPTED(firsts[0] = 44);
  /* Memory that is not written may be shared. */
  APPEND_ACCEPTED(sequences[1].segments = segments[0]; firsts[1] = FIRST + ROWS);
  APPEND_ACCEPTED(firsts[0] = firsts[1] = 32; segments[0][0].k = k; segments[0][0].v = v);
  APPEND_ACCEPTED(segments[0][0].k_head = 0; firsts[0] = 32);
  /* The stride of a single row may be any number. */
  APPEND_ACCEPTED(rows->rows = counts[0] = counts[1] = 1; rows->row_counts = NULL;
                  rows->k_strides.row = rows->v_strides.row = INT64_MAX);
  APPEND_ACCEPTED(sequences[0].count = 1; counts[0] = 1; firsts[0] = 0; segments[0][0].rows = 1;
                  segments[0][0].k_row = INT64_MIN; segments[0][0].v_row = INT64_MAX / 2);
}

static void test_append_arguments(void **state) {
  (void)state;
  const struct append_call good = good_append();
  assert_int_equal(fovea_append(NULL, NULL, NULL, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_append(&good.rows, NULL, NULL, NULL), FOVEA_OK);
  for (size_t other = 1; other <= 64; other++) {
    APPEND_REFUSED(rows->struct_size += other, FOVEA_ERROR_STRUCT_SIZE, "new_rows.struct_size", "newer");
    APPEND_REFUSED(rows->struct_size -= other, FOVEA_ERROR_STRUCT_SIZE, "fovea_new_rows_init");
  }
  APPEND_REFUSED(call.rotary.struct_size--, FOVEA_ERROR_STRUCT_SIZE, "rotary");
  APPEND_REFUSED(rows->batch = 0, FOVEA_ERROR_SIZE, "batch", "0");
  APPEND_REFUSED(rows->kv_heads = 0, FOVEA_ERROR_SIZE, "kv_heads", "0");
  APPEND_REFUSED(rows->rows = -1, FOVEA_ERROR_SIZE, "rows", "-1");
  APPEND_REFUSED(rows->qk_dim = 0, FOVEA_ERROR_SIZE, "qk_dim");
  APPEND_REFUSED(rows->v_dim = INT64_MAX, FOVEA_ERROR_SIZE, "v_dim");
  APPEND_REFUSED(rows->k_type = (fovea_type)3, FOVEA_ERROR_TYPE, "k_type", "3");
  APPEND_REFUSED(rows->v_type = (fovea_type)-1, FOVEA_ERROR_TYPE, "v_type", "-1");
  APPEND_REFUSED(rows->k = NULL, FOVEA_ERROR_NULL, "k is NULL");
  APPEND_REFUSED(rows->v = NULL, FOVEA_ERROR_NULL, "v is NULL");
  APPEND_REFUSED(rows->sequences = NULL, FOVEA_ERROR_NULL, "sequences");
  APPEND_REFUSED(rows->k = (const char *)k + 1, FOVEA_ERROR_ALIGNMENT, "k is ");
  APPEND_REFUSED(rows->v_strides.row = INT64_MAX / 2, FOVEA_ERROR_STRIDE, "v_strides");
  APPEND_REFUSED(rows->isa = "abacus", FOVEA_ERROR_ISA_UNKNOWN, "abacus");
  APPEND_REFUSED(call.rotary.dims = QK_DIM + 2, FOVEA_ERROR_ROTARY, "dims");
  APPEND_REFUSED(call.rotary.cosines = tables[0], FOVEA_ERROR_NULL, "sines");
  APPEND_REFUSED(call.rotary.cosines = tables[0]; call.rotary.sines = tables[1];
                 call.rotary.table_rows = FIRST + 3, FOVEA_ERROR_POSITION, "33", "tables");
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
  APPEND_REFUSED(counts[1] = ROWS + 1, FOVEA_ERROR_LENGTHS, "row_counts[1]", "5", "4");
  APPEND_REFUSED(counts[0] = -1, FOVEA_ERROR_LENGTHS, "row_counts[0]", "-1");
  APPEND_REFUSED(firsts[1] = -1, FOVEA_ERROR_POSITION, "entry 1", "-1");
  APPEND_REFUSED(firsts[0] = INT64_MAX, FOVEA_ERROR_POSITION, "entry 0");
  APPEND_REFUSED(firsts[1] = 45, FOVEA_ERROR_SEGMENTS, "sequences[1]", "0 to 47", "45 to 48");
  APPEND_REFUSED(segments[1][0].first = 4; segments[1][1].first = 36; firsts[1] = 2, FOVEA_ERROR_SEGMENTS, "36");
  APPEND_REFUSED(sequences[1].count = 1, FOVEA_ERROR_SEGMENTS, "sequences[1]", "0 to 31", "30 to 33");
  APPEND_REFUSED(sequences[0].count = 0, FOVEA_ERROR_SEGMENTS, "sequences[0]", "no segments");
  APPEND_REFUSED(segments[0][1].first = 48, FOVEA_ERROR_SEGMENTS, "sequences[0].segments[1]", "48");
  APPEND_REFUSED(segments[0][1].first = 16, FOVEA_ERROR_SEGMENTS, "sequences[0].segments[1]", "16");
  APPEND_REFUSED(segments[1][0].rows = 0, FOVEA_ERROR_SEGMENTS, "segments[0]", "0 rows");
  APPEND_REFUSED(segments[1][1].k = NULL, FOVEA_ERROR_NULL, "segments[1].k");
  APPEND_REFUSED(segments[1][1].v_type = (fovea_type)9, FOVEA_ERROR_TYPE, "v_type", "9");
  APPEND_REFUSED(segments[1][1].v_row = INT64_MAX / 4, FOVEA_ERROR_STRIDE, "segments[1].v");
}

static void test_append_memory(void **state) {
  (void)state;
  APPEND_REFUSED(sequences[1].segments = segments[0], FOVEA_ERROR_OVERLAP, "sequences[0]", "sequences[1]");
  APPEND_REFUSED(sequences[1].segments = segments[0]; firsts[1] = FIRST + ROWS - 1, FOVEA_ERROR_OVERLAP,
                                                      "sequences[0].segments[1].k", "sequences[1].segments[1].k");
  APPEND_REFUSED(segments[0][1].k = cache[0] + 2048 + 30 * V_DIM, FOVEA_ERROR_OVERLAP, "segments[1].k",
                 "segments[0].v");
  APPEND_REFUSED(segments[0][0].v = k; segments[0][0].v_head = ROWS * V_DIM;
                 firsts[0] = 0, FOVEA_ERROR_OVERLAP, "sequences[0].segments[0].v", "rows.k");
  APPEND_REFUSED(segments[1][0].k = v; segments[1][0].k_head = ROWS * QK_DIM;
                 firsts[1] = 0, FOVEA_ERROR_OVERLAP, "sequences[1].segments[0].k", "rows.v");
  APPEND_REFUSED(segments[0][0].v = k + 1; segments[0][0].v_head = ROWS * QK_DIM; firsts[0] = 0;
                 counts[0] = 1, FOVEA_ERROR_OVERLAP, "rows.k");
  APPEND_REFUSED(segments[0][0].k_row = QK_DIM - 1, FOVEA_ERROR_STRIDE, "sequences[0].segments[0].k");
  APPEND_REFUSED(segments[0][0].v_head = V_DIM, FOVEA_ERROR_STRIDE, "sequences[0].segments[0].v");
  APPEND_REFUSED(segments[0][1].k_head = 16, FOVEA_ERROR_STRIDE, "sequences[0].segments[1].k");
  APPEND_REFUSED(call.rotary.frequencies = frequencies; segments[1][0].v = frequencies; firsts[1] = 0;
                 segments[1][0].v_head = ROWS * V_DIM, FOVEA_ERROR_OVERLAP, "frequencies");
}

/* Rows of other heads or dims than a segment has would land in memory of others. Where a segment does not know
 * them, its rows must at least have room for the dims, also if only one is written. */
static void test_append_sizes(void **state) {
  (void)state;
  APPEND_ACCEPTED(segments[0][0].kv_heads = HEADS; segments[1][1].qk_dim = QK_DIM; segments[0][1].v_dim = V_DIM);
  APPEND_REFUSED(segments[0][0].kv_heads = 1, FOVEA_ERROR_SEGMENTS,
                 "kv_heads is 2; sequences[0].segments[0].kv_heads is 1");
  APPEND_REFUSED(segments[1][1].qk_dim = QK_DIM + 1, FOVEA_ERROR_SEGMENTS,
                 "qk_dim is 6; sequences[1].segments[1].qk_dim is 7");
  APPEND_REFUSED(segments[1][0].v_dim = 4, FOVEA_ERROR_SEGMENTS, "v_dim is 5; sequences[1].segments[0].v_dim is 4");
  APPEND_REFUSED(counts[0] = 1;
                 segments[0][0].k_row = QK_DIM - 1, FOVEA_ERROR_STRIDE,
                 "sequences[0].segments[0].k_row is 5; rows share memory unless its size is at least 6");
  APPEND_REFUSED(counts[0] = 1;
                 segments[0][0].v_row = 1 - V_DIM, FOVEA_ERROR_STRIDE,
                 "sequences[0].segments[0].v_row is -4; rows share memory unless its size is at least 5");
  APPEND_REFUSED(counts[1] = 1; firsts[1] = 47; segments[1][1].rows = 17;
                 segments[1][1].k_row = 16 * QK_DIM - 1, FOVEA_ERROR_STRIDE,
                 "sequences[1].segments[1].k_row is 95;", "at least 96");
  /* A segment that nothing is written to may repeat a row. */
  APPEND_ACCEPTED(firsts[0] = 32; segments[0][0].k_row = segments[0][0].v_row = 0);
}

static fovea_pages good_pages(fovea_key_layout layout) {
  fovea_pages pages;
  fovea_pages_init(&pages, 8, 16, HEADS, QK_DIM, V_DIM, FOVEA_F32, layout);
  pages.k = cache[0];
  pages.v = cache[1];
  return pages;
}

struct made {
  fovea_segment segments[8];
  fovea_sequence sequence;
};

static fovea_status make(int kind, const fovea_pages *pages, const int32_t *table, int64_t length, int64_t begin,
                         int64_t end, int64_t limit, struct made *made, fovea_error *error) {
  if (kind == 0)
    return fovea_cache_paged(pages, table, length, begin, end, made->segments, limit, &made->sequence, error);
  if (kind == 1) return fovea_cache_ring(pages, length, begin, end, made->segments, &made->sequence, error);
  return fovea_cache_contiguous(pages, length, made->segments, error);
}

static void assert_not_made(int kind, const fovea_pages *pages, const int32_t *table, int64_t length, int64_t begin,
                            int64_t end, int64_t limit, fovea_status status, const char *const *words) {
  struct made made;
  fovea_error error;
  memset(&made, 0x3a, sizeof made);
  memset(&error, 'x', sizeof error);
  const fovea_status actual = make(kind, pages, table, length, begin, end, limit, &made, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  assert_says(&error, status, words);
  assert_int_equal(make(kind, pages, table, length, begin, end, limit, &made, NULL), status);
  assert_true(is_untouched(&made, sizeof made));
}

#define NOT_MADE(kind, change, length, begin, end, limit, status, ...)                                             \
  do {                                                                                                             \
    int32_t table[] = {3, 0, 7, 2};                                                                                \
    fovea_pages pages = good_pages(FOVEA_KEYS_IN_ROWS);                                                            \
    (void)table;                                                                                                   \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_not_made(kind, &pages, table, length, begin, end, limit, status, words);                                \
  } while (0)
#define PAGED 0
#define RING  1

/* Segments of pages know their heads and dims: no call with others reads them or writes to them. */
static void test_made_sizes(void **state) {
  (void)state;
  static const int64_t others[][3] = {
      {4, QK_DIM, V_DIM}, {1, QK_DIM, V_DIM}, {HEADS, 8, V_DIM}, {HEADS, QK_DIM, 1}};
  static const char *const words[] = {"kv_heads is 4; sequences[0].segments[0].kv_heads is 2",
                                      "kv_heads is 1; sequences[0].segments[0].kv_heads is 2",
                                      "qk_dim is 8; sequences[0].segments[0].qk_dim is 6",
                                      "v_dim is 1; sequences[0].segments[0].v_dim is 5"};
  static float numbers[4 * 8], o[4 * 8];
  const int32_t table[] = {3};
  for (int i = 0; i < 12; i++) {
    const fovea_pages pages = good_pages(i < 4 ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
    struct made to, from;
    const int64_t *sizes = others[i % 4];
    fovea_error error;
    fovea_new_rows rows;
    fovea_problem problem;
    fovea_tensors tensors;
    assert_int_equal(make(i / 4, &pages, table, i < 4 ? 1 : 3, 0, 8, 8, &to, NULL), FOVEA_OK);
    if (i >= 8) to.sequence = fovea_sequence_of(to.segments, 1);
    assert_int_equal(make(PAGED, &pages, (const int32_t[]){5}, 1, 0, 8, 8, &from, NULL), FOVEA_OK);
    memset(cache, 0x3a, sizeof cache);
    fovea_new_rows_init(&rows, 1, sizes[0], 1, sizes[1], sizes[2], numbers, numbers, &to.sequence);
    assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_SEGMENTS);
    assert_string_equal(error.text, words[i % 4]);
    assert_int_equal(
        fovea_sequence_copy(&from.sequence, &to.sequence, 1, sizes[0], sizes[1], sizes[2], 0, 8, NULL, &error),
        FOVEA_ERROR_SEGMENTS);
    assert_string_equal(error.text, words[i % 4]);
    fovea_problem_init(&problem, 1, sizes[0], sizes[0], 1, 1, sizes[1], sizes[2]);
    problem.segmented = 1;
    fovea_tensors_init(&tensors, numbers, NULL, NULL, o, NULL);
    tensors.sequences = &to.sequence;
    assert_int_equal(fovea_attend(&problem, &tensors, NULL, &error), FOVEA_ERROR_SEGMENTS);
    assert_string_equal(error.text, words[i % 4]);
    assert_true(is_untouched(cache, sizeof cache));
  }
}

static void test_tables(void **state) {
  (void)state;
  NOT_MADE(PAGED, table[2] = 8, 4, 0, 40, 8, FOVEA_ERROR_SEGMENTS, "table[2] is 8", "0 to 7");
  NOT_MADE(PAGED, table[0] = -1, 4, 15, 40, 8, FOVEA_ERROR_SEGMENTS, "table[0] is -1");
  NOT_MADE(PAGED, (void)0, 4, 0, 65, 8, FOVEA_ERROR_SEGMENTS, "4 pages of 16 rows", "64");
  NOT_MADE(PAGED, (void)0, -1, 0, 1, 8, FOVEA_ERROR_SEGMENTS, "-1 pages");
  NOT_MADE(PAGED, (void)0, 4, 0, 64, 3, FOVEA_ERROR_SEGMENTS, "segment_limit is 3", "4 segments");
  NOT_MADE(PAGED, (void)0, 4, -1, 40, 8, FOVEA_ERROR_POSITION, "-1");
  NOT_MADE(PAGED, (void)0, 4, 41, 40, 8, FOVEA_ERROR_POSITION, "41", "40");
  NOT_MADE(PAGED, pages.struct_size = offsetof(fovea_pages, k_format) - 1, 4, 0, 40, 8, FOVEA_ERROR_STRUCT_SIZE,
           "fovea_pages_init");
  NOT_MADE(PAGED, pages.struct_size++, 4, 0, 40, 8, FOVEA_ERROR_STRUCT_SIZE, "newer");
  NOT_MADE(PAGED, pages.count = 0, 4, 0, 40, 8, FOVEA_ERROR_SIZE, "pages.count");
  /* Sizes that were changed after the initialiser, whose strides would let rows share memory. */
  NOT_MADE(PAGED, pages.page_rows *= 2, 4, 0, 40, 8, FOVEA_ERROR_STRIDE, "rows of pages.k share memory",
           "fovea_pages_init()");
  NOT_MADE(PAGED, pages.kv_heads++, 4, 0, 40, 8, FOVEA_ERROR_STRIDE, "rows of pages.k share memory");
  NOT_MADE(PAGED, pages.qk_dim++, 4, 0, 40, 8, FOVEA_ERROR_STRIDE, "rows of pages.k share memory");
  NOT_MADE(PAGED, pages.v_dim++, 4, 0, 40, 8, FOVEA_ERROR_STRIDE, "rows of pages.v share memory");
  NOT_MADE(RING, (pages.layers = 2, pages.v_layer--), 1, 0, 8, 8, FOVEA_ERROR_STRIDE,
           "rows of pages.v share memory");
  NOT_MADE(PAGED, pages.page_rows = 0, 4, 0, 40, 8, FOVEA_ERROR_SIZE, "page_rows");
  NOT_MADE(PAGED, pages.k = NULL, 4, 0, 40, 8, FOVEA_ERROR_NULL, "pages.k");
  NOT_MADE(PAGED, pages.v = (char *)pages.v + 2, 4, 0, 40, 8, FOVEA_ERROR_ALIGNMENT, "pages.v");
  NOT_MADE(PAGED, pages.k_strides.batch = INT64_MAX / 3, 4, 0, 40, 8, FOVEA_ERROR_STRIDE, "pages.k");
  NOT_MADE(PAGED, pages.v_type = (fovea_type)5, 4, 0, 40, 8, FOVEA_ERROR_TYPE, "v_type is 5");
  NOT_MADE(PAGED, pages.k_layout = (fovea_key_layout)2, 4, 0, 40, 8, FOVEA_ERROR_TYPE, "k_layout");
  NOT_MADE(PAGED, pages.k_layout = FOVEA_KEYS_IN_PANELS;
           pages.page_rows = 24, 4, 0, 40, 8, FOVEA_ERROR_SIZE, "24", "multiple of 16");
  struct made made;
  const int32_t table[] = {1};
  const fovea_pages pages = good_pages(FOVEA_KEYS_IN_ROWS);
  assert_int_equal(fovea_cache_paged(NULL, table, 1, 0, 1, made.segments, 1, &made.sequence, NULL),
                   FOVEA_ERROR_NULL);
  assert_int_equal(fovea_cache_paged(&pages, NULL, 1, 0, 1, made.segments, 1, &made.sequence, NULL),
                   FOVEA_ERROR_NULL);
  assert_int_equal(fovea_cache_paged(&pages, table, 1, 0, 1, NULL, 1, &made.sequence, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_cache_paged(&pages, table, 1, 0, 1, made.segments, 1, NULL, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_cache_paged(&pages, NULL, 0, 5, 5, NULL, 0, &made.sequence, NULL), FOVEA_OK);
  assert_int_equal(made.sequence.count, 0);
}

static void test_rings(void **state) {
  (void)state;
  NOT_MADE(RING, (void)0, 8, 0, 5, 0, FOVEA_ERROR_SEGMENTS, "page is 8", "0 to 7");
  NOT_MADE(RING, (void)0, -1, 0, 5, 0, FOVEA_ERROR_SEGMENTS, "page is -1");
  NOT_MADE(RING, (void)0, 0, 10, 27, 0, FOVEA_ERROR_SEGMENTS, "10 to 26", "holds 16");
  NOT_MADE(RING, (void)0, 0, -3, 5, 0, FOVEA_ERROR_POSITION, "-3");
  NOT_MADE(2, (void)0, 8, 0, 0, 0, FOVEA_ERROR_SEGMENTS, "page is 8");
  fovea_segment ring[FOVEA_RING_SEGMENTS];
  const fovea_pages pages = good_pages(FOVEA_KEYS_IN_ROWS);
  fovea_sequence sequence;
  assert_int_equal(fovea_cache_ring(&pages, 0, 0, 1, NULL, &sequence, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_cache_ring(&pages, 0, 0, 1, ring, NULL, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_cache_contiguous(&pages, 0, NULL, NULL), FOVEA_ERROR_NULL);
}

static void test_page_pool(void **state) {
  (void)state;
  int32_t references[3], page = -5;
  fovea_page_pool pool;
  fovea_error error;
  assert_int_equal(fovea_page_pool_init(NULL, references, 3, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_page_pool_init(&pool, NULL, 3, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_page_pool_init(&pool, references, 0, NULL), FOVEA_ERROR_SIZE);
  assert_int_equal(fovea_page_pool_init(&pool, references, 3, NULL), FOVEA_OK);
  int taken[3] = {0};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pool.free_count, 3 - i);
    assert_int_equal(fovea_page_take(&pool, &page, NULL), FOVEA_OK);
    assert_in_range(page, 0, 2);
    assert_false(taken[page]++);
  }
  page = -5;
  assert_int_equal(fovea_page_take(&pool, &page, &error), FOVEA_ERROR_MEMORY);
  assert_non_null(strstr(error.text, "3 pages"));
  assert_int_equal(page, -5);
  assert_int_equal(fovea_page_share(&pool, 1, NULL), FOVEA_OK);
  assert_true(fovea_page_is_shared(&pool, 1));
  assert_int_equal(fovea_page_release(&pool, 1, NULL), FOVEA_OK);
  assert_false(fovea_page_is_shared(&pool, 1));
  assert_int_equal(pool.free_count, 0);
  assert_int_equal(fovea_page_release(&pool, 1, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_release(&pool, 1, &error), FOVEA_ERROR_SEGMENTS);
  assert_non_null(strstr(error.text, "page 1 is not in use"));
  assert_int_equal(fovea_page_share(&pool, 1, NULL), FOVEA_ERROR_SEGMENTS);
  assert_int_equal(fovea_page_share(&pool, 3, NULL), FOVEA_ERROR_SEGMENTS);
  assert_int_equal(fovea_page_release(&pool, -1, NULL), FOVEA_ERROR_SEGMENTS);
  assert_int_equal(fovea_page_take(&pool, &page, NULL), FOVEA_OK);
  assert_int_equal(page, 1);
  references[1] = INT32_MAX; /* the most users that a page may have */
  assert_int_equal(fovea_page_share(&pool, 1, &error), FOVEA_ERROR_SIZE);
  assert_non_null(strstr(error.text, "page 1 has 2147483647 users"));
  assert_int_equal(references[1], INT32_MAX);
}

/* If no page is free, or if the rows are more than it can hold, a shared page stays as it is. */
static void test_page_own(void **state) {
  (void)state;
  int32_t references[8], page;
  fovea_page_pool pool;
  fovea_error error;
  const fovea_pages pages = good_pages(FOVEA_KEYS_IN_PANELS);
  memset(cache, 0x3a, sizeof cache);
  assert_int_equal(fovea_page_pool_init(&pool, references, 2, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_take(&pool, &page, NULL), FOVEA_OK);
  const int32_t taken = page;
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, 99, NULL), FOVEA_OK); /* it has no other user */
  assert_int_equal(page, taken);
  assert_int_equal(fovea_page_share(&pool, page, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, 17, &error), FOVEA_ERROR_SEGMENTS);
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, -1, &error), FOVEA_ERROR_SIZE);
  assert_int_equal(fovea_page_own(&pages, 1, &pool, NULL, 1, &error), FOVEA_ERROR_NULL);
  assert_int_equal(page, taken);
  assert_int_equal(pool.free_count, 1);
  assert_true(fovea_page_is_shared(&pool, page));
  assert_true(is_untouched(cache, sizeof cache));
  int32_t other;
  assert_int_equal(fovea_page_take(&pool, &other, NULL), FOVEA_OK);
  assert_int_equal(fovea_page_own(&pages, 1, &pool, &page, 1, &error), FOVEA_ERROR_MEMORY);
  assert_int_equal(page, taken);
}

static void test_copies(void **state) {
  (void)state;
  fovea_error error;
  set_up_segments();
  memset(cache, 0x3a, sizeof cache);
#define COPY(from, to, heads, begin, end)                                                                          \
  fovea_sequence_copy(from, to, 1, heads, QK_DIM, V_DIM, begin, end, NULL, &error)
  assert_int_equal(COPY(NULL, &sequences[1], HEADS, 0, 1), FOVEA_ERROR_NULL);
  assert_int_equal(COPY(&sequences[0], NULL, HEADS, 0, 1), FOVEA_ERROR_NULL);
  assert_int_equal(COPY(&sequences[0], &sequences[1], 0, 0, 1), FOVEA_ERROR_SIZE);
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, 2, 1), FOVEA_ERROR_SIZE);
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, -1, 1), FOVEA_ERROR_SIZE);
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, 0, 49), FOVEA_ERROR_SEGMENTS);
  sequences[1].count = 1;
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, 0, 40), FOVEA_ERROR_SEGMENTS);
  assert_non_null(strstr(error.text, "sequences[1] holds positions 0 to 31"));
  assert_int_equal(COPY(&sequences[0], &sequences[0], HEADS, 0, 40), FOVEA_ERROR_OVERLAP);
  assert_non_null(strstr(error.text, "sequences[1]"));
  segments[1][0].k_row = 1;
  assert_int_equal(COPY(&sequences[0], &sequences[1], HEADS, 0, 8), FOVEA_ERROR_STRIDE);
  assert_int_equal(COPY(&sequences[0], &sequences[0], HEADS, 7, 7), FOVEA_OK);
  assert_true(is_untouched(cache, sizeof cache));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rotary_positions), cmocka_unit_test(test_good_appends),
      cmocka_unit_test(test_append_arguments), cmocka_unit_test(test_sized_initialisers),
      cmocka_unit_test(test_append_positions), cmocka_unit_test(test_append_memory),
      cmocka_unit_test(test_append_sizes),     cmocka_unit_test(test_made_sizes),
      cmocka_unit_test(test_tables),           cmocka_unit_test(test_rings),
      cmocka_unit_test(test_page_pool),        cmocka_unit_test(test_page_own),
      cmocka_unit_test(test_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
