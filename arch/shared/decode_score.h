/* The products of few rows, keys in the lanes: LANES rows of K are transposed in registers, or lie transposed in a
 * panel already, and every query row multiplies them by its broadcast elements. The chains are those of score.h:
 * pieces of FOVEA_DOT_PIECE dims, each from zero in the order 1, 0, 3, 2, ... Part of decode.h. */

/* Dims of one square; also where vectors are narrower than the four dims that are multiplied together. */
#define DECODE_DIMS (LANES < 4 ? 4 : LANES)

/* Asks for what the same keys of the next block have here: whole lines, once. */
FOVEA_INLINE void decode_fetch_keys(const void *const *ahead, int64_t dim, const int panels,
                                    const fovea_type type) {
  const int64_t size = type == FOVEA_F32 ? 4 : 2;
  if (panels) {
    const int64_t step = 64 / (FOVEA_KEY_PANEL * size);
    for (int64_t d = 0; d < DECODE_DIMS && LANES >= 4; d += step) {
      __builtin_prefetch((const char *)ahead[0] + (dim + d) * FOVEA_KEY_PANEL * size, 0, 2);
    }
    return;
  }
  if (dim * size % 64 != 0) return;
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) __builtin_prefetch((const char *)ahead[i] + dim * size, 0, 2);
}

/* k[i] = the keys' elements of dim + i, for whole squares. */
FOVEA_INLINE void decode_square(const void *const *keys, int64_t dim, const int panels, const fovea_type type,
                                vec k[DECODE_DIMS]) {
  if (panels && type == FOVEA_BF16) {
    FOVEA_UNROLL
    for (int i = 0; i < DECODE_DIMS; i += 2) {
      vec_load_bf16_pairs((const uint16_t *)keys[0] + (dim + i) * FOVEA_KEY_PANEL, &k[i], &k[i + 1]);
    }
  } else if (panels) {
    FOVEA_UNROLL
    for (int i = 0; i < DECODE_DIMS; i++) k[i] = typed_load(keys[0], (dim + i) * FOVEA_KEY_PANEL, type);
  } else {
#if LANES < 4
    FOVEA_UNROLL
    for (int i = 0; i < DECODE_DIMS; i++) k[i] = typed_load(keys[0], dim + i, type);
#else
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) k[i] = typed_load(keys[i], dim, type);
    vec_transpose(k);
#endif
  }
}

/* The same for the `count` dims that are left, fewer than a square has. */
FOVEA_INLINE void decode_rest(const void *const *keys, int64_t dim, int count, const int panels,
                              const fovea_type type, vec k[DECODE_DIMS]) {
  if (panels && type == FOVEA_BF16) {
    for (int i = 0; i < count; i += 2) {
      vec_load_bf16_pairs((const uint16_t *)keys[0] + (dim + i) * FOVEA_KEY_PANEL, &k[i], &k[i + 1]);
    }
  } else if (panels) {
    for (int i = 0; i < count; i++) k[i] = typed_load(keys[0], (dim + i) * FOVEA_KEY_PANEL, type);
  } else {
#if LANES < 4
    for (int i = 0; i < count; i++) k[i] = typed_load(keys[0], dim + i, type);
#else
    for (int i = 0; i < LANES; i++) k[i] = typed_load_first(keys[i], dim, count, type);
    vec_transpose(k);
#endif
  }
}

/* One piece of the dims for one vector of keys. */
FOVEA_INLINE void decode_chain(const fovea_decode_score_args *args, int row, const int rows, int key, int64_t dim,
                               int64_t end, const int panels, const fovea_type type, vec *sum) {
  const void *const *keys = args->keys + key;
  const float *queries = args->queries + row * args->query_stride;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) sum[r] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (; dim + DECODE_DIMS <= end; dim += DECODE_DIMS) {
    vec k[DECODE_DIMS];
    if (args->ahead && row == 0) decode_fetch_keys(args->ahead + key, dim, panels, type);
    decode_square(keys, dim, panels, type, k);
    FOVEA_UNROLL
    for (int i = 0; i < DECODE_DIMS; i += 4) {
      FOVEA_UNROLL
      for (int r = 0; r < rows; r++) {
        vec4 q = vec4_load(queries + r * args->query_stride + dim + i);
        sum[r] = vec_fma_lane(k[i + 1], q, 1, sum[r]);
        sum[r] = vec_fma_lane(k[i], q, 0, sum[r]);
        sum[r] = vec_fma_lane(k[i + 3], q, 3, sum[r]);
        sum[r] = vec_fma_lane(k[i + 2], q, 2, sum[r]);
      }
    }
  }
  if (dim == end) return;
  vec k[DECODE_DIMS];
  const int count = (int)(end - dim);
  decode_rest(keys, dim, count, panels, type, k);
  for (int i = 0; i < count; i++) {
    int d = i + 1 < count || i % 2 == 1 ? i ^ 1 : i; /* an odd last one alone */
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      sum[r] = vec_fma(k[d], vec_set1(queries[r * args->query_stride + dim + d]), sum[r]);
    }
  }
}

