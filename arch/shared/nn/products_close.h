/* What linear layers in int8 mode do with the sums of a group: scale, offset, and at the end the row's scale
 * (docs/numerics.md, L1). Part of products.h. */
#ifndef FOVEA_ARCH_SHARED_NN_PRODUCTS_CLOSE_H
#define FOVEA_ARCH_SHARED_NN_PRODUCTS_CLOSE_H

#include "products_weights.h"

/* A group that is complete: number `group` of the call. */
typedef struct int8_group {
  int piece, g, group;
  int first, last; /* of the row */
} int8_group;

/* What row `n` has after the group, of LANES outputs. `sums` are those outputs' sums of the groups before. */
FOVEA_INLINE vec int8_closed(const fovea_nn_products_args *args, const int8_group *at, int n, vec sum, vec scale,
                             vec offset, const float *sums) {
  vec r = vec_fma(sum, scale, at->first ? vec_set1(0.0f) : vec_load(sums));
  if (args->of.has_offsets) r = vec_fma(vec_set1(args->x_sums[at->group * args->rows + n]), offset, r);
  return at->last ? vec_mul(r, vec_set1(args->x_scales[n])) : r;
}

#endif
