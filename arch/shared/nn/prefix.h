/* Causal sums over features: for each position, first S += key value^T, then query . S. A tile of S stays in
 * registers while all positions of a call pass, so S is loaded and stored once for them. The chain over features is
 * as in dot.h: 1, 0, 3, 2, ...
 *
 *   PREFIX_VECTORS   vectors of a tile
 *   PREFIX_FEATURES  features of a tile, even
 *
 * Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_PREFIX_H
#define FOVEA_ARCH_SHARED_NN_PREFIX_H

#include "../../nn_kernels.h"

#if LANES == 16
#define PREFIX_VECTORS  2
#define PREFIX_FEATURES 8
#elif LANES == 8
#define PREFIX_VECTORS  2
#define PREFIX_FEATURES 4
#else
#define PREFIX_VECTORS  4
#define PREFIX_FEATURES (LANES == 1 ? 2 : 4)
#endif
/* Positions that pass one tile after the other: what they have summed up, and their values, stay in the L1
 * cache. */
#define PREFIX_ROWS          64
#define PREFIX_PANEL_VECTORS (FOVEA_NN_PANEL / LANES)

/* What the chains of positions have summed up. */
typedef struct prefix_sums {
  float sum[PREFIX_ROWS][PREFIX_VECTORS * LANES];
} prefix_sums;

/* Where vector `v` of a tile begins in panels. */
#define PREFIX_AT(panels, stride, v)                                                                               \
  ((panels) + (vector + (v)) * LANES / FOVEA_NN_PANEL * (stride) + (vector + (v)) * LANES % FOVEA_NN_PANEL)

/* `vectors` and `features` are constants. */
FOVEA_INLINE void prefix_tile(const fovea_nn_prefix_args *args, int vector, int feature, const int vectors,
                              const int features, prefix_sums *sums) {
  const float *query = args->queries + feature, *key = args->keys + feature;
  const float *value = PREFIX_AT(args->values, args->value_panel, 0);
  float *state = PREFIX_AT(args->state, args->state_panel, 0) + feature * FOVEA_NN_PANEL;
  vec s[PREFIX_FEATURES][PREFIX_VECTORS];
  FOVEA_UNROLL
  for (int i = 0; i < features; i++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      s[i][v] = vec_load(state + v * LANES / FOVEA_NN_PANEL * args->state_panel + v * LANES % FOVEA_NN_PANEL +
                         i * FOVEA_NN_PANEL);
    }
  }
  FOVEA_NO_UNROLL
  for (int t = 0; t < args->rows; t++, query += args->stride, key += args->stride, value += FOVEA_NN_PANEL) {
    vec x[PREFIX_VECTORS], o[PREFIX_VECTORS];
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      x[v] = vec_load(value + v * LANES / FOVEA_NN_PANEL * args->value_panel + v * LANES % FOVEA_NN_PANEL);
      o[v] = vec_load(sums->sum[t] + v * LANES);
    }
    FOVEA_UNROLL
    for (int i = 0; i < features; i++) {
      const int odd_first = features == 1 ? i : i ^ 1;
      const vec k = vec_set1(key[odd_first]), q = vec_set1(query[odd_first]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) s[odd_first][v] = vec_fma(k, x[v], s[odd_first][v]);
      FOVEA_UNROLL
      for (int v = 0; v < vectors; v++) o[v] = vec_fma(q, s[odd_first][v], o[v]);
    }
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) vec_store(sums->sum[t] + v * LANES, o[v]);
  }
  FOVEA_UNROLL
  for (int i = 0; i < features; i++) {
    FOVEA_UNROLL
    for (int v = 0; v < vectors; v++) {
      vec_store(state + v * LANES / FOVEA_NN_PANEL * args->state_panel + v * LANES % FOVEA_NN_PANEL +
                    i * FOVEA_NN_PANEL,
                s[i][v]);
    }
  }
}

#define PREFIX_TILE(name, vectors, features)                                                                       \
  FOVEA_NOINLINE void name(const fovea_nn_prefix_args *args, int vector, int feature, prefix_sums *sums) {         \
    prefix_tile(args, vector, feature, vectors, features, sums);                                                   \
  }
PREFIX_TILE(prefix_main, PREFIX_VECTORS, PREFIX_FEATURES)
PREFIX_TILE(prefix_two, PREFIX_VECTORS, 2)
PREFIX_TILE(prefix_one, PREFIX_VECTORS, 1)
#if LANES == 16 /* a last panel alone */
PREFIX_TILE(prefix_spare_main, 1, PREFIX_FEATURES)
PREFIX_TILE(prefix_spare_two, 1, 2)
PREFIX_TILE(prefix_spare_one, 1, 1)
#endif

typedef void prefix_function(const fovea_nn_prefix_args *args, int vector, int feature, prefix_sums *sums);

/* `count` vectors for all features and positions. */
FOVEA_NOINLINE void prefix_columns(const fovea_nn_prefix_args *args, int vector, int count, prefix_function *all,
                                   prefix_function *two, prefix_function *one) {
  prefix_sums sums;
  int feature = 0;
  for (int t = 0; t < args->rows; t++) {
    for (int v = 0; v < count; v++) vec_store(sums.sum[t] + v * LANES, vec_set1(0.0f));
  }
  for (; feature + PREFIX_FEATURES <= args->features; feature += PREFIX_FEATURES) all(args, vector, feature, &sums);
  for (; feature + 2 <= args->features; feature += 2) two(args, vector, feature, &sums);
  if (feature < args->features) one(args, vector, feature, &sums);
  for (int t = 0; t < args->rows; t++) {
    for (int v = 0; v < count; v++) {
      float *to = args->sums + t * FOVEA_NN_OUTS + (vector + v) * LANES;
      const vec sum = vec_load(sums.sum[t] + v * LANES);
      vec_store(to, args->begun ? vec_add(vec_load(to), sum) : sum);
    }
  }
}

FOVEA_INLINE void prefix_rows(const fovea_nn_prefix_args *args) {
  const int vectors = args->panels * PREFIX_PANEL_VECTORS;
  int vector = 0;
  for (; vector + PREFIX_VECTORS <= vectors; vector += PREFIX_VECTORS) {
    prefix_columns(args, vector, PREFIX_VECTORS, prefix_main, prefix_two, prefix_one);
  }
#if LANES == 16
  for (; vector < vectors; vector++)
    prefix_columns(args, vector, 1, prefix_spare_main, prefix_spare_two, prefix_spare_one);
#endif
}

FOVEA_KERNEL void FOVEA_NAME(nn_prefix)(const fovea_nn_prefix_args *all) {
  fovea_nn_prefix_args args = *all;
  for (int row = 0; row < all->rows; row += PREFIX_ROWS) {
    args.rows = all->rows - row < PREFIX_ROWS ? all->rows - row : PREFIX_ROWS;
    args.queries = all->queries + row * all->stride;
    args.keys = all->keys + row * all->stride;
    args.values = all->values + row * FOVEA_NN_PANEL;
    args.sums = all->sums + row * FOVEA_NN_OUTS;
    prefix_rows(&args);
  }
}

#endif
