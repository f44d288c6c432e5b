#include "convert.h"

#include <string.h>

/* In the bits of an f32. */
#define MAGNITUDE  UINT32_C(0x7fffffff)
#define INFINITE   UINT32_C(0x7f800000)
#define F16_NORMAL UINT32_C(0x38800000) /* 2^-14, the smallest normal f16 */
#define F16_LIMIT  UINT32_C(0x477ff000) /* 65520: from here on f16 is infinite */
#define F16_BIAS   UINT32_C(0x38000000) /* the difference of the exponents' biases */
#define F16_TINY   126                  /* 2^-24 is the spacing of f16 below 2^-14 */

size_t type_size(fovea_type type) {
  return type == FOVEA_F32 ? sizeof(float) : sizeof(uint16_t);
}

static uint32_t bits_of(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

static float number_of(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* bits / 2^places, to nearest even. */
static uint32_t shift_rounded(uint32_t bits, uint32_t places) {
  const uint32_t odd = bits >> places & 1;
  return (bits + (UINT32_C(1) << (places - 1)) - 1 + odd) >> places;
}

float f32_from_f16(uint16_t number) {
  const uint32_t sign = (uint32_t)(number & 0x8000) << 16, magnitude = number & 0x7fff;
  if (magnitude < 0x400) {
    const float small = (float)magnitude * 0x1p-24f;
    return sign ? -small : small;
  }
  if (magnitude >= 0x7c00) return number_of(sign | INFINITE | (magnitude & 0x3ff) << 13);
  return number_of(sign | (F16_BIAS + (magnitude << 13)));
}

float f32_from_bf16(uint16_t number) {
  return number_of((uint32_t)number << 16);
}

uint16_t f16_from_f32(float number) {
  const uint32_t bits = bits_of(number), magnitude = bits & MAGNITUDE, exponent = magnitude >> 23;
  uint32_t rounded;
  if (magnitude > INFINITE)
    rounded = 0x7e00;
  else if (magnitude >= F16_LIMIT)
    rounded = 0x7c00;
  else if (magnitude >= F16_NORMAL)
    rounded = shift_rounded(magnitude - F16_BIAS, 13);
  else if (F16_TINY - exponent > 24) /* less than half of the smallest f16 */
    rounded = 0;
  else
    rounded = shift_rounded((magnitude & UINT32_C(0x7fffff)) | UINT32_C(0x800000), F16_TINY - exponent);
  return (uint16_t)(bits >> 16 & 0x8000) | (uint16_t)rounded;
}

uint16_t bf16_from_f32(float number) {
  const uint32_t bits = bits_of(number), magnitude = bits & MAGNITUDE;
  const uint32_t rounded = magnitude > INFINITE ? 0x7fc0 : shift_rounded(magnitude, 16);
  return (uint16_t)((bits >> 16 & 0x8000) | rounded);
}

static float widen(const void *from, fovea_type type, int64_t i) {
  if (type == FOVEA_F32) return ((const float *)from)[i];
  const uint16_t number = ((const uint16_t *)from)[i];
  return type == FOVEA_F16 ? f32_from_f16(number) : f32_from_bf16(number);
}

static void narrow(void *to, fovea_type type, int64_t i, float number) {
  if (type == FOVEA_F32)
    ((float *)to)[i] = number;
  else
    ((uint16_t *)to)[i] = type == FOVEA_F16 ? f16_from_f32(number) : bf16_from_f32(number);
}

void convert_numbers(void *to, fovea_type to_type, const void *from, fovea_type from_type, int64_t count) {
  for (int64_t i = 0; i < count; i++) narrow(to, to_type, i, widen(from, from_type, i));
}
