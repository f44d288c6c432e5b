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

FOVEA_INLINE vec norm_add_deviation(const row_view *view, int64_t d, int count, vec sum) {
  const vec x = vec_sub(norm_input(view->args, view->row, d, count), view->reference);
  return vec_fma(x, x, sum);
}

/* A normalised vector of numbers, with gamma and beta if they are there. */
FOVEA_INLINE vec norm_result(vec x, vec mean, vec inverse, const float *gamma, const float *beta, int64_t d,
                             int count) {
  const vec y = vec_mul(vec_sub(x, mean), inverse);
  if (gamma && beta) return vec_fma(y, norm_factors(gamma + d, count), norm_factors(beta + d, count));
  if (gamma) return vec_mul(y, norm_factors(gamma + d, count));
  return beta ? vec_add(y, norm_factors(beta + d, count)) : y;
}

/* Up to LANES numbers of a row. All are read before any is written. */
FOVEA_INLINE void norm_vector(const fovea_nn_norm_args *args, const row_view *view, int64_t d, int count,
                              vec inverse) {
  const vec x = norm_input(args, view->row, d, count);
  const vec y = norm_result(x, view->reference, inverse, args->gamma, args->beta, d, count);
  if (args->sum.data) store_result(&args->sum, view->row, d, count, x);
  store_result(&args->y, view->row, d, count, y);
}

/* One over the square root of the mean of squares and eps. */
FOVEA_INLINE vec norm_inverse(const fovea_nn_norm_args *args, vec squares) {
  const vec mean = vec_div(squares, vec_set1((float)args->dim));
  return vec_div(vec_set1(1.0f), vec_sqrt(vec_add(mean, vec_set1(args->eps))));
}

/* A row of any types. RMSNorm has a mean of 0, which changes no bit. */
FOVEA_MIDDLE FOVEA_NOINLINE void norm_row(const fovea_nn_norm_args *args, int64_t row) {
  row_view view = {args, row, vec_set1(0.0f)};
  if (args->kind == FOVEA_NN_LAYER_NORM)
    view.reference = vec_div(sum_row(&view, args->dim, norm_add), vec_set1((float)args->dim));
  const vec inverse = norm_inverse(args, sum_row(&view, args->dim, norm_add_deviation));
  int64_t d = 0;
  FOVEA_NO_UNROLL
  for (; d + LANES <= args->dim; d += LANES) norm_vector(args, &view, d, LANES, inverse);
  if (d < args->dim) norm_vector(args, &view, d, vector_count(d, args->dim), inverse);
}

/* ---- Rows of f32 without residual ---------------------------------------------------------------------------- */

FOVEA_INLINE vec plain_add(const row_view *view, int64_t d, int count, vec sum) {
  return vec_add(sum, norm_factors((const float *)view->args + d, count));
}

FOVEA_INLINE vec plain_add_deviation(const row_view *view, int64_t d, int count, vec sum) {
  const vec x = vec_sub(norm_factors((const float *)view->args + d, count), view->reference);
  return vec_fma(x, x, sum);
}

/* Vectors that have a row's number in each lane become one with the number of row i in lane i, and back: divisions
 * and square roots, the longest instructions, are made of all rows at once. */
FOVEA_INLINE vec rows_to_lanes(const vec *numbers, const int rows) {
  vec all = numbers[0];
  FOVEA_UNROLL
  for (int r = 1; r < rows; r++) all = vec_select(vec_equal(lane_numbers(), vec_set1((float)r)), numbers[r], all);
  return all;
}
FOVEA_INLINE void lanes_to_rows(vec all, const int rows, vec *numbers) {
  float lanes[LANES];
  vec_store(lanes, all);
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) numbers[r] = vec_set1(lanes[r]);
}

/* What the results of some rows are made of: locals, since compilers take it that a result may be written over all
 * that a pointer leads to. */
typedef struct plain_rest {
  const float *x, *gamma, *beta;
  float *y;
  int64_t x_stride, y_stride;
} plain_rest;

