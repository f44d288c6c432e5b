/* How fast this machine computes and reads when the library runs: measured by short runs of it. */
#ifndef FOVEA_TOOLS_MEASURE_H
#define FOVEA_TOOLS_MEASURE_H

#include "failure.h"
#include <fovea/fovea.h>

typedef struct measured_rates {
  double flops_per_second; /* of a dense problem whose keys fit in the cache */
  double bytes_per_second; /* of one row in each of 8 heads over 128 MB of keys and values */
} measured_rates;

/* Runs problems of the dims, types and modes of `like`, with this execution, for about a second. */
bool measure_rates(const fovea_problem *like, const fovea_execution *execution, measured_rates *rates,
                   failure *why);

#endif
