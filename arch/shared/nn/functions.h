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

/* Vectors that are computed together: a function is a chain of 100 to 200 cycles, so that `count` vectors, a
 * constant, take each step together, as in tanh.h. */
#define FUNCTION_VECTORS 4
#define EACH             FOVEA_UNROLL for (int i = 0; i < count; i++)

/* Numbers as the sums of two: low is at most about one rounding of high. */
typedef struct vec_pair_sums {
  vec high[FUNCTION_VECTORS], low[FUNCTION_VECTORS];
} vec_pair_sums;

/* e^-w = (m.high + m.low) * power * 2^-32, with m from sqrt(1/2) to sqrt(2). power goes down to 2^-126 and then to
 * 0, which is e^-w = 2^-158. */
typedef struct vec_exponentials {
  vec_pair_sums m;
  vec power[FUNCTION_VECTORS];
} vec_exponentials;

/* For w from 0 to 110. The low part of w, and of the rounded result, are kept: the error is 0.4 u. */
FOVEA_INLINE void vec_exp_minus(const vec *w, const vec *w_low, const int count, vec_exponentials *e) {
  /* The shift leaves n + 127 + 32 in the low bits of the sum, the exponent of 2^(n + 32). n is at most 0. */
  const vec one = vec_set1(1.0f), shift = vec_set1(0x1.8p23f + 159.0f);
  vec shifted[FUNCTION_VECTORS], n[FUNCTION_VECTORS], f[FUNCTION_VECTORS], rest[FUNCTION_VECTORS];
  vec q[FUNCTION_VECTORS], left[FUNCTION_VECTORS];
  EACH shifted[i] = vec_fma(w[i], vec_set1(-0x1.715476p+0f), shift);
  EACH n[i] = vec_sub(shifted[i], shift);
  EACH e->power[i] = vec_exponent_from_low_bits(shifted[i]);
  EACH f[i] = vec_fma(n[i], vec_set1(0x1.62e43p-1f), w[i]);
  EACH rest[i] = vec_fma(n[i], vec_set1(-0x1.05c61p-29f), w_low[i]);
  EACH q[i] = vec_fma(vec_set1(0x1.6a4154p-10f), f[i], vec_set1(-0x1.1239c6p-7f)); /* (e^-f - 1) / f */
  EACH q[i] = vec_fma(q[i], f[i], vec_set1(0x1.5558bcp-5f));
  EACH q[i] = vec_fma(q[i], f[i], vec_set1(-0x1.555492p-3f));
  EACH q[i] = vec_fma(q[i], f[i], vec_set1(0x1.fffffcp-2f));
  EACH q[i] = vec_fma(q[i], f[i], vec_set1(-1.0f));
  EACH e->m.high[i] = vec_fma(f[i], q[i], one);
  EACH left[i] = vec_sub(one, e->m.high[i]);
  EACH left[i] = vec_fma(f[i], q[i], left[i]);
  EACH e->m.low[i] = vec_fnma(rest[i], e->m.high[i], left[i]);
}

/* 1 / (1 + e), and for negative x e / (1 + e) without the power of e. */
FOVEA_INLINE void vec_sigmoid(const vec_exponentials *e, const vec *x, const int count, vec_pair_sums *y) {
  const vec one = vec_set1(1.0f), zero = vec_set1(0.0f);
  vec scale[FUNCTION_VECTORS], high[FUNCTION_VECTORS], d[FUNCTION_VECTORS], d_low[FUNCTION_VECTORS];
  vec top[FUNCTION_VECTORS], top_low[FUNCTION_VECTORS], inverse[FUNCTION_VECTORS], rest[FUNCTION_VECTORS];
  EACH scale[i] = vec_mul(e->power[i], vec_set1(0x1p-32f));
  EACH high[i] = vec_mul(e->m.high[i], scale[i]);
  EACH d[i] = vec_add(one, high[i]);
  EACH inverse[i] = vec_div(one, d[i]);
  EACH d_low[i] = vec_add(vec_sub(one, d[i]), high[i]);
  EACH d_low[i] = vec_fma(e->m.low[i], scale[i], d_low[i]);
  EACH top[i] = vec_select(vec_less(x[i], zero), e->m.high[i], one);
  EACH top_low[i] = vec_select(vec_less(x[i], zero), e->m.low[i], zero);
  EACH y->high[i] = vec_mul(top[i], inverse[i]);
  EACH rest[i] = vec_fnma(y->high[i], d[i], top[i]);
  EACH rest[i] = vec_fnma(y->high[i], d_low[i], rest[i]);
  EACH rest[i] = vec_add(rest[i], top_low[i]);
  EACH y->low[i] = vec_mul(rest[i], inverse[i]);
}

