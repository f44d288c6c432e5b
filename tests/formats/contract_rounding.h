/* Steps that the quantisers of contract_quantise*.c share. */
#ifndef FOVEA_TESTS_CONTRACT_ROUNDING_H
#define FOVEA_TESTS_CONTRACT_ROUNDING_H

#include "support/types.h"

#include <stdbool.h>

#define CONTRACT_LARGEST 0x1.fffffep+127f /* of f32 */

static inline float magnitude(float x) {
  return from_bits(bits_of(x) & 0x7fffffffu);
}

/* Towards 0, as x86 converts: INT32_MIN for NaN and what is out of range. C leaves that open, and ggml and OpenVINO
 * come there with scales so small that 1 / scale is infinite. */
static inline int32_t truncated(float x) {
  return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN;
}

/* x rounded to an integer; halves to even, or away from 0. */
static inline int32_t nearest(float x, bool to_even) {
  const int32_t whole = truncated(x);
  if (magnitude(x) >= 0x1p23f || x != x) return whole;
  const float rest = magnitude(x - (float)whole); /* exact */
  if (rest > 0.5f || (rest == 0.5f && (!to_even || whole % 2 != 0))) return x < 0.0f ? whole - 1 : whole + 1;
  return whole;
}

static inline int32_t between(int32_t low, int32_t x, int32_t high) {
  return x < low ? low : x > high ? high : x;
}

static inline float largest_magnitude(const float *x, int64_t count) {
  float a = 0.0f;
  for (int64_t i = 0; i < count; i++)
    if (magnitude(x[i]) > a) a = magnitude(x[i]);
  return a;
}

#endif
