/* The segments that a run reads: checked, and apart from what it writes. */
#ifndef FOVEA_SRC_RUN_RUN_SEGMENTS_H
#define FOVEA_SRC_RUN_RUN_SEGMENTS_H

#include "overlap.h"

/* The sequences of a run: each by itself, and nothing of them that rows see shares memory with an output. */
fovea_status fovea_validate_sequences(const fovea_plan *plan, const fovea_tensors *tensors, fovea_error *error);

/* That it shares none with the segments that a run of checked sequences looks at, nor with their arrays. */
fovea_status fovea_check_segments(const fovea_plan *plan, const fovea_tensors *tensors,
                                  const fovea_written *written, fovea_error *error);

#endif
