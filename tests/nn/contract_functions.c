#include "contract_functions.h"

#include "contract_nn.h"

#include <math.h>

/* A number as the sum of two, and e^-w as (high + low) power 2^-32. */
struct pair {
  float high, low;
};
struct exponential {
  struct pair m;
  float power;
};

static struct exponential exponential_of(float w, float low) {
  const float shift = 0x1.8p+23f, n = fmaf(w, -0x1.715476p+0f, shift) - shift;
  const float f = fmaf(n, 0x1.62e43p-1f, w), rest = fmaf(n, -0x1.05c61p-29f, low);
  static const float c[] = {0x1.6a4154p-10f, -0x1.1239c6p-7f, 0x1.5558bcp-5f, -0x1.555492p-3f, 0x1.fffffcp-2f, -1};
  float q = c[0];
  for (int i = 1; i < 6; i++) q = fmaf(q, f, c[i]);
  const float m = fmaf(f, q, 1);
  return (struct exponential){{m, fmaf(-rest, m, fmaf(f, q, 1 - m))}, n >= -158 ? ldexpf(1, (int)n + 32) : 0};
}

/* 2^-32 (1 + e^-w), from the whole number n and the rest f of -w log2 e, and six coefficients of (e^-f - 1) / f. */
static float one_and_power(float n, float f, const float *c) {
  const float power = ldexpf(1, (int)n - 32);
  float q = c[0];
  for (int i = 1; i < 6; i++) q = fmaf(q, f, c[i]);
  return fmaf(power * f, q, 0x1p-32f) + power;
}

float contract_one_and_exp(float w) {
  static const float c[] = {0x1.6a4154p-10f, -0x1.1239c6p-7f, 0x1.5558bcp-5f, -0x1.555492p-3f, 0x1.fffffcp-2f, -1};
  const float shift = 0x1.8p+23f, n = fmaf(w, -0x1.715476p+0f, shift) - shift;
  return one_and_power(n, fmaf(n, -0x1.05c61p-29f, fmaf(n, 0x1.62e43p-1f, w)), c);
}

/* e^(a^2/2) (1 - Phi(a)) */
static struct pair tail(float a) {
  static const float c[] = {-0x1.4ba652p-13f, -0x1.468352p-12f, 0x1.67aa62p-11f, 0x1.4ad77ep-9f,  -0x1.a3f7a4p-10f,
                            -0x1.0c79aap-6f,  0x1.2ea6dcp-7f,   0x1.0e4f38p-3f,  -0x1.bc19c4p-2f, 0x1.69cee6p-1f};
  const float d = a + 2.5f, rest = a - (d - 2.5f), r = 1 / d;
  const float r_low = fmaf(-r, rest, fmaf(-r, d, 1)) * r;
  const float m = 5 * r, t = 1 - m;
  const float t_low = fmaf(r_low, -5, fmaf(r, -5, m) + ((1 - t) - m));
  float p = c[0];
  for (int i = 1; i < 9; i++) p = fmaf(p, t, c[i]);
  const float s = fmaf(t, p, c[9]), s_low = fmaf(t_low, p, fmaf(t, p, c[9] - s) + 0x1.7b981cp-26f);
  const float high = r * s;
  return (struct pair){high, fmaf(r, s_low, r_low * s) + fmaf(r, s, -high)};
}

/* x (h + l), for negative x times the power. */
static float scaled(float x, float a, float limit, struct pair p, float power) {
  const float size = copysignf(a, x), y = fmaf(size, p.high, size * p.low);
  if (x != x || x > limit) return x;
  return x < 0 ? y * power * 0x1p-32f : y;
}

static float limited(float x, float limit) {
  return fabsf(x) > limit ? limit : fabsf(x);
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

float contract_gelu(float x) {
  const float limit = 14.5f, a = limited(x, limit);
  if (x != x) return x;
  const float half = a * 0.5f, w = a * half, w_low = fmaf(a, half, -w);
  const struct exponential e = exponential_of(w, w_low);
  const struct pair r = tail(a);
  const float high = e.m.high * r.high;
  const float low = fmaf(e.m.high, r.low, e.m.low * r.high) + fmaf(e.m.high, r.high, -high);
  struct pair p = {high, low};
  if (!(x < 0)) {
    const float scale = e.power * 0x1p-32f, q = high * scale;
    p.high = 1 - q;
    p.low = fmaf(-low, scale, (1 - p.high) - q);
  }
  return scaled(x, a, limit, p, e.power);
}

float contract_nn_activation(float x, fovea_nn_activation activation) {
  switch (activation) {
  case FOVEA_NN_RELU:
    return contract_nn_relu(x);
  case FOVEA_NN_GELU:
    return contract_gelu(x);
  case FOVEA_NN_GELU_TANH:
    return contract_gelu_tanh(x);
  case FOVEA_NN_SILU:
    return contract_silu(x);
  default:
    return x;
  }
}
