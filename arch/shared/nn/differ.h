/* What follows the two attentions of differential attention: their difference, normalised. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_DIFFER_H
#define FOVEA_ARCH_SHARED_NN_DIFFER_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"
#include "sums.h"

FOVEA_INLINE vec differ_input(const fovea_nn_differ_args *args, int64_t row, int64_t d, int count) {
  const float *first = args->first + row * args->dim + d, *second = args->second + row * args->dim + d;
  return vec_fnma(vec_set1(args->lambda), norm_factors(second, count), norm_factors(first, count));
}

FOVEA_INLINE vec differ_add_square(const row_view *view, int64_t d, int count, vec sum) {
  const vec x = differ_input(view->args, view->row, d, count);
  return vec_fma(x, x, sum);
}

FOVEA_KERNEL void FOVEA_NAME(nn_differ)(const fovea_nn_differ_args *args) {
  const vec n = vec_set1((float)args->dim), eps = vec_set1(args->eps), factor = vec_set1(args->factor);
  for (int64_t row = 0; row < args->rows; row++) {
    const row_view view = {args, row, vec_set1(0.0f)};
    const vec mean = vec_div(sum_row(&view, args->dim, differ_add_square), n);
    const vec inverse = vec_div(vec_set1(1.0f), vec_sqrt(vec_add(mean, eps)));
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int count = vector_count(d, args->dim);
      vec y = vec_mul(differ_input(args, row, d, count), inverse);
      if (args->gamma) y = vec_mul(y, norm_factors(args->gamma + d, count));
      store_result(&args->y, row, d, count, vec_mul(y, factor));
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_lambda)(const fovea_nn_lambda_args *args) {
  vec x[2] = {vec_set1(args->products[0]), vec_set1(args->products[1])};
  float lanes[LANES];
  vec_exp(x, 2);
  vec_store(lanes, canonical(vec_add(vec_sub(x[0], x[1]), vec_set1(args->init))));
  *args->lambda = lanes[0];
}

#endif
