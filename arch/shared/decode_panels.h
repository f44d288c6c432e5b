/* The products of few rows with keys that lie in panels: LANES keys side by side already. Several vectors of keys
 * at once, since the chain of one waits for each product. Part of decode.h.
 *
 *   FOVEA_DECODE_GROUPS_<n>   vectors of keys beside n rows, n = 1, 2, 4, 8; at most 8 */

/* What `keys` point at from one dim to the next, in elements; of bf16 from one pair of dims. */
#define PANEL_STEP(type) ((type) == FOVEA_BF16 ? 2 * FOVEA_KEY_PANEL : FOVEA_KEY_PANEL)

/* One dim of LANES keys of a panel. */
FOVEA_INLINE vec decode_panel_dim(const void *keys, int64_t dim, const fovea_type type) {
  if (type == FOVEA_BF16) {
    vec pair[2];
    vec_split_bf16(vec_load_pairs((const uint16_t *)keys + dim / 2 * PANEL_STEP(type)), &pair[0], &pair[1]);
    return pair[dim % 2];
  }
  return typed_load(keys, dim * PANEL_STEP(type), type);
}

/* Two dims of LANES keys of a panel. */
FOVEA_INLINE void decode_panel_pair(const void *keys, int64_t dim, const fovea_type type, vec *even, vec *odd) {
  if (type == FOVEA_BF16) {
    vec_split_bf16(vec_load_pairs((const uint16_t *)keys + dim / 2 * PANEL_STEP(type)), even, odd);
  } else {
    *even = typed_load(keys, dim * PANEL_STEP(type), type);
    *odd = typed_load(keys, (dim + 1) * PANEL_STEP(type), type);
  }
}

/* Two dims of the next block's keys. */
FOVEA_INLINE void decode_fetch_panel(const void *ahead, int64_t dim, const fovea_type type) {
  const int64_t size = type == FOVEA_F32 ? 4 : 2;
  for (int64_t byte = 0; byte < 2 * FOVEA_KEY_PANEL * size; byte += 64) {
    __builtin_prefetch((const char *)ahead + dim * FOVEA_KEY_PANEL * size + byte, 0, 2);
  }
}

/* One piece of the dims for some vectors of keys. */
FOVEA_INLINE void decode_panels_chain(const fovea_decode_score_args *args, int row, const int rows, int key,
                                      const int groups, int64_t dim, int64_t end, const fovea_type type,
                                      vec sum[8][8]) {
  const void *const *keys = args->keys + key;
  const int64_t stride = args->query_stride;
  const float *queries = args->queries + row * stride;
  FOVEA_UNROLL
  for (int g = 0; g < groups; g++) {
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) sum[g][r] = vec_set1(0.0f);
  }
  FOVEA_NO_UNROLL
  for (; dim + 2 <= end; dim += 2) {
    vec even[8], odd[8];
    FOVEA_UNROLL
    for (int g = 0; g < groups; g++) {
      decode_panel_pair(keys[g * LANES], dim, type, &even[g], &odd[g]);
      decode_fetch_panel(args->ahead[key + g * LANES], dim, type);
    }
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) {
      vec first = vec_set1(queries[r * stride + dim + 1]), second = vec_set1(queries[r * stride + dim]);
      FOVEA_UNROLL
      for (int g = 0; g < groups; g++) {
        sum[g][r] = vec_fma(even[g], second, vec_fma(odd[g], first, sum[g][r]));
      }
    }
  }
  if (dim == end) return;
  FOVEA_UNROLL
  for (int g = 0; g < groups; g++) {
    vec k = decode_panel_dim(keys[g * LANES], dim, type);
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) sum[g][r] = vec_fma(k, vec_set1(queries[r * stride + dim]), sum[g][r]);
  }
}

/* Some rows and vectors of keys. */
FOVEA_INLINE void decode_panels_tile(const fovea_decode_score_args *args, int row, const int rows, int key,
                                     const int groups, const fovea_type type) {
  float *scores = args->scores + row * FOVEA_BLOCK_KEYS + key;
  FOVEA_NO_UNROLL
  for (int64_t dim = 0, end; dim < args->dim; dim = end) {
    vec sum[8][8];
    end = args->dim - dim < FOVEA_DOT_PIECE ? args->dim : dim + FOVEA_DOT_PIECE;
    decode_panels_chain(args, row, rows, key, groups, dim, end, type, sum);
    FOVEA_UNROLL
    for (int g = 0; g < groups; g++) {
      decode_keep(args, scores + g * LANES, rows, dim == 0, end == args->dim, sum[g]);
    }
  }
}

/* Some rows and all keys. */
FOVEA_INLINE void decode_panels_rows(const fovea_decode_score_args *args, int row, const int rows, const int groups,
                                     const fovea_type type) {
  int key = 0;
  FOVEA_NO_UNROLL
  for (; key + groups * LANES <= args->key_count; key += groups * LANES) {
    decode_panels_tile(args, row, rows, key, groups, type);
  }
  FOVEA_NO_UNROLL
  for (; key < args->key_count; key += LANES) decode_panels_tile(args, row, rows, key, 1, type);
}

#define DECODE_PANELS(name, type)                                                                                  \
  FOVEA_NOINLINE void name(const fovea_decode_score_args *args) {                                                  \
    int row = 0;                                                                                                   \
    for (; DECODE_EIGHT(type) && row + 8 <= args->row_count; row += 8)                                             \
      decode_panels_rows(args, row, 8, FOVEA_DECODE_GROUPS_8, type);                                               \
    for (; FOVEA_DECODE_VECTORS_4 > 0 && row + 4 <= args->row_count; row += 4)                                     \
      decode_panels_rows(args, row, 4, FOVEA_DECODE_GROUPS_4, type);                                               \
    for (; FOVEA_DECODE_VECTORS_2 > 0 && row + 2 <= args->row_count; row += 2)                                     \
      decode_panels_rows(args, row, 2, FOVEA_DECODE_GROUPS_2, type);                                               \
    for (; row < args->row_count; row++) decode_panels_rows(args, row, 1, FOVEA_DECODE_GROUPS_1, type);            \
  }

DECODE_PANELS(decode_panels_f32, FOVEA_F32)
DECODE_PANELS(decode_panels_f16, FOVEA_F16)
DECODE_PANELS(decode_panels_bf16, FOVEA_BF16)

/* Keys out of a panel, as rows. */
FOVEA_INLINE void widen_panel_lanes(const fovea_widen_panel_args *args, int lane, const fovea_type type) {
  const int64_t size = type == FOVEA_F16 ? 2 : 4; /* to the next key's element, of bf16 its pair */
  const void *keys = (const char *)args->panel + lane * size;
  int first = args->first > lane ? args->first - lane : 0, last = args->first + args->row_count - lane;
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim++) {
    float lanes[LANES];
    vec_store(lanes, decode_panel_dim(keys, dim, type));
    for (int i = first; i < LANES && i < last; i++)
      args->to[(lane + i - args->first) * args->to_stride + dim] = lanes[i];
  }
}

FOVEA_KERNEL void FOVEA_NAME(widen_panel)(const fovea_widen_panel_args *args) {
  FOVEA_NO_UNROLL
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
