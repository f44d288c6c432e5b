/* What a tile sees of the current block, by the rules, the pattern and the mask together. */
#ifndef FOVEA_SRC_RUN_SIGHT_H
#define FOVEA_SRC_RUN_SIGHT_H

#include "mask.h"

typedef struct fovea_sight {
  const fovea_tile_view *rows; /* what rows see but for the mask: the tile's view, or `narrowed` */
  fovea_tile_view narrowed;    /* for this block, by the pattern */
  fovea_mask_block mask;
  fovea_block_view view;
} fovea_sight;

/* Returns 0 if no row sees a key. `sight` points into itself and must not be copied. */
int fovea_look(const fovea_task_context *context, const fovea_tile *t, fovea_sight *sight);

#endif
