/* Rows of nodes and edges as f32, states of nodes that merge, and results. docs/numerics.md, clause L22. Part of
 * bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_GRAPH_STATES_H
#define FOVEA_ARCH_SHARED_NN_GRAPH_STATES_H

#include "../../nn_kernels.h"
#include "../exp2.h"
#include "../state.h"
#include "elements.h"

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_rows)(const fovea_nn_graph_rows_args *args) {
  for (int i = 0; i < args->count; i++) {
    if (!args->rows[i]) continue;
    const fovea_nn_rows row = {(void *)(uintptr_t)args->rows[i], args->type, args->head_stride};
    const fovea_nn_rows added = {args->added ? (void *)(uintptr_t)args->added[i] : NULL, args->added_type,
                                 args->added_head_stride};
    for (int64_t head = 0; head < args->heads; head++) {
      float *to = args->to + i * args->to_stride + head * args->dim;
      for (int64_t d = 0; d < args->dim; d += LANES) {
        const int count = vector_count(d, args->dim);
        vec x = load_number(&row, head, d, count);
        if (added.data) x = vec_add(x, load_number(&added, head, d, count));
        vec_store_first(to + d, x, count);
      }
    }
  }
}

/* Outputs of a head without a state may be NaN, as 0 times infinity is. They do not matter. */
FOVEA_INLINE vec graph_output(const fovea_nn_graph_state *state, int64_t head, int64_t place, int count) {
  const vec zero = vec_set1(0.0f);
  return vec_select(vec_equal(vec_set1(state->sums[head]), zero), zero, vec_load_first(state->outputs + place, count));
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_merge)(const fovea_nn_graph_merge_args *args) {
  const fovea_nn_graph_state *left = &args->left, *right = &args->right;
  for (int64_t head = 0; head < args->heads; head++) {
    const state_parts parts = state_merge(vec_set1(left->maxima[head]), vec_set1(right->maxima[head]));
    const vec left_sum = vec_set1(left->sums[head]), right_sum = vec_set1(right->sums[head]);
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int64_t place = head * args->dim + d;
      const int count = vector_count(d, args->dim);
      vec_store_first(left->outputs + place,
                      state_join(graph_output(left, head, place, count), parts.left,
                                 graph_output(right, head, place, count), parts.right),
                      count);
    }
    vec_store_first(left->sums + head, state_join(left_sum, parts.left, right_sum, parts.right), 1);
    vec_store_first(left->maxima + head, parts.maximum, 1);
  }
}

FOVEA_INLINE vec graph_inverse(vec sum) {
  const vec zero = vec_set1(0.0f);
  return vec_select(vec_equal(sum, zero), zero, vec_div(vec_set1(1.0f), sum));
}

FOVEA_INLINE void graph_write(const fovea_nn_graph_finish_args *args, int64_t head, int64_t d, int count, vec x) {
  const fovea_nn_rows y = {args->y, args->type, args->head_stride};
  if (args->bias) x = vec_add(x, vec_load_first(args->bias + head * args->dim + d, count));
  store_result(&y, head, d, count, x);
}

FOVEA_INLINE void graph_finish_heads(const fovea_nn_graph_finish_args *args) {
  for (int64_t head = 0; head < args->heads; head++) {
    const vec inverse = graph_inverse(vec_set1(args->state.sums[head]));
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int count = vector_count(d, args->dim);
      const vec x = graph_output(&args->state, head, head * args->dim + d, count);
      graph_write(args, head, d, count, vec_mul(x, inverse));
    }
  }
}

FOVEA_INLINE void graph_finish_mean(const fovea_nn_graph_finish_args *args) {
  const vec heads = vec_set1((float)args->heads);
  for (int64_t d = 0; d < args->dim; d += LANES) {
    const int count = vector_count(d, args->dim);
    vec sum = vec_set1(0.0f);
    for (int64_t head = 0; head < args->heads; head++) {
      const vec inverse = graph_inverse(vec_set1(args->state.sums[head]));
      const vec x = graph_output(&args->state, head, head * args->dim + d, count);
      sum = vec_add(sum, vec_mul(x, inverse));
    }
    graph_write(args, 0, d, count, vec_div(sum, heads));
  }
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_finish)(const fovea_nn_graph_finish_args *args) {
  if (args->average) {
    graph_finish_mean(args);
  } else {
    graph_finish_heads(args);
  }
  for (int64_t head = 0; args->lse && head < args->heads; head += LANES) {
    const int count = vector_count(head, args->heads);
    const vec m = vec_load_first(args->state.maxima + head, count);
    const vec l = vec_load_first(args->state.sums + head, count);
    const vec sum = vec_mul(vec_set1(0x1.62e43p-1f), vec_add(m, vec_log2(l)));
    const vec lse = vec_select(vec_is_nan(l), l, sum);
    const vecmask none = vec_equal(l, vec_set1(0.0f));
    vec_store_first(args->lse + head, canonical(vec_select(none, vec_set1(-INFINITY), lse)), count);
  }
}

#endif
