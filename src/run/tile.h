/* The tile driver: takes the tiles of one task through the blocks that they meet. */
#ifndef FOVEA_SRC_RUN_TILE_H
#define FOVEA_SRC_RUN_TILE_H

#include <stdint.h>

/* One task of a fovea_run: of the first phase, which takes tiles through their keys; or of the second, which merges
 * the parts of a tile, if keys are split into parts. */
void fovea_attend_task(const void *run, int64_t number, int worker);
void fovea_merge_task(const void *run, int64_t number, int worker);

#endif
