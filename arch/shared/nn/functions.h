/* Functions of one number, at most 2 ulp from the truth; docs/numerics.md fixes all bits. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_FUNCTIONS_H
#define FOVEA_ARCH_SHARED_NN_FUNCTIONS_H

#include "../../nn_kernels.h"

/* Makes `call` with `constant` in place of the activation. */
#define ACTIVATED_CASE(activation, call)                                                                           \
  case activation: {                                                                                               \
    const fovea_nn_activation constant = activation;                                                               \
    call;                                                                                                          \
    break;                                                                                                         \
  }
#define ACTIVATED(activation, call)                                                                                \
  switch (activation) {                                                                                            \
  default:                                                                                                         \
    ACTIVATED_CASE(FOVEA_NN_LINEAR, call)                                                                          \
    ACTIVATED_CASE(FOVEA_NN_RELU, call)                                                                            \
    ACTIVATED_CASE(FOVEA_NN_GELU, call)                                                                            \
    ACTIVATED_CASE(FOVEA_NN_GELU_TANH, call)                                                                       \
    ACTIVATED_CASE(FOVEA_NN_SILU, call)                                                                            \
  }

/* max(x, 0); NaN stays. */
FOVEA_INLINE vec vec_relu(vec x) {
  return vec_select(vec_less(x, vec_set1(0.0f)), vec_set1(0.0f), x);
}

/* A number as the sum of two: low is at most about one rounding of high. */
typedef struct vec_pair_sum {
  vec high, low;
} vec_pair_sum;

/* e^-w = (m.high + m.low) * power * 2^-32, with m from sqrt(1/2) to sqrt(2). power goes down to 2^-126 and then to
 * 0, which is e^-w = 2^-158. */
typedef struct vec_exponential {
  vec_pair_sum m;
  vec power;
} vec_exponential;

/* For w from 0 to 110. The low part of w, and of the rounded result, are kept: the error is 0.4 u. */
FOVEA_INLINE vec_exponential vec_exp_minus(vec w, vec w_low) {
  /* The shift leaves n + 127 + 32 in the low bits of the sum, the exponent of 2^(n + 32). n is at most 0. */
  const vec one = vec_set1(1.0f), shift = vec_set1(0x1.8p23f + 159.0f);
  const vec shifted = vec_fma(w, vec_set1(-0x1.715476p+0f), shift), n = vec_sub(shifted, shift);
  const vec f = vec_fma(n, vec_set1(0x1.62e43p-1f), w);
  const vec rest = vec_fma(n, vec_set1(-0x1.05c61p-29f), w_low);
  vec q = vec_fma(vec_set1(0x1.6a4154p-10f), f, vec_set1(-0x1.1239c6p-7f)); /* (e^-f - 1) / f */
  q = vec_fma(q, f, vec_set1(0x1.5558bcp-5f));
  q = vec_fma(q, f, vec_set1(-0x1.555492p-3f));
  q = vec_fma(q, f, vec_set1(0x1.fffffcp-2f));
  q = vec_fma(q, f, vec_set1(-1.0f));
  vec_exponential e;
  e.m.high = vec_fma(f, q, one);
  e.m.low = vec_fnma(rest, e.m.high, vec_fma(f, q, vec_sub(one, e.m.high)));
  e.power = vec_exponent_from_low_bits(shifted);
  return e;
}

/* 1 / (1 + e), and for negative x e / (1 + e) without the power of e. */
FOVEA_INLINE vec_pair_sum vec_sigmoid(const vec_exponential *e, vecmask negative) {
  const vec one = vec_set1(1.0f), scale = vec_mul(e->power, vec_set1(0x1p-32f)), high = vec_mul(e->m.high, scale);
  const vec d = vec_add(one, high), d_low = vec_fma(e->m.low, scale, vec_add(vec_sub(one, d), high));
  const vec top = vec_select(negative, e->m.high, one), top_low = vec_select(negative, e->m.low, vec_set1(0.0f));
  const vec inverse = vec_div(one, d), q = vec_mul(top, inverse);
  const vec rest = vec_add(vec_fnma(q, d_low, vec_fnma(q, d, top)), top_low);
  return (vec_pair_sum){q, vec_mul(rest, inverse)};
}

/* R(a) = e^(a^2/2) (1 - Phi(a)), for a from 0 to 14.5: S(t) / (a + 2.5), where t = (a - 2.5) / (a + 2.5) = 1 - 5 /
 * (a
 * + 2.5). S goes from 1.25 down to 0.43; its polynomial is right to 0.28 u. */
