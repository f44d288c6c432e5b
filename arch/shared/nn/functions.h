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
    ACTIVATED_CASE(FOVEA_NN_ACTIVATION_NONE, call)                                                                 \
    ACTIVATED_CASE(FOVEA_NN_ACTIVATION_RELU, call)                                                                 \
    ACTIVATED_CASE(FOVEA_NN_ACTIVATION_GELU, call)                                                                 \
    ACTIVATED_CASE(FOVEA_NN_ACTIVATION_GELU_TANH, call)                                                            \
    ACTIVATED_CASE(FOVEA_NN_ACTIVATION_SILU, call)                                                                 \
    ACTIVATED_CASE(FOVEA_NN_ACTIVATION_ELU, call)                                                                  \
  }

/* max(x, 0); NaN stays. */
FOVEA_INLINE vec vec_relu(vec x) {
  return vec_select(vec_less(x, vec_set1(0.0f)), vec_set1(0.0f), x);
}

/* Vectors that are computed together: a function is a chain of 100 to 200 cycles, so that `count` vectors, a
 * constant, take each step together, as in tanh.h. */
#define FUNCTION_VECTORS 4
#define EACH             FOVEA_UNROLL for (int i = 0; i < count; i++)

/* ---- x / (1 + e^-w) ------------------------------------------------------------------------------------------ */

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

/* 2^-32 (1 + e^-w). q is the polynomial of (e^-f - 1) / f. Only the last sum rounds: beside a power of 2^24 the one
 * is lost and added again. (Not const: with sanitizers gcc 12 takes what EACH sets for not set.) */
FOVEA_INLINE void vec_one_and_power(vec_powers *e, const float q[6], const int count, vec *sum) {
  const vec one = vec_set1(0x1p-32f);
  vec p[FUNCTION_VECTORS], part[FUNCTION_VECTORS], lost[FUNCTION_VECTORS];
  EACH p[i] = vec_fma(vec_set1(q[0]), e->f[i], vec_set1(q[1]));
  EACH sum[i] = vec_add(e->power[i], one);
  EACH p[i] = vec_fma(p[i], e->f[i], vec_set1(q[2]));
  EACH part[i] = vec_mul(e->power[i], e->f[i]);
  EACH lost[i] = vec_sub(e->power[i], sum[i]);
  EACH p[i] = vec_fma(p[i], e->f[i], vec_set1(q[3]));
  EACH lost[i] = vec_add(lost[i], one);
  EACH p[i] = vec_fma(p[i], e->f[i], vec_set1(q[4]));
  EACH p[i] = vec_fma(p[i], e->f[i], vec_set1(q[5]));
  EACH part[i] = vec_fma(part[i], p[i], lost[i]);
  EACH sum[i] = vec_add(sum[i], part[i]);
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
  vec w[FUNCTION_VECTORS], minus[FUNCTION_VECTORS], n[FUNCTION_VECTORS], sum[FUNCTION_VECTORS];
  vec_powers e;
  EACH a[i] = vec_max(x[i], vec_set1(-10.8f));
  EACH s[i] = vec_fma(a[i], a[i], linear);
  EACH w[i] = vec_mul(a[i], s[i]);
  EACH s_low[i] = vec_fma(a[i], a[i], vec_sub(linear, s[i]));
  EACH s_low[i] = vec_add(s_low[i], linear_low);
  vec_nearest_power(w, -0x1.a5a7dp-4f, count, n, e.power);
  EACH minus[i] = vec_fnma(a[i], s[i], w[i]);
  EACH minus[i] = vec_fnma(a[i], s_low[i], minus[i]);
  EACH minus[i] = vec_fma(n[i], vec_set1(0x1.549446p-16f), minus[i]);
  EACH e.f[i] = vec_fma(n[i], vec_set1(0x1.36dap+3f), w[i]);
  EACH e.f[i] = vec_sub(e.f[i], minus[i]);
  vec_one_and_power(&e, q, count, sum);
  vec_over_sum(a, sum, 6.0f, count, x);
}

/* ---- GELU ---------------------------------------------------------------------------------------------------- */

/* W(a) = 2 ln(Phi(a) / (1 - Phi(a))) is odd, and Phi(x) = 1 / (1 + e^-w) with 2 w = W(x). For a from 0 to 15 it has
 * 16 pieces, which are quarters of powers of two of a + 1. In a piece, W(a) is a^2 + value + f p(f) with f = a -
 * node. Nodes are where values have few bits. Entries are in the order of vec_pick(): the piece from 0 on is
 * element 12. */
