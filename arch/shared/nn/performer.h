/* Random features: squares of rows, exp or ReLU of products, sums of features. docs/numerics.md, clause L15. Part
 * of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_PERFORMER_H
#define FOVEA_ARCH_SHARED_NN_PERFORMER_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"
#include "sums.h"

FOVEA_INLINE vec performer_load(const float *p, int count) {
  return count == LANES ? vec_load(p) : vec_load_first(p, count);
}

/* ---- Half the squares -------------------------------------------------------------------------------------- */

/* Rows whose sums are computed together. */
#define PERFORMER_ROWS (LANES < 8 ? 1 : LANES / 4)

FOVEA_INLINE vec performer_add_square(const row_view *view, int64_t d, int count, vec sum) {
  const vec x = performer_load((const float *)view->args + d, count);
  return vec_fma(x, x, sum);
}

FOVEA_INLINE void performer_halves(const fovea_nn_halves_args *args, int64_t first, const int rows) {
  row_view views[PERFORMER_ROWS];
  vec sums[PERFORMER_ROWS];
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    float *x = args->x + (first + r) * args->stride;
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int count = vector_count(d, args->dim);
      vec_store_first(x + d, vec_mul(performer_load(x + d, count), vec_set1(args->scale)), count);
    }
    views[r] = (row_view){x, 0, vec_set1(0.0f)};
  }
  sum_rows(views, rows, args->dim, performer_add_square, sums);
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) vec_store_first(args->halves + first + r, vec_mul(sums[r], vec_set1(0.5f)), 1);
}

FOVEA_KERNEL void FOVEA_NAME(nn_halves)(const fovea_nn_halves_args *args) {
  int64_t row = 0;
  for (; row + PERFORMER_ROWS <= args->rows; row += PERFORMER_ROWS) performer_halves(args, row, PERFORMER_ROWS);
  for (; row < args->rows; row++) performer_halves(args, row, 1);
}

/* ---- Features of products ---------------------------------------------------------------------------------- */

/* `count` vectors of a row from `column` on; count, relu and by_column are constants. */
FOVEA_INLINE void performer_map(const fovea_nn_features_args *args, int row, int column, const int count,
                                const int relu, const int by_column) {
  const float *products = args->products + row * FOVEA_NN_OUTS + column;
  float *y = args->y + row * args->stride + column;
  const vec eps = vec_set1(args->eps), ratio = vec_set1(args->ratio);
  vec x[FUNCTION_VECTORS];
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) {
    x[i] = vec_load(products + i * LANES);
    if (relu) {
      x[i] = vec_relu(x[i]);
    } else {
      const vec half = by_column ? vec_load(args->halves + column + i * LANES) : vec_set1(args->halves[row]);
      x[i] = vec_sub(vec_sub(x[i], vec_set1(args->maxima[by_column ? 0 : row])), half);
    }
  }
  if (!relu) vec_exp(x, count);
  FOVEA_UNROLL
  for (int i = 0; i < count; i++) {
    x[i] = vec_add(x[i], eps);
    vec_store(y + i * LANES, relu ? x[i] : vec_mul(x[i], ratio));
  }
}

