#include "spans.h"

#include <stddef.h>

void fovea_clear_state(const fovea_tile_state *state, int64_t row_tile, int64_t dim) {
  for (int64_t i = 0; i < row_tile; i++) {
    state->row_max[i] = -__builtin_inff();
    state->row_sum[i] = 0;
    if (state->row_spread) state->row_spread[i] = 0;
  }
  for (int64_t i = 0; i < row_tile * dim; i++) state->output[i] = 0;
}

void fovea_span_tree_reset(fovea_span_tree *tree) {
  tree->free_count = tree->next_state = tree->top = 0;
  tree->current = -1;
}

/* left = merge(left, right). The place of right becomes free. */
static void join(fovea_span_tree *tree, int left, int right, const fovea_kernels *kernels, int64_t dim,
                 int vectors) {
  fovea_merge_args args = {tree->states[left], tree->states[right], dim, vectors};
  kernels->merge(&args);
  tree->free_states[tree->free_count++] = right;
}

/* Puts a state at its level. If its left sibling waits there, merges the two; else the state waits. */
static void put_state(fovea_span_tree *tree, int level, int64_t index, int state, const fovea_kernels *kernels,
                      int64_t dim, int vectors) {
  for (; tree->top <= level; tree->top++) tree->waiting_index[tree->top] = -1;
  if (tree->waiting_index[level] >= 0) {
    join(tree, tree->waiting_state[level], state, kernels, dim, vectors);
  } else {
    tree->waiting_state[level] = state;
  }
  tree->waiting_index[level] = index;
}

void fovea_span_push(fovea_span_tree *tree, int64_t index, const fovea_kernels *kernels, int64_t dim, int vectors) {
  /* Moves up every waiting node whose parent ends before this span, until a node's parent holds this span. Spans
   * may be left out. */
  for (int level = 0; level < tree->top; level++) {
    int64_t waiting = tree->waiting_index[level];
    if (waiting < 0) continue;
    if (waiting >> 1 == index >> (level + 1)) break;
    tree->waiting_index[level] = -1;
    put_state(tree, level + 1, waiting >> 1, tree->waiting_state[level], kernels, dim, vectors);
  }
  put_state(tree, 0, index, tree->current, kernels, dim, vectors);
  tree->current = -1;
}

fovea_tile_state *fovea_span_root(fovea_span_tree *tree, const fovea_kernels *kernels, int64_t dim, int vectors) {
  int root = -1;
  /* Nodes that wait at higher levels lie further left. Right siblings that never came are passed over. */
  for (int level = 0; level < tree->top; level++) {
    if (tree->waiting_index[level] < 0) continue;
    if (root >= 0) join(tree, tree->waiting_state[level], root, kernels, dim, vectors);
    root = tree->waiting_state[level];
  }
  return root < 0 ? NULL : &tree->states[root];
}
