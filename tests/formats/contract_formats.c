#include "contract_formats.h"

#include <math.h>

float contract_load_f32(const uint8_t *bytes) {
  return from_bits((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                   (uint32_t)bytes[3] << 24);
}

float contract_load_f16(const uint8_t *bytes) {
  return from_bits(widened(FOVEA_F16, (uint16_t)(bytes[0] | bytes[1] << 8)));
}

void contract_store_f32(uint8_t *bytes, float x) {
  const uint32_t word = x != x ? 0x7fc00000u : bits_of(x);
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(word >> (8 * i));
}

void contract_store_f16(uint8_t *bytes, float x) {
  const uint32_t sign = x != x ? 0 : bits_of(x) >> 31 << 15;
  const uint32_t half = sign | rounded(FOVEA_F16, from_bits(bits_of(x) & 0x7fffffffu));
  bytes[0] = (uint8_t)half;
  bytes[1] = (uint8_t)(half >> 8);
}

const int8_t contract_iq4_nl_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

static int64_t group_of(const struct contract_format *format) {
  return format->group ? format->group : format->dim;
}

/* Bytes of a key in formats by row; of one key's codes in pages and tensors. */
int64_t contract_row_size(const struct contract_format *format) {
  const int64_t dim = format->dim, groups = dim / 32, own = dim / group_of(format);
  switch (format->preset) {
  case CONTRACT_Q8_KV:
    return 8 + dim;
  case CONTRACT_Q8_0:
  case CONTRACT_Q8_0_CPU:
    return groups * 34;
  case CONTRACT_Q4_0:
  case CONTRACT_IQ4_NL:
    return groups * 18;
  case CONTRACT_Q4_1:
    return groups * 20;
  case CONTRACT_Q5_0:
    return groups * 22;
  case CONTRACT_Q5_1:
    return groups * 24;
  case CONTRACT_OPENVINO_U8:
    return own * 8 + dim;
  case CONTRACT_OPENVINO_U4:
    return own * 8 + dim / 2;
  case CONTRACT_OPENVINO_I8:
    return 4 + dim;
  case CONTRACT_OPENVINO_U4_CHANNEL:
    return dim / 2;
  case CONTRACT_ORT_U4:
  case CONTRACT_ORT_U4_CHANNEL:
    return (dim + 1) / 2;
  case CONTRACT_KIVI_K4:
  case CONTRACT_KIVI_V4:
    return dim / 2;
  case CONTRACT_KIVI_K2:
  case CONTRACT_KIVI_V2:
    return dim / 4;
  default:
    return dim;
  }
}

static bool by_channel(const struct contract_format *format) {
  return format->preset == CONTRACT_OPENVINO_U8_CHANNEL || format->preset == CONTRACT_OPENVINO_U4_CHANNEL;
}

int64_t contract_codes_size(const struct contract_format *format) {
  return format->keys * contract_row_size(format) + (by_channel(format) ? 8 * format->dim : 0);
}

int64_t contract_kivi_bits(const struct contract_format *format) {
  return format->preset == CONTRACT_KIVI_K4 || format->preset == CONTRACT_KIVI_V4 ? 4 : 2;
}

/* Keys: [keys / 16][dim / 2][16 keys][2 dims]. Values: [dim / 16][keys / 2][16 dims][2 keys]. */
int64_t contract_vllm_place(const struct contract_format *format, int64_t key, int64_t d) {
  if (format->preset == CONTRACT_VLLM_E4M3_KEYS || format->preset == CONTRACT_VLLM_E5M2_KEYS)
    return key / 16 * 16 * format->dim + d / 2 * 32 + key % 16 * 2 + d % 2;
  return d / 16 * 16 * format->keys + key / 2 * 32 + d % 16 * 2 + key % 2;
}

static float e4m3_number(uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return from_bits(0x7fc00000);
  float x = exponent ? 1.0f + (float)mantissa / 8.0f : (float)mantissa / 4.0f; /* times 2^(exponent - 7) */
  for (int i = exponent; i < 7; i++) x /= 2.0f;
  for (int i = 7; i < exponent; i++) x *= 2.0f;
  return code & 0x80 ? -x : x;
}

/* The upper half of an f16. */
static float e5m2_number(uint8_t code) {
  return from_bits(widened(FOVEA_F16, (uint16_t)(code << 8)));
}

/* ggml's codes of 4 bits: byte i has dim i below, dim i + 16 above. */
static int halves(const uint8_t *codes, int64_t i) {
  return i < 16 ? codes[i] & 15 : codes[i - 16] >> 4;
}

/* With fifth bits before them. */
static int fifths(const uint8_t *codes, int64_t i) {
  return halves(codes + 4, i) | (codes[i / 8] >> (i % 8) & 1) << 4;
}

/* Two a byte: the dim that is even lies in the half that is 0 (low) or 1 (high). */
static int nibble(const uint8_t *codes, int64_t d, int even_half) {
  return codes[d / 2] >> (((int)(d % 2) ^ even_half) * 4) & 15;
}

/* Of ggml's groups of 32. */
static float group_element(enum contract_preset preset, const uint8_t *g, int64_t i) {
  const float scale = contract_load_f16(g);
  switch (preset) {
  case CONTRACT_Q8_0:
  case CONTRACT_Q8_0_CPU:
    return (float)(int8_t)g[2 + i] * scale;
  case CONTRACT_Q4_0:
    return (float)(halves(g + 2, i) - 8) * scale;
  case CONTRACT_Q4_1:
    return fmaf((float)halves(g + 4, i), scale, contract_load_f16(g + 2));
  case CONTRACT_Q5_0:
    return (float)(fifths(g + 2, i) - 16) * scale;
  case CONTRACT_Q5_1:
    return fmaf((float)fifths(g + 4, i), scale, contract_load_f16(g + 2));
  default:
    return (float)contract_iq4_nl_values[halves(g + 2, i)] * scale;
  }
}

/* (code - zero) * scale, two roundings. */
static float from_zero(int code, float scale, float zero) {
  const float difference = (float)code - zero;
  return difference * scale;
}

/* Codes in words of 32 bits: word w of a key's dim, or of a key, as little-endian bytes. */
static float kivi_element(const struct contract_format *format, const struct contract_cache *cache, int64_t key,
                          int64_t d) {
  const bool of_keys = format->preset == CONTRACT_KIVI_K4 || format->preset == CONTRACT_KIVI_K2;
  const int64_t bits = contract_kivi_bits(format), per_word = 32 / bits, along = of_keys ? key : d;
  const int64_t word =
      of_keys ? along / per_word * format->dim + d : key * (format->dim / per_word) + along / per_word;
  const int64_t bit = along % per_word * bits;
  const int code = cache->codes[word * 4 + bit / 8] >> (bit % 8) & ((1 << bits) - 1);
  const int64_t group = of_keys ? key / 32 * format->dim + d : key * (format->dim / 32) + d / 32;
  return fmaf((float)code, contract_load_f16(cache->scales + 2 * group),
              contract_load_f16(cache->zeros + 2 * group));
}

static float element(const struct contract_format *format, const struct contract_cache *cache, int64_t key,
                     int64_t d) {
  const int64_t dim = format->dim;
  const uint8_t *row = cache->codes + key * contract_row_size(format);
  switch (format->preset) {
  case CONTRACT_I8_ROWS:
    return (float)(int8_t)row[d] * (format->scale_type == FOVEA_F16 ? contract_load_f16(cache->scales + 2 * key)
                                                                    : contract_load_f32(cache->scales + 4 * key));
  case CONTRACT_Q8_KV:
    return (float)(int8_t)row[8 + d] * contract_load_f32(row);
  case CONTRACT_OPENVINO_I8:
    return (float)(int8_t)row[4 + d] * contract_load_f32(row);
  case CONTRACT_OPENVINO_U8: {
    const uint8_t *g = row + d / group_of(format) * (group_of(format) + 8);
    return from_zero(g[8 + d % group_of(format)], contract_load_f32(g), contract_load_f32(g + 4));
  }
  case CONTRACT_OPENVINO_U4: {
    const uint8_t *g = row + d / group_of(format) * (group_of(format) / 2 + 8);
    return from_zero(nibble(g + 8, d % group_of(format), 1), contract_load_f32(g), contract_load_f32(g + 4));
  }
  case CONTRACT_OPENVINO_U8_CHANNEL:
  case CONTRACT_OPENVINO_U4_CHANNEL: {
    const uint8_t *codes = row + 8 * dim;
    const int code = format->preset == CONTRACT_OPENVINO_U8_CHANNEL ? codes[d] : nibble(codes, d, 1);
    return from_zero(code, contract_load_f32(cache->codes + 4 * d),
                     contract_load_f32(cache->codes + 4 * (dim + d)));
  }
  case CONTRACT_ORT_S8:
    return (float)(int8_t)row[d] * contract_load_f32(cache->scales);
  case CONTRACT_ORT_S8_CHANNEL:
    return (float)(int8_t)row[d] * contract_load_f32(cache->scales + 4 * d);
  case CONTRACT_ORT_U4:
    return (float)(nibble(row, d, 0) - 8) * contract_load_f32(cache->scales);
  case CONTRACT_ORT_U4_CHANNEL:
    return (float)(nibble(row, d, 0) - 8) * contract_load_f32(cache->scales + 4 * d);
  case CONTRACT_E4M3:
    return cache->scales ? e4m3_number(row[d]) * contract_load_f32(cache->scales) : e4m3_number(row[d]);
  case CONTRACT_E5M2:
    return cache->scales ? e5m2_number(row[d]) * contract_load_f32(cache->scales) : e5m2_number(row[d]);
  case CONTRACT_VLLM_E4M3_KEYS:
  case CONTRACT_VLLM_E4M3_VALUES:
    return e4m3_number(cache->codes[contract_vllm_place(format, key, d)]) * contract_load_f32(cache->scales);
  case CONTRACT_VLLM_E5M2_KEYS:
  case CONTRACT_VLLM_E5M2_VALUES:
    return e5m2_number(cache->codes[contract_vllm_place(format, key, d)]) * contract_load_f32(cache->scales);
  case CONTRACT_KIVI_K4:
  case CONTRACT_KIVI_K2:
  case CONTRACT_KIVI_V4:
  case CONTRACT_KIVI_V2:
    return kivi_element(format, cache, key, d);
  default: { /* ggml */
    const int64_t size = contract_row_size(format) / (dim / 32);
    return group_element(format->preset, row + d / 32 * size, d % 32);
  }
  }
}

float contract_element(const struct contract_format *format, const struct contract_cache *cache, int64_t key,
                       int64_t d) {
  const float x = element(format, cache, key, d);
  return x != x ? from_bits(0x7fc00000) : x;
}
