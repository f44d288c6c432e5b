/* A plan bound to what it runs on: tensors, segments and scratch, checked once. A task of it checks nothing. */
#ifndef FOVEA_SRC_RUN_RUN_H
#define FOVEA_SRC_RUN_RUN_H

#include "../plan/plan.h"
#include "../system/schedule.h"

struct fovea_run {
  const fovea_plan *plan;
  fovea_tensors tensors; /* the caller's, as this library knows them */
  fovea_state state;     /* what tensors.state points to, with to_state: a run is not to be moved */
  char *scratch;
  int workers;
  fovea_job job; /* over this run */
};

#endif
