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

/* A normalised vector of numbers, with gamma and beta if they are there. */
FOVEA_INLINE vec norm_result(vec x, vec mean, vec inverse, const float *gamma, const float *beta, int64_t d,
                             int count, const fovea_nn_norm_kind kind) {
  const vec y = vec_mul(kind == FOVEA_NN_LAYER_NORM ? vec_sub(x, mean) : x, inverse);
  if (gamma && beta) return vec_fma(y, norm_factors(gamma + d, count), norm_factors(beta + d, count));
  if (gamma) return vec_mul(y, norm_factors(gamma + d, count));
  return beta ? vec_add(y, norm_factors(beta + d, count)) : y;
}

/* Up to LANES numbers of a row. All are read before any is written. */
FOVEA_INLINE void norm_vector(const fovea_nn_norm_args *args, const row_view *view, int64_t d, int count,
                              vec inverse, const fovea_nn_norm_kind kind) {
  const vec x = norm_input(args, view->row, d, count);
  const vec y = norm_result(x, view->reference, inverse, args->gamma, args->beta, d, count, kind);
  if (args->sum.data) store_result(&args->sum, view->row, d, count, x);
  store_result(&args->y, view->row, d, count, y);
}

/* One over the square root of the mean of squares and eps. */
FOVEA_INLINE vec norm_inverse(const fovea_nn_norm_args *args, vec squares) {
  const vec mean = vec_div(squares, vec_set1((float)args->dim));
  return vec_div(vec_set1(1.0f), vec_sqrt(vec_add(mean, vec_set1(args->eps))));
}

FOVEA_INLINE void norm_row(const fovea_nn_norm_args *args, int64_t row, const fovea_nn_norm_kind kind) {
  row_view view = {args, row, vec_set1(0.0f)};
  vec squares;
  if (kind == FOVEA_NN_LAYER_NORM) {
    view.reference = vec_div(sum_row(&view, args->dim, norm_add), vec_set1((float)args->dim));
    squares = sum_row(&view, args->dim, norm_add_deviation);
  } else {
    squares = sum_row(&view, args->dim, norm_add_square);
  }
  const vec inverse = norm_inverse(args, squares);
  int64_t d = 0;
  FOVEA_NO_UNROLL
  for (; d + LANES <= args->dim; d += LANES) norm_vector(args, &view, d, LANES, inverse, kind);
  if (d < args->dim) norm_vector(args, &view, d, vector_count(d, args->dim), inverse, kind);
}

/* ---- Several rows of f32 without residual ------------------------------------------------------------------- */

FOVEA_INLINE vec plain_add(const row_view *view, int64_t d, int count, vec sum) {
  return vec_add(sum, norm_factors((const float *)view->args + d, count));
}

FOVEA_INLINE vec plain_add_square(const row_view *view, int64_t d, int count, vec sum) {
  const vec x = norm_factors((const float *)view->args + d, count);
  return vec_fma(x, x, sum);
}

FOVEA_INLINE vec plain_add_deviation(const row_view *view, int64_t d, int count, vec sum) {
  const vec x = vec_sub(norm_factors((const float *)view->args + d, count), view->reference);
  return vec_fma(x, x, sum);
}

FOVEA_INLINE void plain_write(const float *x, float *y, int64_t dim, vec mean, vec inverse, const float *gamma,
                              const float *beta, const fovea_nn_norm_kind kind) {
  int64_t d = 0;
  FOVEA_NO_UNROLL
  for (; d + LANES <= dim; d += LANES) {
    vec_store(y + d, canonical(norm_result(vec_load(x + d), mean, inverse, gamma, beta, d, LANES, kind)));
  }
  if (d == dim) return;
  const int count = (int)(dim - d);
  const vec last = norm_result(vec_load_first(x + d, count), mean, inverse, gamma, beta, d, count, kind);
  vec_store_first(y + d, canonical(last), count);
}

/* SUM_ROWS rows: the sums wait less. */
FOVEA_INLINE void plain_rows(const fovea_nn_norm_args *args, int64_t first, const fovea_nn_norm_kind kind) {
  const float *x = (const float *)args->x.data + first * args->x.stride;
  float *y = (float *)args->y.data + first * args->y.stride;
  row_view views[SUM_ROWS];
  vec sums[SUM_ROWS], squares[SUM_ROWS];
  FOVEA_UNROLL
  for (int r = 0; r < SUM_ROWS; r++) views[r] = (row_view){x + r * args->x.stride, 0, vec_set1(0.0f)};
  if (kind == FOVEA_NN_LAYER_NORM) {
    sum_rows(views, SUM_ROWS, args->dim, plain_add, sums);
    FOVEA_UNROLL
    for (int r = 0; r < SUM_ROWS; r++) views[r].reference = vec_div(sums[r], vec_set1((float)args->dim));
    sum_rows(views, SUM_ROWS, args->dim, plain_add_deviation, squares);
  } else {
    sum_rows(views, SUM_ROWS, args->dim, plain_add_square, squares);
  }
  FOVEA_UNROLL
  for (int r = 0; r < SUM_ROWS; r++) squares[r] = norm_inverse(args, squares[r]); /* rows need not wait for it */
  FOVEA_NO_UNROLL
  for (int r = 0; r < SUM_ROWS; r++) {
    plain_write(x + r * args->x.stride, y + r * args->y.stride, args->dim, views[r].reference, squares[r],
                args->gamma, args->beta, kind);
  }
}

FOVEA_INLINE void norm_rows(const fovea_nn_norm_args *args, const fovea_nn_norm_kind kind) {
  int64_t row = 0;
  if (SUM_ROWS > 1 && args->x.type == FOVEA_F32 && args->y.type == FOVEA_F32 && !args->residual.data) {
    for (; row + SUM_ROWS <= args->rows; row += SUM_ROWS) plain_rows(args, row, kind);
  }
  for (; row < args->rows; row++) norm_row(args, row, kind);
}

FOVEA_KERNEL void FOVEA_NAME(nn_norm)(const fovea_nn_norm_args *args) {
  if (args->kind == FOVEA_NN_LAYER_NORM) {
    norm_rows(args, FOVEA_NN_LAYER_NORM);
  } else {
    norm_rows(args, FOVEA_NN_RMS_NORM);
  }
}

#endif
