/* Copies of rows as f32. */
#ifndef FOVEA_SRC_RUN_WIDE_ROWS_H
#define FOVEA_SRC_RUN_WIDE_ROWS_H

#include "rows.h"

/* Copies rows `begin` to `end` - 1 of the block at `base` to `to`, as f32, fovea_copied_stride() apart. Returns
 * `to`, where the block's first key would be. */
const float *fovea_widen_block_rows(const fovea_task_context *context, fovea_find_run *find, int64_t dim,
                                    int64_t base, int64_t begin, int64_t end, float *to);

#endif
