/* What options say of a problem, put into it: rules, mask, pattern, terms, scale, normaliser. */
#ifndef FOVEA_TOOLS_ATTEND_PROBLEM_H
#define FOVEA_TOOLS_ATTEND_PROBLEM_H

#include "attend_options.h"
#include "attend_terms.h"
#include <fovea/pattern.h>

/* Arrays from files that a problem and its tensors point to. Clear it first. */
typedef struct problem_inputs {
  npy_array mask, sinks;
  attend_terms terms;
  fovea_pattern *pattern;
} problem_inputs;

/* Fills a problem whose sizes are set. `options` and `inputs` must outlive it. */
bool problem_set(fovea_problem *problem, const attend_options *options, problem_inputs *inputs, failure *why);

/* Call it in any case, after plans of the problem are destroyed. */
void problem_inputs_free(problem_inputs *inputs);

#endif
