/* The numbers of a code: the scale of a row, the factor for its codes, and the code of a number (docs/numerics.md,
 * section 16). Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_INT8_NUMBERS_H
#define FOVEA_ARCH_SHARED_INT8_NUMBERS_H

/* Rows whose largest number is below this have codes of 0, and a value's scale counts as at least the other, which
 * no other row is below. */
#define INT8_LEAST       0x1p-80f
#define INT8_LEAST_SCALE 0x1p-87f

/* A number and this, added in f32: the nearest integer in the lower bytes, ties to even. */
#define INT8_SHIFT 0x1.8p23f

/* The factor of a row for its codes, and its scale: 0 if the row is next to nothing. */
FOVEA_INLINE vec int8_factor(vec largest) {
  const vec small = vec_set1(INT8_LEAST);
  const vecmask none = vec_less(largest, small);
  return vec_select(none, vec_set1(0.0f), vec_div(vec_set1(127.0f), vec_select(none, small, largest)));
}
FOVEA_INLINE vec int8_scale(vec largest) {
  return vec_select(vec_less(largest, vec_set1(INT8_LEAST)), vec_set1(0.0f), vec_div(largest, vec_set1(127.0f)));
}

/* The code of a number, the nearest integer, ties to even, and `shift`: INT8_SHIFT, or with an offset. */
FOVEA_INLINE vec int8_code(vec x, vec factor, vec shift) {
  vec product = vec_mul(x, factor);
  vec_opaque(product); /* with -ffp-contract=fast clang would fuse the sum */
  return vec_add(product, shift);
}

/* Sizes of numbers, with NaN where one is not finite. */
FOVEA_INLINE vec int8_or_lost(vec largest) {
  return vec_select(vec_less(largest, vec_set1(INFINITY)), largest, vec_set1(__builtin_nanf("")));
}

/* The size of the largest number of all lanes, in each of them. Lanes are sizes, with NaN above Inf. */
FOVEA_INLINE vec int8_largest_lane(vec largest) {
#if LANES > 8
  largest = vec_max_size(vec_swap(largest, 8), largest);
#endif
#if LANES > 4
  largest = vec_max_size(vec_swap(largest, 4), largest);
#endif
#if LANES > 1
  largest = vec_max_size(vec_swap(largest, 2), largest);
  largest = vec_max_size(vec_swap(largest, 1), largest);
#endif
  return largest;
}

#endif
