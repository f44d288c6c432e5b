/* Options of modes: --arithmetic, --allow-amx. */
#ifndef FOVEA_TOOLS_ATTEND_MODES_H
#define FOVEA_TOOLS_ATTEND_MODES_H

#include "attend_options.h"

/* Sets the modes of scores and values, and allows AMX for this process if the options say so. */
bool set_modes(fovea_problem *problem, const attend_options *options, failure *why);

#endif
