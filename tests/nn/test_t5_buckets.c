/* T5's buckets: the contract; tables of the reference; the formula in double precision, away from its ties; ties;
 * refusals. */
#include "conformance/case.h"
#include "nn/contract_rows.h"
#include "support/check.h"
#include "support/guarded.h"

#include <fovea/nn.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets *tie if the number of the bucket may be off by rounding. */
static int64_t formula(int64_t relative, int bidirectional, int64_t buckets, int64_t max_distance, int *tie) {
  int64_t first = 0, distance = llabs(relative);
  *tie = 0;
  if (bidirectional) {
    buckets /= 2;
    if (relative > 0) first = buckets;
  } else if (relative > 0) {
    distance = 0;
  }
  const int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  const double place =
      log((double)distance / (double)exact) / log((double)max_distance / (double)exact) * (double)(buckets - exact);
  if (fabs(place - rint(place)) < 1e-9) *tie = 1;
  const int64_t bucket = exact + (int64_t)place;
  return first + (bucket < buckets ? bucket : buckets - 1);
}

static void test_formula(void **state) {
  (void)state;
  static const int64_t rules[][3] = {{1, 32, 128}, {0, 32, 128},  {1, 320, 800}, {0, 256, 4096},
                                     {1, 33, 100}, {0, 2, 2},     {1, 4, 2},     {0, 3, 5},
                                     {0, 7, 1000}, {1, 6, 77777}, {1, 64, 1024}, {0, 5, 3}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const int bidirectional = (int)rules[i][0];
    int ties = 0;
    for (int64_t r = -5000; r <= 5000; r++) {
      int tie;
      const int64_t expected = formula(r, bidirectional, rules[i][1], rules[i][2], &tie);
      const int64_t actual = fovea_nn_t5_bucket(r, bidirectional, rules[i][1], rules[i][2]);
      ties += tie;
      if (!tie && actual != expected)
        fail_msg("rule %d, %" PRId64 ": %" PRId64 ", not %" PRId64, (int)i, r, actual, expected);
    }
    assert_true(ties < 200);
  }
}

/* Whole numbers as the contract has them, ties too. */
static void test_contract(void **state) {
  (void)state;
  static const int64_t rules[][3] = {{1, 32, 128}, {0, 33, 100}, {0, 2, 2},
                                     {1, 4, 2},    {0, 3, 5},    {1, 64, INT32_MAX}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    for (int64_t r = -140; r <= 140; r++) {
      const int64_t expected = contract_t5_bucket(r, (int)rules[i][0], rules[i][1], rules[i][2]);
      assert_int_equal(fovea_nn_t5_bucket(r, (int)rules[i][0], rules[i][1], rules[i][2]), expected);
    }
}

/* With e = 8, m = 8, M = 128 the borders are 8 * 2^(k / 2): at even k whole numbers, which belong to the bucket. */
static void test_ties(void **state) {
  (void)state;
  static const int64_t borders[] = {8, 12, 16, 23, 32, 46, 64, 91};
  for (int k = 0; k < 8; k++) {
    assert_int_equal(fovea_nn_t5_bucket(-borders[k], 1, 32, 128), 8 + k);
    assert_int_equal(fovea_nn_t5_bucket(1 - borders[k], 1, 32, 128), 7 + k);
    assert_int_equal(fovea_nn_t5_bucket(borders[k], 1, 32, 128), 24 + k);
  }
}

static void test_extremes(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_t5_bucket(INT64_MIN, 1, 32, 128), 15);
  assert_int_equal(fovea_nn_t5_bucket(INT64_MAX, 1, 32, 128), 31);
  assert_int_equal(fovea_nn_t5_bucket(INT64_MAX, 0, 32, 128), 0);
  assert_int_equal(fovea_nn_t5_bucket(INT64_MIN, 0, 32, 128), 31);
  assert_int_equal(fovea_nn_t5_bucket(-INT32_MAX, 0, 1024, INT32_MAX), 1023);
  assert_int_equal(fovea_nn_t5_bucket(-INT32_MAX + 1, 0, 1024, INT32_MAX), 1023);
  assert_int_equal(fovea_nn_t5_bucket(-512, 0, 1024, INT32_MAX), 512);
  assert_int_equal(fovea_nn_t5_bucket(-511, 0, 1024, INT32_MAX), 511);
}

