/* Products of tiles of few rows in the mode bf16, as in decoding: keys, or dims, lie in the lanes, and the numbers
 * are rows. Operands, scores, weights and outputs lie as in any tile. Part of bf16_products.h. */

#if LANES >= 4
enum { BF16_FEW = LANES / 2 }; /* rows that fill half a vector */
_Static_assert(BF16_GROUP % LANES == 0, "words are transposed in squares; operands have whole vectors of 16");

FOVEA_INLINE int bf16_is_few(int rows) {
  return rows <= BF16_FEW;
}

/* What is done with sums: they are added to sums[row * ROW_TILE + lane]. */
typedef struct bf16_few {
  float *sums;
} bf16_few;

FOVEA_INLINE void bf16_finish_few(const int numbers, const int vectors, const void *data, int64_t first, int vector,
                                  const bf16_tile *sum) {
  float *to = ((const bf16_few *)data)->sums + first * ROW_TILE + vector * LANES;
  FOVEA_UNROLL
  for (int n = 0; n < numbers; n++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      float *at = to + n * ROW_TILE + v * LANES;
      vec_store(at, vec_add(vec_load(at), sum->sum[n][v]));
    }
  }
}

#define bf16_lane_few(lane) (lane)
BF16_FEW_TILES(few)

FOVEA_INLINE void bf16_clear_few(int rows, float *sums) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < rows * ROW_TILE; i += LANES) vec_store(sums + i, vec_set1(0.0f));
}

/* LANES lanes of the sums of all rows as vectors with rows in their lanes: one for each key or dim. */
FOVEA_SHARED_FUNCTION(void, bf16_rows_in_lanes, const float *sums, int rows, float *to) {
  vec x[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) x[i] = i < BF16_FEW && i < rows ? vec_load(sums + i * ROW_TILE) : vec_set1(0.0f);
  vec_transpose(x);
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) vec_store(to + i * LANES, x[i]);
}

/* Words `first` to `first + count` - 1 of keys, [word][key], of whole vectors: after the last key it stands again.
 * Prefetches some lines for each square of words. */
FOVEA_INLINE void bf16_transpose_keys(const float *keys, int64_t stride, int64_t key_count, int64_t first,
                                      int64_t count, float *to, bf16_fetch *next) {
  FOVEA_NO_UNROLL
  for (int64_t key = 0; key < key_count; key += LANES) {
    FOVEA_NO_UNROLL
    for (int64_t word = 0; word < count; word += LANES) {
      vec x[LANES];
      FOVEA_SHARED(bf16_fetch_step)(next);
      FOVEA_UNROLL
      for (int i = 0; i < LANES; i++)
        x[i] = vec_load(keys + (key + i < key_count ? key + i : key_count - 1) * stride + first + word);
      vec_transpose(x);
      FOVEA_UNROLL
      for (int i = 0; i < LANES; i++) vec_store(to + (word + i) * ROW_TILE + key, x[i]);
    }
  }
}

/* Scores of up to ROW_TILE keys from their sums. */
FOVEA_INLINE void bf16_finish_few_scores(const fovea_score_args *args, int64_t first, int64_t count,
                                         const float *sums) {
  float x[LANES * LANES];
  vec maximum = vec_load(args->maxima);
  FOVEA_NO_UNROLL
  for (int64_t key = 0; key < count; key++) {
    if (key % LANES == 0) FOVEA_SHARED(bf16_rows_in_lanes)(sums + key, args->rows, x);
    const vec s = vec_mul(vec_load(x + key % LANES * LANES), vec_set1(args->c));
    vec_store(args->scores + (first + key) * ROW_TILE, s);
    maximum = vec_max(s, maximum);
  }
  vec_store(args->maxima, maximum);
}

