/* A row of an embedding: a scaled row plus up to two others, of any types. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_EMBED_H
#define FOVEA_ARCH_SHARED_NN_EMBED_H

#include "../../nn_kernels.h"
#include "../types.h"

FOVEA_INLINE vec embed_load(const void *row, const fovea_type type, int64_t first, int count) {
  vec x = vec_set1(0.0f);
  TYPED(type, x = count == LANES ? typed_load(row, first, constant) : typed_load_first(row, first, count, constant))
  return x;
}

/* Up to LANES numbers. */
FOVEA_INLINE void embed_vector(const fovea_nn_embed_args *args, int64_t first, int count) {
  vec y = vec_mul(embed_load(args->x, args->x_type, first, count), vec_set1(args->scale));
  for (int i = 0; i < 2; i++) {
    if (args->addends[i]) y = vec_add(y, embed_load(args->addends[i], args->addend_types[i], first, count));
  }
  y = canonical(y);
  if (count == LANES) {
    TYPED(args->y_type, typed_store(args->y, first, y, constant))
  } else {
    TYPED(args->y_type, typed_store_first(args->y, first, y, count, constant))
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_embed)(const fovea_nn_embed_args *args) {
  int64_t first = 0;
  for (; first + LANES <= args->count; first += LANES) embed_vector(args, first, LANES);
  if (first < args->count) embed_vector(args, first, (int)(args->count - first));
}

#endif
