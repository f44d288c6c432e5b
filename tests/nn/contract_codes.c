/* Blocks as in ggml-common.h, numbers as in dequantize_row_*() of ggml-quants.c, one element at a time: each as the
 * value of its code, a scale and an offset. */
#include "contract_codes.h"

#include <math.h>
#include <string.h>

/* Dims of a block, and its bytes; of GPTQ and AWQ eight codes and their word. */
static const struct {
  int dims, bytes;
} blocks[] = {{32, 34},   {32, 18}, {32, 20}, {32, 22}, {32, 24}, {256, 144}, {256, 176},
              {256, 210}, {32, 18}, {32, 17}, {8, 4},   {8, 4},   {1, 1}};

int64_t contract_codes_bytes(fovea_nn_format format, int64_t in, int64_t out) {
  return in * out / blocks[format].dims * blocks[format].bytes;
}

float contract_codes_half(const uint8_t *bytes) {
  const int half = bytes[0] | bytes[1] << 8, exponent = half >> 10 & 31, fraction = half & 1023;
  const float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * ldexpf((float)fraction, -24);
  return sign * ldexpf((float)(1024 + fraction), exponent - 25);
}

/* The lower half of byte i for the first half of the dims, then the upper half. */
static int nibble(const uint8_t *bytes, int count, int i) {
  return i < count ? bytes[i] & 15 : bytes[i - count] >> 4;
}

/* The number is scale * value + offset. */
static struct contract_code minimum_code(const uint8_t *block, const uint8_t *codes, const uint8_t *fifths, int i) {
  const uint8_t *s = block + 4;
  const int j = i / 32, l = i % 32;
  int scale = s[j] & 63, minimum = s[j + 4] & 63;
  if (j >= 4) {
    scale = (s[j + 4] & 0x0f) + ((s[j - 4] >> 6) << 4);
    minimum = (s[j + 4] >> 4) + ((s[j] >> 6) << 4);
  }
  const uint8_t byte = codes[i / 64 * 32 + l];
  int code = j % 2 == 0 ? byte & 15 : byte >> 4;
  if (fifths && fifths[l] & 1 << j) code += 16;
  return (struct contract_code){(float)code, contract_codes_half(block) * (float)scale, 1,
                                -(contract_codes_half(block + 2) * (float)minimum)};
}

static struct contract_code six_code(const uint8_t *block, int i) {
  const int half = i / 128, l = i % 32, quarter = i % 128 / 32;
  const uint8_t *lower = block + half * 64, *upper = block + 128 + half * 32;
  const int8_t *scales = (const int8_t *)block + 192 + half * 8;
  static const int first[4] = {0, 32, 0, 32};
  const uint8_t byte = lower[first[quarter] + l];
  const int8_t scale = scales[l / 16 + 2 * quarter];
  const int code = (quarter < 2 ? byte & 15 : byte >> 4) + 16 * (upper[l] >> 2 * quarter & 3) - 32;
  return (struct contract_code){(float)code, contract_codes_half(block + 208) * (float)scale, 0, 0};
}

