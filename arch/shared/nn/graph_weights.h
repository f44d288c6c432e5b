/* Weights of the edges of nodes, from their scores. docs/numerics.md, clause L22. Part of bodies.h.
 *
 * Scores of an edge's heads lie side by side, and heads are a power of two: if they are fewer than LANES, a vector
 * has the scores of some edges, and each lane has the same head in all vectors of a node. */
#ifndef FOVEA_ARCH_SHARED_NN_GRAPH_WEIGHTS_H
#define FOVEA_ARCH_SHARED_NN_GRAPH_WEIGHTS_H

#include "../../nn_kernels.h"
#include "../exp2.h"
#include "../state.h"
#include "../types.h"

/* Vectors of the scores of a node: of all heads, if they are up to LANES, else of some. */
typedef struct graph_vectors {
  int64_t numbers; /* of the scores from the first on; scores after them belong to other nodes */
  int64_t stride;  /* from vector to vector */
  int count, sums; /* vectors; sums by vector mod `sums` */
  int heads;       /* lanes from one number of a head to the next */
} graph_vectors;

FOVEA_INLINE graph_vectors graph_vectors_of(int64_t edges, int64_t padded) {
  if (padded > LANES) return (graph_vectors){edges * padded, padded, (int)edges, FOVEA_WEIGHT_SUMS, LANES};
  const int64_t numbers = edges * padded;
  return (graph_vectors){numbers, LANES, (int)((numbers + LANES - 1) / LANES),
                         (int)(FOVEA_WEIGHT_SUMS * padded / LANES), (int)padded};
}

FOVEA_INLINE vec graph_lane_numbers(void) {
  static const float numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return vec_load(numbers);
}

/* A vector of scores, -Inf after the node's last. */
FOVEA_INLINE vec graph_score(const graph_vectors *vectors, const float *scores, int i) {
  const int64_t rest = vectors->numbers - i * vectors->stride;
  const vec x = vec_load(scores + i * vectors->stride);
  if (rest >= LANES) return x;
  return vec_select(vec_less(graph_lane_numbers(), vec_set1((float)rest)), x, vec_set1(-INFINITY));
}

/* NaN is passed over. All lanes of a head get its maximum. */
FOVEA_INLINE vec graph_maximum(const graph_vectors *vectors, const float *scores) {
  vec maximum = vec_set1(-INFINITY);
  FOVEA_NO_UNROLL
  for (int i = 0; i < vectors->count; i++) maximum = vec_max(graph_score(vectors, scores, i), maximum);
  FOVEA_UNROLL
  for (int half = LANES / 2; half > 0; half /= 2) {
    if (half >= vectors->heads) maximum = vec_max(vec_swap(maximum, half), maximum);
  }
  return maximum;
}

/* Stores the weights, and returns their sums: sixteen by position, without positions that have no number, then
 * halves are added to halves. */
FOVEA_INLINE vec graph_powers(const graph_vectors *vectors, const float *scores, vec reference, float *weights) {
  float sums[FOVEA_WEIGHT_SUMS * LANES];
  const int all = vectors->sums, used = vectors->count < all ? vectors->count : all;
  FOVEA_NO_UNROLL
  for (int i = 0; i < vectors->count; i++) {
    const vec weight = vec_exp2(vec_sub(graph_score(vectors, scores, i), reference));
    float *sum = sums + (i & (all - 1)) * LANES;
    vec_store(weights + i * vectors->stride, weight);
    vec_store(sum, i < all ? weight : vec_add(vec_load(sum), weight));
  }
  for (int half = all / 2; half > 0; half /= 2) {
    for (int i = 0; i < half && i + half < used; i++) {
      vec_store(sums + i * LANES, vec_add(vec_load(sums + i * LANES), vec_load(sums + (i + half) * LANES)));
    }
  }
  vec sum = used > 0 ? vec_load(sums) : vec_set1(0.0f);
  FOVEA_UNROLL
  for (int half = LANES / 2; half > 0; half /= 2) {
    if (half >= vectors->heads) sum = vec_add(sum, vec_swap(sum, half));
  }
  return sum;
}

/* Nodes are taken in ascending order: what a vector writes after a node's numbers is written again. */
FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_weights)(const fovea_nn_graph_weights_args *args) {
  for (int node = 0; node < args->nodes; node++) {
    const int64_t first = args->starts[node], place = node * args->padded;
    const graph_vectors vectors = graph_vectors_of(args->starts[node + 1] - first, args->padded);
    for (int64_t head = 0; head < args->padded; head += LANES) {
      const float *scores = args->scores + first * args->padded + head;
      const vec maximum = graph_maximum(&vectors, scores);
      const vec sum =
          graph_powers(&vectors, scores, state_reference(maximum), args->weights + first * args->padded + head);
      vec_store(args->maxima + place + head, maximum);
      vec_store(args->sums + place + head, sum);
    }
  }
}

/* `padded` numbers from p on, again and again. */
FOVEA_INLINE vec graph_repeated(const float *p, int64_t padded) {
  float numbers[LANES];
  for (int i = 0; i < LANES; i++) numbers[i] = p[i & (padded - 1)];
  return vec_load(numbers);
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_shares)(const fovea_nn_graph_shares_args *args) {
  const graph_vectors vectors = graph_vectors_of(args->count, args->padded);
  const vec zero = vec_set1(0.0f);
  for (int64_t head = 0; head < args->padded; head += LANES) {
    const vec reference = state_reference(graph_repeated(args->maxima + head, args->padded));
    const vec sum = graph_repeated(args->sums + head, args->padded);
    const vec inverse = vec_select(vec_equal(sum, zero), zero, vec_div(vec_set1(1.0f), sum));
    for (int i = 0; i < vectors.count; i++) {
      const vec score = graph_score(&vectors, args->scores + head, i);
      const vec share = vec_mul(vec_exp2(vec_sub(score, reference)), inverse);
      const vec seen = vec_select(vec_equal(score, vec_set1(-INFINITY)), zero, share);
      vec_store(args->shares + head + i * vectors.stride, canonical(seen));
    }
  }
}

#endif
