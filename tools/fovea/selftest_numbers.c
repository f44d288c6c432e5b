/* Numbers and digests of the self test. */
#include "selftest_numbers.h"

#include <stdbool.h>
#include <string.h>

float selftest_float_of_bits(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* Rounds towards zero. A compiler may make a signalling NaN quiet before it comes here, so every NaN with a payload
 * becomes a signalling one. */
static uint16_t truncated(fovea_type type, float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  bool signals = (fraction & 0x3fffff) != 0;
  if (exponent == 0xff && fraction != 0 && type == FOVEA_BF16)
    return (uint16_t)(sign | (signals ? 0x7f81 : 0x7fc0));
  if (exponent == 0xff && fraction != 0) return (uint16_t)(sign | (signals ? 0x7c01 : 0x7e00));
  if (type == FOVEA_BF16) return (uint16_t)(bits >> 16);
  if (exponent == 0xff) return (uint16_t)(sign | 0x7c00);
  if (exponent > 127 + 15) return (uint16_t)(sign | 0x7bff);
  if (exponent > 127 - 15) return (uint16_t)(sign | (exponent - (127 - 15)) << 10 | fraction >> 13);
  if (exponent < 127 - 24) return (uint16_t)sign;
  return (uint16_t)(sign | (fraction | 0x800000) >> (126 - exponent));
}

void selftest_store(void *tensor, fovea_type type, int64_t index, float number) {
  uint16_t half = truncated(type, number);
  if (type == FOVEA_F32)
    memcpy((float *)tensor + index, &number, sizeof number);
  else
    memcpy((uint16_t *)tensor + index, &half, sizeof half);
}

/* The finaliser of splitmix64: gives any element without the elements before it. */
uint64_t selftest_random_bits(uint64_t index) {
  uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Uniform in [-2, 2), with 24 random bits. */
float selftest_uniform(uint64_t bits) {
  return (float)((int32_t)(bits >> 40) - (1 << 23)) * 0x1p-22f;
}

void selftest_fill_uniform(void *tensor, fovea_type type, int which, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    selftest_store(tensor, type, i, selftest_uniform(selftest_random_bits(((uint64_t)which << 40) + (uint64_t)i)));
  }
}

/* Also numbers near both ends of the range, and zeros. */
static float strange_number(uint64_t bits) {
  static const uint32_t kinds[] = {0x7fc00000, 0xff812345, 0x7f800000, 0xff800000, 0x00000000, 0x80000000,
                                   0x00000001, 0x807fffff, 0x7f7fffff, 0xf1234567, 0x0da24260, 0x8b8ba1b7};
  return selftest_float_of_bits(kinds[bits % (sizeof kinds / sizeof kinds[0])]);
}

void selftest_fill_mixed(void *tensor, fovea_type type, int which, int64_t count, float gain, int strange) {
  for (int64_t i = 0; i < count; i++) {
    const uint64_t bits = selftest_random_bits(((uint64_t)which << 40) + (uint64_t)i);
    const bool is_strange = strange > 0 && bits % (uint64_t)strange == 0;
    selftest_store(tensor, type, i, is_strange ? strange_number(bits >> 16) : selftest_uniform(bits) * gain);
  }
}

static uint64_t absorb(uint64_t digest, uint32_t word) {
  digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return digest ^ digest >> 32;
}

uint64_t selftest_absorb_row(uint64_t digest, const void *tensor, fovea_type type, int64_t first, int64_t count) {
  for (int64_t i = first; i < first + count; i++) {
    uint32_t word = 0;
    uint16_t half = 0;
    if (type == FOVEA_F32)
      memcpy(&word, (const float *)tensor + i, sizeof word);
    else
      memcpy(&half, (const uint16_t *)tensor + i, sizeof half);
    digest = absorb(digest, type == FOVEA_F32 ? word : half);
  }
  return digest;
}

uint64_t selftest_digest_of(const void *tensor, fovea_type type, int64_t count) {
  return selftest_absorb_row(SELFTEST_FIRST_DIGEST, tensor, type, 0, count);
}

uint64_t selftest_absorb(uint64_t digest, const void *words, int64_t count) {
  return selftest_absorb_row(digest, words, FOVEA_F32, 0, count);
}

int32_t selftest_word_of(int64_t number) {
  return number > INT32_MIN && number <= INT32_MAX ? (int32_t)number : INT32_MIN;
}
