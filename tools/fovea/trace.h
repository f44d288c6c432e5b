/* Runs a plan task by task and writes when each task began and ended, on which worker: Chrome's trace format, which
 * ui.perfetto.dev and chrome://tracing show. The tasks run as fovea_plan_run() runs them. */
#ifndef FOVEA_TOOLS_TRACE_H
#define FOVEA_TOOLS_TRACE_H

#include "failure.h"
#include <fovea/fovea.h>

#include <stdint.h>
#include <stdio.h>

typedef struct trace_event {
  int64_t begin, end; /* nanoseconds since the run began */
  int worker;
} trace_event;

/* Clear it first. */
typedef struct trace {
  const fovea_plan *plan;
  int workers;
  trace_event *phases; /* one of each phase; its worker is not used */
  trace_event *tasks;  /* of all phases, one phase after the other */
} trace;

/* Runs the plan. Outputs have the bits that fovea_plan_run() gives. */
bool trace_run(trace *trace, const fovea_plan *plan, const fovea_tensors *tensors, int threads, failure *why);

/* Returns false if the stream takes no more; errno then says why. */
bool trace_write(const trace *trace, FILE *stream);

void trace_free(trace *trace);

#endif
