/* Rows that are stored as codes with a scale each become operands as they are. Part of int8.h. */
#ifndef FOVEA_ARCH_SHARED_INT8_STORED_H
#define FOVEA_ARCH_SHARED_INT8_STORED_H

/* LANES codes of a row from dim d on as numbers: after the last dim 0. */
FOVEA_INLINE vec int8_stored(const fovea_operand_args *args, int64_t key, int64_t d) {
  const int8_t *codes = args->codes + key * args->code_stride + d;
  const int64_t rest = args->dim - d;
  int8_t some[LANES] = {0};
  if (rest < LANES) codes = memcpy(some, codes, TYPED_AT_MOST(rest));
  return vec_load_s8(codes);
}

FOVEA_SHORT FOVEA_NOINLINE void int8_copy_keys(const fovea_operand_args *args) {
  const int64_t stride = int8_stride(int8_words(args->dim));
  const vec shift = vec_set1(INT8_SHIFT + INT8_KEYS_OFFSET);
  float *scales = args->to + FOVEA_BLOCK_KEYS * stride;
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  FOVEA_NO_UNROLL
  for (int key = args->first; key < args->end; key++) {
    float *to = int8_key(args->to, key, stride);
    scales[key] = args->scales[key];
    int64_t d = 0;
#ifdef INT8_COPIES
    for (; d + INT8_COPIES <= args->dim; d += INT8_COPIES)
      int8_copy_key(to + d / INT8_CODES * INT8_GROUP, args->codes + key * args->code_stride + d);
#endif
    FOVEA_NO_UNROLL
    for (; d < int8_words(args->dim) * INT8_CODES; d += LANES)
      int8_store(to, d, d < args->dim ? vec_add(int8_stored(args, key, d), shift) : shift);
  }
}

FOVEA_SHORT FOVEA_NOINLINE void int8_copy_values(const fovea_operand_args *args) {
  const int64_t stride = int8_stride(args->dim);
  const vec shift = vec_set1(INT8_SHIFT + INT8_VALUES_OFFSET);
  float *scales = args->to + INT8_KEY_WORDS * stride;
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++)
    scales[key] = key >= args->first && key < args->end ? args->scales[key] : 0;
  FOVEA_NO_UNROLL
  for (int first = args->first / INT8_GROUP_CODES * INT8_GROUP_CODES; first < args->end;
       first += INT8_GROUP_CODES) {
    float *to = args->to + first / INT8_CODES * stride;
    int64_t d = 0;
#ifdef INT8_COPIES
    if (first >= args->first && first + INT8_GROUP_CODES <= args->end)
      for (; d + INT8_COPIES <= args->dim; d += INT8_COPIES)
        int8_copy_word(to + d * INT8_GROUP, args->codes + first * args->code_stride + d, args->code_stride);
#endif
    FOVEA_NO_UNROLL
    for (; d < args->dim; d += LANES) {
      vec word[INT8_GROUP];
      FOVEA_NO_UNROLL
      for (int i = 0; i < INT8_GROUP_CODES; i += INT8_CODES) {
        vec codes[INT8_CODES];
        FOVEA_UNROLL
        for (int j = 0; j < INT8_CODES; j++) {
          const int key = first + i + j;
          codes[j] = shift;
          if (key >= args->first && key < args->end) codes[j] = vec_add(int8_stored(args, key, d), shift);
        }
        word[i / INT8_CODES] = int8_word(codes);
      }
      int8_store_dims(to, d, word);
    }
  }
  FOVEA_SHARED(int8_load_scales)(scales);
}

#endif
