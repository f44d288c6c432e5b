/* The terms of a problem's scores: checked, and made into what kernels take. The one place of src/ that knows them.
 */
#ifndef FOVEA_SRC_PLAN_TERMS_H
#define FOVEA_SRC_PLAN_TERMS_H

#include "../../arch/kernels.h"

fovea_status fovea_check_terms(const fovea_problem *problem, fovea_error *error);

/* Of a checked problem. Rounds as the calling thread does. */
fovea_score_terms fovea_make_terms(const fovea_problem *problem);

/* What products are multiplied by, for a scale: as a softcap wants them, in natural units, or in units of log2. */
float fovea_scale_constant(const fovea_problem *problem, int capped, int natural, double scale);

/* Checks a scale that is not the problem's own. `name` says which numbers make it. */
fovea_status fovea_check_scale_product(const fovea_problem *problem, const char *name, double scale,
                                       fovea_error *error);

/* The terms of scores as an output, in natural units, for an output other than weights. */
fovea_score_terms fovea_make_output_terms(const fovea_problem *problem);

#endif
