/* The normaliser and the divisor of `fovea attend`. */
#ifndef FOVEA_TOOLS_ATTEND_NORMALISER_H
#define FOVEA_TOOLS_ATTEND_NORMALISER_H

#include "attend_options.h"

/* Puts them into the problem. */
bool set_normaliser(fovea_problem *problem, const attend_options *options, failure *why);

#endif
