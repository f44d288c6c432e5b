/* Attention over segments that is refused. One call would succeed; each case spoils one thing in it, and neither O
 * nor LSE is written. */
#include "support/check.h"
#include "support/guarded.h"
#include "support/refusals.h"

#include <fovea/cache.h>
#include <string.h>

enum { BATCH = 2, HEADS = 2, ROWS = 3, KEYS = 20, DIM = 6, UNTOUCHED = 0x3a };

static float q[BATCH * HEADS * ROWS * DIM], o[BATCH * HEADS * ROWS * DIM], lse[4 * BATCH * HEADS * ROWS * DIM];
static float k[BATCH][HEADS * KEYS * DIM], v[BATCH][HEADS * KEYS * DIM];
static fovea_segment segments[BATCH][2];
static fovea_sequence sequences[BATCH];
static int64_t begins[BATCH], lengths[BATCH];
static int32_t cumulative[BATCH + 1];

struct segmented_call {
  fovea_problem problem;
  fovea_tensors tensors;
};

/* 19 keys and a new one; the second batch element has forgotten some. */
static struct segmented_call good_attention(void) {
  struct segmented_call call;
  for (int b = 0; b < BATCH; b++) {
    segments[b][0] = (fovea_segment){.rows = KEYS - 1,
                                     .k = k[b],
                                     .v = v[b],
                                     .k_head = KEYS * DIM,
                                     .k_row = DIM,
                                     .v_head = KEYS * DIM,
                                     .v_row = DIM};
    segments[b][1] = segments[b][0];
    segments[b][1].first = KEYS - 1;
    segments[b][1].rows = 1;
    segments[b][1].k = &k[b][(KEYS - 1) * DIM];
    segments[b][1].v = &v[b][(KEYS - 1) * DIM];
    sequences[b] = fovea_sequence_of(segments[b], 2);
    begins[b] = b * 5;
    lengths[b] = KEYS;
  }
  fovea_problem_init(&call.problem, BATCH, HEADS, HEADS, ROWS, KEYS, DIM, DIM);
  call.problem.cache.segmented = 1;
  call.problem.kv_begins = begins;
  call.problem.kv_lens = lengths;
  fovea_tensors_init(&call.tensors, q, NULL, NULL, o, lse);
  call.tensors.cache.sequences = sequences;
  return call;
}

static void clear(void) {
  memset(o, UNTOUCHED, sizeof o);
  memset(lse, UNTOUCHED, sizeof lse);
}

static int is_untouched(const void *memory, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (((const unsigned char *)memory)[i] != UNTOUCHED) return 0;
  return 1;
}

static void assert_call_refused(const struct segmented_call *call, fovea_status status, const char *const *words) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  clear();
  const fovea_status actual = fovea_attend(&call->problem, &call->tensors, NULL, &error);
  if (actual != status) fail_msg("status %d, not %d: %.250s", (int)actual, (int)status, error.text);
  assert_says(&error, status, words);
  assert_true(is_untouched(o, sizeof o) && is_untouched(lse, sizeof lse));
}

#define NOT_ATTENDED(change, status, ...)                                                                          \
  do {                                                                                                             \
    struct segmented_call call = good_attention();                                                                 \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_call_refused(&call, status, words);                                                                     \
  } while (0)

static void test_problems(void **state) {
  (void)state;
  NOT_ATTENDED(call.problem.cache.segmented = 2, FOVEA_ERROR_ARGUMENT, "cache.segmented is 2");
  NOT_ATTENDED(call.problem.kv_lens = NULL;
               call.problem.cu_seqlens_kv = cumulative, FOVEA_ERROR_ARGUMENT, "cu_seqlens_kv", "must be NULL");
  NOT_ATTENDED(begins[1] = -1, FOVEA_ERROR_ARGUMENT, "kv_begins[1] is -1", "0 to 20");
  NOT_ATTENDED(begins[0] = 8; lengths[0] = 7, FOVEA_ERROR_ARGUMENT, "kv_begins[0] is 8", "0 to 7");
  NOT_ATTENDED(call.problem.kv_lens = NULL; begins[0] = KEYS + 1, FOVEA_ERROR_ARGUMENT, "kv_begins[0] is 21");
}

