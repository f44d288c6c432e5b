#include "contract_formats.h"
#include "contract_rounding.h"

#include <math.h>

#define TINY 0x1p-100f /* the library's rule takes a row of smaller numbers as zeros */

/* The library's rule for symmetric rows: the codes come from the f32 scale, then the scale is stored. */
static void i8_row(const struct contract_format *format, const float *x, uint8_t *codes, uint8_t *scale) {
  bool finite = true;
  for (int64_t i = 0; i < format->dim; i++) finite = finite && magnitude(x[i]) <= CONTRACT_LARGEST;
  const float a = finite ? largest_magnitude(x, format->dim) : from_bits(0x7fc00000);
  const bool codes_are_zero = !(a >= TINY);
  const float factor = codes_are_zero ? 0.0f : 127.0f / a;
  for (int64_t i = 0; i < format->dim; i++) codes[i] = codes_are_zero ? 0 : (uint8_t)nearest(x[i] * factor, true);
  const float stored = a < TINY ? 0.0f : a / 127.0f;
  if (format->scale_type == FOVEA_F16)
    contract_store_f16(scale, stored);
  else
    contract_store_f32(scale, stored);
}

/* OpenVINO: scale and zero of `count` numbers, `step` apart; codes from 0 to `last`. A zero that is 0 is +0 here.
 */
struct range {
  float scale, zero;
};

static struct range range_of(const float *x, int64_t count, int64_t step, int last, bool channel) {
  float low = CONTRACT_LARGEST, high = -CONTRACT_LARGEST;
  for (int64_t i = 0; i < count; i++) {
    if (x[i * step] < low) low = x[i * step];
    if (x[i * step] > high) high = x[i * step];
  }
  const float reciprocal = 1.0f / (float)last, width = high - low;
  struct range r = {channel ? width * reciprocal : width / (float)last, 0.0f};
  if (r.scale == 0.0f) r.scale = 0.0001f;
  if (low != 0.0f) r.zero = -low / r.scale;
  return r;
}

static int range_code(struct range r, float x, int last) {
  return between(0, nearest(fmaf(x, 1.0f / r.scale, r.zero), true), last);
}

/* The even number's code lies in the upper half of its byte. */
static void put_nibble(uint8_t *codes, int64_t d, int code, int even_half) {
  const int shift = ((int)(d % 2) ^ even_half) * 4;
  codes[d / 2] = (uint8_t)((codes[d / 2] & ~(15 << shift)) | code << shift);
}

static void openvino_row(const struct contract_format *format, const float *x, uint8_t *row) {
  const bool bytes = format->preset == CONTRACT_OPENVINO_U8;
  const int64_t count = format->group ? format->group : format->dim;
  const int last = bytes ? 255 : 15;
  for (int64_t first = 0; first < format->dim; first += count) {
    const struct range r = range_of(x + first, count, 1, last, false);
    contract_store_f32(row, r.scale);
    contract_store_f32(row + 4, r.zero);
    for (int64_t i = 0; i < count; i++) {
      const int code = range_code(r, x[first + i], last);
      if (bytes)
        row[8 + i] = (uint8_t)code;
      else
        put_nibble(row + 8, i, code, 1);
    }
    row += 8 + (bytes ? count : count / 2);
  }
}

static void openvino_channels(const struct contract_format *format, const float *x, uint8_t *page) {
  const bool bytes = format->preset == CONTRACT_OPENVINO_U8_CHANNEL;
  const int64_t dim = format->dim;
  const int last = bytes ? 255 : 15;
  for (int64_t d = 0; d < dim; d++) {
    const struct range r = range_of(x + d, format->keys, dim, last, true);
    contract_store_f32(page + 4 * d, r.scale);
    contract_store_f32(page + 4 * (dim + d), r.zero);
    for (int64_t key = 0; key < format->keys; key++) {
      uint8_t *codes = page + 8 * dim + key * contract_row_size(format);
      const int code = range_code(r, x[key * dim + d], last);
      if (bytes)
        codes[d] = (uint8_t)code;
      else
        put_nibble(codes, d, code, 1);
    }
  }
}

static void openvino_i8_row(const float *x, int64_t dim, uint8_t *row) {
  float scale = largest_magnitude(x, dim) / 127.0f;
  if (scale == 0.0f) scale = 0.0001f;
  contract_store_f32(row, scale);
  for (int64_t i = 0; i < dim; i++) row[4 + i] = (uint8_t)between(-128, nearest(x[i] * (1.0f / scale), true), 127);
}