/* R(a) = e^(a^2/2) (1 - Phi(a)), for a from 0 to 14.5: S(t) / (a + 2.5), where t = (a - 2.5) / (a + 2.5) = 1 - 5 /
 * (a + 2.5). S goes from 1.25 down to 0.43; its polynomial is right to 0.28 u. */
FOVEA_INLINE void vec_normal_tail(const vec *a, const int count, vec_pair_sums *y) {
  const vec one = vec_set1(1.0f), two_and_half = vec_set1(2.5f), minus_five = vec_set1(-5.0f);
  const vec s0 = vec_set1(0x1.69cee6p-1f);
  vec d[FUNCTION_VECTORS], d_low[FUNCTION_VECTORS], r[FUNCTION_VECTORS], r_low[FUNCTION_VECTORS];
  vec m[FUNCTION_VECTORS], t[FUNCTION_VECTORS], t_low[FUNCTION_VECTORS], p[FUNCTION_VECTORS];
  vec s[FUNCTION_VECTORS], s_low[FUNCTION_VECTORS], left[FUNCTION_VECTORS];
  EACH d[i] = vec_add(a[i], two_and_half);
  EACH r[i] = vec_div(one, d[i]);
  EACH d_low[i] = vec_sub(a[i], vec_sub(d[i], two_and_half));
  EACH m[i] = vec_mul(vec_set1(5.0f), r[i]);
  EACH t[i] = vec_sub(one, m[i]);
  EACH p[i] = vec_fma(vec_set1(-0x1.4ba652p-13f), t[i], vec_set1(-0x1.468352p-12f));
  EACH r_low[i] = vec_fnma(r[i], d[i], one);
  EACH p[i] = vec_fma(p[i], t[i], vec_set1(0x1.67aa62p-11f));
  EACH r_low[i] = vec_fnma(r[i], d_low[i], r_low[i]);
  EACH p[i] = vec_fma(p[i], t[i], vec_set1(0x1.4ad77ep-9f));
  EACH r_low[i] = vec_mul(r_low[i], r[i]);
  EACH p[i] = vec_fma(p[i], t[i], vec_set1(-0x1.a3f7a4p-10f));
  EACH t_low[i] = vec_add(vec_fma(r[i], minus_five, m[i]), vec_sub(vec_sub(one, t[i]), m[i]));
  EACH p[i] = vec_fma(p[i], t[i], vec_set1(-0x1.0c79aap-6f));
  EACH t_low[i] = vec_fma(r_low[i], minus_five, t_low[i]);
  EACH p[i] = vec_fma(p[i], t[i], vec_set1(0x1.2ea6dcp-7f));
  EACH p[i] = vec_fma(p[i], t[i], vec_set1(0x1.0e4f38p-3f));
  EACH p[i] = vec_fma(p[i], t[i], vec_set1(-0x1.bc19c4p-2f));
  EACH s[i] = vec_fma(t[i], p[i], s0);
  EACH left[i] = vec_sub(s0, s[i]);
  EACH left[i] = vec_add(vec_fma(t[i], p[i], left[i]), vec_set1(0x1.7b981cp-26f));
  EACH s_low[i] = vec_fma(t_low[i], p[i], left[i]); /* p is near enough to the slope of S */
  EACH y->high[i] = vec_mul(r[i], s[i]);
  EACH left[i] = vec_fnma(r[i], s[i], y->high[i]);
  EACH y->low[i] = vec_sub(vec_fma(r[i], s_low[i], vec_mul(r_low[i], s[i])), left[i]);
}

