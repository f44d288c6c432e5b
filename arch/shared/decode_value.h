/* Weights times values of few rows, dims in the lanes: every row's chain over the keys stays in registers, for as
 * many dims as fit. Part of decode.h.
 *
 *   FOVEA_DECODE_VECTORS_<n>   vectors of dims beside n rows, n = 1, 2, 4 */

FOVEA_INLINE void decode_fetch_values(const void *row, int64_t dim, const int vectors, const fovea_type type) {
  const int64_t size = type == FOVEA_F32 ? 4 : 2;
  for (int64_t byte = 0; byte < vectors * LANES * size; byte += 64) {
    __builtin_prefetch((const char *)row + dim * size + byte, 0, 2);
  }
}

/* `count` is the dims of the last vector, if it is a single one that is not whole; else 0. */
FOVEA_INLINE void decode_value_tile(const fovea_decode_value_args *args, int row, const int rows, int64_t dim,
                                    const int vectors, int count, const fovea_type type) {
  vec sum[4][8];
  const float *weights = args->weights + row * FOVEA_BLOCK_KEYS;
  float *partial = args->partial + row * args->output_stride + dim;
  float *output = args->output + row * args->output_stride + dim;
  const int64_t stride = args->output_stride;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      sum[r][v] = args->flags & FOVEA_VALUE_START ? vec_set1(0.0f) : vec_load(partial + r * stride + v * LANES);
    }
  }
  const int fetching = args->ahead && row == 0;
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key++) {
    vec value[8];
    if (fetching) decode_fetch_values(args->ahead[key], dim, vectors, type);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      value[v] = count > 0 ? typed_load_first(args->values[key], dim, count, type)
                           : typed_load(args->values[key], dim + v * LANES, type);
    }
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      vec weight = vec_set1(weights[r * FOVEA_BLOCK_KEYS + key]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) sum[r][v] = vec_fma(weight, value[v], sum[r][v]);
    }
  }
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      float *to = output + r * stride + v * LANES;
      if (args->flags & FOVEA_VALUE_ASSIGN) {
        vec_store(to, sum[r][v]);
      } else if (args->flags & FOVEA_VALUE_MERGE) {
        vec old = vec_mul(vec_load(to), vec_set1(args->old_part[row + r]));
        vec_store(to, vec_fma(sum[r][v], vec_set1(args->new_part[row + r]), old));
      } else {
        vec_store(partial + r * stride + v * LANES, sum[r][v]);
      }
    }
  }
}

FOVEA_INLINE void decode_value_rows(const fovea_decode_value_args *args, int row, const int rows, const int vectors,
                                    const fovea_type type) {
  int64_t dim = 0;
  FOVEA_NO_UNROLL
  for (; dim + vectors * LANES <= args->dim; dim += vectors * LANES) {
    decode_value_tile(args, row, rows, dim, vectors, 0, type);
  }
  FOVEA_NO_UNROLL
  for (; dim + LANES <= args->dim; dim += LANES) decode_value_tile(args, row, rows, dim, 1, 0, type);
  if (dim < args->dim) decode_value_tile(args, row, rows, dim, 1, (int)(args->dim - dim), type);
}

#define DECODE_VALUE(name, type)                                                                                   \
  FOVEA_NOINLINE void name(const fovea_decode_value_args *args) {                                                  \
    int row = 0;                                                                                                   \
    for (; row + 4 <= args->row_count; row += 4) decode_value_rows(args, row, 4, FOVEA_DECODE_VECTORS_4, type);    \
    for (; row + 2 <= args->row_count; row += 2) decode_value_rows(args, row, 2, FOVEA_DECODE_VECTORS_2, type);    \
    for (; row < args->row_count; row++) decode_value_rows(args, row, 1, FOVEA_DECODE_VECTORS_1, type);            \
  }

DECODE_VALUE(decode_value_f32, FOVEA_F32)
DECODE_VALUE(decode_value_f16, FOVEA_F16)
DECODE_VALUE(decode_value_bf16, FOVEA_BF16)

FOVEA_KERNEL void FOVEA_NAME(decode_value)(const fovea_decode_value_args *args) {
  switch (args->type) {
  case FOVEA_F16:
    decode_value_f16(args);
    break;
  case FOVEA_BF16:
    decode_value_bf16(args);
    break;
  default:
    decode_value_f32(args);
    break;
  }
}
