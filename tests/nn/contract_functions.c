#include "contract_functions.h"

#include "contract_nn.h"

#include <math.h>

/* 2^-32 (1 + e^-w), from the whole number n and the rest f of -w log2 e, and six coefficients of (e^-f - 1) / f. */
static float one_and_power(float n, float f, const float *c) {
  const float power = ldexpf(1, (int)n - 32);
  float q = c[0];
  for (int i = 1; i < 6; i++) q = fmaf(q, f, c[i]);
  const float sum = power + 0x1p-32f, lost = (power - sum) + 0x1p-32f;
  return fmaf(power * f, q, lost) + sum;
}

float contract_one_and_exp(float w) {
  static const float c[] = {0x1.6a4154p-10f, -0x1.1239c6p-7f, 0x1.5558bcp-5f, -0x1.555492p-3f, 0x1.fffffcp-2f, -1};
  const float shift = 0x1.8p+23f, n = fmaf(w, -0x1.715476p+0f, shift) - shift;
  return one_and_power(n, fmaf(n, -0x1.05c61p-29f, fmaf(n, 0x1.62e43p-1f, w)), c);
}

float contract_exp(float x) {
  static const float c[] = {0x1.6a4154p-10f, 0x1.1239c6p-7f, 0x1.5558bcp-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1, 1};
  const float a = x > 89 ? 89 : x, shift = 0x1.8p+23f, n = fmaf(a, 0x1.715476p+0f, shift) - shift;
  const float f = fmaf(n, 0x1.05c61p-29f, fmaf(n, -0x1.62e43p-1f, a));
  float p = c[0];
  if (isnan(x)) return x;
  if (x < -86.5f) return 0;
  for (int i = 1; i < 7; i++) p = fmaf(p, f, c[i]);
  return p * ldexpf(1, (int)n - 1) * 2;
}

float contract_silu(float x) {
  const float a = x < -110 ? -110 : x;
  return x < 32 ? a / contract_one_and_exp(a) * 0x1p-32f : x;
}

float contract_gelu_tanh(float x) {
  static const float c[] = {0x1.981bf4p-33f,  -0x1.0a776p-26f, 0x1.21ef8p-20f,
                            -0x1.fbec7ap-15f, 0x1.4dad5ep-9f,  -0x1.2444f4p-4f};
  const float a = x < -10.8f ? -10.8f : x, c0 = 0x1.65d26p+4f, shift = 0x1.8p+23f;
  if (!(x < 6)) return x;
  const float s = fmaf(a, a, c0), s_low = fmaf(a, a, c0 - s) + -0x1.226128p-20f;
  const float w = a * s, n = fmaf(w, -0x1.a5a7dp-4f, shift) - shift;
  const float low = fmaf(n, -0x1.549446p-16f, fmaf(a, s_low, fmaf(a, s, -w)));
  return a / one_and_power(n, fmaf(n, 0x1.36dap+3f, w) + low, c) * 0x1p-32f;
}

/* A piece of 2 ln(Phi(a) / (1 - Phi(a))), which is a^2 + value + f p(f) with f = a - node. */
struct piece {
  float node, value, p[6];
};

