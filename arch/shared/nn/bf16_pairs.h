/* Operands of linear layers in bf16 mode for products of pairs: an instruction that adds two products as two FMAs do,
 * the upper first, makes two steps of a chain. An item is four dims: a word with two even dims and a word with two odd
 * ones. Of x they lie in memory; of weights, which lie as panels, they are made in registers. Included after a pair
 * layer (score_pairs.h), before bf16_mode.h. */
#ifndef FOVEA_ARCH_SHARED_NN_BF16_PAIRS_H
#define FOVEA_ARCH_SHARED_NN_BF16_PAIRS_H

#include "../../args/nn_bf16.h"

#if FOVEA_BUILDS_BF16

#define BF16_ITEM_PAIRS 2

FOVEA_KERNEL static void bf16_mode_pack(const fovea_nn_bf16_pack_args *args) {
  const int padded = (args->dims + FOVEA_NN_BF16_GROUP - 1) / FOVEA_NN_BF16_GROUP * FOVEA_NN_BF16_GROUP;
  for (int row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->x + row * args->x_stride;
    uint16_t *to = (uint16_t *)(void *)(args->to + row * args->to_stride);
    FOVEA_NO_UNROLL
    for (int d = 0; d < padded; d += LANES) {
      const int rest = args->dims - d;
      vec_store_fours(to + d, rest >= LANES ? vec_load(x + d)
                              : rest > 0    ? vec_load_first(x + d, rest)
                                            : vec_set1(0.0f));
    }
  }
}

/* `whole`: the second pair is there. */
FOVEA_INLINE void bf16_load_item(const uint16_t *weights, const int whole, vec *even, vec *odd) {
  const vec first = vec_load_pairs(weights);
  const vec second = whole ? vec_load_pairs(weights + 2 * FOVEA_NN_PANEL) : vec_set1(0.0f);
  *even = vec_pair_even(first, second);
  *odd = vec_pair_odd(first, second);
}

FOVEA_INLINE vec bf16_step(vec weights, float x, vec sum) {
  return vec_pair_word(weights, x, sum);
}
#endif
#endif
