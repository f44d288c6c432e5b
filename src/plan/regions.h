/* The parts of tensors that a run reads or writes, entry by entry: what pointers have to be valid for. */
#ifndef FOVEA_SRC_PLAN_REGIONS_H
#define FOVEA_SRC_PLAN_REGIONS_H

#include "../base/claim.h"
#include "plan.h"

/* The axes of a tensor: its strides, in its elements, and how large these are. */
typedef struct fovea_axes {
  fovea_strides strides;
  int64_t heads;
  int bits;
} fovea_axes;

fovea_axes fovea_axes_of(const fovea_problem *problem, int shape);

/* All heads, and begin to end - 1 along the other axes; empty where a begin is not before its end. */
typedef struct fovea_region {
  int64_t batch_begin, batch_end, row_begin, row_end, begin, end;
} fovea_region;

/* What is used of one of the FOVEA_SHAPES tensors for one entry. Kernels look at a mask from a block's first key
 * on.
 */
fovea_region fovea_region_of(const fovea_plan *plan, const fovea_entry *entry, int shape);

/* The bytes of a region of one batch index. */
fovea_claim fovea_claim_region(const fovea_axes *axes, const fovea_region *region, const void *pointer);

/* Narrows what the tensors' pointers are checked for from all elements to those that a run uses. The entries are
 * set. */
void fovea_narrow_reaches(fovea_plan *plan);

#endif