/* ONNX Runtime: a scale of 0 counts as 1. What is no number takes the largest code. */
static int ort_code(float x, float scale, int low, int high) {
  const float t = x * (scale != 0.0f ? 1.0f / scale : 1.0f);
  if (!(t < (float)high)) return high;
  return t < (float)low ? low : between(low, nearest(t, true), high);
}

static void ort_row(const struct contract_format *format, const float *x, uint8_t *row, const uint8_t *scales) {
  const bool bytes = format->preset == CONTRACT_ORT_S8 || format->preset == CONTRACT_ORT_S8_CHANNEL;
  const bool channel = format->preset == CONTRACT_ORT_S8_CHANNEL || format->preset == CONTRACT_ORT_U4_CHANNEL;
  for (int64_t i = 0; i < format->dim; i++) {
    const float scale = contract_load_f32(scales + (channel ? 4 * i : 0));
    if (bytes) {
      row[i] = (uint8_t)ort_code(x[i], scale, -128, 127);
      continue;
    }
    if (i % 2 == 0) row[i / 2] = 8 << 4; /* a last odd number is paired with 0 */
    put_nibble(row, i, ort_code(x[i], scale, -8, 7) + 8, 0);
  }
}

/* KIVI computes in f16: each step rounds to it. */
static float half(float x) {
  uint8_t bytes[2];
  contract_store_f16(bytes, x);
  return contract_load_f16(bytes);
}

/* 32 numbers, `step` apart, which share a scale: their codes, 0 where the scale is (KIVI then divides 0 by 0). */
static void kivi_group(const float *x, int64_t step, int last, uint8_t *scale_bytes, uint8_t *minimum_bytes,
                       int *codes) {
  float low = half(x[0]), high = low;
  for (int i = 1; i < 32; i++) {
    const float t = half(x[i * step]);
    if (t < low) low = t;
    if (t > high) high = t;
  }
  const float scale = half(half(high - low) / (float)last);
  for (int i = 0; i < 32; i++) {
    const float t = half(half(half(x[i * step]) - low) / scale);
    codes[i] = scale != 0.0f ? between(0, nearest(t, true), last) : 0;
  }
  contract_store_f16(scale_bytes, scale);
  contract_store_f16(minimum_bytes, low);
}

/* A word of 32 bits holds 32 / bits codes, the first in its lowest bits. */
static void kivi_word(uint8_t *bytes, const int *codes, int bits) {
  uint32_t word = 0;
  for (int i = 0; i < 32 / bits; i++) word |= (uint32_t)codes[i] << (bits * i);
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(word >> (8 * i));
}

static void kivi(const struct contract_format *format, const float *x, struct contract_cache *cache) {
  const bool of_keys = format->preset == CONTRACT_KIVI_K4 || format->preset == CONTRACT_KIVI_K2;
  const int bits = (int)contract_kivi_bits(format), per_word = 32 / bits, last = (1 << bits) - 1;
  const int64_t dim = format->dim, groups = format->keys * dim / 32;
  for (int64_t g = 0; g < groups; g++) {
    int codes[32];
    const int64_t first = of_keys ? g / dim * 32 * dim + g % dim : g * 32;
    kivi_group(x + first, of_keys ? dim : 1, last, cache->scales + 2 * g, cache->zeros + 2 * g, codes);
    for (int w = 0; w < 32 / per_word; w++) {
      const int64_t word = of_keys ? (g / dim * (32 / per_word) + w) * dim + g % dim : g * (32 / per_word) + w;
      kivi_word(cache->codes + 4 * word, codes + w * per_word, bits);
    }
  }
}

/* Of magnitude a: the code of a number with `bits` of mantissa, whose smallest exponent is `low`; too large ones
 * grow beyond the last code. */
static int small_float_code(float a, int bits, int low) {
  int exponent = (int)(bits_of(a) >> 23) - 127;
  if (exponent < low) exponent = low;
  float step = 1.0f; /* between numbers: 2^(exponent - bits) */
  for (int i = exponent - bits; i < 0; i++) step *= 0.5f;
  for (int i = exponent - bits; i > 0; i--) step *= 2.0f;
  const int32_t count = nearest(a / step, true); /* the division is exact, or far below a half */
  return ((exponent - low) << bits) + count;
}

uint8_t contract_e4m3_code(float x, bool saturate) {
  const int sign = (int)(bits_of(x) >> 31 << 7);
  if (x != x) return (uint8_t)(sign | 0x7f);
  const int code = magnitude(x) > 1e4f ? 0x7f : small_float_code(magnitude(x), 3, -6);
  return (uint8_t)(sign | (code < 0x7f ? code : saturate ? 0x7e : 0x7f));
}

