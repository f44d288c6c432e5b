/* A number as bf16 mode takes it: of operands of attention and of layers, by f32 and by AMX. */
#ifndef FOVEA_ARCH_SHARED_BF16_NUMBER_H
#define FOVEA_ARCH_SHARED_BF16_NUMBER_H

/* Rounded to bf16, and 0 below 2^-56: AMX would flush smaller products. */
FOVEA_INLINE vec bf16_number(vec x) {
  x = vec_round_bf16(vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), x));
  return vec_select(vec_less(vec_abs(x), vec_set1(0x1p-56f)), vec_set1(0.0f), x);
}

#endif