enum { GELU_NODE, GELU_VALUE, GELU_FIRST, GELU_LAST = GELU_FIRST + 5 };
static const float gelu_pieces[GELU_LAST + 1][16] = {
    {0x1.3e5b98p+0f, 0x1.bdfe8ep+0f, 0x1.1ebe42p+1f, 0x1.5f2586p+1f, 0x1.bddf9ap+1f, 0x1.1eccbap+2f, 0x1.5ed0cap+2f,
     0x1.9ee9e2p+2f, 0x1.fdb7fep+2f, 0x1.3ece14p+3f, 0x1.7ed6a4p+3f, 0x1.b78036p+3f, 0, 0x1.7c431ep-2f,
     0x1.3ddddcp-1f, 0x1.bd8394p-1f},
    {0x1.59afp+1f, 0x1.a432p+1f, 0x1.db67p+1f, 0x1.03cap+2f, 0x1.1e4ap+2f, 0x1.3b568p+2f, 0x1.535a8p+2f,
     0x1.67c34p+2f, 0x1.812a4p+2f, 0x1.9d228p+2f, 0x1.b42fp+2f, 0x1.c5a44p+2f, 0, 0x1.0e02p+0f, 0x1.a178p+0f,
     0x1.0eca8p+1f},
    {0x1.5f434p+0f, 0x1.fbdadep-1f, 0x1.8560bep-1f, 0x1.3f11cap-1f, 0x1.035804p-1f, 0x1.a3fa7ep-2f, 0x1.601b8cp-2f,
     0x1.2e6644p-2f, 0x1.f3394ep-3f, 0x1.933d62p-3f, 0x1.51be74p-3f, 0x1.2725ep-3f, 0x1.988454p+1f, 0x1.41254p+1f,
     0x1.0f121cp+1f, 0x1.c7c5f6p+0f},
    {-0x1.e30268p-2f, -0x1.314cf8p-2f, -0x1.680282p-3f, -0x1.ad8e1p-4f, -0x1.f002dp-5f, -0x1.40bb88p-5f,
     -0x1.cb1edap-6f, -0x1.57151cp-6f, -0x1.d94416p-7f, -0x1.37b3ecp-7f, -0x1.b7b9a8p-8f, -0x1.50d61ep-8f,
     -0x1.000056p+0f, -0x1.ad26dep-1f, -0x1.75c80ap-1f, -0x1.3f47e4p-1f},
    {0x1.08b628p-3f, 0x1.9b1452p-4f, 0x1.037d86p-4f, 0x1.0c0046p-5f, 0x1.73a6bcp-7f, 0x1.37630ap-8f, 0x1.7bcbecp-9f,
     0x1.f38cdcp-10f, 0x1.231c58p-10f, 0x1.3b7824p-11f, 0x1.78bb3p-12f, 0x1.fb59acp-13f, 0x1.29dabcp-3f,
     0x1.28f4aep-3f, 0x1.26668cp-3f, 0x1.1fa812p-3f},
    {-0x1.59690cp-7f, -0x1.22dc1cp-6f, -0x1.26f16p-6f, -0x1.84fd0ap-7f, -0x1.d5bca4p-9f, -0x1.6b481ap-11f,
     -0x1.531fdep-12f, -0x1.8bece2p-13f, -0x1.8865f2p-14f, -0x1.6144d2p-15f, -0x1.66d90cp-16f, -0x1.aa5a68p-17f,
     -0x1.8e3ae2p-11f, -0x1.74b9b4p-11f, -0x1.2a527cp-9f, -0x1.2ec85ep-8f},
    {-0x1.bb4bacp-9f, -0x1.d6e774p-10f, 0x1.820802p-10f, 0x1.7654f8p-9f, 0x1.687354p-10f, 0x1.597342p-13f,
     0x1.425ad4p-15f, 0x1.378bdep-16f, 0x1.15d656p-17f, 0x1.9f3954p-19f, 0x1.6a4d2p-20f, 0x1.994ac4p-21f,
     0x1.5a51dp-9f, -0x1.091e24p-11f, -0x1.0bf47cp-9f, -0x1.265ebp-9f},
    {-0x1.32ada4p-13f, 0x1.34560ep-10f, 0x1.b21022p-11f, 0x1.16a316p-15f, -0x1.8e103p-12f, -0x1.d9cd3ap-15f,
     -0x1.970e46p-19f, 0x1.b41148p-23f, -0x1.85d89ap-21f, -0x1.a74112p-23f, -0x1.39540ap-24f, -0x1.fb402ap-26f,
     -0x1.fc6888p-9f, 0x1.111716p-9f, 0x1.01fff6p-7f, -0x1.27ed82p-8f}};

/* e^-w for x Phi(x) = x / (1 + e^-w). Powers and the rest have the unit of W, w / 2. n comes from p(0) instead of
 * p(f), which is near enough and there earlier. `above`: x or the limit. */
