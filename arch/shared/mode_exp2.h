/* E(x), the weight function of modes: 2^x to 1.014e-4 (docs/numerics.md, section 16). Included after a vector
 * layer. */
#ifndef FOVEA_ARCH_SHARED_MODE_EXP2_H
#define FOVEA_ARCH_SHARED_MODE_EXP2_H

/* 0 below the limit. x is at most 8. */
FOVEA_INLINE vec mode_exp2(vec x, float limit) {
#ifdef FOVEA_VECTOR_HAS_SCALEF
  const vec fraction = vec_fraction(x), whole = vec_sub(x, fraction);
  const float half = 1.0f;
#else /* as vec_exp2() does it */
  const vec shift = vec_set1(0x1.8p23f + 128.0f), shifted = vec_add(x, shift);
  const vec fraction = vec_sub(x, vec_sub(shifted, shift));
  const float half = 0.5f;
#endif
  vec p = vec_fma(vec_set1(half * 0x1.c2a392p-5f), fraction, vec_set1(half * 0x1.f00c5ap-3f));
  p = vec_fma(p, fraction, vec_set1(half * 0x1.62f5f6p-1f));
  p = vec_fma(p, fraction, vec_set1(half));
#ifdef FOVEA_VECTOR_HAS_SCALEF
  return vec_scalef_unless_less(x, vec_set1(limit), p, whole);
#else
  return vec_zero_if_less(x, vec_set1(limit), vec_mul(p, vec_exponent_from_low_bits(shifted)));
#endif
}

#endif
