/* The contract's own functions against libm in float64: what docs/numerics.md says of their errors. */
#include "contract.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Relative error in units of 2^-24. */
static double error_of(float actual, double expected) {
  return fabs((double)actual - expected) / fabs(expected) * 0x1p24;
}

/* Over all floats from -126 to -2^-25 the worst is 1.342 u, and where y is not monotone it is one unit in the last
 * place off (at 3 of 10,000 neighbours). */
static void test_exp2(void **state) {
  (void)state;
  double worst = 0.0;
  for (uint32_t bits = bits_of(-0.0f); bits < bits_of(-126.0f); bits += IF_QUICK(50021, 997)) {
    const float x = from_bits(bits), y = contract_exp2(x);
    worst = fmax(worst, error_of(y, exp2((double)x)));
    assert_true(y <= 1.0f);
    assert_true(contract_exp2(from_bits(bits + 1)) <= nextafterf(y, 2.0f)); /* a little further down */
  }
  print_message("exp2: at most %.3f u\n", worst);
  assert_true(worst <= 1.343);
}

static void test_exp2_borders(void **state) {
  (void)state;
  assert_int_equal(bits_of(contract_exp2(0.0f)), bits_of(1.0f));
  assert_int_equal(bits_of(contract_exp2(-0.0f)), bits_of(1.0f));
  for (int power = 0; power >= -126; power--)
    assert_int_equal(bits_of(contract_exp2((float)power)), bits_of(ldexpf(1.0f, power)));
  assert_int_equal(bits_of(contract_exp2(nextafterf(-126.0f, -200.0f))), 0);
  assert_int_equal(bits_of(contract_exp2(-INFINITY)), 0);
  assert_true(contract_exp2(NAN) != contract_exp2(NAN));
}

static void test_log2(void **state) {
  (void)state;
  double worst = 0.0;
  for (uint32_t bits = bits_of(1.0f) + 1; bits < bits_of(0x1p64f); bits += IF_QUICK(20011, 199)) {
    const float x = from_bits(bits);
    worst = fmax(worst, error_of(contract_log2(x), log2((double)x)));
  }
  print_message("log2: at most %.3f u\n", worst);
  assert_true(worst <= 2.0);
  for (int power = 0; power <= 64; power++)
    assert_int_equal(bits_of(contract_log2(ldexpf(1.0f, power))), bits_of((float)power));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exp2),
      cmocka_unit_test(test_exp2_borders),
      cmocka_unit_test(test_log2),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
