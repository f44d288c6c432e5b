/* A vector layer as functions on arrays. Include it once, after a vector.h, with FOVEA_ISA set. Each function calls
 * one primitive, so that test and layer may be compiled for different CPUs. Masks are returned as 1 and 0. */
#include "layer.h"

#define LAYER_FUNCTION FOVEA_TARGET static __attribute__((noinline))

#define LAYER_UNARY(op)                                                                                            \
  LAYER_FUNCTION void layer_##op(const float *a, float *to) {                                                      \
    vec_store(to, vec_##op(vec_load(a)));                                                                          \
  }
#define LAYER_BINARY(op)                                                                                           \
  LAYER_FUNCTION void layer_##op(const float *a, const float *b, float *to) {                                      \
    vec_store(to, vec_##op(vec_load(a), vec_load(b)));                                                             \
  }
#define LAYER_TERNARY(op)                                                                                          \
  LAYER_FUNCTION void layer_##op(const float *a, const float *b, const float *c, float *to) {                      \
    vec_store(to, vec_##op(vec_load(a), vec_load(b), vec_load(c)));                                                \
  }
#define LAYER_LOAD(op, type)                                                                                       \
  LAYER_FUNCTION void layer_##op(const type *from, float *to) {                                                    \
    vec_store(to, vec_##op(from));                                                                                 \
  }
#define LAYER_STORE(op)                                                                                            \
  LAYER_FUNCTION void layer_##op(uint16_t *to, const float *a) {                                                   \
    vec_##op(to, vec_load(a));                                                                                     \
  }

/* The mask of the lanes that are not zero, and back. */
FOVEA_INLINE vecmask layer_mask(const float *a) {
  return vecmask_not(vec_equal(vec_load(a), vec_set1(0.0f)));
}

FOVEA_INLINE void layer_put(float *to, vecmask mask) {
  vec_store(to, vec_select(mask, vec_set1(1.0f), vec_set1(0.0f)));
}

LAYER_LOAD(load, float)
LAYER_LOAD(load_f16, uint16_t)
LAYER_LOAD(load_bf16, uint16_t)
LAYER_LOAD(load_pairs, uint16_t)
LAYER_LOAD(load_bool, uint8_t)
LAYER_LOAD(load_s8, int8_t)
LAYER_LOAD(load_u8, uint8_t)
LAYER_LOAD(load_e4m3, uint8_t)
LAYER_LOAD(load_e5m2, uint8_t)
LAYER_LOAD(load_low_u4, uint8_t)
LAYER_LOAD(load_high_u4, uint8_t)
LAYER_STORE(store_f16)
LAYER_STORE(store_bf16)
LAYER_UNARY(abs)
LAYER_UNARY(sqrt)
LAYER_UNARY(exponent_from_low_bits)
LAYER_BINARY(add)
LAYER_BINARY(sub)
LAYER_BINARY(mul)
LAYER_BINARY(div)
LAYER_BINARY(max)
LAYER_BINARY(min)
LAYER_BINARY(copysign)
LAYER_BINARY(flip)
LAYER_TERNARY(fma)
LAYER_TERNARY(fnma)

LAYER_FUNCTION void layer_load_first(const float *from, int count, float *to) {
  vec_store(to, vec_load_first(from, count));
}
LAYER_FUNCTION void layer_store_first(float *to, const float *a, int count) {
  vec_store_first(to, vec_load(a), count);
}
LAYER_FUNCTION void layer_load_bits(const uint8_t *from, int shift, float *to) {
  vec_store(to, vec_load_bits(from, shift));
}
LAYER_FUNCTION void layer_set1(float x, float *to) {
  vec_store(to, vec_set1(x));
}
LAYER_FUNCTION void layer_split_bf16(const float *a, float *first, float *second) {
  vec one, other;
  vec_split_bf16(vec_load(a), &one, &other);
  vec_store(first, one);
  vec_store(second, other);
}
LAYER_FUNCTION void layer_fma_lane(const float *a, const float *four, int lane, const float *c, float *to) {
  vec4 b = vec4_load(four);
  vec result[4] = {vec_fma_lane(vec_load(a), b, 0, vec_load(c)), vec_fma_lane(vec_load(a), b, 1, vec_load(c)),
                   vec_fma_lane(vec_load(a), b, 2, vec_load(c)), vec_fma_lane(vec_load(a), b, 3, vec_load(c))};
  vec_store(to, result[lane]);
}
LAYER_FUNCTION void layer_seen(int32_t key, const int32_t *from, const int32_t *to, float *result) {
  layer_put(result, vec_seen(key, veci_load(from), veci_load(to)));
}
LAYER_FUNCTION void layer_less(const float *a, const float *b, float *to) {
  layer_put(to, vec_less(vec_load(a), vec_load(b)));
}
LAYER_FUNCTION void layer_equal(const float *a, const float *b, float *to) {
  layer_put(to, vec_equal(vec_load(a), vec_load(b)));
}
LAYER_FUNCTION void layer_is_nan(const float *a, float *to) {
  layer_put(to, vec_is_nan(vec_load(a)));
}
LAYER_FUNCTION void layer_or(const float *a, const float *b, float *to) {
  layer_put(to, vecmask_or(layer_mask(a), layer_mask(b)));
}
LAYER_FUNCTION void layer_and(const float *a, const float *b, float *to) {
  layer_put(to, vecmask_and(layer_mask(a), layer_mask(b)));
}
LAYER_FUNCTION void layer_not(const float *a, float *to) {
  layer_put(to, vecmask_not(layer_mask(a)));
}
LAYER_FUNCTION int layer_any(const float *a) {
  return vecmask_any(layer_mask(a));
}
LAYER_FUNCTION void layer_select(const float *mask, const float *a, const float *b, float *to) {
  vec_store(to, vec_select(layer_mask(mask), vec_load(a), vec_load(b)));
}
LAYER_FUNCTION void layer_split_power(const float *a, float *z, float *e) {
  vec mantissa, exponent = vec_split_power(vec_load(a), &mantissa);
  vec_store(z, mantissa);
  vec_store(e, exponent);
}
LAYER_FUNCTION void layer_pick(const float *table, const float *a, float *to) {
  vec_store(to, vec_pick(table, vec_quarter(vec_load(a))));
}
LAYER_FUNCTION void layer_transpose(float *square) {
  vec rows[LANES];
  for (int i = 0; i < LANES; i++) rows[i] = vec_load(square + i * LANES);
  vec_transpose(rows);
  for (int i = 0; i < LANES; i++) vec_store(square + i * LANES, rows[i]);
}

