/* What the recurrence of linear attention takes and gives, row by row: decays, queries and keys of length 1,
 * results. docs/numerics.md, clause L14. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_RECURRENCE_ROWS_H
#define FOVEA_ARCH_SHARED_NN_RECURRENCE_ROWS_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"
#include "sums.h"

/* Up to LANES decays, as what the state is multiplied by. */
FOVEA_INLINE vec kept_by(const fovea_nn_decay_args *a, const fovea_nn_rows *x, int64_t row, int64_t d, int count) {
  vec number = load_number(x, row, d, count);
  if (a->factor) number = vec_mul(number, vec_set1(*a->factor));
  vec_exp(&number, 1);
  return number;
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_decay)(const fovea_nn_decay_args *a) {
  const fovea_nn_rows x = {(void *)(uintptr_t)a->x, a->type, a->stride};
  FOVEA_NO_UNROLL
  for (int t = 0; t < a->tokens; t++) {
    float *keep = a->keep + t * a->keep_stride;
    float one[LANES] = {0};
    if (!a->per_dim) vec_store(one, kept_by(a, &x, t, 0, 1));
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < a->dim; d += LANES) {
      vec_store(keep + d, a->per_dim ? kept_by(a, &x, t, d, vector_count(d, a->dim)) : vec_set1(one[0]));
    }
  }
}

FOVEA_INLINE vec unit_add_square(const row_view *view, int64_t d, int count, vec sum) {
  const float *from = (const float *)view->args + d;
  const vec x = count == LANES ? vec_load(from) : vec_load_first(from, count);
  return vec_fma(x, x, sum);
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_unit)(const fovea_nn_unit_args *a) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < a->rows; row++) {
    float *x = a->x + row * a->stride;
    const row_view view = {x, 0, vec_set1(0.0f)};
    const vec squares = vec_add(sum_row(&view, a->dim, unit_add_square), vec_set1(a->eps));
    const vec inverse = vec_div(vec_set1(1.0f), vec_sqrt(squares));
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < a->dim; d += LANES) {
      const int count = vector_count(d, a->dim);
      vec_store_first(x + d, vec_mul(vec_load_first(x + d, count), inverse), count);
    }
  }
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_read_state)(const fovea_nn_read_args *a) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < a->rows; row++) {
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < a->dim; d += LANES) {
      const int count = vector_count(d, a->dim);
      vec y = vec_mul(vec_load(a->sums + row * a->sum_stride + d), vec_set1(a->scale));
      if (a->v.data) y = vec_fma(vec_set1(a->skip), load_number(&a->v, row, d, count), y);
      store_result(&a->y, row, d, count, y);
    }
  }
}

#endif
