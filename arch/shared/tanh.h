/* The hyperbolic tangent. docs/numerics.md fixes all bits: at most 2 ulp of error, odd to the bit, no division.
 * Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_TANH_H
#define FOVEA_ARCH_SHARED_TANH_H

#include "../kernels.h"

#define TANH_LIMIT 4
#define TANH_EACH  FOVEA_UNROLL for (int i = 0; i < count; i++)

/* tanh |x| = y / d with e = e^-2|x|, y = 1 - e and d = 1 + e. n is the integer nearest to -2 |x| log2 e, and f
 * the rest of |x|, so e = 2^n e^-2f. If n = 0, y is f times a polynomial, and nothing cancels. Beyond 10 the result
 * is 1; NaN stays NaN.
 *
 * One tanh is a chain of 80 to 90 cycles. So `count` vectors, a constant, take each step together: one after the
 * other, more of them would have to wait in the CPU's scheduler than it has room for. */
FOVEA_INLINE void vec_tanh_together(vec *x, const int count) {
  const vec one = vec_set1(1.0f);
  /* The shift leaves n + 127 in the low bits of the sum, the exponent of 2^n. */
  const vec shift = vec_set1(0x1.8p23f + 127.0f);
  vec a[TANH_LIMIT], shifted[TANH_LIMIT], f[TANH_LIMIT], power[TANH_LIMIT], q[TANH_LIMIT], g[TANH_LIMIT];
  vec y[TANH_LIMIT], e[TANH_LIMIT], r[TANH_LIMIT], step[TANH_LIMIT], t[TANH_LIMIT], left[TANH_LIMIT];
  TANH_EACH a[i] = vec_min(vec_set1(10.0f), vec_abs(x[i]));
  TANH_EACH shifted[i] = vec_fma(a[i], vec_set1(-2.0f * (float)FOVEA_LOG2E), shift);
  TANH_EACH f[i] = vec_sub(shifted[i], shift);
  TANH_EACH power[i] = vec_exponent_from_low_bits(shifted[i]);
  TANH_EACH f[i] = vec_fma(f[i], vec_set1(0x1.62e43p-2f), a[i]);
  TANH_EACH q[i] = vec_fma(vec_set1(-0x1.6731cep-4f), f[i], vec_set1(0x1.123d16p-2f)); /* (1 - e^-2f) / f */
  TANH_EACH g[i] = vec_mul(power[i], f[i]);
  TANH_EACH q[i] = vec_fma(q[i], f[i], vec_set1(-0x1.555dc4p-1f));
  TANH_EACH y[i] = vec_sub(one, power[i]);
  TANH_EACH q[i] = vec_fma(q[i], f[i], vec_set1(0x1.55548cp+0f));
  TANH_EACH q[i] = vec_fma(q[i], f[i], vec_set1(-0x1.fffff4p+0f));
  TANH_EACH q[i] = vec_fma(q[i], f[i], vec_set1(2.0f));
  TANH_EACH y[i] = vec_fma(g[i], q[i], y[i]);
  TANH_EACH e[i] = vec_fnma(g[i], q[i], power[i]); /* rounded separately, which keeps the error below 2 ulp */
  /* 1 / d to one part in 19,000: a parabola, then one step of Newton's method. */
  TANH_EACH r[i] = vec_fma(vec_set1(0x1.4afd64p-2f), y[i], vec_set1(0x1.4afd78p-3f));
  TANH_EACH step[i] = vec_add(one, e[i]);
  TANH_EACH r[i] = vec_fma(r[i], y[i], vec_set1(0x1.0295fap-1f));
  TANH_EACH step[i] = vec_fnma(step[i], r[i], vec_set1(0x1.0001acp+1f));
  TANH_EACH r[i] = vec_mul(r[i], step[i]);
  /* t = y / d, then a correction by the remainder y - t - t e, which is free of the rounding of d. */
  TANH_EACH t[i] = vec_mul(y[i], r[i]);
  TANH_EACH left[i] = vec_sub(y[i], t[i]);
  TANH_EACH left[i] = vec_fnma(t[i], e[i], left[i]);
  TANH_EACH t[i] = vec_fma(left[i], r[i], t[i]);
  TANH_EACH x[i] = vec_copysign(t[i], x[i]);
}

#undef TANH_EACH

#endif
