/* Softmax of rows. Where results are f32, a row's weights lie in the place of its results until their sum is known;
 * else they are computed once for their sum and once more for the results, so that the row needs no memory. Part of
 * bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_SOFTMAX_H
#define FOVEA_ARCH_SHARED_NN_SOFTMAX_H

#include "../../nn_kernels.h"
#include "../exp2.h"
#include "elements.h"
#include "sums.h"

/* One over a sum of weights; 0 for 0. */
FOVEA_INLINE vec softmax_inverse(vec sum) {
  const vec zero = vec_set1(0.0f);
  return vec_select(vec_equal(sum, zero), zero, vec_div(vec_set1(1.0f), sum));
}

FOVEA_INLINE vec softmax_weight(const row_view *view, vec x) {
  return vec_exp2(vec_mul(vec_sub(x, view->reference), vec_set1((float)FOVEA_LOG2E)));
}

/* ---- Rows of any types --------------------------------------------------------------------------------------- */

/* NaN is passed over here; its weight makes the sum NaN. */
FOVEA_INLINE float softmax_maximum(const fovea_nn_softmax_args *args, int64_t row) {
  vec most = vec_set1(-INFINITY);
  float lanes[LANES], maximum = -INFINITY;
  int64_t d = 0;
  FOVEA_NO_UNROLL
  for (; d + LANES <= args->dim; d += LANES) most = vec_max(load_number(&args->x, row, d, LANES), most);
  vec_store(lanes, most);
  if (d < args->dim) {
    float rest[LANES];
    const int count = vector_count(d, args->dim);
    vec_store(rest, load_number(&args->x, row, d, count));
    for (int i = 0; i < count; i++) lanes[i] = rest[i] > lanes[i] ? rest[i] : lanes[i];
  }
  for (int i = 0; i < LANES; i++) maximum = lanes[i] > maximum ? lanes[i] : maximum;
  return maximum;
}

FOVEA_INLINE vec row_weight(const row_view *view, int64_t d, int count) {
  const fovea_nn_softmax_args *args = view->args;
  return softmax_weight(view, load_number(&args->x, view->row, d, count));
}

FOVEA_INLINE vec softmax_add(const row_view *view, int64_t d, int count, vec sum) {
  return vec_add(sum, row_weight(view, d, count));
}

FOVEA_NOINLINE void softmax_row(const fovea_nn_softmax_args *args, int64_t row) {
  const float maximum = softmax_maximum(args, row);
  const row_view view = {args, row, vec_set1(maximum == -INFINITY ? 0.0f : maximum)};
  const vec inverse = softmax_inverse(sum_row(&view, args->dim, softmax_add));
  FOVEA_NO_UNROLL
  for (int64_t d = 0; d < args->dim; d += LANES) {
    const int count = vector_count(d, args->dim);
    store_result(&args->y, row, d, count, vec_mul(row_weight(&view, d, count), inverse));
  }
}

/* ---- Rows of f32 --------------------------------------------------------------------------------------------- */

typedef struct softmax_places {
  const float *x;
  float *y; /* it may be x */
} softmax_places;

/* The largest number that is not NaN, in each lane: 0 if that is -Inf or if there is none. Some vectors are compared
 * together, and the last one may begin before the others end. */
FOVEA_INLINE vec plain_maximum(const float *x, int64_t dim) {
  enum { TOGETHER = 4 };
  vec most[TOGETHER];
  float maximum = -INFINITY;
  int64_t d = 0;
  FOVEA_UNROLL
  for (int i = 0; i < TOGETHER; i++) most[i] = vec_set1(-INFINITY);
  FOVEA_NO_UNROLL
  for (; d + TOGETHER * LANES <= dim; d += TOGETHER * LANES) {
    FOVEA_UNROLL
    for (int i = 0; i < TOGETHER; i++) most[i] = vec_max(vec_load(x + d + i * LANES), most[i]);
  }
  FOVEA_UNROLL
  for (int i = 1; i < TOGETHER; i++) most[0] = vec_max(most[i], most[0]);
  FOVEA_NO_UNROLL
  for (; d + LANES <= dim; d += LANES) most[0] = vec_max(vec_load(x + d), most[0]);
  if (d < dim && dim >= LANES) most[0] = vec_max(vec_load(x + dim - LANES), most[0]);
  FOVEA_UNROLL
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    most[0] = vec_max(vec_swap(most[0], distance), most[0]);
  if (dim < LANES) {
    FOVEA_NO_UNROLL
    for (d = 0; d < dim; d++) maximum = x[d] > maximum ? x[d] : maximum;
    most[0] = vec_set1(maximum);
  }
  return vec_select(vec_equal(most[0], vec_set1(-INFINITY)), vec_set1(0.0f), most[0]);
}

/* Leaves the weights in the results' place. */
FOVEA_INLINE vec plain_add_weight(const row_view *view, int64_t d, int count, vec sum) {
  const softmax_places *places = view->args;
  const vec weight = softmax_weight(view, norm_factors(places->x + d, count));
  if (count == LANES)
    vec_store(places->y + d, weight);
  else
    vec_store_first(places->y + d, weight, count);
  return vec_add(sum, weight);
}

FOVEA_INLINE void plain_softmax(const float *x, float *y, int64_t dim) {
  const softmax_places places = {x, y};
  const row_view view = {&places, 0, plain_maximum(x, dim)};
  const vec inverse = softmax_inverse(sum_row(&view, dim, plain_add_weight));
  int64_t d = 0;
  FOVEA_NO_UNROLL
  for (; d + LANES <= dim; d += LANES) vec_store(y + d, result_of(vec_mul(vec_load(y + d), inverse)));
  if (d == dim) return;
  const int count = vector_count(d, dim);
  vec_store_first(y + d, result_of(vec_mul(vec_load_first(y + d, count), inverse)), count);
}

FOVEA_KERNEL void FOVEA_NAME(nn_softmax)(const fovea_nn_softmax_args *args) {
  const int plain = LANES > 1 && args->x.type == FOVEA_F32 && args->y.type == FOVEA_F32;
  FOVEA_NO_UNROLL
  for (int64_t row = 0; row < args->rows; row++) {
    if (plain)
      plain_softmax((const float *)args->x.data + row * args->x.stride,
                    (float *)args->y.data + row * args->y.stride, args->dim);
    else
      softmax_row(args, row);
  }
}

#endif