/* Some rows and all keys. */
FOVEA_INLINE void decode_score_rows(const fovea_decode_score_args *args, int row, const int rows, const int panels,
                                    const fovea_type type) {
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += LANES) {
    vec total[4], piece[4];
    int64_t dim = 0;
    do {
      int64_t end = args->dim - dim < FOVEA_DOT_PIECE ? args->dim : dim + FOVEA_DOT_PIECE;
      decode_chain(args, row, rows, key, dim, end, panels, type, piece);
      FOVEA_UNROLL
      for (int r = 0; r < rows; r++) total[r] = dim == 0 ? piece[r] : vec_add(total[r], piece[r]);
      dim = end;
    } while (dim < args->dim);
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      vec_store(args->scores + (row + r) * FOVEA_BLOCK_KEYS + key, vec_mul(total[r], vec_set1(args->c)));
    }
  }
}

/* All rows, in fours, twos and ones. */
#define DECODE_SCORE(name, panels, type)                                                                           \
  FOVEA_NOINLINE void name(const fovea_decode_score_args *args) {                                                  \
    int row = 0;                                                                                                   \
    for (; row + 4 <= args->row_count; row += 4) decode_score_rows(args, row, 4, panels, type);                    \
    for (; row + 2 <= args->row_count; row += 2) decode_score_rows(args, row, 2, panels, type);                    \
    for (; row < args->row_count; row++) decode_score_rows(args, row, 1, panels, type);                            \
  }

DECODE_SCORE(decode_score_f32, 0, FOVEA_F32)
DECODE_SCORE(decode_score_f16, 0, FOVEA_F16)
DECODE_SCORE(decode_score_bf16, 0, FOVEA_BF16)
DECODE_SCORE(decode_score_panels_f32, 1, FOVEA_F32)
DECODE_SCORE(decode_score_panels_f16, 1, FOVEA_F16)
DECODE_SCORE(decode_score_panels_bf16, 1, FOVEA_BF16)

FOVEA_KERNEL void FOVEA_NAME(decode_score)(const fovea_decode_score_args *args) {
  switch (args->type) {
  case FOVEA_F16:
    (args->panels ? decode_score_panels_f16 : decode_score_f16)(args);
    break;
  case FOVEA_BF16:
    (args->panels ? decode_score_panels_bf16 : decode_score_bf16)(args);
    break;
  default:
    (args->panels ? decode_score_panels_f32 : decode_score_f32)(args);
    break;
  }
}

/* Keys out of a panel, as rows. */
FOVEA_INLINE void widen_panel_lanes(const fovea_widen_panel_args *args, int lane, const fovea_type type) {
  const int64_t size = type == FOVEA_F32 || type == FOVEA_BF16 ? 4 : 2; /* to the next key's element or pair */
  const void *keys = (const char *)args->panel + lane * size;
  for (int64_t dim = 0; dim < args->dim; dim += DECODE_DIMS) {
    vec k[DECODE_DIMS];
    float lanes[DECODE_DIMS * LANES];
    int count = args->dim - dim < DECODE_DIMS ? (int)(args->dim - dim) : DECODE_DIMS;
    decode_rest(&keys, dim, count, 1, type, k);
    for (int i = 0; i < count; i++) vec_store(lanes + i * LANES, k[i]);
    for (int i = 0; i < LANES; i++) {
      int row = lane + i - args->first;
      if (row < 0 || row >= args->row_count) continue;
      for (int d = 0; d < count; d++) args->to[row * args->to_stride + dim + d] = lanes[d * LANES + i];
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(widen_panel)(const fovea_widen_panel_args *args) {
  for (int lane = args->first / LANES * LANES; lane < args->first + args->row_count; lane += LANES) {
    switch (args->type) {
    case FOVEA_F16:
      widen_panel_lanes(args, lane, FOVEA_F16);
      break;
    case FOVEA_BF16:
      widen_panel_lanes(args, lane, FOVEA_BF16);
      break;
    default:
      widen_panel_lanes(args, lane, FOVEA_F32);
      break;
    }
  }
}