FOVEA_INLINE void vec_gelu_powers(const vec *x, const int count, vec *above, vec_powers *e) {
  vec a[FUNCTION_VECTORS], f[FUNCTION_VECTORS], p[FUNCTION_VECTORS], value[FUNCTION_VECTORS];
  vec w[FUNCTION_VECTORS], minus[FUNCTION_VECTORS], n[FUNCTION_VECTORS];
  vec node[FUNCTION_VECTORS], signed_f[FUNCTION_VECTORS], square[FUNCTION_VECTORS];
  veci piece[FUNCTION_VECTORS];
  EACH above[i] = vec_max(x[i], vec_set1(-14.5f));
  EACH a[i] = vec_abs(above[i]);
  EACH piece[i] = vec_quarter(vec_add(a[i], vec_set1(1.0f)));
  EACH node[i] = vec_pick(gelu_pieces[GELU_NODE], piece[i]);
  EACH p[i] = vec_pick(gelu_pieces[GELU_LAST], piece[i]);
  EACH f[i] = vec_sub(a[i], node[i]);
  EACH signed_f[i] = vec_flip(f[i], above[i]);
  EACH value[i] = vec_copysign(vec_pick(gelu_pieces[GELU_VALUE], piece[i]), above[i]);
  EACH square[i] = vec_mul(above[i], a[i]);
  EACH w[i] = vec_add(square[i], value[i]);
  EACH w[i] = vec_fma(signed_f[i], vec_pick(gelu_pieces[GELU_FIRST], piece[i]), w[i]);
  vec_nearest_power(w, -0x1.715476p-1f, count, n, e->power);
  EACH minus[i] = vec_fnma(above[i], a[i], square[i]);
  EACH value[i] = vec_fma(n[i], vec_set1(0x1.62e4p+0f), value[i]);
  EACH minus[i] = vec_fnma(n[i], vec_set1(0x1.7f7d1cp-19f), minus[i]);
  EACH square[i] = vec_add(square[i], value[i]);
  FOVEA_UNROLL
  for (int k = GELU_LAST - 1; k >= GELU_FIRST; k--) {
    EACH p[i] = vec_fma(p[i], f[i], vec_pick(gelu_pieces[k], piece[i]));
  }
  EACH minus[i] = vec_fnma(signed_f[i], p[i], minus[i]);
  EACH e->f[i] = vec_sub(square[i], minus[i]);
}

FOVEA_INLINE void vec_gelu_quotients(vec *x, const int count, const vec *above, vec_powers *e) {
  static const float q[] = {0x1.6a4154p-16f, -0x1.1239c6p-12f, 0x1.5558bcp-9f,
                            -0x1.555492p-6f, 0x1.fffffcp-4f,   -0.5f};
  vec sum[FUNCTION_VECTORS];
  vec_one_and_power(e, q, count, sum);
  vec_over_sum(above, sum, 6.0f, count, x);
}

/* Two chains together, or one: more of them have no room in registers. The powers of all come first: the quotients of
 * the first two then have what they need, and fill the time in which powers wait for each other. */
FOVEA_INLINE void vec_gelu(vec *x, const int count) {
  const int together = count < 2 ? count : 2;
  vec above[FUNCTION_VECTORS];
  vec_powers e[FUNCTION_VECTORS];
  FOVEA_UNROLL
  for (int i = 0; i < count; i += together) vec_gelu_powers(x + i, together, above + i, &e[i]);
  FOVEA_UNROLL
  for (int i = 0; i < count; i += together) vec_gelu_quotients(x + i, together, above + i, &e[i]);
}

/* x, or e^x - 1 by the numbers of tanh.h, where 1 - e^-2a is a step: a = |x| / 2. NaN stays. */
FOVEA_INLINE void vec_elu(vec *x, const int count) {
  const vec shift = vec_set1(0x1.8p23f + 127.0f);
  vec a[FUNCTION_VECTORS], shifted[FUNCTION_VECTORS], f[FUNCTION_VECTORS], power[FUNCTION_VECTORS],
      q[FUNCTION_VECTORS], y[FUNCTION_VECTORS];
  EACH a[i] = vec_min(vec_set1(10.0f), vec_mul(vec_abs(x[i]), vec_set1(0.5f)));
  EACH shifted[i] = vec_fma(a[i], vec_set1(-2.0f * (float)FOVEA_LOG2E), shift);
  EACH f[i] = vec_sub(shifted[i], shift);
  EACH power[i] = vec_exponent_from_low_bits(shifted[i]);
  EACH f[i] = vec_fma(f[i], vec_set1(0x1.62e43p-2f), a[i]);
  EACH q[i] = vec_fma(vec_set1(-0x1.6731cep-4f), f[i], vec_set1(0x1.123d16p-2f));
  EACH q[i] = vec_fma(q[i], f[i], vec_set1(-0x1.555dc4p-1f));
  EACH q[i] = vec_fma(q[i], f[i], vec_set1(0x1.55548cp+0f));
  EACH q[i] = vec_fma(q[i], f[i], vec_set1(-0x1.fffff4p+0f));
  EACH q[i] = vec_fma(q[i], f[i], vec_set1(2.0f));
  EACH y[i] = vec_sub(power[i], vec_set1(1.0f));
  EACH y[i] = vec_fnma(vec_mul(power[i], f[i]), q[i], y[i]);
  EACH x[i] = vec_select(vec_less(x[i], vec_set1(0.0f)), y[i], x[i]);
}

