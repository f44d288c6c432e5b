/* Lays out the scratch of a plan's workers. */
#ifndef FOVEA_SRC_PLAN_LAY_OUT_H
#define FOVEA_SRC_PLAN_LAY_OUT_H

#include "scratch_layout.h"

/* Of a plan that is complete but for this. `operands`: floats of operands, in modes other than exact. */
fovea_scratch_layout fovea_lay_out_scratch(const struct fovea_plan *plan, fovea_operand_sizes operands,
                                           uint64_t tiles);

#endif
