#include "angle.h"

#include <string.h>

/* floor(2^192 / (2 pi)), the highest word first */
static const uint64_t turns_of_radian[3] = {0x28be60db9391054a, 0x7f09d5f47d4d3770, 0x36d8a5664f10e410};
/* ln 2, and 2 / ln 2 - 2 */
static const fovea_fraction ln2 = {0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af};
static const fovea_fraction log2_of_e_twice = {0xe2a8eca5705fc2ee, 0xfa1ffb41a474fa23};
static const fovea_fraction ones = {UINT64_MAX, UINT64_MAX};

enum { SIGNIFICAND_BITS = 52, EXPONENT_BIAS = 1023 };

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* floor(2^128 numerator / denominator), for numerator < denominator < 2^56. */
static fovea_fraction quotient(uint64_t numerator, uint64_t denominator) {
  fovea_fraction result = {0, 0};
  uint64_t rest = numerator;
  for (int i = 0; i < 16; i++) {
    rest <<= 8;
    result = fovea_fraction_shift_left(result, 8);
    result.low |= rest / denominator;
    rest %= denominator;
  }
  return result;
}

/* atanh(s) for s up to 0.1716, by its series. */
static fovea_fraction inverse_tanh(fovea_fraction s) {
  enum { TERMS = 25 };
  fovea_fraction square = fovea_fraction_multiply(s, s), sum = {0, 0};
  for (int k = TERMS; k >= 1; k--) {
    sum = fovea_fraction_add(fovea_fraction_divide(0, ones, (uint64_t)(2 * k + 1)),
                             fovea_fraction_multiply(square, sum));
  }
  return fovea_fraction_add(s, fovea_fraction_multiply(s, fovea_fraction_multiply(square, sum)));
}

uint64_t fovea_angle_log2(double x, fovea_fraction *part) {
  const uint64_t one = UINT64_C(1) << SIGNIFICAND_BITS, root_of_2 = 0x16a09e667f3bcc;
  uint64_t significand = (bits_of(x) & (one - 1)) | one;
  uint64_t whole = (bits_of(x) >> SIGNIFICAND_BITS) - EXPONENT_BIAS;
  /* A significand of at most sqrt(2) is (1 + s) / (1 - s). Half of a larger one is the inverse of that. */
  int above = significand > root_of_2;
  fovea_fraction s = above ? quotient(2 * one - significand, 2 * one + significand)
                           : quotient(significand - one, significand + one);
  s = inverse_tanh(s);
  s = fovea_fraction_add(fovea_fraction_shift_left(s, 1), fovea_fraction_multiply(s, log2_of_e_twice));
  *part = above ? fovea_fraction_negate(s) : s;
  return whole; /* if significand > root_of_2, log2 is whole + 1 less a part that is not 0 */
}

/* 1 - e^-x for x < ln 2: the series of x / 16, squared four times. */
static fovea_fraction one_less_power(fovea_fraction x) {
  enum { TERMS = 18 };
  fovea_fraction step = fovea_fraction_shift_right(x, 4), rest = {0, 0};
  for (int k = TERMS; k >= 1; k--) {
    rest =
        fovea_fraction_divide(0, fovea_fraction_subtract(step, fovea_fraction_multiply(step, rest)), (uint64_t)k);
  }
  for (int i = 0; i < 4; i++) {
    rest = fovea_fraction_subtract(fovea_fraction_shift_left(rest, 1), fovea_fraction_multiply(rest, rest));
  }
  return rest;
}

fovea_fraction fovea_angle_ratio(double base, int64_t pairs) {
  fovea_fraction part;
  uint64_t whole = fovea_angle_log2(base, &part), count = (uint64_t)pairs;
  part = fovea_fraction_divide(whole % count, part, count);
  whole /= count;
  if (whole > 127) return (fovea_fraction){0, 0};
  fovea_fraction rest = one_less_power(fovea_fraction_multiply(part, ln2));
  return fovea_fraction_shift_right(fovea_fraction_subtract(ones, rest), (int)whole);
}

/* 64 bits of a number of four words, from bit `first` up. Bits above the number are zero. */
static uint64_t word_from(const uint64_t words[4], int first) {
  uint64_t low = first < 256 ? words[3 - first / 64] : 0, high = first < 192 ? words[2 - first / 64] : 0;
  return first % 64 == 0 ? low : low >> first % 64 | high << (64 - first % 64);
}

