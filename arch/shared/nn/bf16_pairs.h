/* Operands of linear layers in bf16 mode for products of pairs: an instruction that adds two products as two FMAs do,
 * the upper first, makes two steps of a chain. An item is four dims: a word with two even dims and a word with two odd
 * ones. Of x they lie in memory; weights, which lie as panels, are copied as items before they are multiplied. Included
 * after a pair layer (score_pairs.h), before bf16_mode.h. */
#ifndef FOVEA_ARCH_SHARED_NN_BF16_PAIRS_H
#define FOVEA_ARCH_SHARED_NN_BF16_PAIRS_H

#include "../../args/nn_bf16.h"

#if FOVEA_BUILDS_BF16

#define BF16_ITEM_PAIRS 2
#define BF16_SAFE       NULL
#define BF16_CLEAR      bf16_mode_arrange

enum { BF16_PAIR_ELEMENTS = 2 * FOVEA_NN_PANEL /* of a panel */ };

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

/* The pairs of dims 0, 1 and of 2, 3 of a panel. */
FOVEA_INLINE void bf16_arrange_item(const uint16_t *from, uint16_t *to) {
  FOVEA_UNROLL
  for (int i = 0; i < BF16_PAIR_ELEMENTS; i += 2 * LANES) {
    const vec first = vec_load_pairs(from + i), second = vec_load_pairs(from + BF16_PAIR_ELEMENTS + i);
    vec_store((float *)(void *)(to + i), vec_pair_without_small(vec_pair_even(first, second)));
    vec_store((float *)(void *)(to + BF16_PAIR_ELEMENTS + i), vec_pair_without_small(vec_pair_odd(first, second)));
  }
}

/* A last pair without another stays a pair. */
FOVEA_INLINE void bf16_copy_pair(const uint16_t *from, uint16_t *to) {
  FOVEA_UNROLL
  for (int i = 0; i < BF16_PAIR_ELEMENTS; i += 2 * LANES)
    vec_store((float *)(void *)(to + i), vec_pair_without_small(vec_load_pairs(from + i)));
}

/* Copies panels as items, small weights as 0: once for all rows, rather than in registers for each tile. */
FOVEA_KERNEL static void bf16_mode_arrange(const fovea_nn_bf16_panels *panels, uint16_t *to) {
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < panels->dims; dim += FOVEA_DOT_PIECE) {
    const int64_t rest = panels->dims - dim, pairs = ((rest < FOVEA_DOT_PIECE ? rest : FOVEA_DOT_PIECE) + 1) / 2;
    const uint16_t *from =
        panels->weights + dim / FOVEA_DOT_PIECE * panels->piece_stride + panels->first * pairs * BF16_PAIR_ELEMENTS;
    for (int panel = 0; panel < panels->panels; panel++) {
      int64_t pair = 0;
      FOVEA_NO_UNROLL
      for (; pair + 2 <= pairs; pair += 2, from += 2 * BF16_PAIR_ELEMENTS, to += 2 * BF16_PAIR_ELEMENTS)
        bf16_arrange_item(from, to);
      if (pair == pairs) continue;
      bf16_copy_pair(from, to);
      from += BF16_PAIR_ELEMENTS;
      to += BF16_PAIR_ELEMENTS;
    }
  }
}

/* `whole`: an item; else one pair. */
FOVEA_INLINE void bf16_load_item(const uint16_t *weights, const int whole, vec *even, vec *odd) {
  const vec first = vec_load_pairs(weights), none = vec_set1(0.0f);
  *even = whole ? first : vec_pair_even(first, none);
  *odd = whole ? vec_load_pairs(weights + BF16_PAIR_ELEMENTS) : vec_pair_odd(first, none);
}

FOVEA_INLINE vec bf16_step(vec weights, float x, vec sum) {
  return vec_pair_word(weights, x, sum);
}
#endif
#endif
