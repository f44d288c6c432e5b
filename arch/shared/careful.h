/* The value tile if V holds NaN or Inf that some row must not see: 0 * Inf is NaN, so weight 0 does not hide a key.
 * This is rare, so the code is simple: one vector of rows and one dim at a time. Part of bodies.h. */

#include "../kernels.h"
#include "state.h"
#include "tile.h"
#include "transpose.h"

FOVEA_INLINE vec careful_chain(const fovea_value_args *args, int row, int64_t dim, const float *bias, vec sum) {
  /* A row has no state in this block if it has neither a maximum nor a NaN. Such a row reads no value. */
  vecmask without_max = vec_equal(vec_load(args->maxima + row), vec_set1(-INFINITY));
  vecmask alive = vecmask_or(vecmask_not(without_max), vec_is_nan(vec_load(args->block_sum + row)));
  for (int key = 0; key < args->key_count; key++) {
    vec weight = vec_load(args->weights + key * ROW_TILE + row);
    vec next = vec_fma(weight, vec_set1(args->values[key * args->value_stride + dim]), sum);
    vecmask seen = alive;
    if (args->seen_from) {
      seen = vecmask_and(seen, vec_seen(key, veci_load(args->seen_from + row), veci_load(args->seen_to + row)));
    }
    if (bias) {
      vecmask hidden = vec_equal(vec_load(bias + (args->key + key) * LANES), vec_set1(-INFINITY));
      seen = vecmask_and(seen, vecmask_not(hidden));
    }
    sum = vec_select(seen, next, sum);
  }
  return sum;
}

/* Loads the mask of one vector of rows: bias[key of the block][row]. Returns NULL if there is no mask. */
FOVEA_INLINE const float *careful_mask(const fovea_value_args *args, int row, float *bias) {
  if (!args->mask) return NULL;
  int end = args->key + args->key_count;
  for (int key = args->key / FOVEA_MASK_PIECE * FOVEA_MASK_PIECE; key < end; key += FOVEA_MASK_PIECE) {
    mask_transpose_piece(args->mask, row, key, bias + key * LANES);
  }
  return bias;
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(value_careful)(const fovea_value_args *args) {
  float transposed[FOVEA_BLOCK_KEYS * LANES];
  for (int vector = args->vectors.first; vector < args->vectors.first + args->vectors.count; vector++) {
    int row = vector * LANES;
    const float *bias = careful_mask(args, row, transposed);
    for (int64_t dim = 0; dim < args->dim; dim++) {
      float *partial = args->partial + dim * ROW_TILE + row;
      float *output = args->output + dim * ROW_TILE + row;
      vec sum = args->flags & FOVEA_VALUE_START ? vec_set1(0.0f) : vec_load(partial);
      sum = careful_chain(args, row, dim, bias, sum);
      if (args->flags & FOVEA_VALUE_MERGE) {
        vec old_part = vec_load(args->old_part + row), new_part = vec_load(args->new_part + row);
        vec_store(output, state_join(vec_load(output), old_part, sum, new_part));
      } else {
        vec_store(args->flags & FOVEA_VALUE_ASSIGN ? output : partial, sum);
      }
    }
  }
}

/* Returns 1 if rows of values hold neither NaN nor Inf: x * 0 is 0 for every other x. */
FOVEA_KERNEL int FOVEA_NAME(all_finite)(const float *values, int64_t stride, int64_t rows, int64_t dim) {
  vec zero = vec_set1(0.0f), even = zero, odd = zero;
  for (int64_t row = 0; row < rows; row++, values += stride) {
    int64_t d = 0;
    for (; d + 2 * LANES <= dim; d += 2 * LANES) {
      even = vec_fma(vec_load(values + d), zero, even);
      odd = vec_fma(vec_load(values + d + LANES), zero, odd);
    }
    for (; d < dim; d += LANES) {
      int64_t rest = dim - d;
      even = vec_fma(vec_load_first(values + d, rest < LANES ? (int)rest : LANES), zero, even);
    }
  }
  return !vecmask_any(vec_is_nan(vec_add(even, odd)));
}
