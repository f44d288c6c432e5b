/* Channel numbers of int8 mode for `fovea attend`, read from files. */
#ifndef FOVEA_TOOLS_ATTEND_VECTORS_H
#define FOVEA_TOOLS_ATTEND_VECTORS_H

#include "attend_options.h"
#include "npy.h"
#include <fovea/fovea.h>

typedef struct attend_vectors {
  npy_array key_centre, key_scale, value_scale;
} attend_vectors;

/* Loads the vectors that the options name, and sets them up in a problem whose sizes are set. Each file has (dim),
 * or (heads of K, dim). */
bool load_vectors(const attend_options *options, attend_vectors *vectors, fovea_problem *problem, failure *why);

/* Sets the pointers of a run. */
void set_vectors(const attend_vectors *vectors, fovea_tensors *tensors);

void attend_vectors_free(attend_vectors *vectors);

#endif
