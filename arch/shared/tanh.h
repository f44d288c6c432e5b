/* The hyperbolic tangent, fixed to the bit by docs/numerics.md: at most 2 ulp, odd to the bit, no division.
 * Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_TANH_H
#define FOVEA_ARCH_SHARED_TANH_H

/* tanh |x| = y / d with e = e^-2|x|, y = 1 - e and d = 1 + e. With n the integer nearest to 2 |x| log2 e, negative,
 * and f what |x| leaves over, e = 2^n e^-2f; where n = 0, y is f times a polynomial, and nothing cancels. Beyond 10
 * the result is 1; NaN stays NaN. */
FOVEA_INLINE vec vec_tanh(vec x) {
  const vec one = vec_set1(1.0f);
  /* The shift leaves n + 127 in the low bits of the sum, the exponent of 2^n. */
  const vec shift = vec_set1(0x1.8p23f + 127.0f);
  vec a = vec_min(vec_set1(10.0f), vec_abs(x));
  vec shifted = vec_fma(a, vec_set1(-0x1.715476p+1f), shift);
  vec n = vec_sub(shifted, shift);
  vec f = vec_fma(n, vec_set1(0x1.62e43p-2f), a);
  vec power = vec_exponent_from_low_bits(shifted);
  vec q = vec_set1(-0x1.6731cep-4f); /* (1 - e^-2f) / f */
  q = vec_fma(q, f, vec_set1(0x1.123d16p-2f));
  q = vec_fma(q, f, vec_set1(-0x1.555dc4p-1f));
  q = vec_fma(q, f, vec_set1(0x1.55548cp+0f));
  q = vec_fma(q, f, vec_set1(-0x1.fffff4p+0f));
  q = vec_fma(q, f, vec_set1(2.0f));
  vec g = vec_mul(power, f);
  vec y = vec_fma(g, q, vec_sub(one, power));
  vec e = vec_fnma(g, q, power); /* with a rounding of its own: that is what keeps the error below 2 ulp */
  vec d = vec_add(one, e);
  /* 1 / d to one part in 19,000: a parabola and a step of Newton's. */
  vec r = vec_fma(vec_fma(vec_set1(0x1.4afd64p-2f), y, vec_set1(0x1.4afd78p-3f)), y, vec_set1(0x1.0295fap-1f));
  r = vec_mul(r, vec_fnma(d, r, vec_set1(0x1.0001acp+1f)));
  /* y / d, and once more for what is left: y - t - t e, free of the rounding of d. */
  vec t = vec_mul(y, r);
  t = vec_fma(vec_fnma(t, e, vec_sub(y, t)), r, t);
  return vec_copysign(t, x);
}

#endif
