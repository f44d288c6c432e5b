/* Reads the formats of quantised weights. Blocks are those of ggml-common.h, their numbers those of dequantize_row_*()
 * in ggml-quants.c (ggml-org/llama.cpp). Words with zero points are those of AutoGPTQ (QuantLinear.pack()) and AutoAWQ
 * (utils/packing_utils.py). All products are exact: f16 has 11 bits, scales within blocks have 6 or 8. E4M3 is as
 * compressed-tensors (initialize_qparams()) and DeepSeek-V3 (README_WEIGHTS.md) describe it. */
#include "../arch/formats.h"
#include "codes.h"
#include "linear_finish.h"

#if FOVEA_BUILDS_FORMATS

#define FROM_ZERO                                                                                                  \
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }

const fovea_nn_format_kind fovea_nn_format_kinds[FOVEA_NN_FORMATS] = {
    [FOVEA_NN_FORMAT_Q8_0] = {32, 34, 8, 32, 0, {0}},
    [FOVEA_NN_FORMAT_Q4_0] = {32, 18, 4, 32, 0, {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}},
    [FOVEA_NN_FORMAT_Q4_1] = {32, 20, 4, 32, 1, FROM_ZERO},
    [FOVEA_NN_FORMAT_Q5_0] = {32, 22, 8, 32, 0, {0}},
    [FOVEA_NN_FORMAT_Q5_1] = {32, 24, 8, 32, 1, {0}},
    [FOVEA_NN_FORMAT_Q4_K] = {256, 144, 4, 32, 1, FROM_ZERO},
    [FOVEA_NN_FORMAT_Q5_K] = {256, 176, 8, 32, 1, {0}},
    [FOVEA_NN_FORMAT_Q6_K] = {256, 210, 8, 16, 0, {0}},
    [FOVEA_NN_FORMAT_IQ4_NL] =
        {32, 18, 4, 32, 0, {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}},
    /* Twice the numbers of e2m1, with half the scale. */
    [FOVEA_NN_FORMAT_MXFP4] = {32, 17, 4, 32, 0, {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}},
    [FOVEA_NN_FORMAT_GPTQ] = {0, 0, 4, 0, 1, FROM_ZERO},
    [FOVEA_NN_FORMAT_AWQ] = {0, 0, 4, 0, 1, FROM_ZERO},
    [FOVEA_NN_FORMAT_E4M3] = {1, 1, 8, 0, 0, {0}},
};

