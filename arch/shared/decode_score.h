/* The products of decoding if keys lie in rows. LANES rows of K are transposed in registers, and each query row
 * multiplies them by its broadcast elements. The chains are as in score.h: pieces of FOVEA_DOT_PIECE dims, each
 * from zero, with the dims in the order 1, 0, 3, 2, ... Part of decode.h. */

/* Vectors of a square: LANES, but at least the four dims that are multiplied together. */
#define DECODE_SQUARE (LANES < 4 ? 4 : LANES)

/* Whether dims are loaded and transposed as pairs, two in a lane, which halves the work. */
#define DECODE_PAIRED(type) ((type) == FOVEA_BF16 && LANES >= 4)
/* Dims of a square. */
#define DECODE_STEP(type) (DECODE_PAIRED(type) ? 2 * DECODE_SQUARE : DECODE_SQUARE)

/* Vectors of a square that are transposed at a time: half of them if two rows are loaded as one vector. */
#ifdef FOVEA_VECTOR_TRANSPOSES_HALVES
#define DECODE_TRANSPOSE (LANES / 2)
#else
#define DECODE_TRANSPOSE DECODE_SQUARE
#endif

#ifdef FOVEA_VECTOR_TRANSPOSES_HALVES
#define DECODE_LOAD_HALVES(with, format, name, element, bits, together, load, store, half_of_least, load_halves,   \
                           ...)                                                                                    \
  case format:                                                                                                     \
    k[i] = load_halves(low, high);                                                                                 \
    break;
#endif

/* k[i] = the elements of LANES keys at dim + i; if paired, their pairs of dims from dim + 2 i on. */
FOVEA_INLINE void decode_transpose(const void *const *keys, int64_t dim, const fovea_type type,
                                   vec k[DECODE_TRANSPOSE]) {
#ifdef FOVEA_VECTOR_TRANSPOSES_HALVES
  FOVEA_UNROLL
  for (int i = 0; i < DECODE_TRANSPOSE; i++) {
    const void *low = typed_at(keys[i / 4 * 8 + i % 4], dim, type);
    const void *high = typed_at(keys[i / 4 * 8 + i % 4 + 4], dim, type);
    switch (type) {
    default:
      FOVEA_FORMATS(DECODE_LOAD_HALVES, )
    }
  }
  vec_transpose_halves(k);
#else
  FOVEA_UNROLL
  for (int i = 0; i < DECODE_TRANSPOSE; i++) {
    if (LANES < 4) {
      k[i] = typed_load(keys[0], dim + i, type);
    } else if (DECODE_PAIRED(type)) {
      k[i] = vec_load_pairs((const uint16_t *)keys[i] + dim);
    } else {
      k[i] = typed_load(keys[i], dim, type);
    }
  }
  if (LANES >= 4) vec_transpose(k);
#endif
}

/* Multiplies transposed keys by the same dims of the queries. */
FOVEA_INLINE void decode_multiply(const float *queries, int64_t stride, const int rows, const fovea_type type,
                                  const vec k[DECODE_TRANSPOSE], vec *sum) {
  FOVEA_UNROLL
  for (int i = 0; i < DECODE_TRANSPOSE; i += DECODE_PAIRED(type) ? 2 : 4) {
    vec k0 = k[i], k1 = k[i + 1], k2 = k0, k3 = k1;
    if (DECODE_PAIRED(type)) {
      vec_split_bf16(k[i], &k0, &k1);
      vec_split_bf16(k[i + 1], &k2, &k3);
    } else {
      k2 = k[i + 2];
      k3 = k[i + 3];
    }
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      vec4 q = vec4_load(queries + r * stride + (DECODE_PAIRED(type) ? 2 * i : i));
      sum[r] = vec_fma_lane(k1, q, 1, sum[r]);
      sum[r] = vec_fma_lane(k0, q, 0, sum[r]);
      sum[r] = vec_fma_lane(k3, q, 3, sum[r]);
      sum[r] = vec_fma_lane(k2, q, 2, sum[r]);
    }
  }
}

/* Transposes the last dims, fewer than a square has: transposed[d][key]. */
FOVEA_MIDDLE FOVEA_NOINLINE void decode_transpose_rest(const void *const *keys, int64_t dim, int count,
                                                       fovea_type type, float *transposed) {
  float elements[DECODE_SQUARE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < LANES; i++) {
    typed_load_few(keys[i], dim, count, type, elements);
    FOVEA_NO_UNROLL
    for (int d = 0; d < count; d++) transposed[d * LANES + i] = elements[d];
  }
}

