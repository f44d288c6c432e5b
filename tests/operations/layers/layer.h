/* The vector layer of one instruction set: every primitive of the list in arch/README.md as a function on arrays of
 * `lanes` elements. A layer has one of some forms only; the functions of other forms are NULL. */
#ifndef FOVEA_TESTS_LAYER_H
#define FOVEA_TESTS_LAYER_H

#include "arch/registry.h"

#include <stdint.h>

typedef void layer_unary(const float *a, float *to);
typedef void layer_binary(const float *a, const float *b, float *to);
typedef void layer_ternary(const float *a, const float *b, const float *c, float *to);

struct layer {
  int lanes;
  layer_unary *load, *abs, *is_nan, *mask_not, *exponent_from_low_bits, *fraction, *sqrt;
  layer_binary *add, *sub, *mul, *div, *max, *min, *copysign, *flip, *less, *equal, *mask_or, *mask_and;
  layer_ternary *fma, *fnma, *select;
  void (*load_first)(const float *from, int count, float *to);
  void (*store_first)(float *to, const float *a, int count);
  void (*load_f16)(const uint16_t *from, float *to);
  void (*load_bf16)(const uint16_t *from, float *to);
  void (*load_pairs)(const uint16_t *from, float *to);
  void (*store_f16)(uint16_t *to, const float *a);
  void (*store_bf16)(uint16_t *to, const float *a);
  void (*load_bool)(const uint8_t *from, float *to);
  /* Codes of caches: bytes, and codes of 4 bits; sixteen bytes of `lanes` rows as four vectors of words; code i of
   * each word. With look_up, codes in the lower bits of lanes, and numbers from a table of sixteen. */
  void (*load_s8)(const int8_t *from, float *to);
  void (*load_u8)(const uint8_t *from, float *to);
  void (*load_e4m3)(const uint8_t *from, float *to);
  void (*load_e5m2)(const uint8_t *from, float *to);
  void (*load_low_u4)(const uint8_t *from, float *to);
  void (*load_high_u4)(const uint8_t *from, float *to);
  void (*load_u4)(const uint8_t *from, int64_t first, float *to);
  void (*load_words)(const void *const *rows, int64_t at, float *to);
  void (*word_bytes)(const float *words, float *s8, float *u8, float *e4m3, float *e5m2); /* [4][lanes] each */
  void (*halves)(const uint8_t *from, float *e4m3, float *e5m2);                          /* [2][lanes] each */
  void (*word_signed)(const float *words, float *to);                                     /* [4][lanes] */
  void (*word_values)(const float *words, const int8_t *table, float *lower, float *upper);
  void (*word_u4)(const float *words, float *to); /* [8][lanes] */
  void (*look_up)(const float *table, const uint8_t *bytes, float *low, float *high);
  void (*look_up_words)(const float *table, const float *words, float *to); /* [8][lanes] */
  void (*look_up_u4)(const float *table, const uint8_t *bytes, float *to);
  void (*load_bits)(const uint8_t *from, int shift, float *to);
  void (*split_bf16)(const float *a, float *first, float *second);
  void (*set1)(float x, float *to);
  void (*fma_lane)(const float *a, const float *four, int lane, const float *c, float *to);
  void (*seen)(int32_t key, const int32_t *from, const int32_t *to, float *result);
  int (*mask_any)(const float *a);
  void (*split_power)(const float *a, float *z, float *e);
  void (*pick)(const float *table, const float *a, float *to);
  void (*transpose)(float *square);
  void (*scalef_unless_less)(const float *x, float limit, const float *a, const float *r, float *to);
  void (*zero_if_less)(const float *x, float limit, const float *a, float *to);
  void (*load_halves)(const void *low, const void *high, float *to);
  void (*load_halves_f16)(const void *low, const void *high, float *to);
  void (*transpose_halves)(float *square);
};

/* Declares fovea_layer_<set>_layer for every set of the registry that has a layer and is in this build. */
#define LAYER_DECLARE(name, architecture, needs, prefers, type, lacks)                                             \
  FOVEA_GENERAL_##type(FOVEA_FOR_##architecture(extern const struct layer fovea_layer_##name##_layer;))
FOVEA_INSTRUCTION_SETS(LAYER_DECLARE)

#endif