static float from_bits(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* The number of an f16. */
static float half_at(const uint8_t *p) {
  const uint32_t half = (uint32_t)p[0] | (uint32_t)p[1] << 8, sign = (half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 31, fraction = half & 0x3ffu;
  if (exponent == 31) return from_bits(sign | 0x7f800000u | fraction << 13);
  if (exponent > 0) return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
  const float size = (float)fraction * 0x1p-24f;
  return sign ? -size : size;
}

/* 2^(e - 128). */
static float half_of_e8m0(uint32_t e) {
  return from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

static uint32_t word_at(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* 2 * count codes of 4 bits: the first half in the lower halves of bytes, the second in the upper halves. */
static void read_halves(const uint8_t *from, int count, uint8_t *to) {
  for (int i = 0; i < count; i++) {
    to[i] = from[i] & 15;
    to[count + i] = from[i] >> 4;
  }
}

/* Fifth bits, one bit of a word for each of 32 dims, and less `zero`. */
static void add_fifth(uint32_t fifth, int zero, uint8_t *codes) {
  for (int i = 0; i < 32; i++) codes[i] = (uint8_t)((int)(codes[i] | (fifth >> i & 1) << 4) - zero);
}

/* A block of 32 dims. */
static void read_block(fovea_nn_format format, const uint8_t *block, uint8_t *codes, float *scale, float *offset) {
  if (format == FOVEA_NN_FORMAT_MXFP4) {
    *scale = half_of_e8m0(block[0]);
    read_halves(block + 1, 16, codes);
    return;
  }
  *scale = half_at(block);
  if (format == FOVEA_NN_FORMAT_Q8_0) {
    memcpy(codes, block + 2, 32);
    return;
  }
  block += 2;
  if (format == FOVEA_NN_FORMAT_Q4_1 || format == FOVEA_NN_FORMAT_Q5_1) {
    *offset = half_at(block);
    block += 2;
  }
  const int fifth = format == FOVEA_NN_FORMAT_Q5_0 || format == FOVEA_NN_FORMAT_Q5_1;
  read_halves(block + 4 * fifth, 16, codes);
  if (fifth) add_fifth(word_at(block), format == FOVEA_NN_FORMAT_Q5_0 ? 16 : 0, codes);
}

/* Scale and minimum i of 8, of six bits each: four of either in bytes of their own, whose upper two bits belong to the
 * last four; the other bits of these are halves of bytes. */
static void read_six_bits(const uint8_t *packed, int i, int *scale, int *minimum) {
  if (i < 4) {
    *scale = packed[i] & 63;
    *minimum = packed[i + 4] & 63;
  } else {
    *scale = (packed[i + 4] & 15) | packed[i - 4] >> 6 << 4;
    *minimum = packed[i + 4] >> 4 | packed[i] >> 6 << 4;
  }
}

/* Half of a block of q4_K or q5_K: 64 dims in the halves of 32 bytes, and 64 more. */
static void read_minima(const uint8_t *block, int half, int fifth, fovea_nn_codes_piece *piece) {
  const uint8_t *fifths = block + 16, *codes = block + (fifth ? 48 : 16) + 64 * half;
  for (int i = 0; i < 4; i++) {
    int scale, minimum;
    read_six_bits(block + 4, 4 * half + i, &scale, &minimum);
    piece->scales[i] = half_at(block) * (float)scale;
    piece->offsets[i] = -(half_at(block + 2) * (float)minimum);
  }
  for (int i = 0; i < 2; i++) read_halves(codes + 32 * i, 32, piece->codes + 64 * i);
  for (int i = 0; fifth && i < 128; i++) {
    const int bit = fifths[i % 32] >> (4 * half + i / 32) & 1;
    piece->codes[i] = (uint8_t)(piece->codes[i] | bit << 4);
  }
}

/* Half of a block of q6_K: lower four bits in the halves of 64 bytes, upper two bits in the quarters of 32. */
static void read_six(const uint8_t *block, int half, fovea_nn_codes_piece *piece) {
  const uint8_t *upper = block + 128 + 32 * half, *scales = block + 192 + 8 * half;
  for (int i = 0; i < 8; i++) piece->scales[i] = half_at(block + 208) * (float)(int8_t)scales[i];
  read_halves(block + 64 * half, 64, piece->codes);
  for (int i = 0; i < 128; i++) {
    const int bits = upper[i % 32] >> (i / 32 * 2) & 3;
    piece->codes[i] = (uint8_t)((piece->codes[i] | bits << 4) - 32);
  }
}

static void read_blocks(const fovea_nn_codes *codes, int64_t out, int64_t dim, int dims,
                        fovea_nn_codes_piece *piece) {
  const fovea_nn_format_kind *kind = &fovea_nn_format_kinds[codes->format];
  const int64_t first = out * (codes->in / kind->block) + dim / kind->block;
  const uint8_t *block = (const uint8_t *)codes->data + first * kind->block_bytes;
  if (kind->block == 256) {
    const int half = (int)(dim / FOVEA_DOT_PIECE % 2);
    if (codes->format == FOVEA_NN_FORMAT_Q6_K)
      read_six(block, half, piece);
    else
      read_minima(block, half, codes->format == FOVEA_NN_FORMAT_Q5_K, piece);
    return;
  }
  for (int i = 0; i < dims / 32; i++, block += kind->block_bytes)
    read_block(codes->format, block, piece->codes + 32 * i, &piece->scales[i], &piece->offsets[i]);
}

/* The bit at which output or dim `i` of eight begins in a word. */
static int shift_of(const fovea_nn_codes *codes, int64_t i) {
  static const int awq[8] = {0, 16, 4, 20, 8, 24, 12, 28};
  return codes->format == FOVEA_NN_FORMAT_AWQ ? awq[i % 8] : (int)(i % 8) * 4;
}

static uint32_t code_at(const void *words, int64_t word, int shift) {
  return word_at((const uint8_t *)words + 4 * word) >> shift & 15;
}

void fovea_nn_read_group(const fovea_nn_codes *codes, int64_t out, int64_t group, float *scale, float *offset) {
  const int64_t place = group * codes->out + out;
  const uint32_t zero = code_at(codes->zeros, place / 8, shift_of(codes, out)) + (codes->zeros_less_one != 0);
  *scale = half_at((const uint8_t *)codes->scales + 2 * place);
  *offset = -((float)zero * *scale);
}

uint32_t fovea_nn_group_of(const fovea_nn_codes *codes, int64_t dim) {
  return word_at((const uint8_t *)codes->g_idx + 4 * dim);
}

static void read_words(const fovea_nn_codes *codes, int64_t out, int64_t dim, int dims,
                       fovea_nn_codes_piece *piece) {
  const int64_t columns = codes->out, first = dim / codes->group;
  const int group_dims = codes->group < FOVEA_DOT_PIECE ? (int)codes->group : FOVEA_DOT_PIECE;
  for (int g = 0; g * group_dims < dims; g++)
    fovea_nn_read_group(codes, out, first + g, &piece->scales[g], &piece->offsets[g]);
  for (int i = 0; i < dims; i++) {
    const int64_t d = dim + i;
    piece->codes[i] = (uint8_t)(codes->format == FOVEA_NN_FORMAT_AWQ
                                    ? code_at(codes->data, d * (columns / 8) + out / 8, shift_of(codes, out))
                                    : code_at(codes->data, d / 8 * columns + out, shift_of(codes, d)));
  }
}

/* The number at p. */
static float number_at(const uint8_t *p, fovea_type type) {
  if (type == FOVEA_F16) return half_at(p);
  return from_bits(type == FOVEA_F32 ? word_at(p) : ((uint32_t)p[0] | (uint32_t)p[1] << 8) << 16);
}

static void read_e4m3(const fovea_nn_codes *codes, int64_t out, int64_t dim, int dims,
                      fovea_nn_codes_piece *piece) {
  const int64_t groups = fovea_nn_parts_of(codes->in, codes->group), first = dim / codes->group;
  const int64_t row = out / codes->group_outs * groups;
  const int group_dims = codes->group < FOVEA_DOT_PIECE ? (int)codes->group : FOVEA_DOT_PIECE;
  memcpy(piece->codes, (const uint8_t *)codes->data + out * codes->in + dim, (size_t)dims);
  for (int g = 0; g * group_dims < dims; g++) {
    const int64_t bytes = fovea_bytes(codes->scale_type, row + first + g);
    piece->scales[g] = number_at((const uint8_t *)codes->scales + bytes, codes->scale_type);
  }
}

void fovea_nn_read_codes(const fovea_nn_codes *codes, int64_t out, int64_t dim, int dims,
                         fovea_nn_codes_piece *piece) {
  if (fovea_nn_format_kinds[codes->format].block == 0)
    read_words(codes, out, dim, dims, piece);
  else if (codes->format == FOVEA_NN_FORMAT_E4M3)
    read_e4m3(codes, out, dim, dims, piece);
  else
    read_blocks(codes, out, dim, dims, piece);
}

#endif
