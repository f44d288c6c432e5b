/* Copies rows of any type as f32. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_WIDEN_H
#define FOVEA_ARCH_SHARED_WIDEN_H

#include "../kernels.h"
#include "types.h"

/* As fovea_widen_args says. */
FOVEA_INLINE void widen_rows(const fovea_widen_args *args, const fovea_type type) {
  const char *from = args->rows;
  const int64_t step = fovea_bytes(type, args->row_stride);
  float *to = args->to;
  for (int64_t row = 0; row < args->row_count; row++, from += step, to += args->to_stride) {
    int64_t d = 0;
    for (; d + LANES <= args->dim; d += LANES) vec_store(to + d, typed_load(from, d, type));
    if (d < args->dim) vec_store(to + d, typed_load_first(from, d, (int)(args->dim - d), type));
  }
}

#endif