#ifdef FOVEA_VECTOR_HAS_SCALEF
LAYER_UNARY(fraction)
LAYER_FUNCTION void layer_scalef(const float *x, float limit, const float *a, const float *r, float *to) {
  vec_store(to, vec_scalef_unless_less(vec_load(x), vec_set1(limit), vec_load(a), vec_load(r)));
}
#else
LAYER_FUNCTION void layer_zero_if_less(const float *x, float limit, const float *a, float *to) {
  vec_store(to, vec_zero_if_less(vec_load(x), vec_set1(limit), vec_load(a)));
}
#endif

#ifdef FOVEA_VECTOR_TRANSPOSES_HALVES
LAYER_FUNCTION void layer_load_halves(const void *low, const void *high, float *to) {
  vec_store(to, vec_load_halves(low, high));
}
LAYER_FUNCTION void layer_load_halves_f16(const void *low, const void *high, float *to) {
  vec_store(to, vec_load_halves_f16(low, high));
}
LAYER_FUNCTION void layer_transpose_halves(float *square) {
  vec k[LANES / 2];
  for (int i = 0; i < LANES / 2; i++) k[i] = vec_load(square + i * LANES);
  vec_transpose_halves(k);
  for (int i = 0; i < LANES / 2; i++) vec_store(square + i * LANES, k[i]);
}
#endif

