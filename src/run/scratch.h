/* How a worker's scratch is laid out: the arrays of the tiles that it works on. */
#ifndef FOVEA_SRC_RUN_SCRATCH_H
#define FOVEA_SRC_RUN_SCRATCH_H

#include "../plan/plan.h"
#include "spans.h"

/* The long-lived arrays of one row tile. */
typedef struct fovea_tile_memory {
  float *queries; /* [qk_dim][row] */
  float *pairs;   /* [(qk_dim + 1) / 2][row], of a plan that is paired */
  fovea_span_tree tree;
} fovea_tile_memory;

/* The arrays that the tiles of a task use one after the other. */
typedef struct fovea_block_memory {
  float *scores;  /* [FOVEA_BLOCK_KEYS][row] */
  float *partial; /* [v_dim][row] */
  float *panel;   /* values of one block, as pack_values() makes it */
  float *keys;    /* keys of one block, row by row, fovea_copied_stride() apart */
  float *values;  /* likewise, of values that are not f32 */
  float *maxima;  /* [row], like those below */
  float *unused;  /* maxima that score() takes before the scores are adjusted */
  float *block_sum;
  float *old_part;
  float *new_part;
  char *mask; /* [row][FOVEA_BLOCK_KEYS], elements of a mask that is copied */
} fovea_block_memory;

/* The arrays of a tile that is decoded, one array [row][...] each, rows a multiple of 16 apart. */
typedef struct fovea_decode_memory {
  float *queries; /* fovea_decode_stride() apart, like outputs and partial */
  float *scores;  /* [row][FOVEA_BLOCK_KEYS] */
  float *output;  /* of the span at work */
  float *partial;
} fovea_decode_memory;

fovea_block_memory fovea_scratch_block(const fovea_plan *plan, void *worker_scratch);
/* The arrays of tile 0 .. block_tiles - 1 of a task. */
fovea_tile_memory fovea_scratch_tile(const fovea_plan *plan, void *worker_scratch, int tile);
/* Those of a tile that is decoded. */
fovea_decode_memory fovea_scratch_decode(const fovea_plan *plan, void *worker_scratch);

#endif
