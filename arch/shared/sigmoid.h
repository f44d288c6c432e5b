/* The logistic function 1 / (1 + e^-x). docs/numerics.md, "Normalisers other than softmax", fixes all bits: at most
 * 2 ulp of error, subnormal results included. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_SIGMOID_H
#define FOVEA_ARCH_SHARED_SIGMOID_H

#include "exp2.h"

/* With e = e^-|x|: 1 / (1 + e), or e / (1 + e) where x < 0. e is 2^t with t = -|x| log2 e in two parts, e + e2 and
 * d + d2 keep what rounding takes from e and 1 + e, and the last line corrects the quotient once. Where t is below
 * -64, e is computed 2^64 times as large: exp2 gives 0 below 2^-126. Beyond 110 the result is 1 or 0. NaN stays. */
FOVEA_INLINE vec vec_sigmoid(vec x) {
  const vec zero = vec_set1(0.0f), one = vec_set1(1.0f), log2e = vec_set1((float)FOVEA_LOG2E);
  const vecmask negative = vec_less(x, zero);
  const vec a = vec_min(vec_set1(110.0f), vec_abs(x));
  const vec t = vec_fnma(a, log2e, zero);
  const vec t2 = vec_fnma(a, vec_set1(0x1.4ae0cp-26f), vec_fnma(a, log2e, vec_sub(zero, t)));
  const vecmask small = vec_less(t, vec_set1(-64.0f));
  const vec power = vec_select(small, vec_set1(0x1p-64f), one);
  const vec e = vec_exp2(vec_add(t, vec_select(small, vec_set1(64.0f), zero)));
  const vec e2 = vec_mul(e, vec_mul(t2, vec_set1(0x1.62e43p-1f)));
  const vec scaled = vec_mul(e, power);
  const vec d = vec_add(one, scaled);
  const vec d2 = vec_fma(e2, power, vec_add(vec_sub(one, d), scaled));
  const vec inverse = vec_div(one, d);
  const vec y = vec_mul(vec_select(negative, e, one), inverse);
  vec rest = vec_fnma(y, d, vec_select(negative, e, one));
  rest = vec_add(vec_fnma(y, d2, rest), vec_select(negative, e2, zero));
  return vec_mul(vec_fma(rest, inverse, y), vec_select(negative, power, one));
}

#endif
