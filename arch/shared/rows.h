/* Transposes rows into a tile (Q to Q^T, O to O^T), converts rows to f32, and merges two states. Part of
 * bodies.h. */

#include "../kernels.h"
#include "state.h"
#include "tile.h"
#include "types.h"
#include "widen.h"

/* Loads `dims` elements of each row, from `dim` on, as f32, with zeros after them: square[i] is rows[i]. */
FOVEA_INLINE void load_typed(const void *const *rows, int64_t dim, int row_count, int dims, float *square,
                             const fovea_type type) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < row_count; i++, square += LANES) {
    vec_store(square, dims == LANES ? typed_load(rows[i], dim, type) : typed_load_first(rows[i], dim, dims, type));
  }
}

FOVEA_MIDDLE FOVEA_NOINLINE void load_elements(const fovea_load_args *args, int row, int64_t dim, int row_count,
                                               int dims, float *square){
    TYPED(args->type, load_typed(args->rows + row, dim, row_count, dims, square, constant))}

/* Transposes one square of LANES rows and LANES dims. */
FOVEA_INLINE void load_square(const fovea_load_args *args, int row, int64_t dim) {
  const int64_t rest = args->dim - dim;
  const int dims = rest < LANES ? (int)rest : LANES;
  const int rows = args->row_count - row < LANES ? args->row_count - row : LANES;
  float *tile = args->tile + dim * ROW_TILE + row, elements[LANES * LANES];
  vec square[LANES];
  if (args->type == FOVEA_F32 && rows == LANES && dims == LANES) {
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) square[i] = vec_load((const float *)args->rows[row + i] + dim);
  } else {
    load_elements(args, row, dim, rows, dims, elements);
    FOVEA_NO_UNROLL
    for (int i = rows; i < LANES; i++) vec_store(elements + i * LANES, vec_set1(0.0f));
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) square[i] = vec_load(elements + i * LANES);
  }
  vec_transpose(square);
  FOVEA_NO_UNROLL
  for (int d = 0; d < dims; d++) vec_store(tile + d * ROW_TILE, square[d]);
}

/* Loads the only row of a tile. To transpose it would take most of the time of a small problem. */
FOVEA_INLINE void load_single_row(const fovea_load_args *args) {
  float lanes[LANES];
  for (int64_t dim = 0; dim < args->dim; dim += LANES) {
    int64_t rest = args->dim - dim;
    int dims = rest < LANES ? (int)rest : LANES;
    float *tile = args->tile + dim * ROW_TILE;
    load_elements(args, 0, dim, 1, dims, lanes);
    FOVEA_NO_UNROLL
    for (int d = 0; d < dims; d++, tile += ROW_TILE) {
      vec_store(tile, vec_set1(0.0f));
      tile[0] = lanes[d];
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(load_rows)(const fovea_load_args *args) {
  if (args->row_count == 1) {
    load_single_row(args);
    return;
  }
  for (int row = 0; row < args->row_count; row += LANES) {
    for (int64_t dim = 0; dim < args->dim; dim += LANES) load_square(args, row, dim);
  }
}

FOVEA_ALIGNED FOVEA_KERNEL void FOVEA_NAME(widen)(const fovea_widen_args *args) {
  TYPED(args->type, widen_rows(args, constant))
}

#if FOVEA_BUILDS_OUTPUTS
void FOVEA_NAME(merge_spread)(const fovea_tile_state *left, const fovea_tile_state *right, int row);
#endif

FOVEA_KERNEL void FOVEA_NAME(merge)(const fovea_merge_args *args) {
  const fovea_tile_state *left = &args->left, *right = &args->right;
  for (int row = 0; row < args->vectors * LANES; row += LANES) {
    state_parts parts = state_merge(vec_load(left->row_max + row), vec_load(right->row_max + row));
    vec sum = state_join(vec_load(left->row_sum + row), parts.left, vec_load(right->row_sum + row), parts.right);
#if FOVEA_BUILDS_OUTPUTS
    if (left->row_spread) FOVEA_NAME(merge_spread)(left, right, row);
#endif
    vec_store(left->row_max + row, parts.maximum);
    vec_store(left->row_sum + row, sum);
    for (int64_t dim = 0; dim < args->dim; dim++) {
      float *output = left->output + dim * ROW_TILE + row;
      vec right_output = vec_load(right->output + dim * ROW_TILE + row);
      vec_store(output, state_join(vec_load(output), parts.left, right_output, parts.right));
    }
  }
}