static struct contract_code block_code(fovea_nn_format format, const uint8_t *block, int i) {
  static const int iq4_nl[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  static const int doubled_e2m1[] = {0, 1, 2, 3, 4, 6, 8, 12};
  const float d = contract_codes_half(block), m = contract_codes_half(block + 2);
  int code, fifth;
  switch (format) {
  case FOVEA_NN_FORMAT_Q8_0:
    return (struct contract_code){(float)(int8_t)block[2 + i], d, 0, 0};
  case FOVEA_NN_FORMAT_Q4_0:
    return (struct contract_code){(float)(nibble(block + 2, 16, i) - 8), d, 0, 0};
  case FOVEA_NN_FORMAT_Q4_1:
    return (struct contract_code){(float)nibble(block + 4, 16, i), d, 1, m};
  case FOVEA_NN_FORMAT_Q5_0:
    fifth = block[2 + i / 8] >> i % 8 & 1;
    return (struct contract_code){(float)(nibble(block + 6, 16, i) + 16 * fifth - 16), d, 0, 0};
  case FOVEA_NN_FORMAT_Q5_1:
    fifth = block[4 + i / 8] >> i % 8 & 1;
    return (struct contract_code){(float)(nibble(block + 8, 16, i) + 16 * fifth), d, 1, m};
  case FOVEA_NN_FORMAT_Q4_K:
    return minimum_code(block, block + 16, NULL, i);
  case FOVEA_NN_FORMAT_Q5_K:
    return minimum_code(block, block + 48, block + 16, i);
  case FOVEA_NN_FORMAT_Q6_K:
    return six_code(block, i);
  case FOVEA_NN_FORMAT_IQ4_NL:
    return (struct contract_code){(float)iq4_nl[nibble(block + 2, 16, i)], d, 0, 0};
  default: /* MXFP4. Code 8 is +0, as in ggml's table. */
    code = nibble(block + 1, 16, i);
    return (struct contract_code){(float)(code & 8 ? -doubled_e2m1[code & 7] : doubled_e2m1[code & 7]),
                                  ldexpf(1, block[0] - 128), 0, 0};
  }
}

/* OCP's e4m3: a sign, four bits of exponent with bias 7, three of fraction; no infinity, and one NaN of each sign. */
static float e4m3_value(uint8_t code) {
  const int exponent = code >> 3 & 15, fraction = code & 7;
  const float sign = code & 0x80 ? -1.0f : 1.0f;
  if ((code & 0x7f) == 0x7f) return NAN;
  if (exponent == 0) return sign * ldexpf((float)fraction, -9);
  return sign * ldexpf((float)(8 + fraction), exponent - 10);
}

static float scale_of_type(const uint8_t *bytes, fovea_type type) {
  uint8_t wide[4] = {0, 0, bytes[0], bytes[1]};
  float number;
  if (type == FOVEA_F16) return contract_codes_half(bytes);
  memcpy(&number, type == FOVEA_F32 ? bytes : wide, 4);
  return number;
}

/* A block of weights, group_outs by group, has one scale; blocks lie row by row. */
static struct contract_code e4m3_code(const fovea_nn_codes *c, int64_t out, int64_t dim) {
  const int64_t blocks_in_row = (c->in + c->group - 1) / c->group;
  const int64_t block = out / c->group_outs * blocks_in_row + dim / c->group;
  const uint8_t *scales = c->scales;
  const float scale = scale_of_type(scales + block * (c->scale_type == FOVEA_F32 ? 4 : 2), c->scale_type);
  return (struct contract_code){e4m3_value(((const uint8_t *)c->data)[out * c->in + dim]), scale, 0, 0};
}

static int word_code(const void *words, int64_t word, int place) {
  return ((const uint8_t *)words)[word * 4 + place / 2] >> place % 2 * 4 & 15;
}

static struct contract_code zero_code(const fovea_nn_codes *c, int64_t out, int64_t dim) {
  static const int places[] = {0, 4, 1, 5, 2, 6, 3, 7}; /* of output 0, 1, ... in a word of AWQ */
  const int is_awq = c->format == FOVEA_NN_FORMAT_AWQ, place = is_awq ? places[out % 8] : (int)(out % 8);
  int32_t listed = 0;
  if (c->g_idx) memcpy(&listed, (const uint8_t *)c->g_idx + 4 * dim, 4);
  const int64_t group = c->g_idx ? listed : dim / c->group, words = c->out / 8;
  const int zero = word_code(c->zeros, group * words + out / 8, place) + c->zeros_less_one;
  const int code = is_awq ? word_code(c->data, dim * words + out / 8, place)
                          : word_code(c->data, dim / 8 * c->out + out, (int)(dim % 8));
  const float scale = contract_codes_half((const uint8_t *)c->scales + 2 * (group * c->out + out));
  return (struct contract_code){(float)code, scale, 1, -((float)zero * scale)};
}

struct contract_code contract_codes_code(const fovea_nn_codes *c, int64_t out, int64_t dim) {
  if (c->format == FOVEA_NN_FORMAT_E4M3) return e4m3_code(c, out, dim);
  if (c->format >= FOVEA_NN_FORMAT_GPTQ) return zero_code(c, out, dim);
  const int dims = blocks[c->format].dims;
  const uint8_t *block = (const uint8_t *)c->data + (out * (c->in / dims) + dim / dims) * blocks[c->format].bytes;
  return block_code(c->format, block, (int)(dim % dims));
}

/* A product of an integer and a scale is exact unless it is too large. */
float contract_codes_number(const fovea_nn_codes *codes, int64_t out, int64_t dim) {
  const struct contract_code c = contract_codes_code(codes, out, dim);
  const float product = c.value * c.scale;
  return c.has_offset ? product + c.offset : product;
}

int64_t contract_codes_group(const fovea_nn_codes *codes) {
  if (codes->format >= FOVEA_NN_FORMAT_GPTQ) return codes->group;
  return codes->format == FOVEA_NN_FORMAT_Q6_K ? 16 : 32;
}

/* ---- Packed ---------------------------------------------------------------------------------------------------- */

float contract_codes_packed(const void *weights, int64_t out, int64_t dim) {
  const uint8_t *at = weights;
  uint32_t bits, group, has_offsets, is_e4m3, is_scattered;
  int64_t in, outs;
  int8_t values[16];
  memcpy(&bits, at + 4, 4);
  memcpy(&in, at + 8, 8);
  memcpy(&outs, at + 16, 8);
  memcpy(&group, at + 24, 4);
  memcpy(&has_offsets, at + 28, 4);
  memcpy(values, at + 32, 16);
  memcpy(&is_e4m3, at + 48, 4);
  memcpy(&is_scattered, at + 52, 4);
  at += 64;
  const int64_t panels = (outs + 15) / 16, word_dims = 32 / bits;
  const uint8_t *numbers = NULL; /* of scattered groups: the scale of this output and dim, and the offset */
  int64_t to_offset = 0;
  if (is_scattered) {
    uint32_t of_dim;
    const int64_t all = (in + group - 1) / group, map = (in * 4 + 63) / 64 * 64;
    memcpy(&of_dim, at + dim * 4, 4);
    to_offset = all * 64;
    numbers = at + map + out / 16 * 2 * to_offset + of_dim * 64 + out % 16 * 4;
    at += map + panels * 2 * to_offset;
  }
  for (int64_t piece = 0;; piece += 128) {
    const int64_t dims = in - piece < 128 ? in - piece : 128, groups = group ? (dims + group - 1) / group : 1;
    const int64_t rows = (is_scattered ? 0 : groups * (has_offsets ? 2 : 1)) + (dims + word_dims - 1) / word_dims;
    if (dim >= piece + dims) {
      at += panels * rows * 64;
      continue;
    }
    at += out / 16 * rows * 64 + out % 16 * 4;
    const int64_t d = dim - piece, g = group ? d / group : 0, word = d / word_dims, i = d % word_dims;
    const uint8_t *code = at + (rows - (dims + word_dims - 1) / word_dims + word) * 64 + i % 4;
    const int value = bits == 8 ? (int8_t)*code : values[i < 4 ? *code & 15 : *code >> 4];
    float scale, offset;
    if (is_e4m3) { /* sixteen outputs of a dim side by side */
      memcpy(&scale, at + g * 64, 4);
      return e4m3_value(at[groups * 64 + d * 16 - out % 16 * 3]) * scale;
    }
    if (!is_scattered) numbers = at + g * 64, to_offset = groups * 64;
    memcpy(&scale, numbers, 4);
    memcpy(&offset, numbers + to_offset, 4);
    return has_offsets ? fmaf((float)value, scale, offset) : (float)value * scale;
  }
}
