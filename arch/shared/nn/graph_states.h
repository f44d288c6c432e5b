/* Rows of nodes and edges as f32, states of nodes that merge, and results. docs/numerics.md, clause L22. Part of
 * bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_GRAPH_STATES_H
#define FOVEA_ARCH_SHARED_NN_GRAPH_STATES_H

#include "../../nn_kernels.h"
#include "../exp2.h"
#include "../state.h"
#include "elements.h"
#include "graph_values.h"

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
  return vec_select(vec_equal(vec_set1(state->sums[head]), zero), zero,
                    vec_load_first(state->outputs + place, count));
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

FOVEA_INLINE fovea_nn_graph_state graph_state_of(const fovea_nn_graph_finish_args *args, int node) {
  const fovea_nn_graph_state *all = &args->states;
  return (fovea_nn_graph_state){all->maxima + node * args->padded, all->sums + node * args->padded,
                                all->outputs + node * args->output_stride};
}

/* Writes results of a node from dim d of a head on, or, if heads lie side by side, from number d of head 0 on. */
FOVEA_INLINE void graph_write(const fovea_nn_graph_finish_args *args, int node, int64_t head, int64_t d, int count,
                              vec x) {
  const fovea_nn_rows y = {args->y, args->type, args->row_stride};
  if (args->bias) x = vec_add(x, vec_load_first(args->bias + head * args->dim + d, count));
  store_result(&y, node, head * args->head_stride + d, count, x);
}

FOVEA_INLINE void graph_finish_heads(const fovea_nn_graph_finish_args *args, int node) {
  const fovea_nn_graph_state state = graph_state_of(args, node);
  for (int64_t head = 0; head < args->heads; head++) {
    const vec inverse = graph_inverse(vec_set1(state.sums[head]));
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int count = vector_count(d, args->dim);
      const vec x = graph_output(&state, head, head * args->dim + d, count);
      graph_write(args, node, head, d, count, vec_mul(x, inverse));
    }
  }
}

FOVEA_INLINE void graph_finish_mean(const fovea_nn_graph_finish_args *args, int node) {
  const fovea_nn_graph_state state = graph_state_of(args, node);
  const vec heads = vec_set1((float)args->heads);
  for (int64_t d = 0; d < args->dim; d += LANES) {
    const int count = vector_count(d, args->dim);
    vec sum = vec_set1(0.0f);
    for (int64_t head = 0; head < args->heads; head++) {
      const vec inverse = graph_inverse(vec_set1(state.sums[head]));
      sum = vec_add(sum, vec_mul(graph_output(&state, head, head * args->dim + d, count), inverse));
    }
    graph_write(args, node, 0, d, count, vec_div(sum, heads));
  }
}

/* Vectors that have several heads, as in graph_values.h. A sum is 0 without a state, and only then its inverse is.
 */
FOVEA_INLINE void graph_finish_crowd(const fovea_nn_graph_finish_args *args) {
  const int64_t numbers = args->heads * args->dim;
  for (int64_t d = 0; d < numbers; d += LANES) {
    const veci heads = graph_heads_of(d, args->dim);
    const int count = vector_count(d, numbers);
    for (int node = 0; node < args->nodes; node++) {
      const fovea_nn_graph_state state = graph_state_of(args, node);
      const vec zero = vec_set1(0.0f);
      float inverses[16];
      for (int i = 0; i < 16; i += LANES) {
        vec_store(inverses + i, graph_inverse(vec_load(state.sums + d / args->dim + i)));
      }
      const vec inverse = vec_pick(inverses, heads);
      const vec x = vec_mul(vec_load_first(state.outputs + d, count), inverse);
      graph_write(args, node, 0, d, count, vec_select(vec_equal(inverse, zero), zero, x));
    }
  }
}

FOVEA_INLINE void graph_finish_lse(const fovea_nn_graph_finish_args *args, int node) {
  const fovea_nn_graph_state state = graph_state_of(args, node);
  for (int64_t head = 0; head < args->heads; head += LANES) {
    const int count = vector_count(head, args->heads);
    const vec m = vec_load_first(state.maxima + head, count), l = vec_load_first(state.sums + head, count);
    const vec sum = vec_mul(vec_set1(0x1.62e43p-1f), vec_add(m, vec_log2(l)));
    const vec lse = vec_select(vec_is_nan(l), l, sum);
    const vecmask none = vec_equal(l, vec_set1(0.0f));
    vec_store_first(args->lse + node * args->heads + head, canonical(vec_select(none, vec_set1(-INFINITY), lse)),
                    count);
  }
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_finish)(const fovea_nn_graph_finish_args *args) {
  const int crowded = LANES > 1 && args->heads > 1 && args->dim < LANES && args->head_stride == args->dim;
  if (crowded && !args->average) graph_finish_crowd(args);
  for (int node = 0; node < args->nodes; node++) {
    if (args->average) {
      graph_finish_mean(args, node);
    } else if (!crowded) {
      graph_finish_heads(args, node);
    }
    if (args->lse) graph_finish_lse(args, node);
  }
}

#endif
