/* The end of a tile: merges sinks into the states of rows, divides O^T by the sums, and writes rows of O and LSE;
 * store_outputs.h writes the other outputs. Part of bodies.h. */

#include "../kernels.h"
#include "state.h"
#include "store_state.h"
#include "tile.h"
#include "types.h"

/* What a row's output and weights are multiplied by, one after the other: a power of two and 1 / divisor. The power
 * keeps the reciprocal of a small divisor finite. */
typedef struct store_divisor {
  vec part, inverse;
} store_divisor;

FOVEA_INLINE store_divisor store_divide(vec divisor) {
  const vec part = vec_select(vec_less(divisor, vec_set1(0x1p-64f)), vec_set1(0x1p+64f), vec_set1(1.0f));
  const vec inverse = vec_div(vec_set1(1.0f), vec_mul(divisor, part));
  return (store_divisor){part, vec_select(vec_equal(divisor, vec_set1(0.0f)), vec_set1(0.0f), inverse)};
}

/* A sink is one more state (sink, 1, 0) on the right of all others. Its output is zero, so it adds zero to the
 * row's output, unless the sink's factor is NaN: then the sum and all results are NaN, too. */
FOVEA_INLINE store_state store_begin(const fovea_store_args *args, int row) {
  if (args->unnormalised) return (store_state){.part = vec_set1(1.0f), .inverse = vec_set1(1.0f)};
  if (args->divisors) {
    const store_divisor divisor = store_divide(vec_load(args->divisors + row));
    return (store_state){.part = divisor.part, .inverse = divisor.inverse};
  }
  store_state state = {vec_load(args->state.row_max + row), vec_load(args->state.row_sum + row), vec_set1(1.0f),
                       vec_set1(0.0f)};
  if (args->sinks) {
    state_parts parts = state_merge(state.maximum, vec_load(args->sinks + row));
    /* The compiler must not know this 1: it would simplify the FMA to a sum, and with -ffp-contract=fast clang
     * would fuse this sum with the product, in spite of the pragma. */
    const volatile float one = 1.0f;
    state.sum = state_join(state.sum, parts.left, vec_set1(one), parts.right);
    state.part = parts.left;
    state.maximum = parts.maximum;
  }
  /* A row without a state gives zeros. */
  state.inverse =
      vec_select(vec_equal(state.sum, vec_set1(0.0f)), vec_set1(0.0f), vec_div(vec_set1(1.0f), state.sum));
  return state;
}

FOVEA_INLINE vec store_finish(vec x, vec part, vec inverse) {
  return canonical(vec_mul(vec_mul(x, part), inverse));
}

/* lse = ln 2 * (m + log2(l)); -Inf if there is no state (l is 0), NaN if l is NaN. */
FOVEA_INLINE void store_lse(const fovea_store_args *args, int row, const store_state *state) {
  vec log2_sum = vec_log2(state->sum);
  vec lse = vec_mul(vec_set1(0x1.62e43p-1f), vec_add(state->maximum, log2_sum));
  lse = vec_select(vec_is_nan(state->sum), state->sum, lse);
  lse = vec_select(vec_equal(state->sum, vec_set1(0.0f)), vec_set1(-INFINITY), lse);
  float lanes[LANES];
  vec_store(lanes, canonical(lse));
  for (int i = 0; i < LANES && row + i < args->row_count; i++) *args->lse[row + i] = lanes[i];
}

/* Stores rows of one square in the caller's type: square[i] is `dims` elements of rows[i]. */
FOVEA_INLINE void store_typed(void *const *rows, int64_t dim, int row_count, int dims, const float *square,
                              const fovea_type type) {
  FOVEA_NO_UNROLL
  for (int i = 0; i < row_count; i++, square += LANES) {
    if (dims == LANES) {
      typed_store(rows[i], dim, vec_load(square), type);
    } else {
      typed_store_first(rows[i], dim, vec_load(square), dims, type);
    }
  }
}

