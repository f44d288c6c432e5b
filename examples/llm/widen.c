/* The numbers of quantised tensors. */
#include "gguf.h"

#include <math.h>
#include <string.h>

enum { NUMBERS = 32, HALF_BYTES = 2 };

static float f32_of(const unsigned char *half) {
  const int sign = half[1] >> 7, exponent = half[1] >> 2 & 31, fraction = (half[1] & 3) << 8 | half[0];
  float number;
  if (exponent == 31)
    number = fraction ? NAN : INFINITY;
  else
    number = exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
  return sign ? -number : number;
}

/* Blocks are a scale, of Q4_1 a minimum, and the codes. Two codes of 4 bits share a byte: the lower half has one of the
 * first 16. A product is exact, since it has at most 19 bits, so each number is rounded once. Returns the next block. */
static const unsigned char *widen_block(const unsigned char *block, enum gguf_tensor_type type, float *numbers) {
  const float scale = f32_of(block), minimum = type == GGUF_Q4_1 ? f32_of(block + HALF_BYTES) : 0;
  const unsigned char *codes = block + (type == GGUF_Q4_1 ? 2 : 1) * HALF_BYTES;
  for (int i = 0; i < NUMBERS; i++) {
    const int nibble = codes[i % 16] >> (i / 16 * 4) & 15;
    const int code = type == GGUF_Q8_0 ? (signed char)codes[i] : type == GGUF_Q4_0 ? nibble - 8 : nibble;
    numbers[i] = type == GGUF_Q4_1 ? (float)code * scale + minimum : (float)code * scale;
  }
  return codes + (type == GGUF_Q8_0 ? NUMBERS : NUMBERS / 2);
}

void gguf_widen(const struct gguf_tensor *tensor, float *numbers) {
  const unsigned char *block = tensor->data;
  for (int64_t i = 0; i < tensor->rows * tensor->columns; i += NUMBERS)
    block = widen_block(block, tensor->type, numbers + i);
}
