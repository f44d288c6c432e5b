/* Sums of a block's weights by the distance of keys, for Shaw's values. Between the lowest and the highest distance
 * each distance has one key. Part of bodies.h. */

#include "../args/terms.h"
#include "../kernels.h"
#include "tile.h"

/* The keys of a vector that are added up, the rows' limits, and where their sums go. */
typedef struct shaw_chain {
  const float *weights; /* the block's first key */
  int begin, end;
  const int32_t *from, *to; /* [row of the vector]: keys from[row] to to[row] - 1; NULL: all */
  float *sum;
} shaw_chain;

/* `vectors` vectors that have the same keys, without limits. */
FOVEA_INLINE void shaw_add_alike(const shaw_chain *chain, const int vectors) {
  vec sum[FOVEA_TILE_VECTORS];
  const float *weights = chain->weights + chain->begin * ROW_TILE;
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) sum[v] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int key = chain->begin; key < chain->end; key++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = vec_add(sum[v], vec_load(weights + v * LANES));
    weights += ROW_TILE;
  }
  FOVEA_UNROLL
  for (int v = 0; v < vectors; v++) vec_store(chain->sum + v * LANES, sum[v]);
}

/* One vector. */
FOVEA_INLINE void shaw_add_limited(const shaw_chain *chain) {
  const veci from = veci_load(chain->from), to = veci_load(chain->to);
  vec sum = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int key = chain->begin; key < chain->end; key++) {
    const vec more = vec_add(sum, vec_load(chain->weights + key * ROW_TILE));
    sum = vec_select(vec_seen(key, from, to), more, sum);
  }
  vec_store(chain->sum, sum);
}

/* One key for each row. */
FOVEA_INLINE void shaw_copy(const fovea_shaw_sums_args *args, int vector, int i) {
  const int begin = args->key_begin[vector], end = args->key_end[vector];
  const int d = args->first + i;
  float *sums = args->sums + i * ROW_TILE + vector * LANES;
  FOVEA_NO_UNROLL
  for (int lane = 0; lane < LANES; lane++) {
    const int row = vector * LANES + lane, key = args->own[row] + d;
    sums[lane] = key >= begin && key < end ? args->weights[key * ROW_TILE + row] : 0.0f;
  }
}

/* All keys at the lowest or the highest distance or beyond. */
FOVEA_INLINE void shaw_end(const fovea_shaw_sums_args *args, int vector, int i, int32_t *from, int32_t *to) {
  const int d = args->first + i;
  for (int lane = 0; lane < LANES; lane++) {
    const int32_t key = args->own[vector * LANES + lane] + d;
    from[lane] = d < 0 ? 0 : key > 0 ? key : 0;
    to[lane] = d > 0 ? FOVEA_BLOCK_KEYS : key >= 0 ? key + 1 : 0;
  }
  const shaw_chain chain = {args->weights + vector * LANES,
                            args->key_begin[vector],
                            args->key_end[vector],
                            from,
                            to,
                            args->sums + i * ROW_TILE + vector * LANES};
  shaw_add_limited(&chain);
}

/* Whether all keys of the vectors are at this distance, or beyond, from all rows, and the same for all vectors. */
FOVEA_INLINE int shaw_is_alike(const fovea_shaw_sums_args *args) {
  const int first = args->vectors.first, begin = args->key_begin[first], end = args->key_end[first];
  if (args->count > 1 || args->vectors.count != FOVEA_TILE_VECTORS) return 0;
  if (args->first != -args->distance && args->first != args->distance) return 0;
  for (int v = first; v < first + args->vectors.count; v++) {
    if (args->key_begin[v] != begin || args->key_end[v] != end) return 0;
  }
  return 1;
}

FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(shaw_sums)(const fovea_shaw_sums_args *args) {
  const int first = args->vectors.first;
  if (shaw_is_alike(args)) { /* all keys have the only distance */
    const shaw_chain chain = {args->weights, args->key_begin[first], args->key_end[first], NULL, NULL, args->sums};
    shaw_add_alike(&chain, FOVEA_TILE_VECTORS);
    return;
  }
  for (int vector = first; vector < first + args->vectors.count; vector++) {
    for (int i = 0; i < args->count; i++) {
      int32_t from[LANES], to[LANES];
      const int d = args->first + i;
      if (d == -args->distance || d == args->distance) {
        shaw_end(args, vector, i, from, to);
      } else {
        shaw_copy(args, vector, i);
      }
    }
  }
}