static void test_sequences(void **state) {
  (void)state;
  NOT_ATTENDED(call.tensors.cache.sequences = NULL, FOVEA_ERROR_ARGUMENT, "cache.sequences is NULL");
  NOT_ATTENDED(sequences[1].segments = NULL, FOVEA_ERROR_ARGUMENT,
               "cache.sequences[1].segments is NULL while count is 2");
  NOT_ATTENDED(sequences[1].count = 0, FOVEA_ERROR_ARGUMENT, "cache.sequences[1] has no segments", "5 to 19");
  NOT_ATTENDED(sequences[1].count = -1, FOVEA_ERROR_ARGUMENT, "cache.sequences[1] has no segments");
  NOT_ATTENDED(sequences[1].count = 1, FOVEA_ERROR_ARGUMENT, "cache.sequences[1] holds positions 0 to 18",
               "5 to 19");
  NOT_ATTENDED(segments[0][0].k_layout = (fovea_key_layout)2, FOVEA_ERROR_ARGUMENT,
               "cache.sequences[0].segments[0].k_layout is 2");
  NOT_ATTENDED(segments[1][1].k = (char *)k[1] + 2, FOVEA_ERROR_ARGUMENT,
               "cache.sequences[1].segments[1].k is 2 bytes off an address that is a multiple of 4");
  NOT_ATTENDED(begins[1] = 0; segments[1][0].first = 4;
               segments[1][0].rows = KEYS - 5, FOVEA_ERROR_ARGUMENT,
               "cache.sequences[1] holds positions 4 to 19; positions 0 to 19 are wanted",
               "set kv_begins[1] of the problem to 4");
  NOT_ATTENDED(segments[0][1].v = NULL, FOVEA_ERROR_ARGUMENT, "cache.sequences[0].segments[1].v is NULL");
  NOT_ATTENDED(segments[1][0].v = o, FOVEA_ERROR_ARGUMENT, "o shares memory with v");
  NOT_ATTENDED(segments[0][0].k = lse, FOVEA_ERROR_ARGUMENT, "lse shares memory with k");
}

/* Segments that know their heads and dims are for problems with these. 0: not known. */
static void test_sizes(void **state) {
  (void)state;
  struct segmented_call good = good_attention();
  segments[0][0].kv_heads = segments[1][1].kv_heads = HEADS;
  segments[0][0].qk_dim = segments[1][1].v_dim = DIM;
  assert_int_equal(fovea_attend(&good.problem, &good.tensors, NULL, NULL), FOVEA_OK);
  NOT_ATTENDED(segments[1][0].kv_heads = HEADS + 1, FOVEA_ERROR_ARGUMENT,
               "kv_heads is 2; sequences[1].segments[0].kv_heads is 3");
  NOT_ATTENDED(segments[0][1].qk_dim = DIM - 1, FOVEA_ERROR_ARGUMENT,
               "qk_dim is 6; sequences[0].segments[1].qk_dim is 5");
  NOT_ATTENDED(segments[0][0].v_dim = 2 * DIM, FOVEA_ERROR_ARGUMENT,
               "v_dim is 6; sequences[0].segments[0].v_dim is 12");
  NOT_ATTENDED(segments[0][0].v_dim = -1, FOVEA_ERROR_ARGUMENT, "v_dim is 6; sequences[0].segments[0].v_dim is -1");
}

