/* A way of computing the tiles of a task. Each entry has one, chosen when a task begins: by the plan and, of
 * segments, by how the keys lie. All have the same bits. The functions are called once a tile or once a block. */
#ifndef FOVEA_SRC_RUN_ENGINE_H
#define FOVEA_SRC_RUN_ENGINE_H

#include "task.h"

/* The scores of a block row by row, FOVEA_BLOCK_KEYS apart. The keys are counted from the block's first, in whole
 * vectors. */
typedef struct fovea_scores_of_rows {
  const float *scores; /* of the block's first key */
  fovea_interval keys;
} fovea_scores_of_rows;

typedef struct fovea_engine {
  int keys_in_lanes; /* else rows lie in the lanes */
  /* Computes a whole tile and writes its results; NULL: the driver takes tiles through their blocks. */
  void (*compute_tile)(const fovea_task_context *context, fovea_tile *t);
  /* Loads the queries of a tile, before its first block. */
  void (*load_queries)(fovea_task_context *context, fovea_tile *t);
  /* Takes the tile through the current block, of which it sees some key. `first`: no block of this span came
   * before. */
  void (*compute_block)(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible, int first);
  /* Computes the scores of the current block as the softmax takes them, and nothing else. */
  void (*score_block)(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible);
  /* These scores row by row, copied if they do not lie so. */
  fovea_scores_of_rows (*read_scores)(const fovea_task_context *context, const fovea_tile *t,
                                      const fovea_visible_block *visible);
  /* Moves the state of the span that ends to the tile's tree, as its current state; NULL: it is there. */
  void (*end_span)(const fovea_task_context *context, fovea_tile *t);
  /* Writes the results of a tile of a single span, from the state as it lies; NULL: from the tree. */
  void (*write_span)(const fovea_task_context *context, fovea_tile *t);
} fovea_engine;

#endif
