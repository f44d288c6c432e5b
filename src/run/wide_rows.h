/* Copies of rows as f32. */
#ifndef FOVEA_SRC_RUN_WIDE_ROWS_H
#define FOVEA_SRC_RUN_WIDE_ROWS_H

#include "../plan/plan.h"
#include "rows.h"

/* Copies rows `keys` of the block at `base` to `to`, as f32, fovea_copied_stride() apart. Returns `to`, where the
 * block's first key would be. */
const float *fovea_widen_rows(const fovea_row_source *source, int64_t base, fovea_interval keys, float *to);

/* Copies queries of a problem as f32, row by row, fovea_decode_stride() apart. */
void fovea_widen_each(const fovea_plan *plan, const void *const *queries, int count, float *to);

#endif
