/* 2^x, log2 and tanh: the contract's functions against libm in float64, and every kernel's against the contract's,
 * by millions of rows of a few keys. */
#include "contract.h"
#include "src/system/dispatch.h"
#include "support/check.h"
#include "support/trial.h"

#include <math.h>
#include <string.h>

/* Relative error in units of 2^-24. */
static double error_of(float actual, double expected) {
  return fabs((double)actual - expected) / fabs(expected) * 0x1p24;
}

/* Over all floats from -126 to -2^-25 the worst error is 1.342 u. Where y is not monotone, it differs by one unit
 * in the last place (at 3 of 10,000 neighbours). */
static void test_exp2(void **state) {
  (void)state;
  double worst = 0.0;
  for (uint32_t bits = bits_of(-0.0f); bits < bits_of(-126.0f); bits += USUAL_OR_LONG(50021, 997)) {
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
  for (uint32_t bits = bits_of(1.0f) + 1; bits < bits_of(0x1p64f); bits += USUAL_OR_LONG(20011, 199)) {
    const float x = from_bits(bits);
    worst = fmax(worst, error_of(contract_log2(x), log2((double)x)));
  }
  print_message("log2: at most %.3f u\n", worst);
  assert_true(worst <= 2.0);
  for (int power = 0; power <= 64; power++)
    assert_int_equal(bits_of(contract_log2(ldexpf(1.0f, power))), bits_of((float)power));
}

/* The error in units in the last place of the result. */
static double ulps_of(float actual, double expected) {
  const float size = fabsf((float)expected);
  return fabs((double)actual - expected) / (double)(nextafterf(size, 2.0f) - size);
}

/* The worst of all floats. Where y is not monotone, it differs by at most two units in the last place. */
static void test_tanh(void **state) {
  (void)state;
  double worst = ulps_of(contract_tanh(0x1.e150dep-4f), tanh(0x1.e150dep-4));
  for (uint32_t bits = 1; bits < bits_of(12.0f); bits += USUAL_OR_LONG(80021, 809)) {
    const float x = from_bits(bits), y = contract_tanh(x);
    worst = fmax(worst, ulps_of(y, tanh((double)x)));
    assert_true(y <= 1.0f);
    assert_true(bits_of(contract_tanh(from_bits(bits + 1))) + 2 >= bits_of(y));
    assert_int_equal(bits_of(contract_tanh(-x)), bits_of(-y));
  }
  print_message("tanh: at most %.3f ulp\n", worst);
  assert_true(worst <= 1.957);
}

static void test_tanh_borders(void **state) {
  (void)state;
  static const float ones[] = {0x1.16be72p+3f, 9.0f, 10.0f, 11.0f, 1e10f, 3e38f, INFINITY};
  for (int i = 0; i < 7; i++) {
    assert_int_equal(bits_of(contract_tanh(ones[i])), bits_of(1.0f));
    assert_int_equal(bits_of(contract_tanh(-ones[i])), bits_of(-1.0f));
  }
  assert_int_equal(bits_of(contract_tanh(0.0f)), 0);
  assert_int_equal(bits_of(contract_tanh(-0.0f)), bits_of(-0.0f));
  assert_int_equal(bits_of(contract_tanh(0x1p-149f)), 1);
  assert_true(contract_tanh(NAN) != contract_tanh(NAN));
}

/* Scores are exactly q * k, as c is 1. All keys but the last score 0. The last scores what its row says, from
 * -limit up, and it alone has a value that is not 0. So O is its weight over the sum, and LSE is the logarithm of
 * the sum. */
static void sweep(int64_t keys, float limit, int64_t rows) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, rows, keys, 1, 1);
  problem.scale = 0x1.62e42fefa39efp-1;
  struct trial trial = trial_create(&problem, 1);
  tensor_fill_constant(&trial.k, 0.0f);
  tensor_fill_constant(&trial.v, 0.0f);
  trial.k.data[keys - 1] = -1.0f;
  trial.v.data[keys - 1] = 0x1p40f;
  for (int64_t i = 0; i < rows; i++) trial.q.data[i] = limit * ((float)i / (float)rows);
  const char *const *isas = whole_isas_for(&trial.problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    assert_contract(&trial, INT64_C(1) << 40);
  }
  trial_destroy(&trial);
}

static void test_kernels(void **state) {
  (void)state;
  const int64_t rows = USUAL_OR_LONG(20000, 1000000);
  sweep(2, 1.0f, rows);   /* sums from 1.5 to 2 */
  sweep(2, 127.0f, rows); /* sums from 1 to 2, weights down to 0 */
  sweep(6, 9.0f, rows);   /* sums from 5 to 6 */
  sweep(45, 3.0f, rows / 8);
}

/* The LSE of a row of one key is its score. The scale equals the cap, so x is q itself: over all of f32, by
 * exponent and sign. Different caps round the last bits of tanh in different ways. */
