#include "types.h"

#include <math.h>
#include <stdlib.h>

size_t type_size(fovea_type type) {
  return type == FOVEA_F32 ? 4 : 2;
}

const char *type_name(fovea_type type) {
  return type == FOVEA_F32 ? "f32" : type == FOVEA_F16 ? "f16" : "bf16";
}

uint32_t widened(fovea_type type, uint16_t half) {
  if (type == FOVEA_BF16) return (uint32_t)half << 16;
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, mantissa = half & 0x3ffu;
  if (exponent == 31) return sign | 0x7f800000u | mantissa << 13;
  if (exponent == 0) return sign | bits_of((float)mantissa * 0x1p-24f);
  return sign | (exponent + 127 - 15) << 23 | mantissa << 13;
}

/* value / 2^drop, to nearest even. */
static uint32_t drop_bits(uint32_t value, int drop) {
  const uint32_t quotient = value >> drop, rest = value & ((1u << drop) - 1), half = 1u << (drop - 1);
  return quotient + (rest > half || (rest == half && quotient % 2 == 1));
}

/* Of a number that is no NaN; zeros keep their sign. */
static uint16_t nearest(fovea_type type, uint32_t bits) {
  const uint32_t sign = bits >> 31 << 15, magnitude = bits & 0x7fffffffu;
  if (type == FOVEA_BF16) return (uint16_t)(sign | drop_bits(magnitude, 16));
  if (magnitude >= 0x7f800000u) return (uint16_t)(sign | 0x7c00u);
  const int exponent = (int)(magnitude >> 23) - 127;
  uint32_t result;
  if (exponent >= -14) { /* normal in f16, or beyond */
    result = drop_bits(magnitude - ((127 - 15) << 23), 13);
    if (result > 0x7c00u) result = 0x7c00u;
  } else { /* subnormal: a multiple of 2^-24; less than half of that becomes 0 */
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    result = exponent < -25 ? 0 : drop_bits(mantissa, -1 - exponent);
  }
  return (uint16_t)(sign | result);
}

uint16_t narrowed(fovea_type type, uint32_t bits) {
  const uint32_t quiet = type == FOVEA_BF16 ? bits >> 16 : (bits >> 16 & 0x8000u) | 0x7c00u | (bits >> 13 & 0x3ffu);
  const uint16_t half = (bits & 0x7fffffffu) > 0x7f800000u ? (uint16_t)quiet : nearest(type, bits);
  if (widened(type, half) != bits) abort();
  return half;
}

uint16_t rounded(fovea_type type, float x) {
  if (isnan(x)) return type == FOVEA_BF16 ? 0x7fc0 : 0x7e00;
  const uint16_t half = nearest(type, bits_of(x));
  return half == 0x8000 ? 0 : half;
}

float rounded_number(fovea_type type, float x) {
  if (type != FOVEA_F32) return from_bits(widened(type, rounded(type, x)));
  return isnan(x) ? from_bits(0x7fc00000) : x == 0.0f ? 0.0f : x;
}

void numbers_store(fovea_type type, uint16_t *stored, const float *numbers, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, numbers + i, sizeof bits);
    const uint16_t half = narrowed(type, bits);
    if (stored[i] != half) stored[i] = half;
  }
}

void numbers_load(fovea_type type, const uint16_t *stored, float *numbers, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const uint32_t bits = widened(type, stored[i]);
    memcpy(numbers + i, &bits, sizeof bits);
  }
}