/* Only keys that rows see may not be shared: of 20 keys, with a window of 4, the last three rows see 7. */
static void test_keys_that_are_not_seen(void **state) {
  (void)state;
  static float memory[(KEYS + ROWS) * DIM];
  for (int64_t place = 0; place < KEYS - ROWS; place++) {
    struct segmented_call call = good_attention();
    fovea_error error;
    fovea_problem_init(&call.problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
    call.problem.cache.segmented = 1;
    call.problem.window_left = 4;
    segments[0][0].k = memory;
    segments[0][1].k = memory + (KEYS - 1) * DIM;
    call.tensors.o = memory + place * DIM;
    const fovea_status status = fovea_attend(&call.problem, &call.tensors, NULL, &error);
    const int64_t first_seen = KEYS - ROWS - 4;
    assert_int_equal(status, place + ROWS <= first_seen ? FOVEA_OK : FOVEA_ERROR_ARGUMENT);
  }
}

/* The stride of a single row may be any number. */
static void test_any_stride_of_one_row(void **state) {
  (void)state;
  float expected[sizeof o / sizeof o[0]];
  for (int i = 0; i < HEADS * KEYS * DIM; i++)
    for (int b = 0; b < BATCH; b++) k[b][i] = (float)(i % 7 - b), v[b][i] = (float)(i % 11 + b);
  for (int i = 0; i < BATCH * HEADS * ROWS * DIM; i++) q[i] = (float)(i % 5) / 4;
  struct segmented_call call = good_attention();
  assert_int_equal(fovea_attend(&call.problem, &call.tensors, NULL, NULL), FOVEA_OK);
  memcpy(expected, o, sizeof o);
  for (int b = 0; b < BATCH; b++) {
    segments[b][1].k_row = INT64_MAX;
    segments[b][1].v_row = INT64_MIN;
  }
  clear();
  assert_int_equal(fovea_attend(&call.problem, &call.tensors, NULL, NULL), FOVEA_OK);
  assert_memory_equal(o, expected, sizeof o);
}

/* The initialiser makes the segment that its fields say, of any size that a version has had. */
static void test_initialiser(void **state) {
  (void)state;
  static const fovea_segment wanted = {.first = 3,
                                       .rows = 7,
                                       .k = k,
                                       .v = v,
                                       .k_head = 7 * 5,
                                       .k_row = 5,
                                       .v_head = 7 * 4,
                                       .v_row = 4,
                                       .k_type = FOVEA_BF16,
                                       .v_type = FOVEA_BF16,
                                       .qk_dim = 5,
                                       .v_dim = 4};
  fovea_segment made;
  memset(&made, 0x77, sizeof made);
  fovea_segment_init(&made, 3, 7, 5, 4, FOVEA_BF16, k, v);
  assert_memory_equal(&made, &wanted, sizeof made);
  unsigned char earlier[sizeof made];
  const size_t size = offsetof(fovea_segment, layers);
  memset(earlier, 0x77, sizeof earlier);
  fovea_segment_init_sized((fovea_segment *)(void *)memcpy(&made, earlier, sizeof made), size, 3, 7, 5, 4,
                           FOVEA_BF16, k, v);
  assert_memory_equal(&made, &wanted, size);
  assert_memory_equal((char *)&made + size, earlier + size, sizeof made - size);
}

/* If a batch element wants no key, its segments may be missing. */
static void test_segments_that_are_not_wanted(void **state) {
  (void)state;
  static const float zeros[HEADS * ROWS * DIM];
  struct guarded nowhere = guarded_create(0, GUARD_AT_END);
  const int64_t q_lens[BATCH] = {ROWS, 0};
  for (int why = 0; why < 3; why++) {
    struct segmented_call call = good_attention();
    sequences[1] = fovea_sequence_of((const fovea_segment *)(const void *)nowhere.data, 2);
    begins[1] = 0;
    if (why == 0) lengths[1] = 0;
    if (why == 1) call.problem.q_lens = q_lens;
    if (why == 2) call.problem.keys.begin = lengths[1] = KEYS / 2;
    clear();
    assert_int_equal(fovea_attend(&call.problem, &call.tensors, NULL, NULL), FOVEA_OK);
    assert_memory_equal(o + HEADS * ROWS * DIM, zeros, sizeof zeros);
  }
  guarded_destroy(&nowhere);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_problems),
      cmocka_unit_test(test_sequences),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_keys_that_are_not_seen),
      cmocka_unit_test(test_any_stride_of_one_row),
      cmocka_unit_test(test_segments_that_are_not_wanted),
      cmocka_unit_test(test_initialiser),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