/* x times a factor, whose power counts for negative x. a is |x|, or the limit, from which on the factor is 1 or the
 * result 0. */
FOVEA_INLINE void vec_times_factor(vec *x, const vec *a, const float limit, const vec_pair_sums *factor,
                                   const vec *power, const int count) {
  const vec zero = vec_set1(0.0f), most = vec_set1(limit);
  vec size[FUNCTION_VECTORS], y[FUNCTION_VECTORS], scaled[FUNCTION_VECTORS];
  EACH size[i] = vec_copysign(a[i], x[i]);
  EACH y[i] = vec_mul(size[i], factor->low[i]);
  EACH y[i] = vec_fma(size[i], factor->high[i], y[i]);
  EACH scaled[i] = vec_mul(y[i], power[i]);
  EACH scaled[i] = vec_mul(scaled[i], vec_set1(0x1p-32f));
  EACH y[i] = vec_select(vec_less(x[i], zero), scaled[i], y[i]);
  EACH x[i] = vec_select(vec_less(most, x[i]), x[i], y[i]);
}

/* x / (1 + e^-x) */
FOVEA_INLINE void vec_silu(vec *x, const int count) {
  const float limit = 110.0f;
  vec a[FUNCTION_VECTORS], zeros[FUNCTION_VECTORS];
  vec_exponentials e;
  vec_pair_sums factor;
  EACH a[i] = vec_min(vec_set1(limit), vec_abs(x[i]));
  EACH zeros[i] = vec_set1(0.0f);
  vec_exp_minus(a, zeros, count, &e);
  vec_sigmoid(&e, x, count, &factor);
  vec_times_factor(x, a, limit, &factor, e.power, count);
}

/* x / (1 + e^-w) with w = 2 sqrt(2 / pi) (x + 0.044715 x^3), of which no rounding is lost: e^-w shows it w times
 * enlarged. */
FOVEA_INLINE void vec_gelu_tanh(vec *x, const int count) {
  const float limit = 10.8f;
  const vec zero = vec_set1(0.0f), c0 = vec_set1(0x1.988454p+0f), c1 = vec_set1(0x1.2444f2p-4f);
  vec a[FUNCTION_VECTORS], square[FUNCTION_VECTORS], square_low[FUNCTION_VECTORS], p[FUNCTION_VECTORS];
  vec p_low[FUNCTION_VECTORS], s[FUNCTION_VECTORS], s_low[FUNCTION_VECTORS], part[FUNCTION_VECTORS];
  vec w[FUNCTION_VECTORS], w_low[FUNCTION_VECTORS];
  vec_exponentials e;
  vec_pair_sums factor;
  EACH a[i] = vec_min(vec_set1(limit), vec_abs(x[i]));
  EACH square[i] = vec_mul(a[i], a[i]);
  EACH square_low[i] = vec_sub(zero, vec_fnma(a[i], a[i], square[i]));
  EACH p[i] = vec_mul(c1, square[i]);
  EACH p_low[i] = vec_sub(vec_mul(c1, square_low[i]), vec_fnma(c1, square[i], p[i]));
  EACH p_low[i] = vec_fma(square[i], vec_set1(0x1.49b16ap-29f), p_low[i]);
  EACH s[i] = vec_add(p[i], c0);
  EACH part[i] = vec_sub(s[i], p[i]);
  EACH s_low[i] = vec_add(vec_sub(p[i], vec_sub(s[i], part[i])), vec_sub(c0, part[i]));
  EACH s_low[i] = vec_add(s_low[i], vec_add(p_low[i], vec_set1(-0x1.857936p-25f)));
  EACH w[i] = vec_mul(a[i], s[i]);
  EACH w_low[i] = vec_sub(vec_mul(a[i], s_low[i]), vec_fnma(a[i], s[i], w[i]));
  vec_exp_minus(w, w_low, count, &e);
  vec_sigmoid(&e, x, count, &factor);
  vec_times_factor(x, a, limit, &factor, e.power, count);
}

