/* Products of weights and values of int8 by AMX. Included after int8_operands.h. */
#ifndef FOVEA_ARCH_AMX_INT8_VALUES_H
#define FOVEA_ARCH_AMX_INT8_VALUES_H

#include "../shared/state.h"

/* Where the sum of weights is not finite the outputs are NaN. */
FOVEA_INLINE void finish_dims(const fovea_value_args *args, int64_t dim, int64_t count, const int columns,
                              const float *sums) {
  const int row = args->vectors.first * LANES, merges = args->flags & FOVEA_VALUE_MERGE;
  float *to = args->output + dim * ROW_TILE + row;
  vec old_part[4], new_part[4], poison[4];
  FOVEA_UNROLL
  for (int v = 0; v < columns; v++) {
    const vec total = vec_load(args->block_sum + row + v * LANES);
    poison[v] = vec_sub(total, total); /* 0 or NaN */
    old_part[v] = vec_load(args->old_part + row + v * LANES);
    new_part[v] = vec_load(args->new_part + row + v * LANES);
  }
  FOVEA_NO_UNROLL
  for (; count > 0; count--, to += ROW_TILE, sums += TILE) {
    FOVEA_UNROLL
    for (int v = 0; v < columns; v++) {
      const vec number = _mm512_cvtepi32_ps(_mm512_castps_si512(vec_load(sums + v * TILE * TILE)));
      const vec sum = vec_add(number, poison[v]);
      vec_store(to + v * LANES, merges ? state_join(vec_load(to + v * LANES), old_part[v], sum, new_part[v]) : sum);
    }
  }
}

#define VALUE_KIND TILE_S8_U8
#include "value_columns.h"

#endif
