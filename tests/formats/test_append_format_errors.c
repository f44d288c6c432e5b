/* New rows that caches of formats refuse, with texts; nothing is written then. */
#include "stores.h"

#include "support/check.h"
#include "support/error_says.h"

#include <fovea/cache.h>

static void assert_append_says(struct store *store, struct new_rows *n, fovea_status status, const char *words) {
  fovea_error error;
  const fovea_sequence sequence = fovea_sequence_of(&store->segment, 1);
  struct side_bytes before[2] = {side_save(&store->sides[0]), side_save(&store->sides[1])};
  n->rows.sequences = &sequence;
  assert_int_equal(fovea_append(&n->rows, NULL, NULL, &error), status);
  assert_error_says(&error, words);
  for (int side = 0; side < 2; side++) {
    assert_true(side_is(&store->sides[side], &before[side]));
    side_forget(&before[side]);
  }
}

static void test_refusals(void **state) {
  (void)state;
  struct generator generator = {10};
  static const int8_t unsorted[16] = {0, 3, 1};
  const fovea_format by_keys = narrow_format(FOVEA_FORMAT_KIVI_K4), q8 = narrow_format(FOVEA_FORMAT_Q8_0);
  struct store store;
  struct new_rows rows;
  store_make(&store, &q8, &by_keys, 64, 64, 80, 0, &generator);
  rows_make(&rows, 64, 64, store.segment.first + 32, 32, 0, &generator);
  rows.rows.rows = 31;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT,
                     "sequences[0].segments[0].v is written in groups of 32 keys from position 16 on");
  rows.rows.rows = 32, rows.rows.first_position++;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "v is written in groups of 32 keys");
  rows.rows.first_position--, rows.rows.k_hadamard = 48;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "k_hadamard is 48");
  rows.rows.k_hadamard = 128;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "k_hadamard: divides the dim, which is 64");
  rows.rows.k_hadamard = 0;
  store.sides[0].format.quantiser = (fovea_quantiser)6;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT,
                     "sequences[0].segments[0].k_format.quantiser: format.quantiser is 6");
  store.sides[0].format.quantiser = FOVEA_QUANTISE_KIVI;
  assert_append_says(&store, &rows, FOVEA_ERROR_UNUSED,
                     "sequences[0].segments[0].k_format.quantiser: format.quantiser is 4");
  store.sides[0].format = narrow_format(FOVEA_FORMAT_IQ4_NL);
  store.sides[0].format.table = unsorted;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "k_format.table does not ascend");
  store.sides[0].format = q8;
  store_append(&store, &rows, NULL, NULL); /* 16 keys are left for a last group */
  rows.rows.first_position += 32, rows.rows.rows = 16;
  store_append(&store, &rows, NULL, NULL);
  static float wide[8192], narrow[8], scales[1];
  static int8_t codes[8192];
  const fovea_format i8 = narrow_format(FOVEA_FORMAT_I8_ROWS);
  fovea_segment segment;
  fovea_new_rows wide_rows;
  fovea_error error;
  fovea_segment_init(&segment, 0, 1, 8192, 8, FOVEA_F32, codes, narrow);
  segment.k_format = &i8;
  segment.k_scales.scales = scales;
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_new_rows_init(&wide_rows, 1, 1, 1, 8192, 8, wide, wide, &sequence);
  assert_int_equal(fovea_append(&wide_rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "sequences[0].segments[0].k: qk_dim is 8192, and must be at most 4096");
  rows.rows.k = rows.rows.v = store.sides[1].scales.data;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[0].v: share memory");
  rows_destroy(&rows);
  store_destroy(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
