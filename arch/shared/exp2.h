/* 2^x for x <= 0, and the base-2 logarithm. docs/numerics.md fixes all bits. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_EXP2_H
#define FOVEA_ARCH_SHARED_EXP2_H

/* 2^x. x < -126 gives +0, NaN gives NaN, 0 gives 1. r is the nearest integer (ties to even) and f = x - r; both are
 * exact. The polynomial in f is evaluated by Horner's rule and multiplied by 2^r, exactly. */
FOVEA_INLINE vec vec_exp2(vec x) {
#ifdef FOVEA_VECTOR_HAS_SCALEF
  vec fraction = vec_fraction(x);
  vec whole = vec_sub(x, fraction);
  const float half = 1.0f;
#else
  /* Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum. Adding 128 more makes it the exponent
   * of 2^(r + 1); the polynomial is halved to match, which is exact. 128 is even, so it keeps the ties. The scaling
   * is a product, not an integer addition to the exponent: NaN stays NaN. */
  const vec shift = vec_set1(0x1.8p23f + 128.0f);
  vec shifted = vec_add(x, shift);
  vec fraction = vec_sub(x, vec_sub(shifted, shift));
  const float half = 0.5f;
#endif
  vec p = vec_set1(half * 0x1.41fbbep-13f);
  p = vec_fma(p, fraction, vec_set1(half * 0x1.5f3e54p-10f));
  p = vec_fma(p, fraction, vec_set1(half * 0x1.3b2d4cp-7f));
  p = vec_fma(p, fraction, vec_set1(half * 0x1.c6aee8p-5f));
  p = vec_fma(p, fraction, vec_set1(half * 0x1.ebfbdcp-3f));
  p = vec_fma(p, fraction, vec_set1(half * 0x1.62e43p-1f));
  p = vec_fma(p, fraction, vec_set1(half));
#ifdef FOVEA_VECTOR_HAS_SCALEF
  return vec_scalef_unless_less(x, vec_set1(-126.0f), p, whole);
#else
  return vec_zero_if_less(x, vec_set1(-126.0f), vec_mul(p, vec_exponent_from_low_bits(shifted)));
#endif
}

/* log2 x for normal positive x: x = 2^e * z with z in [sqrt(1/2), sqrt(2)), t = z - 1 exactly, log2 = fma(t, P(t),
 * e). P is the minimax polynomial of log2(1 + t) / t, with coefficients rounded one after the other (0.22 u of
 * error). */
FOVEA_INLINE vec vec_log2(vec x) {
  vec mantissa, exponent = vec_split_power(x, &mantissa);
  vec t = vec_sub(mantissa, vec_set1(1.0f));
  vec p = vec_set1(-0x1.47b5d6p-4f);
  p = vec_fma(p, t, vec_set1(0x1.4f02eep-3f));
  p = vec_fma(p, t, vec_set1(-0x1.8bda8ap-3f));
  p = vec_fma(p, t, vec_set1(0x1.abb508p-3f));
  p = vec_fma(p, t, vec_set1(-0x1.eb16eap-3f));
  p = vec_fma(p, t, vec_set1(0x1.2739aep-2f));
  p = vec_fma(p, t, vec_set1(-0x1.7156c8p-2f));
  p = vec_fma(p, t, vec_set1(0x1.ec7208p-2f));
  p = vec_fma(p, t, vec_set1(-0x1.715476p-1f));
  p = vec_fma(p, t, vec_set1(0x1.715476p+0f));
  return vec_fma(t, p, exponent);
}

#endif
