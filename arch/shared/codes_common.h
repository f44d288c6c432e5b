/* What decoding and dequantising share: codes as numbers, the scales of a block of keys, dims of a row. Part of
 * bodies.h. */
#ifndef FOVEA_ARCH_SHARED_CODES_COMMON_H
#define FOVEA_ARCH_SHARED_CODES_COMMON_H

#include "../codes.h"
#include "../kernels.h"
#include "types.h"

#include <string.h>

/* ROW(name, code) for the codes that decoding knows, fovea_decodes_codes(). */
#define CODES_DECODED(ROW) FOVEA_CODES(CODES_DECODED_ROW, ROW)
#define CODES_DECODED_ROW(ROW, code, name, bits, row_bits, front, lies, numbers, decoded)                          \
  FOVEA_IF_DECODED_##decoded(ROW(name, code))

/* Whether codes are looked up in a table of the sixteen numbers that they stand for, fovea_codes.numbers. */
#ifdef FOVEA_VECTOR_LOOKS_UP
#define CODES_LOOKED_UP(code) (fovea_code_of(code).decoded && fovea_code_of(code).bits == 4)
#else
#define CODES_LOOKED_UP(code)       ((void)(code), 0)
#define vec_look_up(table, codes)   ((void)(codes), (table))
#define vec_load_u4_bits(p, first)  vec_load_u4(p, first)
#define vec_load_bits_of_u8(p, s)   vec_load_low_u4(p)
#define vec_word_bits(words, shift) (words)
#endif

/* Whether the codes of two vectors of dims share bytes: both halves of a group, or even and odd dims. Vectors of
 * dims then come in twos. */
#define CODES_IN_PAIRS(code, vectors) (CODES_LOOKED_UP(code) && LANES == 16 && (vectors) % 2 == 0)
/* Whether such vectors are the even and the odd of 2 LANES dims. */
#define CODES_EVEN_ODD(code, vectors)                                                                              \
  (CODES_IN_PAIRS(code, vectors) && fovea_code_of(code).lies == FOVEA_CODES_IN_TURN)

/* The scales of keys, or of dims, and what is subtracted first or added last. */
typedef struct codes_numbers {
  vec scale, zero;
} codes_numbers;

/* The formula for a code, in its steps: something is subtracted before the product, added after it, or neither. */
enum { CODES_SCALE, CODES_SUBTRACT, CODES_ADD };

FOVEA_INLINE int codes_steps(const fovea_codes *codes, const fovea_code code) {
  if (codes->formula == FOVEA_FORMULA_MINIMUM) return CODES_ADD;
  if (codes->formula == FOVEA_FORMULA_ZERO) return CODES_SUBTRACT;
  return codes->bias > 0 && !CODES_LOOKED_UP(code) ? CODES_SUBTRACT : CODES_SCALE;
}

FOVEA_INLINE vec codes_apply(vec x, const codes_numbers *numbers, const fovea_code code, int steps) {
  const int is_unsigned = fovea_code_of(code).numbers == FOVEA_CODES_UNSIGNED; /* others have no other formula */
  if (!is_unsigned || steps == CODES_SCALE) return vec_mul(x, numbers->scale);
  return steps == CODES_ADD ? vec_fma(x, numbers->scale, numbers->zero)
                            : vec_mul(vec_sub(x, numbers->zero), numbers->scale);
}

/* The numbers of sixteen codes, if they are looked up. */
FOVEA_INLINE vec codes_table(const fovea_codes *codes, const fovea_code code) {
  return CODES_LOOKED_UP(code) ? vec_load(codes->numbers) : vec_set1(0.0f);
}

/* The numbers of some keys and groups of dims: scales, and what is subtracted first or added last. */
enum { CODES_GROUPS = 8 }; /* of FOVEA_DOT_PIECE dims at most, since sixteen dims have one scale */
typedef struct codes_block {
  int64_t first, last; /* groups */
  int stride, zeroed;  /* numbers from group to group; zeros are set, else all are `bias` */
  int folded;          /* scales are times the factor of codes_fold() */
  float scales[CODES_GROUPS * FOVEA_BLOCK_KEYS], zeros[CODES_GROUPS * FOVEA_BLOCK_KEYS];
} codes_block;

/* Copies an element of each row, four rows at a time. In a loop of its own: a vector cannot be loaded from elements
 * that were just stored. */
