/* Merges the nodes of states in the order of the tree (docs/numerics.md, step 4), for a piece of rows and dims at a
 * time. */
#ifndef FOVEA_SRC_STATE_FOLD_H
#define FOVEA_SRC_STATE_FOLD_H

#include "row_states.h"

/* Dims of a piece, few enough that the pieces lie on the stack. */
#define FOVEA_FOLD_DIMS 16

/* The states of a tile's rows, with a piece of their dims. */
typedef struct fovea_state_piece {
  _Alignas(64) float output[FOVEA_FOLD_DIMS * FOVEA_ROW_TILE_LIMIT];
  _Alignas(64) float row_max[FOVEA_ROW_TILE_LIMIT];
  _Alignas(64) float row_sum[FOVEA_ROW_TILE_LIMIT];
} fovea_state_piece;

/* Merges nodes one after the other: each joins those before it, from the left or from the right. */
typedef struct fovea_fold {
  fovea_state_piece memory[3];
  const fovea_kernels *kernels;
  fovea_state_piece *merged, *next, *kept;
  int64_t row;        /* the first row, counted over the batch and the heads */
  int64_t dim, count; /* the first dim, and how many dims */
  int row_count;      /* at most a tile's */
  int begun;          /* 0: nothing is merged yet */
} fovea_fold;

/* The first number of a row in a tensor. Rows are counted over the batch and the heads. */
static inline int64_t fovea_row_offset(fovea_strides strides, int64_t heads, int64_t rows, int64_t row) {
  return row / rows / heads * strides.batch + row / rows % heads * strides.head + row % rows * strides.row;
}

static inline fovea_tile_state fovea_piece_state(fovea_state_piece *piece) {
  return (fovea_tile_state){.row_max = piece->row_max, .row_sum = piece->row_sum, .output = piece->output};
}

/* Calls step(fold, job) for all pieces of rows and dims of a state. */
void fovea_fold_pieces(const fovea_kernels *kernels, const fovea_state *state,
                       void (*step)(fovea_fold *fold, const void *job), const void *job,
                       const fovea_execution *execution);

/* Sets `merged` to a node of the state that `left` and `right` merge into. */
void fovea_fold_node(fovea_fold *fold, const fovea_state *left, const fovea_state *right, fovea_spans node);
/* Sets `merged` to the merge of all nodes of a state. */
void fovea_fold_all(fovea_fold *fold, const fovea_state *state);

/* Writes `merged` as a node of a state. */
void fovea_write_node(const fovea_fold *fold, const fovea_state *to, int64_t node);

#endif