static void sweep_tanh(double cap, uint32_t first, uint32_t last) {
  const int64_t rows = USUAL_OR_LONG(20000, 400000);
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, rows, 1, 1, 1);
  problem.softcap = problem.scale = cap;
  struct trial trial = trial_create(&problem, 1);
  tensor_fill_constant(&trial.k, 1.0f);
  for (int64_t i = 0; i < rows; i++) {
    const uint32_t size = first + (uint32_t)((double)(last - first) * (double)i / (double)rows);
    trial.q.data[i] = from_bits(size | (i % 2 == 0 ? 0 : 0x80000000u));
  }
  const char *const *isas = whole_isas_for(&trial.problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    assert_contract(&trial, INT64_C(1) << 40);
  }
  trial_destroy(&trial);
}

static void test_kernels_tanh(void **state) {
  (void)state;
  static const double caps[] = {1.0, 0.7, 0.6931, 1.3};
  for (int i = 0; i < USUAL_OR_LONG(1, 4); i++) sweep_tanh(caps[i], bits_of(0x1p-16f), bits_of(11.0f));
  sweep_tanh(1e30, 0, bits_of(0x1p-13f)); /* scaled up, so that the least numbers show */
  sweep_tanh(30.0, bits_of(8.0f), 0x7fffffffu);
}

/* Puts a block of scores through the softcap of one kernel. With a factor of 1 nothing is rounded after tanh. */
static void assert_tanh(const fovea_kernels *kernels, const float *x, int count) {
  _Alignas(64) float scores[FOVEA_BLOCK_KEYS * FOVEA_ROW_TILE_LIMIT] = {0.0f}, maxima[FOVEA_ROW_TILE_LIMIT];
  for (int row = 0; row < kernels->row_tile; row++) maxima[row] = -INFINITY;
  memcpy(scores, x, (size_t)count * sizeof *x);
  const fovea_score_terms terms = {.adjusted = 1, .capped = 1, .cap = 1.0f};
  kernels->adjust(&(fovea_adjust_args){.scores = scores,
                                       .terms = &terms,
                                       .key_count = (count + kernels->row_tile - 1) / kernels->row_tile,
                                       .vectors = {0, kernels->row_tile / kernels->lanes},
                                       .maxima = maxima});
  for (int i = 0; i < count; i++) {
    const float expected = contract_tanh(x[i]);
    if (isnan(expected) ? isnan(scores[i]) : bits_of(scores[i]) == bits_of(expected)) continue;
    fail_msg("%s: tanh(%a) is %a, not %a", kernels->name, (double)x[i], (double)scores[i], (double)expected);
  }
}

/* Every so many floats, of both signs. */
static void sweep_tanh_bits(const fovea_kernels *kernels, uint32_t first, uint32_t last, uint32_t step) {
  enum { COUNT = FOVEA_BLOCK_KEYS }; /* as many as fit if a tile is one row */
  float x[COUNT];
  int count = 0;
  for (uint32_t bits = first; bits < last; bits += step) {
    x[count++] = from_bits(bits);
    x[count++] = from_bits(bits | 0x80000000u);
    if (count < COUNT && last - bits > step) continue;
    assert_tanh(kernels, x, count);
    count = 0;
  }
}

static void test_tanh_bits(void **state) {
  (void)state;
  /* Each is tried with the nine bit patterns above it: zero, subnormals, shifts that would overflow, infinity, NaNs
   * of either kind. */
  static const uint32_t special[] = {0,          0x7ffff8,   0x41200000, 0x4a000000,
                                     0x4b000000, 0x4f000000, 0x7f7ffffc, 0x7fc00000};
  const char *const *isas = whole_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    const fovea_kernels *kernels;
    assert_int_equal(fovea_dispatch_wanted(isas[isa], FOVEA_F32, &kernels, NULL), FOVEA_OK);
    sweep_tanh_bits(kernels, 0, bits_of(INFINITY), USUAL_OR_LONG(200003, 1999));
    sweep_tanh_bits(kernels, bits_of(0x1p-7f), bits_of(10.5f), USUAL_OR_LONG(4001, 41));
    for (int i = 0; i < 8; i++) sweep_tanh_bits(kernels, special[i], special[i] + 10, 1);
    for (int n = 1; n < 29; n++) { /* where the nearest integer changes */
      const uint32_t border = bits_of(((float)n - 0.5f) * 0x1.62e43p-2f);
      sweep_tanh_bits(kernels, border - 500, border + 500, 1);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exp2),         cmocka_unit_test(test_exp2_borders), cmocka_unit_test(test_log2),
      cmocka_unit_test(test_tanh),         cmocka_unit_test(test_tanh_borders), cmocka_unit_test(test_kernels),
      cmocka_unit_test(test_kernels_tanh), cmocka_unit_test(test_tanh_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
