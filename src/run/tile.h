/* The tile driver: takes the rows of one task through the blocks of keys that they see. */
#ifndef FOVEA_SRC_RUN_TILE_H
#define FOVEA_SRC_RUN_TILE_H

#include <stdint.h>

/* One task of a phase of a job over a fovea_run, which has been checked. First the tiles through their keys, then,
 * if keys are split into parts, the parts of each tile. */
void fovea_attend_task(const void *run, int64_t number, int worker);
void fovea_merge_task(const void *run, int64_t number, int worker);

#endif
