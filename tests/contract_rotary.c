/* Rotary position embedding, step by step. Angles are integers: a fraction X stands for X / 2^128, and is computed
 * digit by digit as on paper. Read it from the bottom: pair, angle, turns. */
#include "contract_rotary.h"

#include <math.h>
#include <stdlib.h>

enum { DIGITS = 4, ATANH_TERMS = 25, EXP_TERMS = 18, SERIES = 9 };

static const uint32_t two_pi_inverse[6] = {0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410};
static const struct fraction ln2 = {{0xb17217f7, 0xd1cf79ab, 0xc9e3b398, 0x03f2f6af}};
static const struct fraction two_log2e_less_2 = {{0xe2a8eca5, 0x705fc2ee, 0xfa1ffb41, 0xa474fa23}};
static const struct fraction zero, ones = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};

/* All digits of the product. */
static void multiply_digits(const uint32_t *a, int a_digits, const uint32_t *b, int b_digits, uint32_t *product) {
  for (int i = 0; i < a_digits + b_digits; i++) product[i] = 0;
  for (int i = a_digits - 1; i >= 0; i--) {
    uint64_t carry = 0;
    for (int j = b_digits - 1; j >= 0; j--) {
      carry += (uint64_t)a[i] * b[j] + product[i + j + 1];
      product[i + j + 1] = (uint32_t)carry;
      carry >>= 32;
    }
    product[i] = (uint32_t)carry;
  }
}

static struct fraction multiply(struct fraction a, struct fraction b) {
  uint32_t product[2 * DIGITS];
  multiply_digits(a.digit, DIGITS, b.digit, DIGITS, product);
  return (struct fraction){{product[0], product[1], product[2], product[3]}};
}

static struct fraction add(struct fraction a, struct fraction b) {
  uint64_t carry = 0;
  for (int i = DIGITS - 1; i >= 0; i--, carry >>= 32)
    a.digit[i] = (uint32_t)(carry += (uint64_t)a.digit[i] + b.digit[i]);
  return a;
}

static struct fraction subtract(struct fraction a, struct fraction b) {
  static const struct fraction least = {{0, 0, 0, 1}};
  for (int i = 0; i < DIGITS; i++) b.digit[i] = ~b.digit[i];
  return add(a, add(b, least));
}

static struct fraction twice(struct fraction a) {
  return add(a, a);
}

static struct fraction half(struct fraction a) {
  for (int i = DIGITS - 1; i >= 0; i--) a.digit[i] = a.digit[i] >> 1 | (i > 0 ? a.digit[i - 1] << 31 : 0);
  return a;
}

/* (whole + a) / divisor */
static struct fraction divide(uint64_t whole, struct fraction a, uint64_t divisor) {
  for (int i = 0; i < DIGITS; i++) {
    whole = whole << 32 | a.digit[i];
    a.digit[i] = (uint32_t)(whole / divisor);
    whole %= divisor;
  }
  return a;
}

/* numerator / denominator, bit by bit. */
static struct fraction quotient(uint64_t numerator, uint64_t denominator) {
  struct fraction result = zero;
  for (int bit = 0; bit < 128; bit++) {
    numerator *= 2;
    result = twice(result);
    if (numerator < denominator) continue;
    numerator -= denominator;
    result.digit[DIGITS - 1] |= 1;
  }
  return result;
}

struct fraction contract_product(struct fraction a, struct fraction b) {
  return multiply(a, b);
}

int64_t contract_log2_parts(double x, struct fraction *rest) {
  const uint64_t one = (uint64_t)1 << 52;
  int exponent;
  const uint64_t significand = (uint64_t)ldexp(frexp(x, &exponent), 53);
  const int above = significand > 0x16a09e667f3bcc;
  const struct fraction s = above ? quotient(2 * one - significand, 2 * one + significand)
                                  : quotient(significand - one, significand + one);
  struct fraction sum = zero;
  for (int k = ATANH_TERMS; k >= 1; k--)
    sum = add(divide(0, ones, (uint64_t)(2 * k + 1)), multiply(multiply(s, s), sum));
  const struct fraction atanh = add(s, multiply(s, multiply(multiply(s, s), sum)));
  const struct fraction part = add(twice(atanh), multiply(atanh, two_log2e_less_2));
  *rest = above ? subtract(zero, part) : part;
  return exponent - 1;
}

struct fraction contract_ratio(double base, uint64_t pairs) {
  struct fraction part;
  const uint64_t whole = (uint64_t)contract_log2_parts(base, &part);
  part = multiply(divide(whole % pairs, part, pairs), ln2);
  for (int i = 0; i < 4; i++) part = half(part);
  struct fraction rest = zero;
  for (int k = EXP_TERMS; k >= 1; k--) rest = divide(0, subtract(part, multiply(part, rest)), (uint64_t)k);
  for (int i = 0; i < 4; i++) rest = subtract(twice(rest), multiply(rest, rest));
  struct fraction ratio = subtract(ones, rest);
  for (uint64_t i = 0; i < whole / pairs && i < 128; i++) ratio = half(ratio);
  return ratio;
}

