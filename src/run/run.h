/* A run: a plan bound to tensors, segments and scratch, all checked once. Its tasks check nothing. */
#ifndef FOVEA_SRC_RUN_RUN_H
#define FOVEA_SRC_RUN_RUN_H

#include "../plan/plan.h"
#include "../system/schedule.h"
#include "run_segments.h"

#include <fovea/state.h>

struct fovea_run {
  const fovea_plan *plan;
  fovea_tensors tensors;    /* the caller's, completed with defaults */
  fovea_state state;        /* with state, tensors.state points here: a run must not be moved */
  fovea_read_segments read; /* all 0 without sequences */
  char *scratch;
  int workers;
  fovea_job job; /* its data is this run */
};

#endif
