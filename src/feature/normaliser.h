/* The normaliser of a problem: what makes weights of scores, and what outputs are divided by. */
#ifndef FOVEA_SRC_FEATURE_NORMALISER_H
#define FOVEA_SRC_FEATURE_NORMALISER_H

#include "../../arch/kernels.h"

/* What kernels take instead of the softmax. */
fovea_weighting fovea_make_weighting(const fovea_problem *problem);

/* Whether the keys that each row sees are counted. */
static inline int fovea_counts_keys(const fovea_problem *problem) {
  return problem->normaliser.divisor == FOVEA_DIVISOR_KEYS;
}

/* Sets what each of `count` rows is divided by. `sums` are the sums of the rows' states; `seen` counts the keys
 * that the rows see, NULL if the problem does not count them. Lanes of padding beyond `count` get 1. */
void fovea_find_divisors(const fovea_problem *problem, const float *sums, const int64_t *seen, int count,
                         float divisors[FOVEA_ROW_TILE_LIMIT]);

#endif
