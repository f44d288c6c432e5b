/* The quantisers of ggml and ik_llama.cpp. */
#include "contract_formats.h"
#include "contract_rounding.h"

void contract_q8_kv_row(const float *x, int64_t dim, uint8_t *row) {
  const float d = largest_magnitude(x, dim) / 127.0f, factor = 1.0f / d;
  uint32_t sum = 0;
  contract_store_f32(row, d);
  for (int64_t i = 0; i < dim; i++) {
    const int32_t code = d == 0.0f ? 0 : nearest(x[i] * factor, true);
    sum += (uint32_t)code;
    row[8 + i] = (uint8_t)between(-128, code, 127);
  }
  for (int i = 0; i < 4; i++) row[4 + i] = (uint8_t)(sum >> (8 * i));
}

static void put_halves(uint8_t *bytes, const int *codes) {
  for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)((codes[i] & 15) | (codes[i + 16] & 15) << 4);
}

static void put_fifths(uint8_t *bytes, const int *codes) {
  for (int i = 0; i < 4; i++) bytes[i] = 0;
  for (int i = 0; i < 32; i++) bytes[i / 8] |= (uint8_t)((codes[i] >> 4 & 1) << (i % 8));
  put_halves(bytes + 4, codes);
}

static void q8_0_group(const float *x, uint8_t *group) {
  const float d = largest_magnitude(x, 32) / 127.0f, factor = d != 0.0f ? 1.0f / d : 0.0f;
  contract_store_f16(group, d);
  for (int i = 0; i < 32; i++) group[2 + i] = (uint8_t)nearest(x[i] * factor, false);
}

/* Nearest even, and 127 / a for 1 / d: the bytes of the library's rule for rows, except below 2^-100. */
static void q8_0_cpu_group(const float *x, uint8_t *group) {
  const float a = largest_magnitude(x, 32), factor = a != 0.0f ? 127.0f / a : 0.0f;
  contract_store_f16(group, a / 127.0f);
  for (int i = 0; i < 32; i++) group[2 + i] = (uint8_t)between(-128, nearest(x[i] * factor, true), 127);
}

/* The first number of largest magnitude, with its sign. */
static float largest_signed(const float *x) {
  float a = 0.0f, largest = 0.0f;
  for (int i = 0; i < 32; i++) {
    if (a < magnitude(x[i])) {
      a = magnitude(x[i]);
      largest = x[i];
    }
  }
  return largest;
}

/* q4_0, q5_0: the largest number becomes the code 0, which is -half. The conversion to a byte cuts off. */
static void symmetric_group(const float *x, uint8_t *group, int half) {
  const float d = largest_signed(x) / (float)-half, factor = d != 0.0f ? 1.0f / d : 0.0f;
  int codes[32];
  contract_store_f16(group, d);
  for (int i = 0; i < 32; i++) {
    const float t = x[i] * factor;
    codes[i] = between(0, (int8_t)(truncated(t + ((float)half + 0.5f)) & 255), 2 * half - 1);
  }
  if (half == 8)
    put_halves(group + 2, codes);
  else
    put_fifths(group + 2, codes);
}

/* q4_1, q5_1: `last` is the largest code. */
static void minimum_group(const float *x, uint8_t *group, int last) {
  float low = CONTRACT_LARGEST, high = -CONTRACT_LARGEST;
  for (int i = 0; i < 32; i++) {
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  const float d = (high - low) / (float)last, factor = d != 0.0f ? 1.0f / d : 0.0f;
  int codes[32];
  contract_store_f16(group, d);
  contract_store_f16(group + 2, low);
  for (int i = 0; i < 32; i++) {
    const float t = (x[i] - low) * factor;
    codes[i] = between(0, truncated(t + 0.5f) & 255, last);
  }
  if (last == 15)
    put_halves(group + 4, codes);
  else
    put_fifths(group + 4, codes);
}

/* The number of the table that is nearest to x; of two as near, the upper one. */
static int table_code(float x) {
  int code = 0;
  while (code < 15 && x + x >= (float)(contract_iq4_nl_values[code] + contract_iq4_nl_values[code + 1])) code++;
  return code;
}

/* The codes come from a first scale; the stored one then minimises the error, weighted by the squares. ggml leaves
 * the codes of groups below 1e-15 as they were in memory; here they are 0. */
static void iq4_nl_group(const float *x, uint8_t *group) {
  int codes[32] = {0};
  float d = 0.0f;
  if (largest_magnitude(x, 32) >= 1e-15f) {
    const float factor = 1.0f / (largest_signed(x) / -127.0f);
    float above = 0.0f, below = 0.0f;
    for (int i = 0; i < 32; i++) {
      codes[i] = table_code(x[i] * factor);
      const float q = contract_iq4_nl_values[codes[i]], weight = x[i] * x[i];
      const float wq = weight * q, wqx = wq * x[i], wqq = wq * q;
      above += wqx;
      below += wqq;
    }
    d = below > 0.0f ? above / below : 0.0f;
  }
  contract_store_f16(group, d);
  put_halves(group + 2, codes);
}

void contract_ggml_group(enum contract_preset preset, const float *x, uint8_t *group) {
  switch (preset) {
  case CONTRACT_Q8_0:
    q8_0_group(x, group);
    break;
  case CONTRACT_Q8_0_CPU:
    q8_0_cpu_group(x, group);
    break;
  case CONTRACT_Q4_0:
    symmetric_group(x, group, 8);
    break;
  case CONTRACT_Q4_1:
    minimum_group(x, group, 15);
    break;
  case CONTRACT_Q5_0:
    symmetric_group(x, group, 16);
    break;
  case CONTRACT_Q5_1:
    minimum_group(x, group, 31);
    break;
  default:
    iq4_nl_group(x, group);
    break;
  }
}
