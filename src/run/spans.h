/* The binary tree in which the states of spans merge (docs/numerics.md, step 4), as the stack of its open nodes. */
#ifndef FOVEA_SRC_RUN_SPANS_H
#define FOVEA_SRC_RUN_SPANS_H

#include "../../arch/kernels.h"

/* Levels that the longest sequence needs: 2^48 keys are 2^37 spans. */
#define FOVEA_TREE_LEVELS 40

/* node(k, i) = merge(node(k - 1, 2 i), node(k - 1, 2 i + 1)); node(0, i) is span i. A node without a state is
 * passed over. Spans arrive in ascending order, so at most one node of each level waits for its right sibling. The
 * current span's state is states[current]; -1: none is taken yet. */
typedef struct fovea_span_tree {
  fovea_tile_state states[FOVEA_TREE_LEVELS + 1];
  int64_t waiting_index[FOVEA_TREE_LEVELS]; /* the node of the level that waits; -1: none */
  int waiting_state[FOVEA_TREE_LEVELS];     /* its place in states */
  int free_states[FOVEA_TREE_LEVELS + 1];
  int free_count, next_state;
  int current;
  int top; /* levels below this one may hold a waiting node */
} fovea_span_tree;

/* Sets the state of rows before their first key: `row_tile` rows, outputs of `dim` dims. */
void fovea_clear_state(const fovea_tile_state *state, int64_t row_tile, int64_t dim);

/* Empties the tree. `states` must be set. */
void fovea_span_tree_reset(fovea_span_tree *tree);

/* The state of the current span. It is taken when the span begins, not when the span before it ends: that one may
 * be the last. */
static inline fovea_tile_state *fovea_span_current(fovea_span_tree *tree) {
  if (tree->current < 0) {
    tree->current = tree->free_count > 0 ? tree->free_states[--tree->free_count] : tree->next_state++;
  }
  return &tree->states[tree->current];
}

/* Whether no span has joined the tree. */
static inline int fovea_span_tree_is_empty(const fovea_span_tree *tree) {
  return tree->top == 0;
}

/* Ends the current span, number `index`: its state joins the tree. The next span has no state yet. */
void fovea_span_push(fovea_span_tree *tree, int64_t index, const fovea_kernels *kernels, int64_t dim, int vectors);

/* Merges all waiting nodes into the root. Returns NULL if no span was pushed. */
fovea_tile_state *fovea_span_root(fovea_span_tree *tree, const fovea_kernels *kernels, int64_t dim, int vectors);

#endif
