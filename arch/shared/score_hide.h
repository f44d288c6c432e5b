/* Hides keys of a block that rows do not see by their limits. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_SCORE_HIDE_H
#define FOVEA_ARCH_SHARED_SCORE_HIDE_H

#include "../kernels.h"
#include "terms.h"
#include "tile.h"

/* Sets scores that rows do not see to -Inf. Takes the maxima of the others. */
FOVEA_NOINLINE void score_hide(const fovea_score_args *args) {
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    const int row = vector * LANES;
    const veci from = veci_load(args->seen_from + row), to = veci_load(args->seen_to + row);
    vec maximum = vec_load(args->maxima + row);
    FOVEA_NO_UNROLL
    for (int key = 0; key < args->key_count; key++) {
      float *score = args->scores + (int64_t)key * ROW_TILE + row;
      vec s = term_hide(vec_load(score), vec_seen(key, from, to));
      vec_store(score, s);
      maximum = vec_max(s, maximum);
    }
    vec_store(args->maxima + row, maximum);
  }
}

#endif
