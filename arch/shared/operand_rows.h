/* Rows as the arithmetics of modes read them: f32 or bf16. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_OPERAND_ROWS_H
#define FOVEA_ARCH_SHARED_OPERAND_ROWS_H

#include "../kernels.h"
#include "types.h"

#include <string.h>

/* Where a row begins. `bf16` is args->bf16, as a constant, here and below. */
FOVEA_INLINE const void *operand_row(const int bf16, const fovea_operand_args *args, int64_t key) {
  const int64_t at = key * args->stride;
  return bf16 ? (const void *)((const uint16_t *)args->rows + at) : (const float *)args->rows + at;
}

/* LANES elements of a row from dim d on. */
FOVEA_INLINE vec operand_whole(const int bf16, const void *begin, int64_t d) {
  return bf16 ? vec_load_bf16((const uint16_t *)begin + d) : vec_load((const float *)begin + d);
}

/* The same; after the last of `dim` they are 0. */
FOVEA_INLINE vec operand_dims(const int bf16, const void *begin, int64_t dim, int64_t d) {
  const int64_t rest = dim - d;
  if (!bf16) {
    const float *row = (const float *)begin + d;
    return rest >= LANES ? vec_load(row) : vec_load_first(row, (int)rest);
  }
  const uint16_t *row = (const uint16_t *)begin + d;
  uint16_t some[LANES] = {0};
  if (rest < LANES) row = memcpy(some, row, TYPED_AT_MOST(rest) * sizeof *some);
  return vec_load_bf16(row);
}

FOVEA_INLINE vec operand_elements(const int bf16, const fovea_operand_args *args, int64_t key, int64_t d) {
  return operand_dims(bf16, operand_row(bf16, args, key), args->dim, d);
}

/* Calls an inline function whose first argument is args->bf16, once for each value, so that its loops do not
 * ask. */
#define OPERAND_TYPED(function, bf16, ...) ((bf16) ? function(1, __VA_ARGS__) : function(0, __VA_ARGS__))

#endif
