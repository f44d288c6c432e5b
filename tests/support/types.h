/* f16 and bf16 by their bits. Shares no code with the library. The tests convert inputs to f32 here before the
 * contract gets them, and round the contract's f32 results here, once. */
#ifndef FOVEA_TESTS_TYPES_H
#define FOVEA_TESTS_TYPES_H

#include <fovea/fovea.h>

#include <string.h>

static inline float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

size_t type_size(fovea_type type);
const char *type_name(fovea_type type);

/* The f32 bits of a 16-bit number: exact, and NaNs keep their payloads. */
uint32_t widened(fovea_type type, uint16_t half);

/* The 16 bits whose number has these f32 bits. Aborts if there are none. */
uint16_t narrowed(fovea_type type, uint32_t bits);

/* Rounds as outputs are written: to nearest even, subnormals kept, zero as +0, every NaN as the one quiet NaN. */
uint16_t rounded(fovea_type type, float x);

/* The number of the type that is nearest to x, as f32. For f32 it is x, except for zeros and NaNs, which are as in
 * outputs. */
float rounded_number(fovea_type type, float x);

/* Copies `count` numbers from f32 to f16 or bf16, or back. Storing writes only elements that change, so that
 * read-only memory may be stored again. */
void numbers_store(fovea_type type, uint16_t *stored, const float *numbers, int64_t count);
void numbers_load(fovea_type type, const uint16_t *stored, float *numbers, int64_t count);

#endif