static const struct piece *piece_of(float a) {
  static const struct piece pieces[] = {
      {0, 0, {0x1.988454p+1f, -0x1.000056p+0f, 0x1.29dabcp-3f, -0x1.8e3ae2p-11f, 0x1.5a51dp-9f, -0x1.fc6888p-9f}},
      {0x1.7c431ep-2f,
       0x1.0e02p+0f,
       {0x1.41254p+1f, -0x1.ad26dep-1f, 0x1.28f4aep-3f, -0x1.74b9b4p-11f, -0x1.091e24p-11f, 0x1.111716p-9f}},
      {0x1.3ddddcp-1f,
       0x1.a178p+0f,
       {0x1.0f121cp+1f, -0x1.75c80ap-1f, 0x1.26668cp-3f, -0x1.2a527cp-9f, -0x1.0bf47cp-9f, 0x1.01fff6p-7f}},
      {0x1.bd8394p-1f,
       0x1.0eca8p+1f,
       {0x1.c7c5f6p+0f, -0x1.3f47e4p-1f, 0x1.1fa812p-3f, -0x1.2ec85ep-8f, -0x1.265ebp-9f, -0x1.27ed82p-8f}},
      {0x1.3e5b98p+0f,
       0x1.59afp+1f,
       {0x1.5f434p+0f, -0x1.e30268p-2f, 0x1.08b628p-3f, -0x1.59690cp-7f, -0x1.bb4bacp-9f, -0x1.32ada4p-13f}},
      {0x1.bdfe8ep+0f,
       0x1.a432p+1f,
       {0x1.fbdadep-1f, -0x1.314cf8p-2f, 0x1.9b1452p-4f, -0x1.22dc1cp-6f, -0x1.d6e774p-10f, 0x1.34560ep-10f}},
      {0x1.1ebe42p+1f,
       0x1.db67p+1f,
       {0x1.8560bep-1f, -0x1.680282p-3f, 0x1.037d86p-4f, -0x1.26f16p-6f, 0x1.820802p-10f, 0x1.b21022p-11f}},
      {0x1.5f2586p+1f,
       0x1.03cap+2f,
       {0x1.3f11cap-1f, -0x1.ad8e1p-4f, 0x1.0c0046p-5f, -0x1.84fd0ap-7f, 0x1.7654f8p-9f, 0x1.16a316p-15f}},
      {0x1.bddf9ap+1f,
       0x1.1e4ap+2f,
       {0x1.035804p-1f, -0x1.f002dp-5f, 0x1.73a6bcp-7f, -0x1.d5bca4p-9f, 0x1.687354p-10f, -0x1.8e103p-12f}},
      {0x1.1eccbap+2f,
       0x1.3b568p+2f,
       {0x1.a3fa7ep-2f, -0x1.40bb88p-5f, 0x1.37630ap-8f, -0x1.6b481ap-11f, 0x1.597342p-13f, -0x1.d9cd3ap-15f}},
      {0x1.5ed0cap+2f,
       0x1.535a8p+2f,
       {0x1.601b8cp-2f, -0x1.cb1edap-6f, 0x1.7bcbecp-9f, -0x1.531fdep-12f, 0x1.425ad4p-15f, -0x1.970e46p-19f}},
      {0x1.9ee9e2p+2f,
       0x1.67c34p+2f,
       {0x1.2e6644p-2f, -0x1.57151cp-6f, 0x1.f38cdcp-10f, -0x1.8bece2p-13f, 0x1.378bdep-16f, 0x1.b41148p-23f}},
      {0x1.fdb7fep+2f,
       0x1.812a4p+2f,
       {0x1.f3394ep-3f, -0x1.d94416p-7f, 0x1.231c58p-10f, -0x1.8865f2p-14f, 0x1.15d656p-17f, -0x1.85d89ap-21f}},
      {0x1.3ece14p+3f,
       0x1.9d228p+2f,
       {0x1.933d62p-3f, -0x1.37b3ecp-7f, 0x1.3b7824p-11f, -0x1.6144d2p-15f, 0x1.9f3954p-19f, -0x1.a74112p-23f}},
      {0x1.7ed6a4p+3f,
       0x1.b42fp+2f,
       {0x1.51be74p-3f, -0x1.b7b9a8p-8f, 0x1.78bb3p-12f, -0x1.66d90cp-16f, 0x1.6a4d2p-20f, -0x1.39540ap-24f}},
      {0x1.b78036p+3f,
       0x1.c5a44p+2f,
       {0x1.2725ep-3f, -0x1.50d61ep-8f, 0x1.fb59acp-13f, -0x1.aa5a68p-17f, 0x1.994ac4p-21f, -0x1.fb402ap-26f}}};
  int exponent;
  const float half = frexpf(a + 1, &exponent); /* from 1/2 to 1 */
  return &pieces[4 * (exponent - 1) + (int)((half - 0.5f) * 8)];
}

float contract_gelu(float x) {
  static const float c[] = {0x1.6a4154p-16f, -0x1.1239c6p-12f, 0x1.5558bcp-9f,
                            -0x1.555492p-6f, 0x1.fffffcp-4f,   -0.5f};
  const float b = x < -14.5f ? -14.5f : x, a = fabsf(b), shift = 0x1.8p+23f;
  if (!(x < 6)) return x;
  const struct piece *piece = piece_of(a);
  const float *k = piece->p, f = a - piece->node, g = x < 0 ? -f : f, v = x < 0 ? -piece->value : piece->value;
  float p = k[5];
  for (int i = 4; i >= 0; i--) p = fmaf(p, f, k[i]);
  const float z = b * a, w = fmaf(g, k[0], z + v), n = fmaf(w, -0x1.715476p-1f, shift) - shift;
  const float low = fmaf(g, p, fmaf(n, 0x1.7f7d1cp-19f, fmaf(b, a, -z)));
  return b / one_and_power(n, (z + fmaf(n, 0x1.62e4p+0f, v)) + low, c) * 0x1p-32f;
}

/* e^x - 1 by the numbers of tanh, docs/numerics.md, section 6. */
static float contract_elu(float x) {
  static const float c[] = {-0x1.6731cep-4f, 0x1.123d16p-2f,  -0x1.555dc4p-1f,
                            0x1.55548cp+0f,  -0x1.fffff4p+0f, 2.0f};
  if (!(x < 0)) return x;
  const float a = fminf(-x * 0.5f, 10.0f), n = fmaf(a, 0x1.715476p+1f, 0x1.8p23f) - 0x1.8p23f;
  const float f = fmaf(n, -0x1.62e43p-2f, a), s = ldexpf(1.0f, -(int)n);
  float q = c[0];
  for (int i = 1; i < 6; i++) q = fmaf(q, f, c[i]);
  return fmaf(-(s * f), q, s - 1);
}

float contract_nn_activation(float x, fovea_nn_activation activation) {
  switch (activation) {
  case FOVEA_NN_ACTIVATION_RELU:
    return contract_nn_relu(x);
  case FOVEA_NN_ACTIVATION_GELU:
    return contract_gelu(x);
  case FOVEA_NN_ACTIVATION_GELU_TANH:
    return contract_gelu_tanh(x);
  case FOVEA_NN_ACTIVATION_SILU:
    return contract_silu(x);
  case FOVEA_NN_ACTIVATION_ELU:
    return contract_elu(x);
  default:
    return x;
  }
}