/* frequency / (2 pi), less its integer part: 128 bits of a product, from a place that depends on the exponent. */
static struct fraction turn_of(double frequency) {
  int exponent;
  const uint64_t significand = (uint64_t)ldexp(frexp(fabs(frequency), &exponent), 53);
  const uint32_t digits[2] = {(uint32_t)(significand >> 32), (uint32_t)significand};
  uint32_t product[8];
  multiply_digits(digits, 2, two_pi_inverse, 6, product);
  struct fraction turn = zero;
  for (int bit = 0; bit < 128; bit++) {        /* bit 0 is worth 1/2 */
    const int at = 64 + (exponent - 53) + bit; /* bit of the product, counted in the same way */
    if (at >= 0 && at < 256 && product[at / 32] >> (31 - at % 32) & 1)
      turn.digit[bit / 32] |= (uint32_t)1 << (31 - bit % 32);
  }
  return frequency < 0 ? subtract(zero, turn) : turn;
}

void contract_turns(double base, const double *frequencies, int64_t pairs, struct fraction *turns) {
  const struct fraction ratio = frequencies == NULL && pairs > 1 ? contract_ratio(base, (uint64_t)pairs) : zero;
  for (int64_t i = 0; i < pairs; i++)
    turns[i] = frequencies != NULL ? turn_of(frequencies[i])
               : i == 0            ? turn_of(1.0)
                                   : multiply(turns[i - 1], ratio);
}

void contract_wave_turns(double base, int64_t whole, int power, int64_t count, struct fraction *turns) {
  const struct fraction root = contract_ratio(base, (uint64_t)whole);
  struct fraction ratio = root;
  for (int i = 1; i < power; i++) ratio = multiply(ratio, root);
  for (int64_t i = 0; i < count; i++) turns[i] = i == 0 ? turn_of(1.0) : multiply(turns[i - 1], ratio);
}

/* floor(a b / 2^64) */
static uint64_t high_product(uint64_t a, uint64_t b) {
  const uint32_t a_digits[2] = {(uint32_t)(a >> 32), (uint32_t)a}, b_digits[2] = {(uint32_t)(b >> 32), (uint32_t)b};
  uint32_t product[4];
  multiply_digits(a_digits, 2, b_digits, 2, product);
  return (uint64_t)product[0] << 32 | product[1];
}

static uint64_t high_word(struct fraction a) {
  return (uint64_t)a.digit[0] << 32 | a.digit[1];
}

static uint64_t series(const uint64_t *coefficients, uint64_t z) {
  uint64_t sum = coefficients[SERIES - 1];
  for (int k = SERIES - 2; k >= 0; k--) sum = coefficients[k] - high_product(sum, z);
  return sum;
}

void contract_angle(struct fraction turn, int64_t position, float *cosine, float *sine) {
  static const uint64_t cosines[SERIES] = {0x4000000000000000, 0x4ef4f326f9177969, 0x103c1f081b5ac3b3,
                                           0x155d3c7e3cbffa0,  0xf0fa83448dd5d,    0x69b47ca8812a,
                                           0x1f9d38a3764,      0x6db893d13,        0x120c62c3};
  static const uint64_t sines[SERIES] = {0x6487ed5110b4611a, 0x295779cc4b7ca57d, 0x519af19dd6ab875,
                                         0x4cb4b3398af617,   0x2a0f0690fdcf0,    0xf183a7ef444,
                                         0x3d1e869a03,       0xb7d6dcf9,         0x1aaec33};
  struct fraction angle = zero;
  for (int bit = 62; bit >= 0; bit--) {
    angle = twice(angle);
    if (llabs(position) >> bit & 1) angle = add(angle, turn);
  }
  if (position < 0) angle = subtract(zero, angle);

  int quarter = 0, negative = 0;
  while (angle.digit[0] >= 0x20000000 && angle.digit[0] < 0xe0000000) { /* more than an eighth from a whole turn */
    angle = subtract(angle, (struct fraction){{0x40000000, 0, 0, 0}});
    quarter++;
  }
  if (angle.digit[0] >= 0xe0000000) angle = subtract(zero, angle), negative = 1;

  const uint64_t v = high_word(twice(twice(angle))), z = high_product(v, v);
  const float c = ldexpf((float)(int64_t)series(cosines, z), -62);
  float s = 0.0f;
  int shift = 0;
  while (shift < 128 && angle.digit[0] >> 31 == 0) angle = twice(angle), shift++;
  if (shift < 128) s = ldexpf((float)(int64_t)high_product(high_word(angle), series(sines, z)), -60 - shift);
  if (negative) s = -s;
  *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
  *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
}

static float canonical(float x) {
  return isnan(x) ? NAN : x == 0.0f ? 0.0f : x;
}

void contract_rotate_pair(float *x, float *y, float cosine, float sine) {
  const float rotated_x = fmaf(-*y, sine, *x * cosine), rotated_y = fmaf(*y, cosine, *x * sine);
  *x = canonical(rotated_x);
  *y = canonical(rotated_y);
}
