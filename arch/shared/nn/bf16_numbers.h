/* Operands of linear layers in bf16 mode for f32 FMAs: an item is a pair of dims. Part of bodies.h, before
 * bf16_mode.h. */
#ifndef FOVEA_ARCH_SHARED_NN_BF16_NUMBERS_H
#define FOVEA_ARCH_SHARED_NN_BF16_NUMBERS_H

#include "../../args/nn_bf16.h"
#include "../bf16_number.h"

#if FOVEA_BUILDS_BF16

#define BF16_ITEM_PAIRS 1
#define BF16_SAFE       FOVEA_SHARED(nn_bf16_safe)
#define BF16_CLEAR      FOVEA_SHARED(nn_bf16_clear)

FOVEA_KERNEL static void bf16_mode_pack(const fovea_nn_bf16_pack_args *args) {
  const int padded = (args->dims + FOVEA_NN_BF16_GROUP - 1) / FOVEA_NN_BF16_GROUP * FOVEA_NN_BF16_GROUP;
  for (int row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->x + row * args->x_stride;
    float *to = (float *)(void *)(args->to + row * args->to_stride);
    int d = 0;
    FOVEA_NO_UNROLL
    for (; d + LANES <= args->dims; d += LANES) vec_store(to + d, bf16_number(vec_load(x + d)));
    if (d < args->dims) vec_store(to + d, bf16_number(vec_load_first(x + d, args->dims - d))), d += LANES;
    FOVEA_NO_UNROLL
    for (; d < padded; d += LANES) vec_store(to + d, vec_set1(0.0f));
  }
}

FOVEA_INLINE void bf16_load_item(const uint16_t *weights, const int whole, vec *even, vec *odd) {
  (void)whole;
  vec_split_bf16(vec_load_pairs(weights), even, odd);
}

FOVEA_INLINE vec bf16_step(vec weights, float x, vec sum) {
  return vec_fma(vec_set1(x), weights, sum);
}
#endif
#endif
