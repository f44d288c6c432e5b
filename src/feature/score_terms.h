/* The terms of a problem's scores: checked, and made into what kernels take. The one place of src/ that knows them.
 */
#ifndef FOVEA_SRC_FEATURE_SCORE_TERMS_H
#define FOVEA_SRC_FEATURE_SCORE_TERMS_H

#include "../../arch/kernels.h"

#include "list.h"

/* Checks the scale of a problem, which each has. */
fovea_status fovea_check_scale(const fovea_problem *problem, fovea_error *error);

/* Of a checked problem and its features. Rounds as the calling thread does. */
fovea_score_terms fovea_make_terms(const fovea_problem *problem, uint64_t features);

/* What products are multiplied by, for a scale: as a softcap wants them, in natural units, or in units of log2. */
float fovea_scale_constant(const fovea_problem *problem, int capped, int natural, double scale);

/* Checks a scale that is not the problem's own. `name` says which numbers make it. */
fovea_status fovea_check_scale_product(const fovea_problem *problem, const char *name, double scale,
                                       fovea_error *error);

/* The terms of scores as an output, in natural units, for an output other than weights. */
fovea_score_terms fovea_make_output_terms(const fovea_problem *problem, uint64_t features);

/* Whether scores have terms that differ from row to row: run/positions.h. */
static inline int fovea_rows_have_terms(const fovea_problem *problem, uint64_t features) {
  return (features & fovea_features_with(FOVEA_TRAIT_TILE_TERMS)) != 0 ||
         (problem->shaw.kind & FOVEA_SHAW_KEYS) != 0;
}

#endif
