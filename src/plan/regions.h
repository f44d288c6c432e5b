/* The regions of tensors that a run reads or writes, entry by entry. Pointers must be valid for them. */
#ifndef FOVEA_SRC_PLAN_REGIONS_H
#define FOVEA_SRC_PLAN_REGIONS_H

#include "../base/claim.h"
#include "plan.h"

/* The axes of a tensor: strides in elements, the number of heads, and the bits of an element. */
typedef struct fovea_axes {
  fovea_strides strides;
  int64_t heads;
  int bits;
} fovea_axes;

fovea_axes fovea_axes_of(const fovea_plan *plan, int shape);

/* All heads, and begin to end - 1 along the other axes; empty if one of these ranges is empty. */
typedef struct fovea_region {
  int64_t batch_begin, batch_end, row_begin, row_end, begin, end;
} fovea_region;

/* The region of a tensor, one of FOVEA_SHAPES, that a run uses for one entry. Of a mask it begins at a block's
 * first key, because kernels read masks by blocks. */
fovea_region fovea_region_of(const fovea_plan *plan, const fovea_entry *entry, int shape);

/* The bytes of a region. The region has one batch index. */
fovea_claim fovea_claim_region(const fovea_axes *axes, const fovea_region *region, const void *pointer);

/* Reduces the reaches that pointers are checked for, from all elements to the elements that a run uses. The entries
 * must be set. */
void fovea_narrow_reaches(fovea_plan *plan);

#endif