FOVEA_INLINE void performer_map_rows(const fovea_nn_features_args *args, const int relu, const int by_column) {
  FOVEA_NO_UNROLL
  for (int row = 0; row < args->rows; row++) {
    int column = 0;
    FOVEA_NO_UNROLL
    for (; column + FUNCTION_VECTORS * LANES <= args->columns; column += FUNCTION_VECTORS * LANES) {
      performer_map(args, row, column, FUNCTION_VECTORS, relu, by_column);
    }
    FOVEA_NO_UNROLL
    for (; column < args->columns; column += LANES) performer_map(args, row, column, 1, relu, by_column);
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_features)(const fovea_nn_features_args *args) {
  if (args->relu) {
    performer_map_rows(args, 1, 0);
  } else if (args->by_column) {
    performer_map_rows(args, 0, 1);
  } else {
    performer_map_rows(args, 0, 0);
  }
}

/* NaN is passed over; it comes again as a feature. */
FOVEA_KERNEL void FOVEA_NAME(nn_maxima)(const fovea_nn_features_args *args) {
  for (int row = 0; row < args->rows; row++) {
    const float *products = args->products + row * FOVEA_NN_OUTS;
    vec most = vec_set1(args->y[row]);
    float lanes[LANES], maximum = -INFINITY;
    int column = 0;
    FOVEA_NO_UNROLL
    for (; column + LANES <= args->columns; column += LANES) most = vec_max(vec_load(products + column), most);
    vec_store(lanes, most);
    for (int i = 0; column + i < args->columns; i++) {
      if (products[column + i] > lanes[i]) lanes[i] = products[column + i];
    }
    for (int i = 0; i < LANES; i++) maximum = lanes[i] > maximum ? lanes[i] : maximum;
    args->y[row] = maximum;
  }
}

/* ---- Sums of features -------------------------------------------------------------------------------------- */

FOVEA_INLINE vec performer_add(const row_view *view, int64_t d, int count, vec sum) {
  return vec_add(sum, performer_load((const float *)view->args + d, count));
}

FOVEA_INLINE void performer_totals(const fovea_nn_totals_args *args, int first, const int rows) {
  row_view views[PERFORMER_ROWS];
  vec sums[PERFORMER_ROWS];
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) views[r] = (row_view){args->x + (first + r) * args->stride, 0, vec_set1(0.0f)};
  sum_rows(views, rows, args->dim, performer_add, sums);
  FOVEA_UNROLL
  for (int r = 0; r < rows; r++) {
    float *total = args->totals + first + r;
    vec_store_first(total, args->begun ? vec_add(vec_set1(*total), sums[r]) : sums[r], 1);
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_totals)(const fovea_nn_totals_args *args) {
  int row = 0;
  for (; row + PERFORMER_ROWS <= args->rows; row += PERFORMER_ROWS) performer_totals(args, row, PERFORMER_ROWS);
  for (; row < args->rows; row++) performer_totals(args, row, 1);
}

FOVEA_INLINE vec performer_add_product(const row_view *view, int64_t d, int count, vec sum) {
  const fovea_nn_inverses_args *args = view->args;
  return vec_fma(performer_load(args->queries + view->row * args->stride + d, count),
                 performer_load(args->totals + d, count), sum);
}

/* One over a denominator, and -1 for one that counts as none: no other is negative. */
FOVEA_INLINE void performer_invert(const fovea_nn_inverses_args *args, int row, vec sum) {
  const vec inverse = vec_div(vec_set1(1.0f), sum);
  vec_store_first(args->inverses + row, vec_select(vec_less(sum, vec_set1(0x1p-126f)), vec_set1(-1.0f), inverse),
                  1);
}

/* With keys, each row is added to the totals before its query. */
FOVEA_INLINE void performer_add_key(const fovea_nn_inverses_args *args, int row) {
  const float *key = args->keys + row * args->stride;
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += LANES) {
    const int count = vector_count(d, args->dim);
    float *total = args->totals + d;
    vec_store_first(total, vec_add(performer_load(total, count), performer_load(key + d, count)), count);
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_inverses)(const fovea_nn_inverses_args *args) {
  int row = 0;
  for (; !args->keys && row + PERFORMER_ROWS <= args->rows; row += PERFORMER_ROWS) {
    row_view views[PERFORMER_ROWS];
    vec sums[PERFORMER_ROWS];
    for (int r = 0; r < PERFORMER_ROWS; r++) views[r] = (row_view){args, row + r, vec_set1(0.0f)};
    sum_rows(views, PERFORMER_ROWS, args->dim, performer_add_product, sums);
    for (int r = 0; r < PERFORMER_ROWS; r++) performer_invert(args, row + r, sums[r]);
  }
  for (; row < args->rows; row++) {
    const row_view view = {args, row, vec_set1(0.0f)};
    if (args->keys) performer_add_key(args, row);
    performer_invert(args, row, sum_row(&view, args->dim, performer_add_product));
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_quotients)(const fovea_nn_quotients_args *args) {
  const vec zero = vec_set1(0.0f);
  for (int row = 0; row < args->rows; row++) {
    const vec inverse = vec_set1(args->inverses[row]);
    FOVEA_NO_UNROLL
    for (int d = 0; d < args->columns; d += LANES) {
      const vec x = vec_load(args->sums + row * FOVEA_NN_OUTS + d);
      store_result(&args->y, row, d, vector_count(d, args->columns),
                   vec_select(vec_less(inverse, zero), zero, vec_mul(x, inverse)));
    }
  }
}

#endif
