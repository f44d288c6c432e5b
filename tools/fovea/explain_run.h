/* Computes the problem of `fovea explain`, whose tensors are made up, for a trace. */
#ifndef FOVEA_TOOLS_EXPLAIN_RUN_H
#define FOVEA_TOOLS_EXPLAIN_RUN_H

#include "attend_problem.h"
#include "trace.h"

/* Runs the plan twice, since the first run finds cold memory, and traces the second one. `trace` must be clear. Free it
 * in any case. */
bool explain_run(trace *trace, const fovea_plan *plan, const fovea_problem *problem, const problem_inputs *inputs,
                 int threads, failure *why);

#endif