/* e^x = 2^n e^f, by the polynomial above in -f. The shift leaves n - 1 + 127 in the low bits, and the last doubling
 * reaches 2^128: infinity where e^x is beyond f32. Below -86.5 the result is 0. NaN stays. */
FOVEA_INLINE void vec_exp(vec *x, const int count) {
  static const float q[] = {0x1.6a4154p-10f, 0x1.1239c6p-7f, 0x1.5558bcp-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1, 1};
  const vec shift = vec_set1(0x1.8p23f + 126.0f);
  vec a[FUNCTION_VECTORS], n[FUNCTION_VECTORS], f[FUNCTION_VECTORS], power[FUNCTION_VECTORS], p[FUNCTION_VECTORS];
  EACH a[i] = vec_min(vec_set1(89.0f), x[i]);
  EACH n[i] = vec_fma(a[i], vec_set1((float)FOVEA_LOG2E), shift);
  EACH power[i] = vec_exponent_from_low_bits(n[i]);
  EACH n[i] = vec_sub(n[i], shift);
  EACH f[i] = vec_fnma(n[i], vec_set1(0x1.62e43p-1f), a[i]);
  EACH f[i] = vec_fma(n[i], vec_set1(0x1.05c61p-29f), f[i]);
  EACH p[i] = vec_set1(q[0]);
  FOVEA_UNROLL
  for (int k = 1; k < 7; k++) EACH p[i] = vec_fma(p[i], f[i], vec_set1(q[k]));
  EACH p[i] = vec_mul(p[i], power[i]);
  EACH x[i] = vec_select(vec_less(x[i], vec_set1(-86.5f)), vec_set1(0.0f), vec_add(p[i], p[i]));
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
FUNCTION_CALLS(vec_elu)

/* The same in line. */
FOVEA_INLINE void vec_activate_inline(vec *x, const int count, const fovea_nn_activation activation) {
  switch (activation) {
  case FOVEA_NN_ACTIVATION_RELU:
    EACH x[i] = vec_relu(x[i]);
    break;
  case FOVEA_NN_ACTIVATION_GELU:
    vec_gelu(x, count);
    break;
  case FOVEA_NN_ACTIVATION_GELU_TANH:
    vec_gelu_tanh(x, count);
    break;
  case FOVEA_NN_ACTIVATION_SILU:
    vec_silu(x, count);
    break;
  case FOVEA_NN_ACTIVATION_ELU:
    vec_elu(x, count);
    break;
  default:
    break;
  }
}

/* Activates `count` vectors, FUNCTION_VECTORS or one. */
FOVEA_INLINE void vec_activate(vec *x, const int count, const fovea_nn_activation activation) {
  const int all = count == FUNCTION_VECTORS;
  switch (activation) {
  case FOVEA_NN_ACTIVATION_RELU:
    EACH x[i] = vec_relu(x[i]);
    break;
  case FOVEA_NN_ACTIVATION_GELU:
    all ? vec_gelu_of_all(x) : vec_gelu_of_one(x);
    break;
  case FOVEA_NN_ACTIVATION_GELU_TANH:
    all ? vec_gelu_tanh_of_all(x) : vec_gelu_tanh_of_one(x);
    break;
  case FOVEA_NN_ACTIVATION_SILU:
    all ? vec_silu_of_all(x) : vec_silu_of_one(x);
    break;
  case FOVEA_NN_ACTIVATION_ELU:
    all ? vec_elu_of_all(x) : vec_elu_of_one(x);
    break;
  default:
    break;
  }
}

#undef EACH

/* LeakyReLU: NaN is not above 0, and stays NaN. */
FOVEA_INLINE vec additive_leaky(vec x, vec slope) {
  return vec_select(vec_less(vec_set1(0.0f), x), x, vec_mul(x, slope));
}

#endif