/* x Phi(x). With a = |x| and E = e^(-a^2/2) R(a), Phi is E for negative x and 1 - E for others, so nothing cancels.
 */
FOVEA_INLINE void vec_gelu(vec *x, const int count) {
  const float limit = 14.5f;
  const vec one = vec_set1(1.0f), zero = vec_set1(0.0f);
  vec a[FUNCTION_VECTORS], half[FUNCTION_VECTORS], w[FUNCTION_VECTORS], w_low[FUNCTION_VECTORS];
  vec high[FUNCTION_VECTORS], low[FUNCTION_VECTORS], scale[FUNCTION_VECTORS], q[FUNCTION_VECTORS];
  vec above[FUNCTION_VECTORS], above_low[FUNCTION_VECTORS];
  vec_exponentials e;
  vec_pair_sums r, phi;
  EACH a[i] = vec_min(vec_set1(limit), vec_abs(x[i]));
  EACH half[i] = vec_mul(a[i], vec_set1(0.5f));
  EACH w[i] = vec_mul(a[i], half[i]);
  EACH w_low[i] = vec_sub(zero, vec_fnma(a[i], half[i], w[i]));
  vec_exp_minus(w, w_low, count, &e);
  vec_normal_tail(a, count, &r);
  EACH high[i] = vec_mul(e.m.high[i], r.high[i]);
  EACH low[i] = vec_fma(e.m.high[i], r.low[i], vec_mul(e.m.low[i], r.high[i]));
  EACH low[i] = vec_sub(low[i], vec_fnma(e.m.high[i], r.high[i], high[i]));
  EACH scale[i] = vec_mul(e.power[i], vec_set1(0x1p-32f));
  EACH q[i] = vec_mul(high[i], scale[i]);
  EACH above[i] = vec_sub(one, q[i]);
  EACH above_low[i] = vec_fnma(low[i], scale[i], vec_sub(vec_sub(one, above[i]), q[i]));
  EACH phi.high[i] = vec_select(vec_less(x[i], zero), high[i], above[i]);
  EACH phi.low[i] = vec_select(vec_less(x[i], zero), low[i], above_low[i]);
  vec_times_factor(x, a, limit, &phi, e.power, count);
}

/* Calls, which activations and linear layers share: of FUNCTION_VECTORS vectors, and of one. */
#define FUNCTION_CALLS(name)                                                                                       \
  FOVEA_NOINLINE void name##_of_all(vec *x) {                                                                      \
    name(x, FUNCTION_VECTORS);                                                                                     \
  }                                                                                                                \
  FOVEA_NOINLINE void name##_of_one(vec *x) {                                                                      \
    name(x, 1);                                                                                                    \
  }
FUNCTION_CALLS(vec_silu)
FUNCTION_CALLS(vec_gelu)
FUNCTION_CALLS(vec_gelu_tanh)

/* Activates `count` vectors, FUNCTION_VECTORS or one. */
FOVEA_INLINE void vec_activate(vec *x, const int count, const fovea_nn_activation activation) {
  const int all = count == FUNCTION_VECTORS;
  switch (activation) {
  case FOVEA_NN_RELU:
    EACH x[i] = vec_relu(x[i]);
    break;
  case FOVEA_NN_GELU:
    all ? vec_gelu_of_all(x) : vec_gelu_of_one(x);
    break;
  case FOVEA_NN_GELU_TANH:
    all ? vec_gelu_tanh_of_all(x) : vec_gelu_tanh_of_one(x);
    break;
  case FOVEA_NN_SILU:
    all ? vec_silu_of_all(x) : vec_silu_of_one(x);
    break;
  default:
    break;
  }
}

#undef EACH

#endif
