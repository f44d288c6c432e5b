/* Blocks are those of ggml-common.h, their numbers those of dequantize_row_*() in ggml-quants.c (ggml-org/llama.cpp).
 * Products are exact, since scales have 11 bits, and scales within blocks 6 or 8: each number is rounded once. */
#include "matrix.h"

#include <math.h>
#include <string.h>

static float from_bits(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

static float half_at(const unsigned char *half) {
  const int exponent = half[1] >> 2 & 31;
  const uint32_t sign = (uint32_t)half[1] >> 7 << 31, fraction = (uint32_t)(half[1] & 3) << 8 | half[0];
  if (exponent == 31) return from_bits(sign | 0x7f800000 | fraction << 13);
  if (exponent > 0) return from_bits(sign | (uint32_t)(exponent + 112) << 23 | fraction << 13);
  return sign ? -(float)fraction * 0x1p-24f : (float)fraction * 0x1p-24f;
}

/* The code of 4 bits of dim i: the lower halves of bytes come first. */
static int nibble(const unsigned char *codes, int i, int dims) {
  return codes[i % (dims / 2)] >> (i / (dims / 2) * 4) & 15;
}

/* What a code of a block of 32 dims says, `fifth` being a fifth bit that some formats have. */
static int number_of(fovea_nn_format format, const unsigned char *codes, uint32_t fifth, int i) {
  static const signed char iq4_nl[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  static const signed char twice_e2m1[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  if (format == FOVEA_NN_FORMAT_Q8_0) return (signed char)codes[i];
  const int code = nibble(codes, i, 32);
  switch (format) {
  case FOVEA_NN_FORMAT_Q4_0:
    return code - 8;
  case FOVEA_NN_FORMAT_Q5_0:
    return (code | (int)fifth << 4) - 16;
  case FOVEA_NN_FORMAT_IQ4_NL:
    return iq4_nl[code];
  case FOVEA_NN_FORMAT_MXFP4:
    return twice_e2m1[code];
  default:
    return code | (int)fifth << 4;
  }
}

/* A scale, of some formats a minimum, of some a word of fifth bits, and the codes. */
static void read_block(fovea_nn_format format, const unsigned char *block, float *numbers) {
  const bool has_minimum = format == FOVEA_NN_FORMAT_Q4_1 || format == FOVEA_NN_FORMAT_Q5_1;
  const bool has_fifth = format == FOVEA_NN_FORMAT_Q5_0 || format == FOVEA_NN_FORMAT_Q5_1;
  const bool has_exponent = format == FOVEA_NN_FORMAT_MXFP4;
  const float scale = has_exponent ? ldexpf(1, block[0] - 128) : half_at(block); /* half, for twice the numbers */
  const float minimum = has_minimum ? half_at(block + 2) : 0;
  uint32_t fifths = 0;
  block += has_exponent ? 1 : has_minimum ? 4 : 2;
  if (has_fifth) memcpy(&fifths, block, sizeof fifths);
  block += has_fifth ? sizeof fifths : 0;
  for (int i = 0; i < 32; i++) {
    const float product = (float)number_of(format, block, fifths >> i & 1, i) * scale;
    numbers[i] = has_minimum ? product + minimum : product;
  }
}

/* Q4_K and Q5_K: 256 dims, of each 32 a scale and a minimum of six bits. The upper two bits of the last four of either
 * are in the bytes of the first four, the lower four bits share bytes of their own. */
static void read_minima(fovea_nn_format format, const unsigned char *block, float *numbers) {
  const bool has_fifth = format == FOVEA_NN_FORMAT_Q5_K;
  const unsigned char *packed = block + 4, *fifths = block + 16, *codes = block + (has_fifth ? 48 : 16);
  for (int j = 0; j < 8; j++) {
    const int k = j % 4;
    const int scale = j < 4 ? packed[k] & 63 : (packed[k + 8] & 15) | packed[k] >> 6 << 4;
    const int minimum = j < 4 ? packed[k + 4] & 63 : packed[k + 8] >> 4 | packed[k + 4] >> 6 << 4;
    const float factor = half_at(block) * (float)scale, least = half_at(block + 2) * (float)minimum;
    for (int i = 0; i < 32; i++) {
      const int fifth = has_fifth ? fifths[i] >> j & 1 : 0;
      const int code = nibble(codes + j / 2 * 32, j % 2 * 32 + i, 64) | fifth << 4;
      numbers[32 * j + i] = factor * (float)code - least;
    }
  }
}

/* Q6_K: halves of 128 dims, of each 16 a scale. Lower four bits are in the halves of 64 bytes, upper two bits in the
 * quarters of 32. */
static void read_six_bits(const unsigned char *block, float *numbers) {
  for (int i = 0; i < 256; i++) {
    const int half = i / 128, place = i % 128;
    const int upper = block[128 + 32 * half + place % 32] >> (place / 32 * 2) & 3;
    const int code = (nibble(block + 64 * half, place, 128) | upper << 4) - 32;
    numbers[i] = half_at(block + 208) * (float)(signed char)block[192 + i / 16] * (float)code;
  }
}

static void read_codes(const struct matrix *matrix, const unsigned char *row, float *numbers) {
  const fovea_nn_format format = matrix->codes.format;
  const bool has_minima = format == FOVEA_NN_FORMAT_Q4_K || format == FOVEA_NN_FORMAT_Q5_K;
  const int64_t dims = has_minima || format == FOVEA_NN_FORMAT_Q6_K ? 256 : 32, blocks = matrix->columns / dims;
  const size_t bytes = matrix->row_bytes / (size_t)blocks;
  for (int64_t i = 0; i < blocks; i++, row += bytes, numbers += dims) {
    if (has_minima)
      read_minima(format, row, numbers);
    else if (dims == 256)
      read_six_bits(row, numbers);
    else
      read_block(format, row, numbers);
  }
}

void matrix_row(const struct matrix *matrix, int64_t row, float *numbers) {
  const unsigned char *bytes = (const unsigned char *)matrix->data + (size_t)row * matrix->row_bytes;
  if (matrix->has_codes) {
    read_codes(matrix, bytes, numbers);
  } else if (matrix->type == FOVEA_F32) {
    memcpy(numbers, bytes, matrix->row_bytes);
  } else {
    for (int64_t i = 0; i < matrix->columns; i++, bytes += 2)
      numbers[i] = matrix->type == FOVEA_F16 ? half_at(bytes)
                                             : from_bits((uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24);
  }
}
