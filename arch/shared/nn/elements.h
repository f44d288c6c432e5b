/* Reads and writes vectors of a tensor of rows, of any type. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_ELEMENTS_H
#define FOVEA_ARCH_SHARED_NN_ELEMENTS_H

#include "../../nn_kernels.h"
#include "../types.h"

/* How many dims a vector at dim d has. */
FOVEA_INLINE int vector_count(int64_t d, int64_t dim) {
  return dim - d < LANES ? (int)(dim - d) : LANES;
}

/* Up to LANES numbers, with zeros after them. */
FOVEA_INLINE vec load_number(const fovea_nn_rows *rows, int64_t row, int64_t d, int count) {
  const int64_t first = row * rows->stride + d;
  vec x = vec_set1(0.0f);
  TYPED(rows->type, x = count == LANES ? typed_load(rows->data, first, constant)
                                       : typed_load_first(rows->data, first, count, constant))
  return x;
}

/* canonical(), in one instruction if there is one. */
FOVEA_INLINE vec result_of(vec x) {
#ifdef FOVEA_VECTOR_CANONICAL
  return vec_canonical(x);
#else
  return canonical(x);
#endif
}

/* Writes up to LANES numbers as results. */
FOVEA_INLINE void store_result(const fovea_nn_rows *rows, int64_t row, int64_t d, int count, vec x) {
  const int64_t first = row * rows->stride + d;
  x = result_of(x);
  if (count == LANES) {
    TYPED(rows->type, typed_store(rows->data, first, x, constant))
  } else {
    TYPED(rows->type, typed_store_first(rows->data, first, x, count, constant))
  }
}

/* Up to LANES factors of a row. */
FOVEA_INLINE vec norm_factors(const float *factors, int count) {
  return count == LANES ? vec_load(factors) : vec_load_first(factors, count);
}

#endif