/* Up to LANES dims of some rows, whose factors are loaded once. */
FOVEA_INLINE void plain_write(const plain_rest *rest, const vec *means, const vec *inverses, const int rows,
                              int64_t d, int count) {
  const vec one = vec_set1(1.0f);
  const vec gamma = rest->gamma ? norm_factors(rest->gamma + d, count) : one;
  const vec beta = rest->beta ? norm_factors(rest->beta + d, count) : one;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    const vec x = norm_factors(rest->x + r * rest->x_stride + d, count);
    vec y = vec_mul(vec_sub(x, means[r]), inverses[r]);
    if (rest->gamma && rest->beta)
      y = vec_fma(y, gamma, beta);
    else if (rest->gamma)
      y = vec_mul(y, gamma);
    else if (rest->beta)
      y = vec_add(y, beta);
    if (count == LANES)
      vec_store(rest->y + r * rest->y_stride + d, result_of(y));
    else
      vec_store_first(rest->y + r * rest->y_stride + d, result_of(y), count);
  }
}

/* Rows that are written together. With rows of sixteen lanes, four rows that begin on the same place of a page, and what
 * they become, crowd the sets of the first-level cache. */
#define WRITE_ROWS (LANES < 16 ? SUM_ROWS : 2)

FOVEA_INLINE void plain_write_rows(const plain_rest *rest, const row_view *views, const vec *inverses,
                                   const int rows, int64_t dim) {
  vec means[WRITE_ROWS];
  int64_t d = 0;
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) means[r] = views[r].reference;
  FOVEA_NO_UNROLL
  for (; d + LANES <= dim; d += LANES) plain_write(rest, means, inverses, rows, d, LANES);
  if (d < dim) plain_write(rest, means, inverses, rows, d, vector_count(d, dim));
}

/* `rows` rows, a constant up to SUM_ROWS: the sums wait less. RMSNorm has a mean of 0 here, too. */
FOVEA_INLINE void plain_rows(const fovea_nn_norm_args *args, int64_t first, const int rows) {
  const float *x = (const float *)args->x.data + first * args->x.stride;
  float *y = (float *)args->y.data + first * args->y.stride;
  row_view views[SUM_ROWS];
  vec numbers[SUM_ROWS];
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) views[r] = (row_view){x + r * args->x.stride, 0, vec_set1(0.0f)};
  if (args->kind == FOVEA_NN_LAYER_NORM) {
    sum_rows(views, rows, args->dim, plain_add, numbers);
    lanes_to_rows(vec_div(rows_to_lanes(numbers, rows), vec_set1((float)args->dim)), rows, numbers);
    FOVEA_UNROLL
    for (int r = 0; r < rows; r++) views[r].reference = numbers[r];
  }
  sum_rows(views, rows, args->dim, plain_add_deviation, numbers);
  lanes_to_rows(norm_inverse(args, rows_to_lanes(numbers, rows)), rows, numbers);
  FOVEA_UNROLL
  for (int r = 0; r < rows; r += WRITE_ROWS) {
    const plain_rest rest = {.x = x + r * args->x.stride,
                             .y = y + r * args->y.stride,
                             .gamma = args->gamma,
                             .beta = args->beta,
                             .x_stride = args->x.stride,
                             .y_stride = args->y.stride};
    plain_write_rows(&rest, views + r, numbers + r, rows < WRITE_ROWS ? rows : WRITE_ROWS, args->dim);
  }
}

FOVEA_MIDDLE FOVEA_NOINLINE void plain_row(const fovea_nn_norm_args *args, int64_t row) {
  plain_rows(args, row, 1);
}

FOVEA_KERNEL void FOVEA_NAME(nn_norm)(const fovea_nn_norm_args *args) {
  const int plain = LANES > 1 && args->x.type == FOVEA_F32 && args->y.type == FOVEA_F32 && !args->residual.data;
  int64_t row = 0;
  if (plain) {
    for (; row + SUM_ROWS <= args->rows; row += SUM_ROWS) plain_rows(args, row, SUM_ROWS);
    if (SUM_ROWS > 1)
      for (; row < args->rows; row++) plain_row(args, row);
  }
  for (; row < args->rows; row++) norm_row(args, row);
}

#endif