fovea_fraction fovea_angle_turn(double frequency) {
  uint64_t bits = bits_of(frequency), one = UINT64_C(1) << SIGNIFICAND_BITS;
  int exponent = (int)(bits >> SIGNIFICAND_BITS & 0x7ff);
  if (exponent < EXPONENT_BIAS - 256) return (fovea_fraction){0, 0}; /* far below 2^-128; subnormals are, too */
  uint64_t significand = (bits & (one - 1)) | one;
  fovea_fraction top = fovea_product(significand, turns_of_radian[0]);
  fovea_fraction middle = fovea_product(significand, turns_of_radian[1]);
  fovea_fraction bottom = fovea_product(significand, turns_of_radian[2]);
  middle = fovea_fraction_add(middle, (fovea_fraction){0, bottom.high});
  top = fovea_fraction_add(top, (fovea_fraction){0, middle.high});
  const uint64_t product[4] = {top.high, top.low, middle.low, bottom.low};
  int first = 64 - (exponent - EXPONENT_BIAS - SIGNIFICAND_BITS);
  fovea_fraction turn = {word_from(product, first + 64), word_from(product, first)};
  return bits >> 63 ? fovea_fraction_negate(turn) : turn;
}

/* (pi / 2)^k / k! times 2^62, for even k and for odd k: cosine and sine of quarter turns. */
enum { SERIES = 9 };
static const uint64_t cosine_series[SERIES] = {0x4000000000000000, 0x4ef4f326f9177969, 0x103c1f081b5ac3b3,
                                               0x0155d3c7e3cbffa0, 0x000f0fa83448dd5d, 0x000069b47ca8812a,
                                               0x000001f9d38a3764, 0x00000006db893d13, 0x00000000120c62c3};
static const uint64_t sine_series[SERIES] = {0x6487ed5110b4611a, 0x295779cc4b7ca57d, 0x0519af19dd6ab875,
                                             0x004cb4b3398af617, 0x0002a0f0690fdcf0, 0x00000f183a7ef444,
                                             0x0000003d1e869a03, 0x00000000b7d6dcf9, 0x0000000001aaec33};

/* Both alternating sums, step by step together: neither waits for the other. */
static void sum_series(uint64_t square, uint64_t *cosine, uint64_t *sine) {
  uint64_t c = cosine_series[SERIES - 1], s = sine_series[SERIES - 1];
  for (int k = SERIES - 2; k >= 0; k--) {
    c = cosine_series[k] - fovea_product_high(c, square);
    s = sine_series[k] - fovea_product_high(s, square);
  }
  *cosine = c;
  *sine = s;
}

/* number / 2^bits, for numbers below 2^63. The result must not be subnormal. */
static float float_of(uint64_t number, int bits) {
  float result = (float)(int64_t)number;
  uint32_t pattern;
  memcpy(&pattern, &result, sizeof pattern);
  if (number != 0) pattern -= (uint32_t)bits << 23;
  memcpy(&result, &pattern, sizeof result);
  return result;
}

static int leading_zeros(fovea_fraction a) {
  return a.high ? __builtin_clzll(a.high) : 64 + __builtin_clzll(a.low);
}

void fovea_angle_at(fovea_fraction turn, int64_t position, float *cosine, float *sine) {
  const fovea_fraction eighth = {UINT64_C(1) << 61, 0};
  uint64_t distance = position < 0 ? 0 - (uint64_t)position : (uint64_t)position;
  fovea_fraction angle = fovea_fraction_times(turn, distance);
  if (position < 0) angle = fovea_fraction_negate(angle);

  /* Splits the angle into the nearest quarter turn and the rest, from -1/8 to 1/8 turn. */
  angle = fovea_fraction_add(angle, eighth);
  int quarter = (int)(angle.high >> 62);
  angle.high &= UINT64_MAX >> 2;
  int before = angle.high < eighth.high;
  fovea_fraction rest = before ? fovea_fraction_subtract(eighth, angle) : fovea_fraction_subtract(angle, eighth);

  uint64_t part = fovea_fraction_shift_left(rest, 2).high; /* in quarter turns */
  uint64_t cosines, sines;
  sum_series(fovea_product_high(part, part), &cosines, &sines);
  float c = float_of(cosines, 62), s = 0.0f;
  if (rest.high | rest.low) {
    int zeros = leading_zeros(rest);
    uint64_t leading = fovea_fraction_shift_left(rest, zeros).high;
    s = float_of(fovea_product_high(leading, sines), 60 + zeros);
  }
  if (before) s = -s;
  float along = quarter & 1 ? s : c, across = quarter & 1 ? c : s;
  *cosine = quarter == 1 || quarter == 2 ? -along : along;
  *sine = quarter >= 2 ? -across : across;
}
