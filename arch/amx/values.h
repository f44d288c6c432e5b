/* Products of weights and values of bf16 by AMX. Included after operands.h. */
#ifndef FOVEA_ARCH_AMX_VALUES_H
#define FOVEA_ARCH_AMX_VALUES_H

#include "../shared/state.h"

FOVEA_INLINE void finish_dims(const fovea_value_args *args, int64_t dim, int64_t count, const int columns,
                              const float *sums) {
  const float *old_parts = args->old_part + args->vectors.first * LANES;
  const float *new_parts = args->new_part + args->vectors.first * LANES;
  float *to = args->output + dim * ROW_TILE + args->vectors.first * LANES;
  vec old_part[4], new_part[4];
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++)
    old_part[v] = vec_load(old_parts + v * LANES), new_part[v] = vec_load(new_parts + v * LANES);
  if (!(args->flags & FOVEA_VALUE_MERGE)) {
    FOVEA_NO_UNROLL
    for (; count > 0; count--, to += ROW_TILE, sums += TILE) {
      FOVEA_UNROLL
      for (int v = 0; v < columns; v++) vec_store(to + v * LANES, vec_load(sums + v * TILE * TILE));
    }
    return;
  }
  FOVEA_NO_UNROLL
  for (; count > 0; count--, to += ROW_TILE, sums += TILE) {
    FOVEA_UNROLL
    for (int v = 0; v < columns; v++) {
      const vec merged =
          state_join(vec_load(to + v * LANES), old_part[v], vec_load(sums + v * TILE * TILE), new_part[v]);
      vec_store(to + v * LANES, merged);
    }
  }
}

#define VALUE_KIND TILE_BF16
#include "value_columns.h"

#endif