/* The chains of one piece of the dims, for one vector of keys. */
FOVEA_INLINE void decode_chain(const fovea_decode_score_args *args, int row, const int rows, int key, int64_t dim,
                               int64_t end, const fovea_type type, decode_fetch *fetch, vec *sum) {
  const void *const *keys = args->keys + key;
  const int64_t stride = args->query_stride, step = DECODE_STEP(type);
  const float *queries = args->queries + row * stride;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) sum[r] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (; dim + step <= end; dim += step) {
    decode_fetch_rows(fetch, fovea_bytes(type, args->dim));
    FOVEA_UNROLL
    for (int64_t part = 0; part < step; part += step / DECODE_SQUARE * DECODE_TRANSPOSE) {
      vec k[DECODE_TRANSPOSE];
      decode_transpose(keys, dim + part, type, k);
      decode_multiply(queries + dim + part, stride, rows, type, k, sum);
    }
  }
  FOVEA_NO_UNROLL
  while (dim < end) {
    float transposed[DECODE_SQUARE * LANES];
    int count = end - dim < DECODE_SQUARE ? (int)(end - dim) : DECODE_SQUARE;
    decode_transpose_rest(keys, dim, count, type, transposed);
    FOVEA_NO_UNROLL
    for (int i = 0; i < count; i++) {
      int d = i % 2 == 1 || i + 1 < count ? i ^ 1 : i; /* an odd last dim comes alone */
      FOVEA_UNROLL
      for (int r = 0; r < rows; r++) {
        sum[r] = vec_fma(vec_load(transposed + d * LANES), vec_set1(queries[r * stride + dim + d]), sum[r]);
      }
    }
    dim += count;
  }
}

/* Scores of some rows and all keys. Running sums of pieces lie in the scores' place. */
FOVEA_INLINE void decode_score_rows(const fovea_decode_score_args *args, int row, const int rows,
                                    const fovea_type type) {
  float *scores = args->scores + row * FOVEA_BLOCK_KEYS;
  decode_fetch fetch = decode_plan_fetch(args, row, rows, LANES, DECODE_STEP(type));
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += LANES) {
    decode_fetch_from(&fetch, args, key);
    FOVEA_NO_UNROLL
    for (int64_t dim = 0, end; dim < args->dim; dim = end) {
      vec sum[8];
      end = args->dim - dim < FOVEA_DOT_PIECE ? args->dim : dim + FOVEA_DOT_PIECE;
      decode_chain(args, row, rows, key, dim, end, type, &fetch, sum);
      decode_keep(args, scores + key, rows, dim == 0, end == args->dim, sum);
    }
  }
}

#define DECODE_SCORE_ROWS(name, rows, type)                                                                        \
  FOVEA_NOINLINE void name##_##rows(const fovea_decode_score_args *args, int row) {                                \
    decode_score_rows(args, row, rows, type);                                                                      \
  }

/* All rows, by eights, fours, twos and ones. Each has a function of its own: gcc runs out of registers if one
 * function has all. */
#define DECODE_SCORE(name, type)                                                                                   \
  DECODE_SCORE_ROWS(name, 8, type)                                                                                 \
  DECODE_SCORE_ROWS(name, 4, type)                                                                                 \
  DECODE_SCORE_ROWS(name, 2, type)                                                                                 \
  DECODE_SCORE_ROWS(name, 1, type)                                                                                 \
  FOVEA_NOINLINE void name(const fovea_decode_score_args *args) {                                                  \
    int row = 0;                                                                                                   \
    for (; DECODE_EIGHT(type) && row + 8 <= args->row_count; row += 8) name##_8(args, row);                        \
    for (; FOVEA_DECODE_VECTORS_4 > 0 && row + 4 <= args->row_count; row += 4) name##_4(args, row);                \
    for (; FOVEA_DECODE_VECTORS_2 > 0 && row + 2 <= args->row_count; row += 2) name##_2(args, row);                \
    for (; row < args->row_count; row++) name##_1(args, row);                                                      \
  }

#define DECODE_SCORE_OF(with, type, name, ...) DECODE_SCORE(decode_score_##name, type)
FOVEA_FORMATS(DECODE_SCORE_OF, )

#define DECODE_SCORE_CASE(with, type, name, ...)                                                                   \
  case type:                                                                                                       \
    decode_score_##name(args);                                                                                     \
    break;
FOVEA_INLINE void decode_score_any(const fovea_decode_score_args *args) {
  switch (args->type) {
  default:
    FOVEA_FORMATS(DECODE_SCORE_CASE, )
  }
}