uint8_t contract_e5m2_code(float x, bool saturate) {
  const int sign = (int)(bits_of(x) >> 31 << 7);
  if (x != x) return (uint8_t)(sign | 0x7f);
  const int code = magnitude(x) > 1e6f ? 0x7c : small_float_code(magnitude(x), 2, -14);
  return (uint8_t)(sign | (code < 0x7c ? code : saturate ? 0x7b : 0x7c));
}

/* vLLM saturates and cuts off. Its way to the bits of e4m3 rounds numbers below 2^-6 to 2^-29 first. */
static uint8_t vllm_code(float x, float factor, bool e4m3) {
  const float largest = e4m3 ? 448.0f : 57344.0f, product = x * factor;
  const float t = product < -largest ? -largest : product < largest ? product : largest;
  if (t == 0.0f) return 0;
  if (e4m3) {
    const uint32_t bits = bits_of(t * 0x1p-120f);
    const uint32_t code = bits >> 20 & 0x7f;
    return (uint8_t)((bits >> 24 & 0x80) | (code < 0x7e ? code : 0x7e));
  }
  const uint32_t sign = bits_of(t) >> 24 & 0x80, mantissa = (bits_of(t) & 0x7fffffu) | 0x800000u;
  const int exponent = (int)(bits_of(t) >> 23 & 255) - 127;
  if (exponent >= -14) return (uint8_t)(sign | ((uint32_t)(exponent + 15) << 2) | (mantissa >> 21 & 3));
  return (uint8_t)(exponent < -24 ? sign : sign | mantissa >> (7 - exponent));
}

void contract_quantise(const struct contract_format *format, const float *numbers, struct contract_cache *cache) {
  const int64_t dim = format->dim, row_size = contract_row_size(format);
  switch (format->preset) {
  case CONTRACT_OPENVINO_U8_CHANNEL:
  case CONTRACT_OPENVINO_U4_CHANNEL:
    openvino_channels(format, numbers, cache->codes);
    return;
  case CONTRACT_KIVI_K4:
  case CONTRACT_KIVI_K2:
  case CONTRACT_KIVI_V4:
  case CONTRACT_KIVI_V2:
    kivi(format, numbers, cache);
    return;
  default:
    break;
  }
  for (int64_t key = 0; key < format->keys; key++) {
    const float *x = numbers + key * dim;
    uint8_t *row = cache->codes + key * row_size;
    switch (format->preset) {
    case CONTRACT_I8_ROWS:
      i8_row(format, x, row, cache->scales + key * (format->scale_type == FOVEA_F16 ? 2 : 4));
      break;
    case CONTRACT_Q8_KV:
      contract_q8_kv_row(x, dim, row);
      break;
    case CONTRACT_OPENVINO_U8:
    case CONTRACT_OPENVINO_U4:
      openvino_row(format, x, row);
      break;
    case CONTRACT_OPENVINO_I8:
      openvino_i8_row(x, dim, row);
      break;
    case CONTRACT_ORT_S8:
    case CONTRACT_ORT_S8_CHANNEL:
    case CONTRACT_ORT_U4:
    case CONTRACT_ORT_U4_CHANNEL:
      ort_row(format, x, row, cache->scales);
      break;
    case CONTRACT_E4M3:
      for (int64_t d = 0; d < dim; d++) row[d] = contract_e4m3_code(x[d], true);
      break;
    case CONTRACT_E5M2:
      for (int64_t d = 0; d < dim; d++) row[d] = contract_e5m2_code(x[d], false);
      break;
    case CONTRACT_VLLM_E4M3_KEYS:
    case CONTRACT_VLLM_E4M3_VALUES:
    case CONTRACT_VLLM_E5M2_KEYS:
    case CONTRACT_VLLM_E5M2_VALUES: {
      const bool e4m3 = format->preset == CONTRACT_VLLM_E4M3_KEYS || format->preset == CONTRACT_VLLM_E4M3_VALUES;
      const float factor = 1.0f / contract_load_f32(cache->scales);
      for (int64_t d = 0; d < dim; d++)
        cache->codes[contract_vllm_place(format, key, d)] = vllm_code(x[d], factor, e4m3);
      break;
    }
    default:
      for (int64_t g = 0; g < dim / 32; g++)
        contract_ggml_group(format->preset, x + 32 * g, row + g * (row_size / (dim / 32)));
      break;
    }
  }
}
