/* The mask and the sinks of `fovea attend`, read from files. */
#ifndef FOVEA_TOOLS_ATTEND_MASK_H
#define FOVEA_TOOLS_ATTEND_MASK_H

#include "failure.h"
#include "npy.h"
#include <fovea/fovea.h>

/* Loads a mask and puts it into a problem whose sizes are set. Its axes are the last axes of (batch, heads, rows,
 * keys). Each has the problem's length, or 1 to be repeated. The axis of the keys may be shorter. */
bool load_mask(const char *path, npy_array *mask, fovea_problem *problem, failure *why);

/* Loads one sink for each query head. "zero" stands for a sink of 0 in every head. */
bool load_sinks(const char *path, npy_array *sinks, fovea_problem *problem, failure *why);

#endif
