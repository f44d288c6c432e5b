/* Words of four codes, and rows of them in decoding, for CPUs with products of bytes (shared/int8_products.h,
 * shared/int8_decode.h). */
#ifndef FOVEA_ARCH_NEON_DOT_INT8_ROWS_H
#define FOVEA_ARCH_NEON_DOT_INT8_ROWS_H

#define INT8_DECODE_ROWS       4
#define INT8_DECODE_VALUE_ROWS 4

/* Puts lowest bytes side by side: SLI keeps the bits below the shift. */
FOVEA_INLINE vec int8_word(const vec codes[4]) {
  const uint32x4_t low = vsliq_n_u32(vreinterpretq_u32_f32(codes[0]), vreinterpretq_u32_f32(codes[1]), 8);
  const uint32x4_t high = vsliq_n_u32(vreinterpretq_u32_f32(codes[2]), vreinterpretq_u32_f32(codes[3]), 8);
  return vreinterpretq_f32_u32(vsliq_n_u32(low, high, 16));
}
FOVEA_INLINE vec int8_load_row(const int8_t *codes) {
  return vreinterpretq_f32_s8(vld1q_s8(codes));
}
FOVEA_INLINE void int8_panel_words(const void *p, vec x[1]) {
  x[0] = vec_load_word(p);
}
FOVEA_INLINE void int8_words_of_dims(vec x[4]) {
  const int8x16_t k[4] = {vreinterpretq_s8_f32(x[0]), vreinterpretq_s8_f32(x[1]), vreinterpretq_s8_f32(x[2]),
                          vreinterpretq_s8_f32(x[3])};
  const int8x16x2_t low = vzipq_s8(k[0], k[1]), high = vzipq_s8(k[2], k[3]);
  FOVEA_UNROLL
  for (int i = 0; i < 2; i++) {
    const int16x8x2_t words = vzipq_s16(vreinterpretq_s16_s8(low.val[i]), vreinterpretq_s16_s8(high.val[i]));
    x[2 * i] = vreinterpretq_f32_s16(words.val[0]);
    x[2 * i + 1] = vreinterpretq_f32_s16(words.val[1]);
  }
}
FOVEA_INLINE void int8_sums_in_order(int8_sum sum[4]) {
  (void)sum;
}

#endif
