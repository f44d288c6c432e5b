/* Hides keys of a block that rows do not see by their limits: all arithmetics of a set do it in the same way, score.h
 * has it. */
#ifndef FOVEA_ARCH_SHARED_SCORE_HIDE_H
#define FOVEA_ARCH_SHARED_SCORE_HIDE_H

#include "../kernels.h"

/* Sets scores that rows do not see to -Inf. Takes the maxima of the others. */
void FOVEA_SHARED(score_hide)(const fovea_score_args *args);

#endif
