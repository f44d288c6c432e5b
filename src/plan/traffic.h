/* The bytes that a run reads and writes at least. */
#ifndef FOVEA_SRC_PLAN_TRAFFIC_H
#define FOVEA_SRC_PLAN_TRAFFIC_H

#include "plan.h"

typedef struct fovea_traffic {
  double read, written; /* bytes; each element counts once */
  double cached;        /* elements of K and V in segments, whose types only a run knows */
} fovea_traffic;

fovea_traffic fovea_plan_traffic(const fovea_plan *plan);

#endif
