/* Inputs that a shape may have besides its f32 tensors. */
#ifndef FOVEA_BENCH_INPUTS_H
#define FOVEA_BENCH_INPUTS_H

#include "workload.h"

/* If the workload's shape asks for it, makes Fovea's tensors half-precision, and adds the mask and the number of
 * pairs that it leaves. 0 without memory. bench_workload_destroy() frees them. */
int bench_inputs_create(bench_workload *workload);

#endif
