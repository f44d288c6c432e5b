/* Rows in and out of a tile: Q to Q^T, O^T to O, and the merge of two states. Included once by arch/<isa>/rows.c.
 */

#include "../kernels.h"
#include "exp2.h"

#define ROW_TILE (FOVEA_TILE_VECTORS * LANES)

FOVEA_KERNEL void FOVEA_NAME(load_queries)(const fovea_load_args *args) {
  for (int row = 0; row < args->row_count; row += LANES) {
    for (int64_t dim = 0; dim < args->dim; dim += LANES) {
      int64_t rest = args->dim - dim;
      int dims = rest < LANES ? (int)rest : LANES;
      vec square[LANES];
      FOVEA_UNROLL
      for (int i = 0; i < LANES; i++) {
        if (row + i >= args->row_count) {
          square[i] = vec_set1(0.0f);
        } else if (dims == LANES) {
          square[i] = vec_load(args->rows[row + i] + dim);
        } else {
          square[i] = vec_load_first(args->rows[row + i] + dim, dims);
        }
      }
      vec_transpose(square);
      float *queries = args->queries + dim * ROW_TILE + row;
      FOVEA_UNROLL
      for (int d = 0; d < LANES; d++) {
        if (d < dims) vec_store(queries + d * ROW_TILE, square[d]);
      }
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(merge)(const fovea_merge_args *args) {
  const fovea_tile_state *left = &args->left, *right = &args->right;
  for (int row = 0; row < args->vectors * LANES; row += LANES) {
    vec left_max = vec_load(left->row_max + row), right_max = vec_load(right->row_max + row);
    vec maximum = vec_max(right_max, left_max);
    vec reference = vec_select(vec_equal(maximum, vec_set1(-INFINITY)), vec_set1(0.0f), maximum);
    vec left_part = vec_exp2(vec_sub(left_max, reference));
    vec right_part = vec_exp2(vec_sub(right_max, reference));
    vec_store(left->row_max + row, maximum);
    vec_store(left->row_sum + row, vec_fma(vec_load(right->row_sum + row), right_part,
                                           vec_mul(vec_load(left->row_sum + row), left_part)));
    for (int64_t dim = 0; dim < args->dim; dim++) {
      float *output = left->output + dim * ROW_TILE + row;
      vec right_output = vec_load(right->output + dim * ROW_TILE + row);
      vec_store(output, vec_fma(right_output, right_part, vec_mul(vec_load(output), left_part)));
    }
  }
}

/* The one NaN and the one zero that results have: the default NaNs of x86 and ARM differ in their sign. */
FOVEA_INLINE vec canonical(vec x) {
  return vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), vec_add(x, vec_set1(0.0f)));
}

/* lse = ln 2 * (m + log2(l)); -Inf without state (l is 0), NaN where l is NaN. */
FOVEA_INLINE void store_lse(const fovea_store_args *args, int row, vec sum) {
  vec log2_sum = vec_log2(sum);
  vec lse = vec_mul(vec_set1(0x1.62e43p-1f), vec_add(vec_load(args->state.row_max + row), log2_sum));
  lse = vec_select(vec_is_nan(sum), sum, lse);
  lse = vec_select(vec_equal(sum, vec_set1(0.0f)), vec_set1(-INFINITY), lse);
  float lanes[LANES];
  vec_store(lanes, canonical(lse));
  for (int i = 0; i < LANES && row + i < args->row_count; i++) *args->lse[row + i] = lanes[i];
}

FOVEA_KERNEL void FOVEA_NAME(store)(const fovea_store_args *args) {
  for (int row = 0; row < args->row_count; row += LANES) {
    vec sum = vec_load(args->state.row_sum + row);
    vec inverse = vec_div(vec_set1(1.0f), sum);
    inverse = vec_select(vec_equal(sum, vec_set1(0.0f)), vec_set1(0.0f), inverse); /* no state: zeros */
    for (int64_t dim = 0; dim < args->dim; dim += LANES) {
      int64_t rest = args->dim - dim;
      int dims = rest < LANES ? (int)rest : LANES;
      const float *output = args->state.output + dim * ROW_TILE + row;
      vec square[LANES];
      FOVEA_UNROLL
      for (int d = 0; d < LANES; d++) {
        square[d] = d < dims ? canonical(vec_mul(vec_load(output + d * ROW_TILE), inverse)) : vec_set1(0.0f);
      }
      vec_transpose(square);
      FOVEA_UNROLL
      for (int i = 0; i < LANES; i++) {
        if (row + i >= args->row_count) {
          continue;
        } else if (dims == LANES) {
          vec_store(args->rows[row + i] + dim, square[i]);
        } else {
          vec_store_first(args->rows[row + i] + dim, square[i], dims);
        }
      }
    }
    if (args->lse) store_lse(args, row, sum);
  }
}
