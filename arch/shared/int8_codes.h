/* Rows as codes of the mode int8, for blocks that also have rows that are stored so. Included after
 * int8_operands.h. */
#ifndef FOVEA_ARCH_SHARED_INT8_CODES_H
#define FOVEA_ARCH_SHARED_INT8_CODES_H

/* Room for a block's codes and scales. */
FOVEA_INLINE int64_t int8_code_floats(int64_t dim) {
  return FOVEA_BLOCK_KEYS * ((dim + 15) / 16 * 4 + 1);
}

FOVEA_INLINE void int8_write_codes(const fovea_operand_args *args, const int bf16, int8_t *codes, float *scales) {
  const vec shift = vec_set1(INT8_SHIFT);
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    float measured[LANES], factors[LANES];
    vec_store(measured, vec_set1(int8_largest(args, bf16, key)));
    vec_store(factors, int8_factor(vec_load(measured)));
    vec_store(measured, int8_scale(vec_load(measured)));
    scales[key] = measured[0];
    const int lost = measured[0] != measured[0];
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const vec x =
          d + LANES <= args->dim ? int8_elements(args, bf16, key, d) : int8_last_elements(args, bf16, key, d);
      const vec code = lost ? shift : int8_code(x, vec_set1(factors[0]), shift);
      vec_store_bytes((uint8_t *)codes + key * args->code_stride + d, code);
    }
  }
}

FOVEA_KERNEL static void int8_make_codes(const fovea_operand_args *args, int8_t *codes, float *scales) {
  if (args->bf16)
    int8_write_codes(args, 1, codes, scales);
  else
    int8_write_codes(args, 0, codes, scales);
}

#endif
