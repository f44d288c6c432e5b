/* What a shape may have besides its f32 tensors. */
#ifndef FOVEA_BENCH_INPUTS_H
#define FOVEA_BENCH_INPUTS_H

#include "workload.h"

/* Makes the tensors that Fovea reads and writes half-precision ones, and adds the mask with the pairs that it lets
 * see, where the workload's shape has them. 0 when there is no memory for it. bench_workload_destroy() frees them.
 */
int bench_inputs_create(bench_workload *workload);

#endif
