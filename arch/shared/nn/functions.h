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

/* ---- x / (1 + e^-w) -------------------------------------------------------------------------------------------
 */

/* e^-w = 2^n e^-f, with n the integer nearest to -w log2 e. */
typedef struct vec_powers {
  vec power[FUNCTION_VECTORS]; /* 2^(n - 32) */
  vec f[FUNCTION_VECTORS];
} vec_powers;

/* n from w and from -log2 e in units of w. The shift leaves n + 127 - 32 in the low bits of the sum. */
FOVEA_INLINE void vec_nearest_power(const vec *w, const float log2_e, const int count, vec *n, vec *power) {
  const vec shift = vec_set1(0x1.8p23f + 95.0f);
  vec shifted[FUNCTION_VECTORS];
  EACH shifted[i] = vec_fma(w[i], vec_set1(log2_e), shift);
  EACH n[i] = vec_sub(shifted[i], shift);
  EACH power[i] = vec_exponent_from_low_bits(shifted[i]);
}

/* 2^-32 (1 + e^-w). q is the polynomial of (e^-f - 1) / f. The one is added before the power, beside which it may
 * be lost. */
FOVEA_INLINE void vec_one_and_power(const vec_powers *e, const float q[6], const int count, vec *sum) {
  vec p[FUNCTION_VECTORS], part[FUNCTION_VECTORS];
  EACH p[i] = vec_fma(vec_set1(q[0]), e->f[i], vec_set1(q[1]));
  EACH p[i] = vec_fma(p[i], e->f[i], vec_set1(q[2]));
  EACH part[i] = vec_mul(e->power[i], e->f[i]);
  EACH p[i] = vec_fma(p[i], e->f[i], vec_set1(q[3]));
  EACH p[i] = vec_fma(p[i], e->f[i], vec_set1(q[4]));
  EACH p[i] = vec_fma(p[i], e->f[i], vec_set1(q[5]));
  EACH part[i] = vec_fma(part[i], p[i], vec_set1(0x1p-32f));
  EACH sum[i] = vec_add(part[i], e->power[i]);
}

/* 2^-32 (1 + e^-w), for w from -110 to 32. */
FOVEA_INLINE void vec_one_and_exp(const vec *w, const int count, vec *sum) {
  static const float q[] = {0x1.6a4154p-10f, -0x1.1239c6p-7f, 0x1.5558bcp-5f, -0x1.555492p-3f, 0x1.fffffcp-2f, -1};
  vec n[FUNCTION_VECTORS];
  vec_powers e;
  vec_nearest_power(w, -0x1.715476p+0f, count, n, e.power);
  EACH e.f[i] = vec_fma(n[i], vec_set1(0x1.62e43p-1f), w[i]);
  EACH e.f[i] = vec_fma(n[i], vec_set1(-0x1.05c61p-29f), e.f[i]);
  vec_one_and_power(&e, q, count, sum);
}

/* x / (1 + e^-w), where `above` is x or a limit, below which the result is 0. From `limit` on, x stays, as does
 * NaN; its sum may be any number. */
FOVEA_INLINE void vec_over_sum(const vec *above, const vec *sum, const float limit, const int count, vec *x) {
  vec y[FUNCTION_VECTORS];
  EACH y[i] = vec_div(above[i], sum[i]);
  EACH y[i] = vec_mul(y[i], vec_set1(0x1p-32f));
  EACH x[i] = vec_select(vec_less(x[i], vec_set1(limit)), y[i], x[i]);
}

/* x / (1 + e^-x) */
FOVEA_INLINE void vec_silu(vec *x, const int count) {
  vec above[FUNCTION_VECTORS], sum[FUNCTION_VECTORS];
  EACH above[i] = vec_max(x[i], vec_set1(-110.0f));
  vec_one_and_exp(above, count, sum);
  vec_over_sum(above, sum, 32.0f, count, x);
}

/* x / (1 + e^-cw) with w = x^3 + x / 0.044715 and c = 2 sqrt(2 / pi) 0.044715. No rounding of w is lost, since e^-w
 * shows it w times enlarged; f has the unit of w. */
FOVEA_INLINE void vec_gelu_tanh(vec *x, const int count) {
  static const float q[] = {0x1.981bf4p-33f,  -0x1.0a776p-26f, 0x1.21ef8p-20f,
                            -0x1.fbec7ap-15f, 0x1.4dad5ep-9f,  -0x1.2444f4p-4f};
  const vec linear = vec_set1(0x1.65d26p+4f), linear_low = vec_set1(-0x1.226128p-20f);
  vec a[FUNCTION_VECTORS], s[FUNCTION_VECTORS], s_low[FUNCTION_VECTORS];
  vec w[FUNCTION_VECTORS], low[FUNCTION_VECTORS], n[FUNCTION_VECTORS], sum[FUNCTION_VECTORS];
  vec_powers e;
  EACH a[i] = vec_max(x[i], vec_set1(-10.8f));
  EACH s[i] = vec_fma(a[i], a[i], linear);
  EACH w[i] = vec_mul(a[i], s[i]);
  EACH s_low[i] = vec_fma(a[i], a[i], vec_sub(linear, s[i]));
  EACH s_low[i] = vec_add(s_low[i], linear_low);
  vec_nearest_power(w, -0x1.a5a7dp-4f, count, n, e.power);
  EACH low[i] = vec_sub(vec_set1(0.0f), vec_fnma(a[i], s[i], w[i]));
  EACH low[i] = vec_fma(a[i], s_low[i], low[i]);
  EACH low[i] = vec_fma(n[i], vec_set1(-0x1.549446p-16f), low[i]);
  EACH e.f[i] = vec_fma(n[i], vec_set1(0x1.36dap+3f), w[i]);
  EACH e.f[i] = vec_add(e.f[i], low[i]);
  vec_one_and_power(&e, q, count, sum);
  vec_over_sum(a, sum, 6.0f, count, x);
}

/* ---- GELU ------------------------------------------------------------------------------------------------------
 */

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

/* The same in line. */
FOVEA_INLINE void vec_activate_inline(vec *x, const int count, const fovea_nn_activation activation) {
  switch (activation) {
  case FOVEA_NN_RELU:
    EACH x[i] = vec_relu(x[i]);
    break;
  case FOVEA_NN_GELU:
    vec_gelu(x, count);
    break;
  case FOVEA_NN_GELU_TANH:
    vec_gelu_tanh(x, count);
    break;
  case FOVEA_NN_SILU:
    vec_silu(x, count);
    break;
  default:
    break;
  }
}

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