#define CODES_COPY(type, rows, at, count, to)                                                                      \
  int copied = 0;                                                                                                  \
  FOVEA_NO_UNROLL                                                                                                  \
  for (; copied + 4 <= (count); copied += 4) {                                                                     \
    FOVEA_UNROLL                                                                                                   \
    for (int i = copied; i < copied + 4; i++)                                                                      \
      memcpy(&(to)[i], (const void *)((uintptr_t)(rows)[i] + (uintptr_t)(at)), sizeof(type));                      \
  }                                                                                                                \
  FOVEA_NO_UNROLL                                                                                                  \
  for (; copied < (count); copied++)                                                                               \
    memcpy(&(to)[copied], (const void *)((uintptr_t)(rows)[copied] + (uintptr_t)(at)), sizeof(type));

/* Reads one kind of numbers, `from` bytes after the pointers. The last is repeated up to a whole vector. */
FOVEA_INLINE void codes_read(const void *const *rows, int64_t from, const fovea_codes *codes, int64_t step,
                             int64_t group, int count, float *numbers) {
  const int64_t at = from + group * codes->scale_group;
  if (codes->scale_type == FOVEA_F32) {
    const uintptr_t first = (uintptr_t)rows[0];
    if (step == 4 && (uintptr_t)rows[count - 1] == first + 4 * (uintptr_t)(count - 1))
      memcpy(numbers, (const void *)(first + (uintptr_t)at), 4 * (size_t)count);
    else {
      CODES_COPY(float, rows, at, count, numbers)
    }
  } else {
    uint16_t halves[FOVEA_BLOCK_KEYS + LANES];
    CODES_COPY(uint16_t, rows, at, count, halves)
    for (int i = count; i % LANES != 0; i++) halves[i] = halves[count - 1];
    FOVEA_NO_UNROLL
    for (int i = 0; i < count; i += LANES)
      vec_store(numbers + i, codes->scale_type == FOVEA_F16 ? vec_load_f16(halves + i) : vec_load_bf16(halves + i));
  }
  for (int i = count; i % LANES != 0; i++) numbers[i] = numbers[count - 1];
}

/* Reads the numbers of `count` keys from `key` on, for the groups of dims begin to end - 1. */
FOVEA_NOINLINE void codes_read_block(const fovea_coded_keys *coded, int key, int count, int64_t begin, int64_t end,
                                     codes_block *block) {
  const fovea_codes *codes = coded->codes;
  if (count == 0) return;
  block->first = begin / codes->group;
  block->last = (end - 1) / codes->group;
  block->stride = (count + LANES - 1) / LANES * LANES;
  block->zeroed = coded->has_zeros;
  FOVEA_NO_UNROLL
  for (int64_t group = block->first; group <= block->last; group++) {
    const int64_t at = (group - block->first) * block->stride;
    codes_read(coded->scales + key, 0, codes, coded->scale_step, group, count, block->scales + at);
    if (block->zeroed)
      codes_read(coded->scales + key, coded->zeros_at, codes, coded->scale_step, group, count, block->zeros + at);
  }
}

/* LANES dims of a row, from dim `first` of a group on. */
FOVEA_INLINE vec codes_of_dims(const char *group, int64_t first, int64_t half, const fovea_code code) {
  const uint8_t *bytes = (const uint8_t *)group;
  switch (code) {
  case FOVEA_CODE_U8:
    return vec_load_u8(bytes + first);
  case FOVEA_CODE_U4:
    return vec_load_u4(bytes, first);
  case FOVEA_CODE_U4_HALVES:
    return first < half ? vec_load_low_u4(bytes + first) : vec_load_high_u4(bytes + first - half);
  case FOVEA_CODE_E4M3:
    return vec_load_e4m3(bytes + first);
  case FOVEA_CODE_E5M2:
    return vec_load_e5m2(bytes + first);
  default:
    return vec_load_s8((const int8_t *)bytes + first);
  }
}

/* The same as numbers whose lower four bits are the codes. */
FOVEA_INLINE vec codes_bits_of_dims(const char *group, int64_t first, int64_t half, const fovea_code code) {
  const uint8_t *bytes = (const uint8_t *)group;
  if (code == FOVEA_CODE_U4) return vec_load_u4_bits(bytes, first);
  return vec_load_bits_of_u8(bytes + first % half, first < half ? 0 : 4);
}

#endif
