#include "spans.h"

#include <stddef.h>

void fovea_span_tree_reset(fovea_span_tree *tree) {
  tree->free_count = 0;
  tree->current = 0;
  tree->next_state = 1;
  tree->top = 0;
}

static int take_state(fovea_span_tree *tree) {
  return tree->free_count > 0 ? tree->free_states[--tree->free_count] : tree->next_state++;
}

/* left = merge(left, right); right's place becomes free. */
static void join(fovea_span_tree *tree, int left, int right, const fovea_kernels *kernels, int64_t dim,
                 int vectors) {
  fovea_merge_args args = {tree->states[left], tree->states[right], dim, vectors};
  kernels->merge(&args);
  tree->free_states[tree->free_count++] = right;
}

void fovea_span_push(fovea_span_tree *tree, int64_t index, const fovea_kernels *kernels, int64_t dim, int vectors) {
  int state = tree->current, level = 0;
  /* A right sibling goes up with its left one if that one has state, and alone if it has none. */
  for (; index & 1; index >>= 1, level++) {
    if (level < tree->top && tree->waiting_index[level] == index - 1) {
      join(tree, tree->waiting_state[level], state, kernels, dim, vectors);
      state = tree->waiting_state[level];
      tree->waiting_index[level] = -1;
    }
  }
  for (; tree->top <= level; tree->top++) tree->waiting_index[tree->top] = -1;
  tree->waiting_index[level] = index;
  tree->waiting_state[level] = state;
  tree->current = take_state(tree);
}

fovea_tile_state *fovea_span_root(fovea_span_tree *tree, const fovea_kernels *kernels, int64_t dim, int vectors) {
  int root = -1;
  /* What waits at a higher level lies further left; right siblings that never came are passed over. */
  for (int level = 0; level < tree->top; level++) {
    if (tree->waiting_index[level] < 0) continue;
    if (root >= 0) join(tree, tree->waiting_state[level], root, kernels, dim, vectors);
    root = tree->waiting_state[level];
  }
  return root < 0 ? NULL : &tree->states[root];
}
