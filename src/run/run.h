/* A run: a plan bound to tensors, segments and scratch, all checked once. Its tasks check nothing. */
#ifndef FOVEA_SRC_RUN_RUN_H
#define FOVEA_SRC_RUN_RUN_H

#include "../plan/plan.h"
#include "../system/schedule.h"

#include <fovea/state.h>

struct fovea_run {
  const fovea_plan *plan;
  fovea_tensors tensors; /* the caller's, completed with defaults */
  fovea_state state;     /* with state, tensors.state points here: a run must not be moved */
  int alike;             /* there are sequences, and in each all segments are alike and have rows of one type */
  char *scratch;
  int workers;
  fovea_job job; /* its data is this run */
};

#endif
