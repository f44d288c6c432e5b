/* A layer of int8_products.h whose codes are numbers of f32. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_INT8_FLOATS_H
#define FOVEA_ARCH_SHARED_INT8_FLOATS_H

#define INT8_CODES         1
#define INT8_KEYS_OFFSET   0
#define INT8_VALUES_OFFSET 0
#define INT8_CHAINS        4
/* As in exact mode. */
#if FOVEA_TILE_VECTORS == 4
#define INT8_MANY FOVEA_SCORE_KEYS_4
#elif FOVEA_TILE_VECTORS == 3
#define INT8_MANY FOVEA_SCORE_KEYS_3
#elif FOVEA_TILE_VECTORS == 2
#define INT8_MANY FOVEA_SCORE_KEYS_2
#else
#define INT8_MANY FOVEA_SCORE_KEYS_1
#endif
#define INT8_OF_ONE FOVEA_SCORE_KEYS_1

#define INT8_FLOAT_SHIFT 0x1.8p23f

typedef vec int8_sum;

FOVEA_INLINE int8_sum int8_start(vec x) {
  return x;
}
/* Exact, so two roundings are none. */
FOVEA_INLINE int8_sum int8_add_keys(vec x, vec y, int8_sum sum) {
#ifdef INT8_MULTIPLIES_AND_ADDS
  return vec_add(sum, vec_mul(x, y));
#else
  return vec_fma(x, y, sum);
#endif
}
FOVEA_INLINE int8_sum int8_add_values(vec x, vec y, int8_sum sum) {
  return int8_add_keys(x, y, sum);
}
FOVEA_INLINE vec int8_number(int8_sum sum) {
  return sum;
}
FOVEA_INLINE vec int8_word(const vec codes[1]) {
  return vec_sub(codes[0], vec_set1(INT8_FLOAT_SHIFT));
}
FOVEA_INLINE void int8_store(float *p, int64_t d, vec codes) {
  vec_store(p + d, int8_word(&codes));
}

#define INT8_DECODE_ROWS       4
#define INT8_DECODE_VALUE_ROWS 4
FOVEA_INLINE vec int8_load_row(const int8_t *codes) {
  return vec_load_s8(codes);
}
FOVEA_INLINE void int8_panel_words(const void *p, vec x[4]) {
  const vec words = vec_load_word(p), factor = vec_set1(0x1p-24f); /* of vec_word_s8() */
  x[0] = vec_mul(vec_word_s8(words, 0), factor);
  x[1] = vec_mul(vec_word_s8(words, 8), factor);
  x[2] = vec_mul(vec_word_s8(words, 16), factor);
  x[3] = vec_mul(vec_word_s8(words, 24), factor);
}
FOVEA_INLINE void int8_words_of_dims(vec x[1]) {
  (void)x;
}
FOVEA_INLINE void int8_sums_in_order(int8_sum sum[1]) {
  (void)sum;
}

#endif
