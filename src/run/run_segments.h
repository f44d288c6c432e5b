/* Checks of the segments that a run reads: each by itself, and that no output shares a byte with them. */
#ifndef FOVEA_SRC_RUN_RUN_SEGMENTS_H
#define FOVEA_SRC_RUN_RUN_SEGMENTS_H

#include "../cache/alike.h"
#include "overlap.h"

/* What was found of the segments that a run reads. */
typedef struct fovea_read_segments {
  int alike; /* there are sequences, and in each that is read all segments are alike */
  fovea_segment_memory memory;
} fovea_read_segments;

/* Checks the sequences of a run: each by itself, and that what rows see of them shares no byte with an output. */
fovea_status fovea_validate_sequences(const fovea_plan *plan, const fovea_tensors *tensors,
                                      fovea_read_segments *read, fovea_error *error);

/* Checks that an output or scratch shares no byte with the segments that a run reads, nor with the array of the
 * segments. The sequences must have been checked, which gave `read`. */
fovea_status fovea_check_segments(const fovea_plan *plan, const fovea_tensors *tensors,
                                  const fovea_read_segments *read, const fovea_written *written,
                                  fovea_error *error);

#endif