/* A group at a time, whose words are transposed and stay in L1. */
FOVEA_NOINLINE void bf16_score_few(const fovea_score_args *args, const bf16_work *whole) {
  const int64_t stride = whole->products.step, items = whole->products.count;
  const int64_t steps = (args->key_count + LANES - 1) / LANES * ((items + LANES - 1) / LANES);
  bf16_fetch next = FOVEA_SHARED(bf16_fetch_of)(args->prefetch, args->prefetch_count, steps);
  float words[(BF16_GROUP + LANES) * ROW_TILE], sums[BF16_FEW * ROW_TILE];
  const bf16_few to = {sums};
  FOVEA_NO_UNROLL
  for (int64_t key = 0; key < args->key_count; key += ROW_TILE) {
    const int64_t count = args->key_count - key < ROW_TILE ? args->key_count - key : ROW_TILE;
    bf16_clear_few(args->rows, sums);
    FOVEA_NO_UNROLL
    for (int64_t first = 0; first < items; first += BF16_GROUP) {
      const int64_t rest = items - first, words_of_group = rest < BF16_GROUP ? rest : BF16_GROUP;
      const bf16_work group = {{words, args->queries + first * ROW_TILE, ROW_TILE, ROW_TILE, 1, words_of_group},
                               args->rows,
                               &to,
                               NULL,
                               0};
      bf16_transpose_keys(whole->products.scalars + key * stride, stride, count, first, words_of_group, words,
                          &next);
      bf16_vectors(&group, bf16_tiles_few, BF16_MOST(bf16_tiles_few),
                   (fovea_vector_range){0, (int)((count + LANES - 1) / LANES)});
    }
    bf16_finish_few_scores(args, key, count, sums);
  }
}

/* Outputs of up to ROW_TILE dims from their sums. */
FOVEA_INLINE void bf16_finish_few_values(const fovea_value_args *args, int64_t first, int64_t count,
                                         const float *sums) {
  const vec old_part = vec_load(args->old_part), new_part = vec_load(args->new_part);
  float x[LANES * LANES];
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < count; d++) {
    float *to = args->output + (first + d) * ROW_TILE;
    if (d % LANES == 0) FOVEA_SHARED(bf16_rows_in_lanes)(sums + d, args->rows, x);
    const vec sum = vec_load(x + d % LANES * LANES);
    vec_store(to, args->flags & FOVEA_VALUE_MERGE ? state_join(vec_load(to), old_part, sum, new_part) : sum);
  }
}

/* A group at a time, as for scores: then prefetches are not all made at once. */
FOVEA_NOINLINE void bf16_value_few(const fovea_value_args *args, const bf16_work *whole) {
  const bf16_products *of = &whole->products;
  const int64_t steps = (args->dim + ROW_TILE - 1) / ROW_TILE * ((of->count + BF16_GROUP - 1) / BF16_GROUP);
  bf16_fetch next = FOVEA_SHARED(bf16_fetch_of)(args->prefetch, args->prefetch_count, steps);
  float sums[BF16_FEW * ROW_TILE];
  const bf16_few to = {sums};
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += ROW_TILE) {
    const int64_t count = args->dim - d < ROW_TILE ? args->dim - d : ROW_TILE;
    const fovea_vector_range vectors = {0, (int)((count + LANES - 1) / LANES)};
    bf16_clear_few(args->rows, sums);
    FOVEA_NO_UNROLL
    for (int64_t first = 0; first < of->count; first += BF16_GROUP) {
      const int64_t rest = of->count - first;
      const bf16_work group = {{of->scalars + first * of->item + d, of->lanes + first * ROW_TILE, of->item,
                                ROW_TILE, 1, rest < BF16_GROUP ? rest : BF16_GROUP},
                               args->rows,
                               &to,
                               NULL,
                               0};
      FOVEA_SHARED(bf16_fetch_step)(&next);
      bf16_vectors(&group, bf16_tiles_few, BF16_MOST(bf16_tiles_few), vectors);
    }
    bf16_finish_few_values(args, d, count, sums);
  }
}
#else
enum { BF16_FEW = 0 };
FOVEA_INLINE int bf16_is_few(int rows) {
  (void)rows;
  return 0;
}
FOVEA_INLINE void bf16_score_few(const fovea_score_args *args, const bf16_work *whole) {
  (void)args, (void)whole;
}
FOVEA_INLINE void bf16_value_few(const fovea_value_args *args, const bf16_work *whole) {
  (void)args, (void)whole;
}
#endif
