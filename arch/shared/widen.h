/* Copies rows of any type as f32. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_WIDEN_H
#define FOVEA_ARCH_SHARED_WIDEN_H

#include "../kernels.h"
#include "types.h"

/* As fovea_widen_args says. */
FOVEA_INLINE void widen_rows(const fovea_widen_args *args, const fovea_type type) {
  const char *from = args->rows;
  const int64_t step = args->row_count > 1 ? fovea_bytes(type, args->row_stride) : 0; /* one row may have any */
  const int64_t dim = args->dim,
                to_stride = args->to_stride; /* read once: stores of vectors may change any object */
  float *to = args->to;
  for (int64_t row = args->row_count; row > 0; row--, from += step, to += to_stride) {
    int64_t d = 0;
    for (; d + LANES <= dim; d += LANES) vec_store(to + d, typed_load(from, d, type));
    if (d < dim) vec_store(to + d, typed_load_first(from, d, (int)(dim - d), type));
  }
}

#endif
