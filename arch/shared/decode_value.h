/* Weights times values of few rows, dims in the lanes: every row's chain over the keys stays in registers, for as
 * many dims as fit. Part of decode.h.
 *
 *   FOVEA_DECODE_VECTORS_<n>   vectors of dims beside n rows, n = 1, 2, 4, 8 */

FOVEA_INLINE void decode_fetch_values(const void *row, int64_t dim, const int vectors, const fovea_type type) {
  const int64_t size = type == FOVEA_F32 ? 4 : 2;
  for (int64_t byte = 0; byte < vectors * LANES * size; byte += 64) {
    __builtin_prefetch((const char *)row + dim * size + byte, 0, 2);
  }
}

/* What the chains begin with, and what becomes of their ends; sums[row][dim], `dims` of them. */
FOVEA_NOINLINE void decode_value_begin(const fovea_decode_value_args *args, int row, int rows, int64_t dim,
                                       int dims, float *sums) {
  const float *partial = args->partial + row * args->output_stride + dim;
  FOVEA_NO_UNROLL
  for (int r = 0; r < rows; r++, partial += args->output_stride, sums += dims) {
    FOVEA_NO_UNROLL
    for (int d = 0; d < dims; d += LANES) {
      vec_store(sums + d, args->flags & FOVEA_VALUE_START ? vec_set1(0.0f) : vec_load(partial + d));
    }
  }
}

FOVEA_NOINLINE void decode_value_end(const fovea_decode_value_args *args, int row, int rows, int64_t dim, int dims,
                                     const float *sums) {
  FOVEA_NO_UNROLL
  for (int r = 0; r < rows; r++, sums += dims) {
    float *partial = args->partial + (row + r) * args->output_stride + dim;
    float *output = args->output + (row + r) * args->output_stride + dim;
    FOVEA_NO_UNROLL
    for (int d = 0; d < dims; d += LANES) {
      vec sum = vec_load(sums + d);
      if (args->flags & FOVEA_VALUE_MERGE) {
        vec old = vec_mul(vec_load(output + d), vec_set1(args->old_part[row + r]));
        sum = vec_fma(sum, vec_set1(args->new_part[row + r]), old);
      }
      vec_store((args->flags & (FOVEA_VALUE_MERGE | FOVEA_VALUE_ASSIGN) ? output : partial) + d, sum);
    }
  }
}

/* `count` dims of a single vector, or all of several. */
FOVEA_INLINE void decode_value_tile(const fovea_decode_value_args *args, int row, const int rows, int64_t dim,
                                    const int vectors, int count, const fovea_type type) {
  vec sum[8][8];
  float sums[8 * 8 * LANES];
  const float *weights = args->weights + row * FOVEA_BLOCK_KEYS;
  decode_value_begin(args, row, rows, dim, vectors * LANES, sums);
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[r][v] = vec_load(sums + (r * vectors + v) * LANES);
  }
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key++) {
    vec value[8];
    decode_fetch_values(args->ahead[key], dim, vectors, type);
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      value[v] = count < vectors * LANES ? typed_load_first(args->values[key], dim, count, type)
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
    for (int v = 0; v < vectors; v++) vec_store(sums + (r * vectors + v) * LANES, sum[r][v]);
  }
  decode_value_end(args, row, rows, dim, vectors * LANES, sums);
}

/* The dims that fill no register tile, a vector at a time and row by row. */
FOVEA_INLINE void decode_value_rest(const fovea_decode_value_args *args, int row, int rows, int64_t dim,
                                    const fovea_type type) {
  FOVEA_NO_UNROLL
  for (; dim < args->dim; dim += LANES) {
    int count = args->dim - dim < LANES ? (int)(args->dim - dim) : LANES;
    FOVEA_NO_UNROLL
    for (int r = 0; r < rows; r++) decode_value_tile(args, row + r, 1, dim, 1, count, type);
  }
}

FOVEA_INLINE void decode_value_rows(const fovea_decode_value_args *args, int row, const int rows, const int vectors,
                                    const fovea_type type) {
  int64_t dim = 0;
  FOVEA_NO_UNROLL
  for (; dim + vectors * LANES <= args->dim; dim += vectors * LANES) {
    decode_value_tile(args, row, rows, dim, vectors, vectors * LANES, type);
  }
}

/* The dims that whole register tiles take. */
FOVEA_INLINE int64_t decode_whole(int64_t dim, const int vectors) {
  return vectors > 0 ? dim / (vectors * LANES) * (vectors * LANES) : 0;
}

#define DECODE_VALUE(name, type)                                                                                   \
  FOVEA_NOINLINE void name##_rest(const fovea_decode_value_args *args, int row, int rows, int64_t dim) {           \
    decode_value_rest(args, row, rows, dim, type);                                                                 \
  }                                                                                                                \
  FOVEA_NOINLINE void name(const fovea_decode_value_args *args) {                                                  \
    int row = 0;                                                                                                   \
    for (; DECODE_EIGHT(type) && row + 8 <= args->row_count; row += 8) {                                           \
      decode_value_rows(args, row, 8, FOVEA_DECODE_VECTORS_8, type);                                               \
      name##_rest(args, row, 8, decode_whole(args->dim, FOVEA_DECODE_VECTORS_8));                                  \
    }                                                                                                              \
    for (; FOVEA_DECODE_VECTORS_4 > 0 && row + 4 <= args->row_count; row += 4) {                                   \
      decode_value_rows(args, row, 4, FOVEA_DECODE_VECTORS_4, type);                                               \
      name##_rest(args, row, 4, decode_whole(args->dim, FOVEA_DECODE_VECTORS_4));                                  \
    }                                                                                                              \
    for (; FOVEA_DECODE_VECTORS_2 > 0 && row + 2 <= args->row_count; row += 2) {                                   \
      decode_value_rows(args, row, 2, FOVEA_DECODE_VECTORS_2, type);                                               \
      name##_rest(args, row, 2, decode_whole(args->dim, FOVEA_DECODE_VECTORS_2));                                  \
    }                                                                                                              \
    for (; row < args->row_count; row++) {                                                                         \
      decode_value_rows(args, row, 1, FOVEA_DECODE_VECTORS_1, type);                                               \
      name##_rest(args, row, 1, decode_whole(args->dim, FOVEA_DECODE_VECTORS_1));                                  \
    }                                                                                                              \
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
