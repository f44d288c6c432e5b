/* What the phase that sums columns needs of each row. */
#ifndef FOVEA_SRC_RUN_ROW_WEIGHTS_H
#define FOVEA_SRC_RUN_ROW_WEIGHTS_H

#include "task.h"

/* Keeps what a tile's rows have in place of maximum and sum for the phase that sums columns. */
void fovea_keep_row_weights(const fovea_plan *plan, const fovea_entry *entry, const fovea_tile *t, float *shared,
                            const float *references, const float *inverses);

#endif