LAYER_FUNCTION void layer_load_u4(const uint8_t *from, int64_t first, float *to) {
  vec_store(to, vec_load_u4(from, first));
}
LAYER_FUNCTION void layer_load_words(const void *const *rows, int64_t at, float *to) {
  vec k[4];
  vec_load_words(rows, at, k);
  for (int i = 0; i < 4; i++) vec_store(to + i * LANES, k[i]);
}
LAYER_FUNCTION void layer_word_bytes(const float *from, float *s8, float *u8, float *e4m3, float *e5m2) {
  const vec words = vec_load_word(from);
  const vec all[2][4] = {
      {vec_word_s8(words, 0), vec_word_s8(words, 8), vec_word_s8(words, 16), vec_word_s8(words, 24)},
      {vec_word_u8(words, 0), vec_word_u8(words, 8), vec_word_u8(words, 16), vec_word_u8(words, 24)}};
  float *to[2] = {s8, u8};
  uint16_t halves[2][4 * LANES];
  for (int kind = 0; kind < 2; kind++)
    for (int i = 0; i < 4; i++) vec_store(to[kind] + i * LANES, all[kind][i]);
  vec_word_halves_e4m3(halves[0], words);
  vec_word_halves_e5m2(halves[1], words);
  for (int i = 0; i < 4; i++) {
    vec_store(e4m3 + i * LANES, vec_load_f16(halves[0] + i * LANES));
    vec_store(e5m2 + i * LANES, vec_load_f16(halves[1] + i * LANES));
  }
}
LAYER_FUNCTION void layer_halves(const uint8_t *from, float *e4m3, float *e5m2) {
  uint16_t halves[2][2 * LANES];
  vec_halves_e4m3(halves[0], from);
  vec_halves_e5m2(halves[1], from);
  for (int i = 0; i < 2; i++) {
    vec_store(e4m3 + i * LANES, vec_load_f16(halves[0] + i * LANES));
    vec_store(e5m2 + i * LANES, vec_load_f16(halves[1] + i * LANES));
  }
}
LAYER_FUNCTION void layer_word_signed(const float *from, float *to) {
  const vec words = vec_load_word(from);
  const vec all[4] = {vec_word_signed(words, 0), vec_word_signed(words, 8), vec_word_signed(words, 16),
                      vec_word_signed(words, 24)};
  for (int i = 0; i < 4; i++) vec_store(to + i * LANES, all[i]);
}
LAYER_FUNCTION void layer_word_u4(const float *from, float *to) {
  const vec words = vec_load_word(from);
  const vec all[8] = {vec_word_u4(words, 0),  vec_word_u4(words, 4),  vec_word_u4(words, 8),
                      vec_word_u4(words, 12), vec_word_u4(words, 16), vec_word_u4(words, 20),
                      vec_word_u4(words, 24), vec_word_u4(words, 28)};
  for (int i = 0; i < 8; i++) vec_store(to + i * LANES, all[i]);
}
#ifndef FOVEA_VECTOR_LOOKS_UP
LAYER_FUNCTION void layer_word_values(const float *from, const int8_t *table, float *lower, float *upper) {
  const vec words = vec_load_word(from);
  vec_store(lower, vec_word_values(words, table, 0));
  vec_store(upper, vec_word_values(words, table, 1));
}
#endif
#ifdef FOVEA_VECTOR_LOOKS_UP
LAYER_FUNCTION void layer_look_up(const float *table, const uint8_t *bytes, float *low, float *high) {
  vec_store(low, vec_look_up(vec_load(table), vec_load_bits_of_u8(bytes, 0)));
  vec_store(high, vec_look_up(vec_load(table), vec_load_bits_of_u8(bytes, 4)));
}
LAYER_FUNCTION void layer_look_up_u4(const float *table, const uint8_t *bytes, float *to) {
  vec_store(to, vec_look_up(vec_load(table), vec_load_u4_bits(bytes, 0)));
}
LAYER_FUNCTION void layer_look_up_words(const float *table, const float *from, float *to) {
  const vec words = vec_load_word(from), numbers = vec_load(table);
  const vec all[8] = {vec_word_bits(words, 0),  vec_word_bits(words, 4),  vec_word_bits(words, 8),
                      vec_word_bits(words, 12), vec_word_bits(words, 16), vec_word_bits(words, 20),
                      vec_word_bits(words, 24), vec_word_bits(words, 28)};
  for (int i = 0; i < 8; i++) vec_store(to + i * LANES, vec_look_up(numbers, all[i]));
}
#endif

const struct layer FOVEA_NAME(layer) = {
    .lanes = LANES,
    .load = layer_load,
    .load_first = layer_load_first,
    .store_first = layer_store_first,
    .load_f16 = layer_load_f16,
    .load_bf16 = layer_load_bf16,
    .load_pairs = layer_load_pairs,
    .store_f16 = layer_store_f16,
    .store_bf16 = layer_store_bf16,
    .load_bool = layer_load_bool,
    .load_bits = layer_load_bits,
    .load_s8 = layer_load_s8,
    .load_u8 = layer_load_u8,
    .load_e4m3 = layer_load_e4m3,
    .load_e5m2 = layer_load_e5m2,
    .load_low_u4 = layer_load_low_u4,
    .load_high_u4 = layer_load_high_u4,
    .load_u4 = layer_load_u4,
    .load_words = layer_load_words,
    .word_bytes = layer_word_bytes,
    .halves = layer_halves,
    .word_signed = layer_word_signed,
    .word_u4 = layer_word_u4,
#ifndef FOVEA_VECTOR_LOOKS_UP
    .word_values = layer_word_values,
#endif
#ifdef FOVEA_VECTOR_LOOKS_UP
    .look_up = layer_look_up,
    .look_up_u4 = layer_look_up_u4,
    .look_up_words = layer_look_up_words,
#endif
    .split_bf16 = layer_split_bf16,
    .set1 = layer_set1,
    .add = layer_add,
    .sub = layer_sub,
    .mul = layer_mul,
    .div = layer_div,
    .max = layer_max,
    .min = layer_min,
    .copysign = layer_copysign,
    .flip = layer_flip,
    .abs = layer_abs,
    .sqrt = layer_sqrt,
    .fma = layer_fma,
    .fnma = layer_fnma,
    .fma_lane = layer_fma_lane,
    .seen = layer_seen,
    .less = layer_less,
    .equal = layer_equal,
    .is_nan = layer_is_nan,
    .mask_or = layer_or,
    .mask_and = layer_and,
    .mask_not = layer_not,
    .mask_any = layer_any,
    .select = layer_select,
    .split_power = layer_split_power,
    .exponent_from_low_bits = layer_exponent_from_low_bits,
    .pick = layer_pick,
    .transpose = layer_transpose,
#ifdef FOVEA_VECTOR_HAS_SCALEF
    .fraction = layer_fraction,
    .scalef_unless_less = layer_scalef,
#else
    .zero_if_less = layer_zero_if_less,
#endif
#ifdef FOVEA_VECTOR_TRANSPOSES_HALVES
    .load_halves = layer_load_halves,
    .load_halves_f16 = layer_load_halves_f16,
    .transpose_halves = layer_transpose_halves,
#endif
};
