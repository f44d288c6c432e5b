/* LayerNorm and RMSNorm. x + residual is computed in each of the passes over a row, so that the row needs no memory
 * and outputs may take the place of inputs. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_NORM_H
#define FOVEA_ARCH_SHARED_NN_NORM_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "sums.h"

FOVEA_INLINE vec norm_input(const fovea_nn_norm_args *args, int64_t row, int64_t d, int count) {
  const vec x = load_number(&args->x, row, d, count);
  return args->residual.data ? vec_add(x, load_number(&args->residual, row, d, count)) : x;
}

FOVEA_INLINE vec norm_add(const row_view *view, int64_t d, int count, vec sum) {
  return vec_add(sum, norm_input(view->args, view->row, d, count));
}

FOVEA_INLINE vec norm_add_square(const row_view *view, int64_t d, int count, vec sum) {
  const vec x = norm_input(view->args, view->row, d, count);
  return vec_fma(x, x, sum);
}

FOVEA_INLINE vec norm_add_deviation(const row_view *view, int64_t d, int count, vec sum) {
  const vec x = vec_sub(norm_input(view->args, view->row, d, count), view->reference);
  return vec_fma(x, x, sum);
}

FOVEA_INLINE vec norm_factors(const float *factors, int count) {
  return count == LANES ? vec_load(factors) : vec_load_first(factors, count);
}

/* Up to LANES numbers of a row. All are read before any is written. */
FOVEA_INLINE void norm_vector(const fovea_nn_norm_args *args, const row_view *view, int64_t d, int count,
                              vec inverse, const fovea_nn_norm_kind kind) {
  const vec x = norm_input(args, view->row, d, count);
  vec y = vec_mul(kind == FOVEA_NN_LAYER_NORM ? vec_sub(x, view->reference) : x, inverse);
  if (args->gamma && args->beta) {
    y = vec_fma(y, norm_factors(args->gamma + d, count), norm_factors(args->beta + d, count));
  } else if (args->gamma) {
    y = vec_mul(y, norm_factors(args->gamma + d, count));
  } else if (args->beta) {
    y = vec_add(y, norm_factors(args->beta + d, count));
  }
  if (args->sum.data) store_result(&args->sum, view->row, d, count, x);
  store_result(&args->y, view->row, d, count, y);
}

FOVEA_INLINE void norm_rows(const fovea_nn_norm_args *args, const fovea_nn_norm_kind kind) {
  const vec n = vec_set1((float)args->dim);
  for (int64_t row = 0; row < args->rows; row++) {
    row_view view = {args, row, vec_set1(0.0f)};
    vec squares;
    if (kind == FOVEA_NN_LAYER_NORM) {
      view.reference = vec_div(sum_row(&view, args->dim, norm_add), n);
      squares = sum_row(&view, args->dim, norm_add_deviation);
    } else {
      squares = sum_row(&view, args->dim, norm_add_square);
    }
    const vec root = vec_sqrt(vec_add(vec_div(squares, n), vec_set1(args->eps)));
    const vec inverse = vec_div(vec_set1(1.0f), root);
    int64_t d = 0;
    FOVEA_NO_UNROLL
    for (; d + LANES <= args->dim; d += LANES) norm_vector(args, &view, d, LANES, inverse, kind);
    if (d < args->dim) norm_vector(args, &view, d, vector_count(d, args->dim), inverse, kind);
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_norm)(const fovea_nn_norm_args *args) {
  if (args->kind == FOVEA_NN_LAYER_NORM) {
    norm_rows(args, FOVEA_NN_LAYER_NORM);
  } else {
    norm_rows(args, FOVEA_NN_RMS_NORM);
  }
}

#endif
