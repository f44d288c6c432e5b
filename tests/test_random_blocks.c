/* Random blocks: the lists that a program in Python drew by the same definition, and what every list has to be. */
#include "support/check.h"
#include "support/refusals.h"

#include <fovea/pattern.h>

#include <string.h>

enum { BLOCKS = 200, KEY_BLOCKS = 50, MOST = 50, UNTOUCHED = -77 };
static int64_t starts[BLOCKS + 2], columns[BLOCKS * MOST + 1];

static void draw(uint64_t seed, int64_t blocks, int64_t key_blocks, int64_t chosen) {
  fovea_error error;
  for (int64_t i = 0; i < blocks + 2; i++) starts[i] = UNTOUCHED;
  for (int64_t i = 0; i <= blocks * chosen; i++) columns[i] = UNTOUCHED;
  const fovea_status status = fovea_random_blocks(seed, blocks, key_blocks, chosen, starts, columns, &error);
  if (status != FOVEA_OK) fail_msg("%s", error.text);
  assert_int_equal(starts[blocks + 1], UNTOUCHED);
  assert_int_equal(columns[blocks * chosen], UNTOUCHED);
}

static void test_known_answers(void **state) {
  (void)state;
  static const int64_t small[] = {0, 4, 12, 13, 19, 2, 8, 11, 13, 14, 1, 2, 3, 13, 17, 1, 7, 10, 11, 16};
  static const int64_t large[] = {413777063, 810449547, 1008477663, 327025589, 858967651, 1419637351};
  draw(7, 4, 20, 5);
  assert_memory_equal(columns, small, sizeof small);
  draw(UINT64_C(0x123456789abcdef0), 2, INT64_C(1) << 31, 3);
  assert_memory_equal(columns, large, sizeof large);
}

/* As many different blocks as wanted, ascending, within the limits. */
static void test_lists(void **state) {
  (void)state;
  for (int64_t chosen = 0; chosen <= KEY_BLOCKS; chosen++) {
    draw((uint64_t)chosen * 99, BLOCKS, KEY_BLOCKS, chosen);
    for (int64_t i = 0; i <= BLOCKS; i++) assert_int_equal(starts[i], i * chosen);
    for (int64_t i = 0; i < BLOCKS; i++)
      for (int64_t j = 0; j < chosen; j++) {
        const int64_t *column = &columns[i * chosen + j];
        assert_in_range(*column, 0, KEY_BLOCKS - 1);
        if (j > 0) assert_true(column[-1] < *column);
      }
  }
}

static void test_more_rows_change_none(void **state) {
  (void)state;
  int64_t few[10 * 3];
  draw(5, 10, KEY_BLOCKS, 3);
  memcpy(few, columns, sizeof few);
  draw(5, BLOCKS, KEY_BLOCKS, 3);
  assert_memory_equal(few, columns, sizeof few);
  draw(6, 10, KEY_BLOCKS, 3);
  assert_memory_not_equal(few, columns, sizeof few);
}

/* Each block is as likely as any other: 200 draws of 10 out of 50 name each 40 times, with a deviation of 5.7. */
static void test_even(void **state) {
  (void)state;
  int times[KEY_BLOCKS] = {0};
  draw(11, BLOCKS, KEY_BLOCKS, 10);
  for (int64_t i = 0; i < BLOCKS * 10; i++) times[columns[i]]++;
  for (int i = 0; i < KEY_BLOCKS; i++) assert_in_range(times[i], 40 - 20, 40 + 20);
}

/* Used as they are made. */
static void test_in_a_pattern(void **state) {
  (void)state;
  draw(3, 8, 8, 2);
  const fovea_rule random = fovea_rule_blocks(16, 16, 8, starts, columns);
  fovea_pattern_options options;
  fovea_pattern *pattern;
  fovea_pattern_options_init(&options, &random, 128, 128);
  assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
  for (int64_t i = 0; i < 128; i++)
    for (int64_t j = 0; j < 128; j++) {
      const int64_t *list = &columns[2 * (i / 16)];
      assert_int_equal(fovea_pattern_sees(pattern, 0, i, j), j / 16 == list[0] || j / 16 == list[1]);
    }
  fovea_pattern_destroy(pattern);
}

static void refuse(int64_t blocks, int64_t key_blocks, int64_t chosen, int64_t *to_starts, int64_t *to_columns,
                   fovea_status expected, const char *text) {
  fovea_error error;
  const char *const words[] = {text, NULL};
  const fovea_status status = fovea_random_blocks(1, blocks, key_blocks, chosen, to_starts, to_columns, &error);
  assert_int_equal(status, expected);
  assert_says(&error, expected, words);
  assert_int_equal(fovea_random_blocks(1, blocks, key_blocks, chosen, to_starts, to_columns, NULL), expected);
}

static void test_refusals(void **state) {
  (void)state;
  const int64_t limit = INT64_C(1) << 31;
  refuse(-1, 5, 2, starts, columns, FOVEA_ERROR_ARGUMENT, "blocks is -1; it must be from 0 to 2147483648");
  refuse(limit + 1, 5, 2, starts, columns, FOVEA_ERROR_ARGUMENT, "blocks is 2147483649");
  refuse(1, limit + 1, 2, starts, columns, FOVEA_ERROR_ARGUMENT, "key_blocks is 2147483649");
  refuse(1, -1, 0, starts, columns, FOVEA_ERROR_ARGUMENT, "key_blocks is -1");
  refuse(1, 5, 6, starts, columns, FOVEA_ERROR_ARGUMENT, "chosen is 6; it must be from 0 to 5");
  refuse(1, 5, -1, starts, columns, FOVEA_ERROR_ARGUMENT, "chosen is -1");
  refuse(1, 5, 2, NULL, columns, FOVEA_ERROR_ARGUMENT, "starts is NULL");
  refuse(1, 5, 2, starts, NULL, FOVEA_ERROR_ARGUMENT, "columns is NULL");
  assert_int_equal(fovea_random_blocks(1, 3, 5, 0, starts, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_random_blocks(1, 0, 5, 2, starts, NULL, NULL), FOVEA_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answers),         cmocka_unit_test(test_lists),
      cmocka_unit_test(test_more_rows_change_none), cmocka_unit_test(test_even),
      cmocka_unit_test(test_in_a_pattern),          cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
