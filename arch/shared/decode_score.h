/* The products of few rows, keys in the lanes: LANES rows of K are turned in registers, and every query row
 * multiplies them by its broadcast elements. The chains are those of score.h: pieces of FOVEA_DOT_PIECE dims, each
 * from zero in the order 1, 0, 3, 2, ... Part of decode.h. */

/* Vectors of one square; where vectors are narrower than the four dims that are multiplied together, those. */
#define DECODE_SQUARE (LANES < 4 ? 4 : LANES)

/* Whether dims are loaded and turned as pairs, two to a lane, which halves the work. */
#define DECODE_PAIRED(type) ((type) == FOVEA_BF16 && LANES >= 4)

/* Asks for what the same keys of the next block have in these dims: whole lines, once. */
FOVEA_INLINE void decode_fetch_keys(const void *const *ahead, int64_t dim, const fovea_type type) {
  const int64_t byte = dim * (type == FOVEA_F32 ? 4 : 2);
  if (byte % 64 != 0) return;
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) __builtin_prefetch((const char *)ahead[i] + byte, 0, 2);
}

/* k[i] = the keys' elements of dim + i, or their pairs of dims from dim + 2 i on. */
FOVEA_INLINE void decode_square(const void *const *keys, int64_t dim, const fovea_type type, vec k[DECODE_SQUARE]) {
  FOVEA_UNROLL
  for (int i = 0; i < DECODE_SQUARE; i++) {
    if (LANES < 4) {
      k[i] = typed_load(keys[0], dim + i, type);
    } else if (DECODE_PAIRED(type)) {
      k[i] = vec_load_pairs((const uint16_t *)keys[i] + dim);
    } else {
      k[i] = typed_load(keys[i], dim, type);
    }
  }
  if (LANES >= 4) vec_transpose(k);
}

/* The products of one square with its own dims of the queries. */
FOVEA_INLINE void decode_multiply(const float *queries, int64_t stride, const int rows, const fovea_type type,
                                  const vec k[DECODE_SQUARE], vec *sum) {
  FOVEA_UNROLL
  for (int i = 0; i < DECODE_SQUARE; i += DECODE_PAIRED(type) ? 2 : 4) {
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

/* The dims that are left, fewer than a square has: turned[d][key]. */
FOVEA_NOINLINE void decode_turn_rest(const void *const *keys, int64_t dim, int count, fovea_type type,
                                     float *turned) {
  float elements[DECODE_SQUARE];
  FOVEA_NO_UNROLL
  for (int i = 0; i < LANES; i++) {
    typed_load_few(keys[i], dim, count, type, elements);
    FOVEA_NO_UNROLL
    for (int d = 0; d < count; d++) turned[d * LANES + i] = elements[d];
  }
}

/* One piece of the dims for one vector of keys. */
FOVEA_INLINE void decode_chain(const fovea_decode_score_args *args, int row, const int rows, int key, int64_t dim,
                               int64_t end, const fovea_type type, vec *sum) {
  const void *const *keys = args->keys + key, *const *ahead = args->ahead + key;
  const int64_t stride = args->query_stride;
  const float *queries = args->queries + row * stride;
  const int64_t step = DECODE_PAIRED(type) ? 2 * DECODE_SQUARE : DECODE_SQUARE;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) sum[r] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (; dim + step <= end; dim += step) {
    vec k[DECODE_SQUARE];
    decode_fetch_keys(ahead, dim, type);
    decode_square(keys, dim, type, k);
    decode_multiply(queries + dim, stride, rows, type, k, sum);
  }
  FOVEA_NO_UNROLL
  while (dim < end) {
    float turned[DECODE_SQUARE * LANES];
    int count = end - dim < DECODE_SQUARE ? (int)(end - dim) : DECODE_SQUARE;
    decode_turn_rest(keys, dim, count, type, turned);
    FOVEA_NO_UNROLL
    for (int i = 0; i < count; i++) {
      int d = i % 2 == 1 || i + 1 < count ? i ^ 1 : i; /* an odd last one alone */
      FOVEA_UNROLL
      for (int r = 0; r < rows; r++) {
        sum[r] = vec_fma(vec_load(turned + d * LANES), vec_set1(queries[r * stride + dim + d]), sum[r]);
      }
    }
    dim += count;
  }
}

/* Some rows and all keys. Pieces before the last keep their running sum where the scores are going to be. */
FOVEA_INLINE void decode_score_rows(const fovea_decode_score_args *args, int row, const int rows,
                                    const fovea_type type) {
  float *scores = args->scores + row * FOVEA_BLOCK_KEYS;
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += LANES) {
    FOVEA_NO_UNROLL
    for (int64_t dim = 0, end; dim < args->dim; dim = end) {
      vec sum[4];
      end = args->dim - dim < FOVEA_DOT_PIECE ? args->dim : dim + FOVEA_DOT_PIECE;
      decode_chain(args, row, rows, key, dim, end, type, sum);
      decode_keep(args, scores + key, rows, dim == 0, end == args->dim, sum);
    }
  }
}

/* All rows, in fours, twos and ones. */
#define DECODE_SCORE(name, type)                                                                                   \
  FOVEA_NOINLINE void name(const fovea_decode_score_args *args) {                                                  \
    int row = 0;                                                                                                   \
    for (; FOVEA_DECODE_VECTORS_4 > 0 && row + 4 <= args->row_count; row += 4)                                     \
      decode_score_rows(args, row, 4, type);                                                                       \
    for (; FOVEA_DECODE_VECTORS_2 > 0 && row + 2 <= args->row_count; row += 2)                                     \
      decode_score_rows(args, row, 2, type);                                                                       \
    for (; row < args->row_count; row++) decode_score_rows(args, row, 1, type);                                    \
  }

DECODE_SCORE(decode_score_f32, FOVEA_F32)
DECODE_SCORE(decode_score_f16, FOVEA_F16)
DECODE_SCORE(decode_score_bf16, FOVEA_BF16)
