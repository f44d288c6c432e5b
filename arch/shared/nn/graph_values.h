/* Weights times values of the edges of nodes, with dims in the lanes and edges in ascending order. Part of
 * bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_GRAPH_VALUES_H
#define FOVEA_ARCH_SHARED_NN_GRAPH_VALUES_H

#include "../../nn_kernels.h"
#include "elements.h"

/* Vectors of outputs that one pass over a node's edges sums up. */
enum { GRAPH_VECTORS = 4 };

/* Outputs of one node from number `first` on, with `vectors` vectors, each `each` of which belong to a head, the
 * first to `head`; vectors and each are constants. The last vector has `count` numbers. */
FOVEA_INLINE void graph_value_tile(const fovea_nn_graph_values_args *args, int node, int64_t first, int64_t head,
                                   const int vectors, const int each, int count) {
  float *output = args->outputs + node * args->output_stride + first;
  const float *weights = args->weights + head;
  vec sums[GRAPH_VECTORS];
  FOVEA_UNROLL
  for (int i = 0; i < vectors; i++) sums[i] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int edge = args->starts[node]; edge < args->starts[node + 1]; edge++) {
    const float *value = args->values[edge], *weight = weights + edge * args->padded;
    if (!value) continue;
    value += first;
    FOVEA_UNROLL
    for (int i = 0; i < vectors; i++) {
      const vec x = i + 1 < vectors || count == LANES ? vec_load(value + i * LANES)
                                                      : vec_load_first(value + i * LANES, count);
      sums[i] = vec_fma(vec_set1(weight[i / each]), x, sums[i]);
    }
  }
  FOVEA_UNROLL
  for (int i = 0; i + 1 < vectors; i++) vec_store(output + i * LANES, sums[i]);
  vec_store_first(output + (vectors - 1) * LANES, sums[vectors - 1], count);
}

/* One head after the other. */
FOVEA_INLINE void graph_value_heads(const fovea_nn_graph_values_args *args, int node) {
  for (int64_t head = 0; head < args->heads; head++) {
    const int64_t first = head * args->dim, end = first + args->dim;
    int64_t d = first;
    for (; d + GRAPH_VECTORS * LANES <= end; d += GRAPH_VECTORS * LANES) {
      graph_value_tile(args, node, d, head, GRAPH_VECTORS, GRAPH_VECTORS, LANES);
    }
    for (; d < end; d += LANES) graph_value_tile(args, node, d, head, 1, 1, vector_count(d, end));
  }
}

/* Heads of `each` vectors, a constant that divides GRAPH_VECTORS. */
FOVEA_INLINE void graph_value_vectors(const fovea_nn_graph_values_args *args, int node, const int each) {
  const int heads = GRAPH_VECTORS / each;
  int64_t head = 0;
  for (; head + heads <= args->heads; head += heads) {
    graph_value_tile(args, node, head * args->dim, head, GRAPH_VECTORS, each, LANES);
  }
  for (; head < args->heads; head++) graph_value_tile(args, node, head * args->dim, head, each, each, LANES);
}

/* Which of sixteen heads, from head `first` on, each lane of a vector from there on belongs to. */
FOVEA_INLINE veci graph_heads_of(int64_t first, int64_t dim) {
  uint32_t bits[LANES];
  vec pattern;
  int64_t place = first % dim;
  uint32_t head = 0;
  for (int lane = 0; lane < LANES; lane++) {
    bits[lane] = head << 21;
    if (++place < dim) continue;
    place = 0;
    head++;
  }
  memcpy(&pattern, bits, sizeof pattern);
  return vec_quarter(pattern);
}

/* Vectors that have several heads: `vectors` of them, a constant, from number `first` on. Each has the weights of
 * sixteen heads at hand, from the head of its first lane on, and picks the weight of each lane. */
FOVEA_INLINE void graph_value_crowd(const fovea_nn_graph_values_args *args, int64_t first, const int vectors,
                                    int count) {
  veci heads[GRAPH_VECTORS];
  const float *weights[GRAPH_VECTORS];
  FOVEA_UNROLL
  for (int i = 0; i < vectors; i++) {
    heads[i] = graph_heads_of(first + i * LANES, args->dim);
    weights[i] = args->weights + (first + i * LANES) / args->dim;
  }
  for (int node = 0; node < args->nodes; node++) {
    float *output = args->outputs + node * args->output_stride + first;
    vec sums[GRAPH_VECTORS];
    FOVEA_UNROLL
    for (int i = 0; i < vectors; i++) sums[i] = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int edge = args->starts[node]; edge < args->starts[node + 1]; edge++) {
      const float *value = args->values[edge];
      if (!value) continue;
      value += first;
      FOVEA_UNROLL
      for (int i = 0; i < vectors; i++) {
        const vec x = i + 1 < vectors || count == LANES ? vec_load(value + i * LANES)
                                                        : vec_load_first(value + i * LANES, count);
        sums[i] = vec_fma(vec_pick(weights[i] + edge * args->padded, heads[i]), x, sums[i]);
      }
    }
    FOVEA_UNROLL
    for (int i = 0; i + 1 < vectors; i++) vec_store(output + i * LANES, sums[i]);
    vec_store_first(output + (vectors - 1) * LANES, sums[vectors - 1], count);
  }
}

FOVEA_INLINE void graph_value_crowds(const fovea_nn_graph_values_args *args) {
  const int64_t numbers = args->heads * args->dim;
  int64_t d = 0;
  for (; d + GRAPH_VECTORS * LANES <= numbers; d += GRAPH_VECTORS * LANES) {
    graph_value_crowd(args, d, GRAPH_VECTORS, LANES);
  }
  for (; d < numbers; d += LANES) graph_value_crowd(args, d, 1, vector_count(d, numbers));
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_values)(const fovea_nn_graph_values_args *args) {
  if (LANES > 1 && args->heads > 1 && args->dim < LANES) {
    graph_value_crowds(args);
    return;
  }
  for (int node = 0; node < args->nodes; node++) {
    if (args->dim == LANES) {
      graph_value_vectors(args, node, 1);
    } else if (args->dim == 2 * LANES) {
      graph_value_vectors(args, node, 2);
    } else {
      graph_value_heads(args, node);
    }
  }
}

#endif