FOVEA_INLINE vec_pair_sum vec_normal_tail(vec a) {
  const vec one = vec_set1(1.0f), two_and_half = vec_set1(2.5f), minus_five = vec_set1(-5.0f);
  const vec d = vec_add(a, two_and_half), d_low = vec_sub(a, vec_sub(d, two_and_half));
  const vec r = vec_div(one, d), r_low = vec_mul(vec_fnma(r, d_low, vec_fnma(r, d, one)), r);
  const vec m = vec_mul(vec_set1(5.0f), r), t = vec_sub(one, m);
  const vec t_rest = vec_add(vec_fma(r, minus_five, m), vec_sub(vec_sub(one, t), m));
  const vec t_low = vec_fma(r_low, minus_five, t_rest), s0 = vec_set1(0x1.69cee6p-1f);
  vec p = vec_fma(vec_set1(-0x1.4ba652p-13f), t, vec_set1(-0x1.468352p-12f));
  p = vec_fma(p, t, vec_set1(0x1.67aa62p-11f));
  p = vec_fma(p, t, vec_set1(0x1.4ad77ep-9f));
  p = vec_fma(p, t, vec_set1(-0x1.a3f7a4p-10f));
  p = vec_fma(p, t, vec_set1(-0x1.0c79aap-6f));
  p = vec_fma(p, t, vec_set1(0x1.2ea6dcp-7f));
  p = vec_fma(p, t, vec_set1(0x1.0e4f38p-3f));
  p = vec_fma(p, t, vec_set1(-0x1.bc19c4p-2f));
  const vec s = vec_fma(t, p, s0), s_rest = vec_add(vec_fma(t, p, vec_sub(s0, s)), vec_set1(0x1.7b981cp-26f));
  const vec s_low = vec_fma(t_low, p, s_rest); /* p is near enough to the slope of S */
  const vec high = vec_mul(r, s);
  return (vec_pair_sum){high, vec_sub(vec_fma(r, s_low, vec_mul(r_low, s)), vec_fnma(r, s, high))};
}

/* x times a factor, whose power counts for negative x. a is |x|, or the limit, from which on the factor is 1 or the
 * result 0. */
FOVEA_INLINE vec vec_times_factor(vec x, vec a, const float limit, vec_pair_sum factor, vec power) {
  const vec size = vec_copysign(a, x), y = vec_fma(size, factor.high, vec_mul(size, factor.low));
  const vec scaled = vec_mul(vec_mul(y, power), vec_set1(0x1p-32f));
  return vec_select(vec_less(vec_set1(limit), x), x, vec_select(vec_less(x, vec_set1(0.0f)), scaled, y));
}

/* x / (1 + e^-x) */
FOVEA_INLINE vec vec_silu(vec x) {
  const float limit = 110.0f;
  const vec a = vec_min(vec_set1(limit), vec_abs(x));
  const vec_exponential e = vec_exp_minus(a, vec_set1(0.0f));
  return vec_times_factor(x, a, limit, vec_sigmoid(&e, vec_less(x, vec_set1(0.0f))), e.power);
}

/* x / (1 + e^-w) with w = 2 sqrt(2 / pi) (x + 0.044715 x^3), of which no rounding is lost: e^-w shows it w times
 * enlarged. */
FOVEA_INLINE vec vec_gelu_tanh(vec x) {
  const float limit = 10.8f;
  const vec c0 = vec_set1(0x1.988454p+0f), c1 = vec_set1(0x1.2444f2p-4f);
  const vec a = vec_min(vec_set1(limit), vec_abs(x));
  const vec square = vec_mul(a, a), square_low = vec_sub(vec_set1(0.0f), vec_fnma(a, a, square));
  const vec p = vec_mul(c1, square), p_rest = vec_fnma(c1, square, p);
  const vec p_low = vec_fma(square, vec_set1(0x1.49b16ap-29f), vec_sub(vec_mul(c1, square_low), p_rest));
  const vec s = vec_add(p, c0), part = vec_sub(s, p);
  const vec s_rest = vec_add(vec_sub(p, vec_sub(s, part)), vec_sub(c0, part));
  const vec s_low = vec_add(s_rest, vec_add(p_low, vec_set1(-0x1.857936p-25f)));
  const vec w = vec_mul(a, s), w_low = vec_sub(vec_mul(a, s_low), vec_fnma(a, s, w));
  const vec_exponential e = vec_exp_minus(w, w_low);
  return vec_times_factor(x, a, limit, vec_sigmoid(&e, vec_less(x, vec_set1(0.0f))), e.power);
}

/* x Phi(x). With a = |x| and E = e^(-a^2/2) R(a), Phi is E for negative x and 1 - E for others, so nothing cancels.
 */
FOVEA_INLINE vec vec_gelu(vec x) {
  const float limit = 14.5f;
  const vec one = vec_set1(1.0f), a = vec_min(vec_set1(limit), vec_abs(x)), half = vec_mul(a, vec_set1(0.5f));
  const vec w = vec_mul(a, half), w_low = vec_sub(vec_set1(0.0f), vec_fnma(a, half, w));
  const vec_exponential e = vec_exp_minus(w, w_low);
  const vec_pair_sum r = vec_normal_tail(a);
  const vec high = vec_mul(e.m.high, r.high), rest = vec_fnma(e.m.high, r.high, high);
  const vec low = vec_sub(vec_fma(e.m.high, r.low, vec_mul(e.m.low, r.high)), rest);
  const vec scale = vec_mul(e.power, vec_set1(0x1p-32f)), q = vec_mul(high, scale), above = vec_sub(one, q);
  const vec above_low = vec_fnma(low, scale, vec_sub(vec_sub(one, above), q));
  const vecmask negative = vec_less(x, vec_set1(0.0f));
  const vec_pair_sum phi = {vec_select(negative, high, above), vec_select(negative, low, above_low)};
  return vec_times_factor(x, a, limit, phi, e.power);
}

FOVEA_INLINE vec vec_activation(vec x, const fovea_nn_activation activation) {
  switch (activation) {
  case FOVEA_NN_RELU:
    return vec_relu(x);
  case FOVEA_NN_GELU:
    return vec_gelu(x);
  case FOVEA_NN_GELU_TANH:
    return vec_gelu_tanh(x);
  case FOVEA_NN_SILU:
    return vec_silu(x);
  default:
    return x;
  }
}

#endif
