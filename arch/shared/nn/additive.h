/* Additive scores w . tanh(q + k) or w . LeakyReLU(q + k), and weights of rows from their scores. docs/numerics.md,
 * clause L10. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_ADDITIVE_H
#define FOVEA_ARCH_SHARED_NN_ADDITIVE_H

#include "../../nn_kernels.h"
#include "../exp2.h"
#include "../tanh.h"
#include "../types.h"
#include "functions.h"

/* Keys whose tanh are computed together. */
#define ADDITIVE_KEYS TANH_LIMIT
/* Vectors that the sums of a key fill. */
#define ADDITIVE_SUMS (FOVEA_WEIGHT_SUMS / LANES)

/* Adds `count` dims of `keys` keys, from dim d on. `keys` and `leaky` are constants; so is `count` where it is
 * LANES. */
FOVEA_INLINE void additive_dims(const fovea_nn_additive_args *args, const float *q, const float *const *k,
                                int64_t d, int count, const int keys, const int leaky, vec *sums) {
  const vec query = count == LANES ? vec_load(q + d) : vec_load_first(q + d, count);
  const vec weight = count == LANES ? vec_load(args->w + d) : vec_load_first(args->w + d, count);
  vec x[ADDITIVE_KEYS];
  FOVEA_UNROLL
  for (int i = 0; i < keys; i++) {
    const float *key = k[i] + d;
    x[i] = vec_add(query, count == LANES ? vec_load(key) : vec_load_first(key, count));
  }
  if (leaky) {
    FOVEA_UNROLL
    for (int i = 0; i < keys; i++) x[i] = additive_leaky(x[i], vec_set1(args->slope));
  } else {
    vec_tanh_together(x, keys);
  }
  FOVEA_UNROLL
  for (int i = 0; i < keys; i++) sums[i] = vec_fma(weight, x[i], sums[i]);
}

/* Halves are added to halves. -Inf becomes the least finite number, whose product with LOG2E is -Inf: as a mask,
 * -Inf would hide the key. */
FOVEA_INLINE float additive_fold(const vec *sums) {
  float lanes[FOVEA_WEIGHT_SUMS];
  for (int c = 0; c < ADDITIVE_SUMS; c++) vec_store(lanes + c * LANES, sums[c * ADDITIVE_KEYS]);
  for (int half = FOVEA_WEIGHT_SUMS / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  }
  return lanes[0] < -0x1.fffffep127f ? -0x1.fffffep127f : lanes[0];
}

/* Scores of `keys` keys for one row; `keys` and `leaky` are constants. The sums lie in memory: a step of tanh takes
 * far longer. */
FOVEA_INLINE void additive_keys(const fovea_nn_additive_args *args, int row, int key, const int keys,
                                const int leaky) {
  const float *q = args->queries + row * args->query_stride, *k[ADDITIVE_KEYS];
  vec sums[ADDITIVE_SUMS * ADDITIVE_KEYS];
  int64_t d = 0;
  for (int i = 0; i < keys; i++) {
    k[i] = args->key_rows ? args->key_rows[key + i] : args->keys + (key + i) * args->key_stride;
  }
  for (int i = 0; i < ADDITIVE_SUMS * ADDITIVE_KEYS; i++) sums[i] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (; d + LANES <= args->dim; d += LANES) {
    additive_dims(args, q, k, d, LANES, keys, leaky, sums + d / LANES % ADDITIVE_SUMS * ADDITIVE_KEYS);
  }
  if (d < args->dim) {
    additive_dims(args, q, k, d, (int)(args->dim - d), keys, leaky,
                  sums + d / LANES % ADDITIVE_SUMS * ADDITIVE_KEYS);
  }
  for (int i = 0; i < keys; i++) args->scores[row * args->score_stride + key + i] = additive_fold(sums + i);
}

FOVEA_INLINE void additive_rows(const fovea_nn_additive_args *args, const int leaky) {
  for (int row = 0; row < args->row_count; row++) {
    int key = 0;
    for (; key + ADDITIVE_KEYS <= args->key_count; key += ADDITIVE_KEYS) {
      additive_keys(args, row, key, ADDITIVE_KEYS, leaky);
    }
    for (; key < args->key_count; key++) additive_keys(args, row, key, 1, leaky);
  }
}

FOVEA_SHORT FOVEA_NOINLINE void additive_leaky_rows(const fovea_nn_additive_args *args) {
  additive_rows(args, 1);
}

FOVEA_KERNEL void FOVEA_NAME(nn_additive)(const fovea_nn_additive_args *args) {
  if (args->leaky) {
    additive_leaky_rows(args);
  } else {
    additive_rows(args, 0);
  }
}

/* The largest score and the sum of weights, the same number in all lanes. The sum is 0 without state. */
typedef struct weight_state {
  vec m, l;
} weight_state;

/* 0 in place of -Inf. */
FOVEA_INLINE vec weight_reference(vec m) {
  return vec_select(vec_equal(m, vec_set1(-INFINITY)), vec_set1(0.0f), m);
}

/* Merges the states of the row's nodes as spans merge: each into what follows it. */
FOVEA_INLINE weight_state weight_merge(const float *nodes, int64_t count, int64_t numbers) {
  weight_state all = {vec_set1(-INFINITY), vec_set1(0.0f)};
  int found = 0;
  for (int64_t i = count - 1; i >= 0; i--) {
    const float *node = nodes + i * numbers + numbers - 2;
    if (node[1] == 0.0f) continue;
    const vec m = vec_set1(node[0]), l = vec_set1(node[1]);
    const vec most = found ? vec_max(m, all.m) : m, reference = weight_reference(most);
    const vec old = vec_exp2(vec_sub(m, reference)), later = vec_exp2(vec_sub(all.m, reference));
    all = (weight_state){most, found ? vec_fma(all.l, later, vec_mul(l, old)) : l};
    found = 1;
  }
  return all;
}

FOVEA_INLINE vec weight_of(vec score, vec reference, vec inverse) {
  const vec s = vec_fma(score, vec_set1((float)FOVEA_LOG2E), vec_set1(0.0f));
  const vec weight = vec_mul(vec_exp2(vec_sub(s, reference)), inverse);
  return canonical(vec_select(vec_equal(score, vec_set1(-INFINITY)), vec_set1(0.0f), weight));
}

FOVEA_KERNEL void FOVEA_NAME(nn_weights)(const fovea_nn_weights_args *args) {
  const weight_state state = weight_merge(args->nodes, args->node_count, args->node_numbers);
  const vec none = vec_set1(0.0f), reference = weight_reference(state.m);
  const vec inverse = vec_select(vec_equal(state.l, none), none, vec_div(vec_set1(1.0f), state.l));
  int64_t key = 0;
  for (; key + LANES <= args->seen; key += LANES) {
    vec_store(args->weights + key, weight_of(vec_load(args->scores + key), reference, inverse));
  }
  if (key < args->seen) {
    const int rest = (int)(args->seen - key);
    vec_store_first(args->weights + key, weight_of(vec_load_first(args->scores + key, rest), reference, inverse),
                    rest);
  }
  for (key = args->seen; key < args->key_count; key++) args->weights[key] = 0.0f;
}

#endif
