/* Merging the nodes of states in the order of the tree (docs/numerics.md, step 4), some rows and dims at a time. */
#ifndef FOVEA_SRC_STATE_FOLD_H
#define FOVEA_SRC_STATE_FOLD_H

#include "groups.h"

/* Dims of a piece: the rows of a tile with so many of them are kept on the stack. */
#define FOVEA_FOLD_DIMS 16

/* The rows of a tile with a piece of their dims. */
typedef struct fovea_state_piece {
  _Alignas(64) float output[FOVEA_FOLD_DIMS * FOVEA_ROW_TILE_LIMIT];
  _Alignas(64) float row_max[FOVEA_ROW_TILE_LIMIT];
  _Alignas(64) float row_sum[FOVEA_ROW_TILE_LIMIT];
} fovea_state_piece;

/* Nodes merge one after the other, from the left or from the right, with what has come of those before. */
typedef struct fovea_fold {
  fovea_state_piece memory[3];
  const fovea_kernels *kernels;
  fovea_state_piece *merged, *next, *kept;
  int64_t row;        /* the first of the rows, counted over the batch and the heads */
  int64_t dim, count; /* the first of the dims, and how many */
  int row_count;      /* as many as a tile has, or fewer */
  int begun;          /* 0: nothing is merged yet */
} fovea_fold;

/* A row's first number of a tensor, rows being counted over the batch and the heads. */
static inline int64_t fovea_row_offset(fovea_strides strides, int64_t heads, int64_t rows, int64_t row) {
  return row / rows / heads * strides.batch + row / rows % heads * strides.head + row % rows * strides.row;
}

static inline fovea_tile_state fovea_piece_state(fovea_state_piece *piece) {
  return (fovea_tile_state){piece->row_max, piece->row_sum, piece->output};
}

/* Calls step(fold, job) for all rows and dims of a state. */
void fovea_fold_pieces(const fovea_kernels *kernels, const fovea_state *state,
                       void (*step)(fovea_fold *fold, const void *job), const void *job);

/* Sets `merged` to a node of the state that two states merge into. */
void fovea_fold_node(fovea_fold *fold, const fovea_state *left, const fovea_state *right, fovea_spans node);
/* Sets `merged` to what all nodes of a state come to. */
void fovea_fold_all(fovea_fold *fold, const fovea_state *state);

/* Writes `merged` as a state's node. */
void fovea_write_node(const fovea_fold *fold, const fovea_state *to, int64_t node);

#endif
