/* Rows as codes of the mode int8, for blocks that also have rows that are stored so. Included after
 * int8_operands.h. */
#ifndef FOVEA_ARCH_SHARED_INT8_CODES_H
#define FOVEA_ARCH_SHARED_INT8_CODES_H

/* Room for a block's codes and scales. */
FOVEA_INLINE int64_t int8_code_floats(int64_t dim) {
  return FOVEA_BLOCK_KEYS * ((dim + 15) / 16 * 4 + 1);
}

FOVEA_SHARED_FUNCTION(void, int8_make_codes, const fovea_operand_args *args, int8_t *codes, float *scales) {
  const vec shift = vec_set1(INT8_SHIFT);
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    fovea_operand_args one = *args;
    float measured[INT8_TOGETHER], factors[INT8_TOGETHER];
    one.end = key + 1;
    FOVEA_SHARED(int8_measure)(&one, key, measured, factors);
    scales[key] = measured[0];
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      vec code = shift;
      if (measured[0] == measured[0])
        code = int8_code(operand_elements(args->bf16, args, key, d), vec_set1(factors[0]), shift);
      vec_store_bytes((uint8_t *)codes + key * args->code_stride + d, code);
    }
  }
}

#endif
