/* Rows of codes in words of four, for decoding on CPUs with dot products of bytes (shared/int8_decode.h). */
#ifndef FOVEA_ARCH_NEON_DOT_INT8_ROWS_H
#define FOVEA_ARCH_NEON_DOT_INT8_ROWS_H

#define INT8_DECODE_ROWS       4
#define INT8_DECODE_VALUE_ROWS 4

FOVEA_INLINE vec int8_load_row(const int8_t *codes) {
  return vreinterpretq_f32_s8(vld1q_s8(codes));
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
