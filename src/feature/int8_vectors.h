/* The channel numbers of int8 mode, which a caller fixes beforehand: checked, and how many there are. */
#ifndef FOVEA_SRC_FEATURE_INT8_VECTORS_H
#define FOVEA_SRC_FEATURE_INT8_VECTORS_H

#include <fovea/fovea.h>

static inline int fovea_has_vectors(const fovea_problem *problem) {
  return problem->channels.key_centre || problem->channels.key_scale || problem->channels.value_scale;
}

/* How many channel numbers all kv heads have, of `dim` dims each. */
static inline int64_t fovea_vector_numbers(const fovea_problem *problem, fovea_channels vectors, int64_t dim) {
  return (vectors == FOVEA_CHANNELS_PER_HEAD ? problem->kv_heads : 1) * dim;
}

#endif
