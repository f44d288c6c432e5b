/* Softmax of rows. Weights are computed once for their sum and once more for the results, so that the row needs no
 * memory. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_SOFTMAX_H
#define FOVEA_ARCH_SHARED_NN_SOFTMAX_H

#include "../../nn_kernels.h"
#include "../exp2.h"
#include "elements.h"
#include "sums.h"

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
  const vec x = vec_sub(load_number(&args->x, view->row, d, count), view->reference);
  return vec_exp2(vec_mul(x, vec_set1((float)FOVEA_LOG2E)));
}

FOVEA_INLINE vec softmax_add(const row_view *view, int64_t d, int count, vec sum) {
  return vec_add(sum, row_weight(view, d, count));
}

FOVEA_KERNEL void FOVEA_NAME(nn_softmax)(const fovea_nn_softmax_args *args) {
  for (int64_t row = 0; row < args->rows; row++) {
    const float maximum = softmax_maximum(args, row);
    const row_view view = {args, row, vec_set1(maximum == -INFINITY ? 0.0f : maximum)};
    const vec sum = sum_row(&view, args->dim, softmax_add), zero = vec_set1(0.0f);
    const vec inverse = vec_select(vec_equal(sum, zero), zero, vec_div(vec_set1(1.0f), sum));
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int count = vector_count(d, args->dim);
      store_result(&args->y, row, d, count, vec_mul(row_weight(&view, d, count), inverse));
    }
  }
}

#endif
