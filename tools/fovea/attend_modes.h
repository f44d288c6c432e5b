/* Options of modes: --arithmetic, --allow-amx. */
#ifndef FOVEA_TOOLS_ATTEND_MODES_H
#define FOVEA_TOOLS_ATTEND_MODES_H

#include "attend_options.h"

/* "exact", "bf16" or "int8". */
const char *mode_name(fovea_mode mode);

/* Sets the modes of scores and values, and allows AMX for this process if the options say so. */
bool set_modes(fovea_problem *problem, const attend_options *options, failure *why);

#endif
