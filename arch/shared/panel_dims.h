/* Dims of keys in panels, one at a time. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_PANEL_DIMS_H
#define FOVEA_ARCH_SHARED_PANEL_DIMS_H

#include "../kernels.h"
#include "types.h"

/* Elements from one dim of a panel to the next; if dims stay together, from one set of them to the next. */
#define PANEL_STEP(type) (fovea_dims_together(type) * FOVEA_PANEL_ROWS)

/* Loads one dim of LANES keys of a panel. */
FOVEA_INLINE vec decode_panel_dim(const void *keys, int64_t dim, const fovea_type type) {
  if (type == FOVEA_BF16) {
    vec pair[2];
    vec_split_bf16(vec_load_pairs((const uint16_t *)keys + dim / 2 * PANEL_STEP(type)), &pair[0], &pair[1]);
    return pair[dim % 2];
  }
  return typed_load(keys, dim * PANEL_STEP(type), type);
}

/* Loads one dim of a panel of any type. */
FOVEA_NOINLINE void decode_panel_any(const void *keys, int64_t dim, fovea_type type, float *lanes) {
  TYPED(type, vec_store(lanes, decode_panel_dim(keys, dim, constant)))
}

#endif
