/* The mode bf16 on AMX: products of 16 x 16 numbers and groups of 32 items, which are those of section 16 of
 * docs/numerics.md bit for bit. Rows lie in the columns of tiles, keys or dims in their rows. */
#include "../targets.h"
#ifdef FOVEA_ARCH_X86_64
#define FOVEA_ISA    amx
#define FOVEA_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,amx-tile,amx-bf16")))
#include "../avx512/tiles.h"
#include "../avx512/vector.h"
#include "amx.h"

#include "../shared/state.h"
#include "../shared/terms.h"
#include "../shared/tile.h"

#include <string.h>

enum { TILE = 16, GROUP = 32, DIMS = 256 };

/* What LDTILECFG reads: Intel's manual, volume 1, section 18.3. */
typedef struct tile_config {
  _Alignas(64) uint8_t palette;
  uint8_t start, zero[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_config;

/* A tile of operands: 16 rows of 16 pairs of bf16. */
typedef struct tile_words {
  _Alignas(64) uint32_t word[TILE][TILE];
} tile_words;
typedef struct tile_sums {
  _Alignas(64) float sum[TILE][TILE];
} tile_sums;

/* Tiles 0 to 3 are sums, 4 is A, 5 is B. */
FOVEA_INLINE void tiles_begin(void) {
  tile_config config = {.palette = 1};
  for (int i = 0; i < 6; i++) config.row_bytes[i] = 64, config.rows[i] = TILE;
  _tile_loadconfig(&config);
}

/* Two numbers of bf16 in a word, the first below. */
FOVEA_INLINE veci tile_pair(vec first, vec second) {
  const __m512i upper = _mm512_and_si512(_mm512_castps_si512(second), _mm512_set1_epi32((int)0xffff0000u));
  return _mm512_or_si512(upper, _mm512_srli_epi32(_mm512_castps_si512(first), 16));
}

/* Items `first` to first + 31 of rows in the lanes as a tile B: items from `count` on are 0. */
FOVEA_INLINE void tile_of_lanes(const float *lanes, int64_t first, int64_t count, tile_words *to) {
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < TILE; i++) {
    const int64_t item = first + 2 * i;
    const vec a = item < count ? vec_load(lanes + item * ROW_TILE) : vec_set1(0.0f);
    const vec b = item + 1 < count ? vec_load(lanes + (item + 1) * ROW_TILE) : vec_set1(0.0f);
    _mm512_store_si512(to->word[i], tile_pair(a, b));
  }
}

/* Sums of up to four vectors: a has `groups` tiles, b as many for each vector, `step` tiles apart. */
FOVEA_INLINE void tile_products(const tile_words *a, const tile_words *b, int groups, int step, int vectors,
                                tile_sums *sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  FOVEA_NO_UNROLL
  for (int g = 0; g < groups; g++) {
    _tile_loadd(4, a + g, 64);
    _tile_loadd(5, b + g, 64);
    _tile_dpbf16ps(0, 4, 5);
    if (vectors > 1) {
      _tile_loadd(5, b + step + g, 64);
      _tile_dpbf16ps(1, 4, 5);
    }
    if (vectors > 2) {
      _tile_loadd(5, b + 2 * step + g, 64);
      _tile_dpbf16ps(2, 4, 5);
    }
    if (vectors > 3) {
      _tile_loadd(5, b + 3 * step + g, 64);
      _tile_dpbf16ps(3, 4, 5);
    }
  }
  _tile_stored(0, sums, 64);
  if (vectors > 1) _tile_stored(1, sums + 1, 64);
  if (vectors > 2) _tile_stored(2, sums + 2, 64);
  if (vectors > 3) _tile_stored(3, sums + 3, 64);
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

/* Dims of sixteen keys as tiles A; keys from `count` on, and dims behind the last, are 0. */
FOVEA_INLINE void tiles_of_keys(const float *keys, int64_t stride, int count, int64_t dim, tile_words *to) {
  FOVEA_NO_UNROLL
  for (int key = 0; key < TILE; key++) {
    const float *row = keys + key * stride;
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < dim; d += GROUP) {
      const int64_t rest = key < count ? dim - d : 0;
      const vec a = rest >= TILE ? vec_load(row + d)
                    : rest > 0   ? vec_load_first(row + d, (int)rest)
                                 : vec_set1(0.0f);
      const vec b = rest >= GROUP ? vec_load(row + d + TILE)
                    : rest > TILE ? vec_load_first(row + d + TILE, (int)rest - TILE)
                                  : vec_set1(0.0f);
      const __m256i low = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(a), 16));
      const __m256i high = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(b), 16));
      _mm512_store_si512(to[d / GROUP].word[key], _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
    }
  }
}

FOVEA_INLINE void finish_scores(const fovea_score_args *args, int key, int keys, int vector,
                                const tile_sums *sums) {
  const vec c = vec_set1(args->c);
  float *maxima = args->maxima + vector * LANES, *to = args->scores + (int64_t)key * ROW_TILE + vector * LANES;
  vec maximum = vec_load(maxima);
  FOVEA_NO_UNROLL
  for (int n = 0; n < keys; n++) {
    const vec s = vec_mul(vec_load(sums->sum[n]), c);
    vec_store(to + n * ROW_TILE, s);
    maximum = vec_max(s, maximum);
  }
  vec_store(maxima, maximum);
}

