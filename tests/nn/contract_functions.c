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

static struct pair sigmoid(struct exponential e, int negative) {
  const float scale = e.power * 0x1p-32f, high = e.m.high * scale, d = 1 + high;
  const float low = fmaf(e.m.low, scale, (1 - d) + high);
  const struct pair top = {negative ? e.m.high : 1, negative ? e.m.low : 0};
  const float inverse = 1 / d, q = top.high * inverse;
  const float rest = fmaf(-q, low, fmaf(-q, d, top.high)) + top.low;
  return (struct pair){q, rest * inverse};
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
  const float limit = 110, a = limited(x, limit);
  if (x != x) return x;
  const struct exponential e = exponential_of(a, 0);
  return scaled(x, a, limit, sigmoid(e, x < 0), e.power);
}

float contract_gelu_tanh(float x) {
  const float limit = 10.8f, a = limited(x, limit), c0 = 0x1.988454p+0f, c1 = 0x1.2444f2p-4f;
  if (x != x) return x;
  const float square = a * a, square_low = fmaf(a, a, -square);
  const float p = c1 * square;
  const float p_low = fmaf(square, 0x1.49b16ap-29f, c1 * square_low + fmaf(c1, square, -p));
  const float s = p + c0, part = s - p;
  const float s_low = ((p - (s - part)) + (c0 - part)) + (p_low + -0x1.857936p-25f);
  const float w = a * s, w_low = a * s_low + fmaf(a, s, -w);
  const struct exponential e = exponential_of(w, w_low);
  return scaled(x, a, limit, sigmoid(e, x < 0), e.power);
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