FOVEA_NOINLINE void store_elements(const fovea_store_args *args, int row, int64_t dim, int row_count, int dims,
                                   const float *square){
    TYPED(args->type, store_typed(args->rows + row, dim, row_count, dims, square, constant))}

/* Finishes and transposes one square of LANES rows and LANES dims. */
FOVEA_INLINE void store_square(const fovea_store_args *args, int row, int64_t dim, const store_state *state) {
  const int64_t dims = args->dim - dim, rows = args->row_count - row;
  const float *output = args->state.output + dim * ROW_TILE + row;
  float transposed[LANES * LANES];
  vec square[LANES];
  FOVEA_NO_UNROLL
  for (int d = 0; d < LANES; d++) {
    square[d] =
        d < dims ? store_finish(vec_load(output + d * ROW_TILE), state->part, state->inverse) : vec_set1(0.0f);
  }
  vec_transpose(square);
  if (args->type == FOVEA_F32 && rows >= LANES && dims >= LANES) {
    FOVEA_UNROLL
    for (int i = 0; i < LANES; i++) vec_store((float *)args->rows[row + i] + dim, square[i]);
    return;
  }
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) vec_store(transposed + i * LANES, square[i]);
  store_elements(args, row, dim, rows < LANES ? (int)rows : LANES, dims < LANES ? (int)dims : LANES, transposed);
}

/* LANES dims of a row that needs no transpose: rows of decoding lie as they are, and of the only row of a tile the
 * dims are gathered. */
FOVEA_INLINE vec store_row_dims(const fovea_store_args *args, const float *output, int64_t dim) {
  float gathered[LANES];
  if (args->row_stride > 0) return vec_load(output + dim);
  FOVEA_NO_UNROLL
  for (int d = 0; d < LANES; d++) gathered[d] = dim + d < args->dim ? output[(dim + d) * ROW_TILE] : 0.0f;
  return vec_load(gathered);
}

FOVEA_INLINE void store_row(const fovea_store_args *args, int row, vec part, vec inverse) {
  const float *output = args->state.output + row * args->row_stride;
  float finished[LANES];
  for (int64_t dim = 0; dim < args->dim; dim += LANES) {
    int64_t rest = args->dim - dim;
    vec_store(finished, store_finish(store_row_dims(args, output, dim), part, inverse));
    store_elements(args, row, dim, 1, rest < LANES ? (int)rest : LANES, finished);
  }
}

/* Stores the rows of one vector without transposes. */
FOVEA_INLINE void store_plain_rows(const fovea_store_args *args, int row, const store_state *state) {
  float part[LANES], inverse[LANES];
  int count = args->row_count - row < LANES ? args->row_count - row : LANES;
  vec_store(part, state->part);
  vec_store(inverse, state->inverse);
  FOVEA_NO_UNROLL
  for (int i = 0; i < count; i++) store_row(args, row + i, vec_set1(part[i]), vec_set1(inverse[i]));
}

#if FOVEA_BUILDS_OUTPUTS
void FOVEA_NAME(store_outputs)(const fovea_store_args *args, int row, const store_state *state);
#endif

FOVEA_KERNEL void FOVEA_NAME(store)(const fovea_store_args *args) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < args->row_count; row += LANES) {
    store_state state = store_begin(args, row);
    if (args->row_stride > 0 || args->row_count == 1) {
      store_plain_rows(args, row, &state);
    } else {
      FOVEA_NO_UNROLL
      for (int64_t dim = 0; dim < args->dim; dim += LANES) store_square(args, row, dim, &state);
    }
    if (args->lse) store_lse(args, row, &state);
    if (args->references) {
      vec_store(args->references + row, state_reference(state.maximum));
      vec_store(args->inverses + row, state.inverse);
    }
#if FOVEA_BUILDS_OUTPUTS
    if (args->entropy || args->scores) FOVEA_NAME(store_outputs)(args, row, &state);
#endif
  }
}