static void check_case(const char *root, const char *name) {
  char directory[1024], error[256];
  struct test_case test;
  snprintf(directory, sizeof directory, "%s/oracles", root);
  if (!case_read(&test, directory, name, error, sizeof error)) fail_msg("%s", error);
  const struct array *relative = case_input(&test, "relative_position");
  const int bidirectional = (int)case_number(&test, "bidirectional", -1);
  const int64_t buckets = (int64_t)case_number(&test, "num_buckets", 0);
  const int64_t max_distance = (int64_t)case_number(&test, "max_distance", 0);
  static const char *const outputs[] = {"bucket_f32", "bucket_f64"};
  for (int i = 0; i < 2; i++) {
    const int64_t *expected = case_output(&test, outputs[i])->data, *from = relative->data;
    for (int64_t r = 0; r < relative->count; r++)
      assert_int_equal(fovea_nn_t5_bucket(from[r], bidirectional, buckets, max_distance), expected[r]);
  }
  case_free(&test);
}

static void test_golden(void **state) {
  (void)state;
  static const char *const names[] = {"bi_32_128", "bi_32_20", "bi_64_256", "uni_32_128", "uni_32_20", "uni_8_16"};
  const char *root = getenv("FOVEA_CONFORMANCE_DIR");
  if (!root) skip();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[64];
    snprintf(name, sizeof name, "t5_buckets_%s", names[i]);
    check_case(root, name);
  }
}

static void test_table(void **state) {
  (void)state;
  struct guarded memory = guarded_create(700 * sizeof(int64_t), GUARD_AT_END);
  int64_t *to = (int64_t *)(void *)memory.data;
  assert_int_equal(fovea_nn_t5_buckets(-350, 700, 1, 32, 128, to, NULL), FOVEA_OK);
  for (int i = 0; i < 700; i++) assert_int_equal(to[i], fovea_nn_t5_bucket(i - 350, 1, 32, 128));
  assert_true(guarded_slack_intact(&memory));
  guarded_destroy(&memory);
}

static void test_refused(void **state) {
  (void)state;
  int64_t to[3] = {7, 7, 7};
  fovea_error error;
  assert_int_equal(fovea_nn_t5_bucket(1, 0, 1, 128), -1);
  assert_int_equal(fovea_nn_t5_bucket(1, 1, 3, 128), -1);
  assert_int_equal(fovea_nn_t5_bucket(1, 0, 1025, 1000000), -1);
  assert_int_equal(fovea_nn_t5_bucket(1, 0, 32, 16), -1);
  assert_int_equal(fovea_nn_t5_bucket(1, 0, 32, INT64_C(1) << 31), -1);
  assert_int_equal(fovea_nn_t5_buckets(0, 2, 1, 3, 128, to, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "buckets is 3; it must be from 4 to 1024");
  assert_int_equal(fovea_nn_t5_buckets(0, 2, 1, 32, 8, to, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "max_distance is 8; it must be from 9 to 2147483647");
  assert_int_equal(fovea_nn_t5_buckets(0, -1, 1, 32, 128, to, &error), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_t5_buckets(INT64_MAX, 2, 1, 32, 128, to, &error), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_t5_buckets(0, 2, 1, 32, 128, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_t5_buckets(0, 0, 1, 32, 128, NULL, &error), FOVEA_OK);
  assert_true(to[0] == 7 && to[1] == 7 && to[2] == 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contract), cmocka_unit_test(test_formula), cmocka_unit_test(test_ties),
      cmocka_unit_test(test_extremes), cmocka_unit_test(test_golden),  cmocka_unit_test(test_table),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
