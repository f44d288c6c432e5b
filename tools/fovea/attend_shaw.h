/* Relative position vectors of `fovea attend`, read from files. */
#ifndef FOVEA_TOOLS_ATTEND_SHAW_H
#define FOVEA_TOOLS_ATTEND_SHAW_H

#include "failure.h"
#include "npy.h"
#include <fovea/fovea.h>

typedef struct attend_shaw {
  npy_array keys, values;
} attend_shaw;

/* Loads the tables, either of which may be NULL, and sets them up in a problem whose sizes are set. Each has
 * vectors for the distances from -n to n: (2n + 1, dim), or (heads, 2n + 1, dim). Two tables have as many of both.
 */
bool load_shaw(const char *keys, const char *values, attend_shaw *shaw, fovea_problem *problem, failure *why);

/* Sets the pointers of a run. */
void set_shaw(const attend_shaw *shaw, fovea_tensors *tensors);

void attend_shaw_free(attend_shaw *shaw);

#endif