/* As score_hide() of score.h. */
FOVEA_NOINLINE void hide_scores(const fovea_score_args *args) {
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const veci from = veci_load(args->seen_from + row), to = veci_load(args->seen_to + row);
    vec maximum = vec_load(args->maxima + row);
    FOVEA_NO_UNROLL
    for (int key = 0; key < args->key_count; key++) {
      float *score = args->scores + (int64_t)key * ROW_TILE + row;
      const vec s = term_hide(vec_load(score), vec_seen(key, from, to));
      vec_store(score, s);
      maximum = vec_max(s, maximum);
    }
    vec_store(args->maxima + row, maximum);
  }
}

FOVEA_KERNEL void FOVEA_NAME(bf16_score)(const fovea_score_args *args) {
  const int groups = (int)((args->dim + GROUP - 1) / GROUP), first = args->vectors.first;
  tile_words queries[FOVEA_TILE_VECTORS * DIMS / GROUP], keys[DIMS / GROUP];
  tile_sums sums[FOVEA_TILE_VECTORS];
  float not_wanted[ROW_TILE] = {0};
  fovea_score_args all = *args;
  if (args->dim > DIMS) {
    fovea_bf16_score_avx512(args);
    return;
  }
  if (args->seen_from) all.maxima = not_wanted;
  tiles_begin();
  FOVEA_NO_UNROLL
  for (int v = 0; v < args->vectors.count; v++)
    for (int g = 0; g < groups; g++)
      tile_of_lanes(args->queries + (first + v) * LANES, g * GROUP, args->dim, &queries[v * groups + g]);
  FOVEA_NO_UNROLL
  for (int key = 0; key < args->key_count; key += TILE) {
    const int count = args->key_count - key < TILE ? args->key_count - key : TILE;
    tiles_of_keys((const float *)args->keys + key * args->key_stride, args->key_stride, count, args->dim, keys);
    tile_products(keys, queries, groups, groups, args->vectors.count, sums);
    for (int v = 0; v < args->vectors.count; v++) finish_scores(&all, key, count, first + v, &sums[v]);
  }
  _tile_release();
  if (args->seen_from) hide_scores(args);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* Sixteen dims of 32 keys as a tile A: keys that are not met are 0. */
FOVEA_INLINE void tile_of_values(const fovea_value_args *args, int64_t dim, int64_t key, tile_words *to) {
  const int64_t end = args->key + args->key_count, rest = args->dim - dim;
  const vec zero = vec_set1(0.0f);
  vec words[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++) {
    vec pair[2];
    FOVEA_UNROLL
    for (int j = 0; j < 2; j++) {
      const int64_t k = key + 2 * i + j;
      const float *row = args->values + k * args->value_stride + dim;
      if (k < args->key || k >= end)
        pair[j] = zero;
      else
        pair[j] = rest >= LANES ? vec_load(row) : vec_load_first(row, (int)rest);
    }
    words[i] = _mm512_castsi512_ps(tile_pair(pair[0], pair[1]));
  }
  vec_transpose(words);
  FOVEA_UNROLL
  for (int i = 0; i < TILE; i++) vec_store((float *)(void *)to->word[i], words[i]);
}

FOVEA_INLINE void finish_values(const fovea_value_args *args, int64_t dim, int vector, const tile_sums *sums) {
  const int row = vector * LANES, dims = args->dim - dim < TILE ? (int)(args->dim - dim) : TILE;
  const vec old_part = vec_load(args->old_part + row), new_part = vec_load(args->new_part + row);
  float *to = args->output + dim * ROW_TILE + row;
  FOVEA_NO_UNROLL
  for (int d = 0; d < dims; d++, to += ROW_TILE) {
    const vec sum = vec_load(sums->sum[d]);
    vec_store(to, args->flags & FOVEA_VALUE_MERGE ? state_join(vec_load(to), old_part, sum, new_part) : sum);
  }
}

FOVEA_KERNEL void FOVEA_NAME(bf16_value)(const fovea_value_args *args) {
  enum { GROUPS = FOVEA_BLOCK_KEYS / GROUP };
  const int begin = args->key / GROUP, groups = (args->key + args->key_count - 1) / GROUP + 1 - begin;
  tile_words weights[FOVEA_TILE_VECTORS * GROUPS], values[GROUPS];
  tile_sums sums[FOVEA_TILE_VECTORS];
  tiles_begin();
  FOVEA_NO_UNROLL
  for (int v = 0; v < args->vectors.count; v++)
    for (int g = 0; g < groups; g++)
      tile_of_lanes(args->weights + (args->vectors.first + v) * LANES, (begin + g) * GROUP, FOVEA_BLOCK_KEYS,
                    &weights[v * GROUPS + g]);
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < args->dim; dim += TILE) {
    for (int g = 0; g < groups; g++) tile_of_values(args, dim, (begin + g) * GROUP, &values[g]);
    tile_products(values, weights, groups, GROUPS, args->vectors.count, sums);
    for (int v = 0; v < args->vectors.count; v++) finish_values(args, dim, args->vectors.first + v, &sums[v]);
  }
  _tile_release();
}
#endif
