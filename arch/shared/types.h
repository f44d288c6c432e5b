/* Vectors of any element type: exact widening on the way in, one rounding on the way out. Included after a vector
 * layer. `type` is a constant wherever these are used, so that nothing is decided in a loop. */
#ifndef FOVEA_ARCH_SHARED_TYPES_H
#define FOVEA_ARCH_SHARED_TYPES_H

#include "../kernels.h"

#include <string.h>

/* LANES elements from element `first` of a row. */
FOVEA_INLINE vec typed_load(const void *row, int64_t first, const fovea_type type) {
  switch (type) {
  case FOVEA_F16:
    return vec_load_f16((const uint16_t *)row + first);
  case FOVEA_BF16:
    return vec_load_bf16((const uint16_t *)row + first);
  default:
    return vec_load((const float *)row + first);
  }
}

/* `count` elements, up to LANES, and zeros. */
FOVEA_INLINE vec typed_load_first(const void *row, int64_t first, int count, const fovea_type type) {
  if (type == FOVEA_F32) return vec_load_first((const float *)row + first, count);
  uint16_t elements[LANES] = {0};
  /* More than LANES is never asked for; gcc -O0 warns of branches that would, and are never taken. */
  const unsigned least = (unsigned)count < LANES ? (unsigned)count : LANES;
  memcpy(elements, (const uint16_t *)row + first, least * sizeof elements[0]);
  return typed_load(elements, 0, type);
}

/* The one NaN and the one zero that results have: the default NaNs of x86 and ARM differ in their sign. */
FOVEA_INLINE vec canonical(vec x) {
  return vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), vec_add(x, vec_set1(0.0f)));
}

/* What rounds to zero becomes +0, as every zero of a result is. Half of the least subnormal is a tie, and the even
 * one of it is zero. */
FOVEA_INLINE vec typed_zero(vec x, const float half_of_least) {
  vecmask rounds_to_zero =
      vecmask_and(vec_less(x, vec_set1(0.0f)), vecmask_not(vec_less(x, vec_set1(-half_of_least))));
  return vec_select(rounds_to_zero, vec_set1(0.0f), x);
}

FOVEA_INLINE void typed_store(void *row, int64_t first, vec x, const fovea_type type) {
  switch (type) {
  case FOVEA_F16:
    vec_store_f16((uint16_t *)row + first, typed_zero(x, 0x1p-25f));
    break;
  case FOVEA_BF16:
    vec_store_bf16((uint16_t *)row + first, typed_zero(x, 0x1p-134f));
    break;
  default:
    vec_store((float *)row + first, x);
    break;
  }
}

FOVEA_INLINE void typed_store_first(void *row, int64_t first, vec x, int count, const fovea_type type) {
  if (type == FOVEA_F32) {
    vec_store_first((float *)row + first, x, count);
    return;
  }
  uint16_t elements[LANES];
  typed_store(elements, 0, x, type);
  memcpy((uint16_t *)row + first, elements, (size_t)count * sizeof elements[0]);
}

#endif
