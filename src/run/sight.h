/* What a tile sees of the current block, by the rules and the mask together. */
#ifndef FOVEA_SRC_RUN_SIGHT_H
#define FOVEA_SRC_RUN_SIGHT_H

#include "mask.h"

typedef struct fovea_sight {
  fovea_mask_block mask;
  fovea_block_view view;
} fovea_sight;

/* Returns 0 if no row sees a key. `sight` points into itself and must not be copied. */
static inline int fovea_look(const fovea_task_context *context, const fovea_tile *t, fovea_sight *sight) {
  fovea_read_mask(context, t, context->walk.block, &sight->mask);
  /* Decoding has no use for lanes of padding. */
  int rows = t->decoded ? t->rows.count : t->view.vectors * context->kernels->lanes;
  fovea_view_block(&t->view, context->walk.block, rows, sight->mask.present ? sight->mask.pieces : NULL,
                   &sight->view);
  return sight->view.count > 0;
}

#endif
