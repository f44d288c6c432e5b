/* Tokens are drawn by chances that are the same integers on every instruction set. */
#include "sample.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/isas.h"

#include <math.h>
#include <string.h>

static void open_chances(struct chances *chances, int64_t count) {
  struct failure failure = {""};
  if (!chances_open(chances, count, &failure)) fail_msg("%s", failure.text);
}

static int32_t draw(struct chances *chances, const float *logits, double temperature, uint64_t *generator) {
  struct failure failure = {""};
  int32_t token = -1;
  if (!sample_token(chances, logits, temperature, NULL, generator, &token, &failure)) fail_msg("%s", failure.text);
  return token;
}

static void test_greedily(void **state) {
  (void)state;
  static const float logits[4] = {0, -INFINITY, 1, 0}, equal[3] = {-1, 2, 2};
  struct chances chances;
  uint64_t generator = 1;
  open_chances(&chances, 4);
  assert_int_equal(draw(&chances, logits, 0, &generator), 2);
  assert_int_equal(generator, 1);
  chances_close(&chances);
  assert_int_equal(sample_greedily(equal, 3), 1);
}

/* Numbers that spec/second computes: softmax() of layers.py, and the rest in Python's integers. With the exponential
 * function of glibc the chance of token 277 is 1048073. */
static void test_known_chances(void **state) {
  (void)state;
  enum { COUNT = 300, DRAWS = 12 };
  static const int32_t tokens[DRAWS] = {100, 7, 277, 165, 132, 66, 132, 93, 33, 119, 33, 291};
  struct chances chances;
  struct failure failure = {""};
  float logits[COUNT];
  open_chances(&chances, COUNT);
  for (int i = 0; i < COUNT; i++) logits[i] = (float)(i * 7919 % 1009 - 504) / 64;
  for (const char *const *isa = usable_names(); *isa; isa++) {
    for (int threads = 1; threads <= 2; threads++) {
      uint64_t generator = 7;
      if (!chances_take(&chances, logits, 0.8, execution_of(*isa, threads), &failure)) fail_msg("%s", failure.text);
      assert_int_equal(chances.total, 16777394);
      assert_int_equal(chances.chance[277], 1048074);
      assert_int_equal(chances.chance[33], 1027802);
      assert_int_equal(chances_before(&chances, COUNT - 1), 16777394 - chances.chance[COUNT - 1]);
      for (int i = 0; i < DRAWS; i++) assert_int_equal(chances_draw(&chances, &generator), tokens[i]);
    }
  }
  chances_close(&chances);
}

/* Of 2^16 equal chances the upper 16 bits of SplitMix64's known numbers choose one. */
static void test_known_numbers(void **state) {
  (void)state;
  enum { COUNT = 1 << 16 };
  static const int32_t tokens[3] = {0xe220, 0x6e78, 0x06c4};
  struct chances chances;
  uint64_t generator = 0;
  float *logits = calloc(COUNT, sizeof *logits);
  assert_non_null(logits);
  open_chances(&chances, COUNT);
  for (int i = 0; i < 3; i++) assert_int_equal(draw(&chances, logits, 1, &generator), tokens[i]);
  chances_close(&chances);
  free(logits);
}

/* Tokens are drawn as often as their probabilities say. */
static void test_shares(void **state) {
  (void)state;
  static const float logits[4] = {0, -INFINITY, 1.0986123f /* log 3 */, 0};
  static const double shares[4] = {0.2, 0, 0.6, 0.2};
  const int draws = 20000;
  int counts[4] = {0};
  struct chances chances;
  uint64_t generator = 1;
  open_chances(&chances, 4);
  for (int i = 0; i < draws; i++) counts[draw(&chances, logits, 1, &generator)]++;
  for (int i = 0; i < 4; i++) /* five standard deviations */
    assert_true(fabs(counts[i] - draws * shares[i]) <= 5 * sqrt(draws * shares[i] * (1 - shares[i])));
  for (int i = 0; i < 100; i++) assert_int_equal(draw(&chances, logits, 0.01, &generator), 2);
  chances_close(&chances);
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    double temperature;
    float logit;
    const char *text;
  } cases[] = {{9e-7, 0, "the temperature is 9e-07; it must be 0, or from 1e-6 to 1e6"},
               {1.1e6, 0, "the temperature is 1.1e+06; it must be 0, or from 1e-6 to 1e6"},
               {1, NAN, "a number that follows a token is not finite"},
               {1, INFINITY, "a number that follows a token is not finite"}};
  struct chances chances;
  open_chances(&chances, 2);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const float logits[2] = {0, cases[i].logit};
    struct failure failure = {""};
    uint64_t generator = 1;
    int32_t token = -1;
    assert_false(sample_token(&chances, logits, cases[i].temperature, NULL, &generator, &token, &failure));
    assert_string_equal(failure.text, cases[i].text);
    assert_int_equal(token, -1);
  }
  chances_close(&chances);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_greedily), cmocka_unit_test(test_known_chances), cmocka_unit_test(test_known_numbers),
      cmocka_unit_test(test_shares),   cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
