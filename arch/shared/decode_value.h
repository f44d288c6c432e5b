/* Weights times values in decoding, with dims in the lanes. The chains of each row over the keys stay in registers,
 * for as many dims as fit. Part of decode.h.
 *
 *   FOVEA_DECODE_VECTORS_<n>   vectors of dims beside n rows, n = 1, 2, 4, 8 */

/* The chains of some rows, in sums[row][dim]: `count` dims of a single vector, or all dims of several vectors.
 * There is a function for each type and number of rows, with only this loop in it. */
FOVEA_INLINE void decode_value_chain(const fovea_decode_value_args *args, int row, const int rows, int64_t dim,
                                     const int vectors, int count, const fovea_type type, float *sums,
                                     decode_value_fetch *kept) {
  vec sum[8][8];
  decode_value_fetch fetch = *kept;
  const float *weights = args->weights + row * FOVEA_BLOCK_KEYS;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[r][v] = vec_load(sums + (r * vectors + v) * LANES);
  }
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key++) {
    vec value[8];
    decode_fetch_values(&fetch, fovea_bytes(type, args->dim));
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
  *kept = fetch;
}

typedef void decode_value_function(const fovea_decode_value_args *args, int row, int64_t dim, int count,
                                   float *sums, decode_value_fetch *fetch);

#define DECODE_VALUE(name, rows, vectors, type)                                                                    \
  FOVEA_NOINLINE void name(const fovea_decode_value_args *args, int row, int64_t dim, int count, float *sums,      \
                           decode_value_fetch *fetch) {                                                            \
    decode_value_chain(args, row, rows, dim, vectors, (vectors) > 1 ? (vectors)*LANES : count, type, sums, fetch); \
  }
#define DECODE_VALUES(name, type)                                                                                  \
  DECODE_VALUE(name##_8, 8, FOVEA_DECODE_VECTORS_8, type)                                                          \
  DECODE_VALUE(name##_4, 4, FOVEA_DECODE_VECTORS_4, type)                                                          \
  DECODE_VALUE(name##_2, 2, FOVEA_DECODE_VECTORS_2, type)                                                          \
  DECODE_VALUE(name##_1, 1, FOVEA_DECODE_VECTORS_1, type)                                                          \
  DECODE_VALUE(name##_rest, 1, 1, type)                                                                            \
  FOVEA_INLINE decode_value_function *name(int rows) {                                                             \
    if (DECODE_EIGHT(type) && rows == 8) return name##_8;                                                          \
    if (FOVEA_DECODE_VECTORS_4 > 0 && rows == 4) return name##_4;                                                  \
    if (FOVEA_DECODE_VECTORS_2 > 0 && rows == 2) return name##_2;                                                  \
    return rows > 0 ? name##_1 : name##_rest;                                                                      \
  }

#define DECODE_VALUES_OF(with, type, name, ...) DECODE_VALUES(decode_value_##name, type)
FOVEA_FORMATS(DECODE_VALUES_OF, )

#define DECODE_VALUES_CASE(with, type, name, ...)                                                                  \
  case type:                                                                                                       \
    return decode_value_##name(rows);
FOVEA_INLINE decode_value_function *decode_value_of(fovea_type type, int rows) {
  switch (type) {
  default:
    FOVEA_FORMATS(DECODE_VALUES_CASE, )
  }
}

/* Some rows and the dims first to last - 1, `width` dims at a time. */
FOVEA_NOINLINE void decode_value_dims(const fovea_decode_value_args *args, int row, int rows, int64_t first,
                                      int64_t last, int width, decode_value_function *chain,
                                      decode_value_fetch *fetch) {
  FOVEA_NO_UNROLL
  for (int64_t dim = first; dim < last; dim += width) {
    float sums[8 * 8 * LANES];
    decode_value_begin(args, row, rows, dim, width, sums);
    chain(args, row, dim, last - dim < width ? (int)(last - dim) : width, sums, fetch);
    decode_value_end(args, row, rows, dim, width, sums);
  }
}

/* Dims that fill no register tile are computed a vector at a time, row by row. */
FOVEA_NOINLINE void decode_value_any(const fovea_decode_value_args *args) {
  static const int vectors_of[] = {[1] = FOVEA_DECODE_VECTORS_1,
                                   [2] = FOVEA_DECODE_VECTORS_2,
                                   [4] = FOVEA_DECODE_VECTORS_4,
                                   [8] = FOVEA_DECODE_VECTORS_8};
  decode_value_fetch fetch = {decode_prefetch_from(args->prefetch, args->key_count, 0), 0, 0};
  for (int row = 0, rows; row < args->row_count; row += rows) {
    rows = decode_rows_at(row, args->row_count, args->type);
    const int64_t width = vectors_of[rows] * LANES;
    fetch.passes += (int)(args->dim / width + (args->dim % width + LANES - 1) / LANES * rows);
  }
  for (int row = 0, rows; row < args->row_count; row += rows) {
    rows = decode_rows_at(row, args->row_count, args->type);
    const int vectors = vectors_of[rows];
    const int64_t whole = args->dim - args->dim % (vectors * LANES);
    decode_value_dims(args, row, rows, 0, whole, vectors * LANES, decode_value_of(args->type, rows), &fetch);
    for (int r = 0; r < rows; r++) {
      decode_value_dims(args, row + r, 1, whole, args->dim, LANES, decode_value_of(args->type, 0), &fetch);
    }
  }
}
