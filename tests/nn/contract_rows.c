#include "contract_rows.h"

#include <stdlib.h>

void contract_waves(int64_t dim, double base, fovea_nn_wave_exponent exponent, struct fraction *turns) {
  if (exponent != FOVEA_NN_WAVES_BY_DIM)
    contract_wave_turns(base, dim < 4 ? 1 : dim / 2 - 1, 1, dim / 2, turns);
  else
    contract_wave_turns(base, dim % 2 ? dim : dim / 2, dim % 2 ? 2 : 1, (dim + 1) / 2, turns);
}

void contract_sinusoids(int64_t dim, fovea_nn_wave_layout layout, fovea_nn_wave_exponent exponent,
                        const struct fraction *turns, int64_t position, float *row) {
  const int64_t cosines = dim / 2, sines = exponent == FOVEA_NN_WAVES_BY_DIM ? (dim + 1) / 2 : cosines;
  row[dim - 1] = 0; /* if it is neither */
  for (int64_t i = 0; i < sines; i++) {
    float cosine, sine;
    contract_angle(turns[i], position, &cosine, &sine);
    const int apart = layout == FOVEA_NN_WAVES_INTERLEAVED;
    row[apart ? 2 * i : i] = sine;
    if (i < cosines) row[apart ? 2 * i + 1 : sines + i] = cosine;
  }
}

/* A whole number to the base 2^32, the lowest digit first. */
enum { DIGITS = 1024 };
struct whole {
  uint32_t digit[DIGITS];
};

static void multiply(struct whole *number, uint64_t factor) {
  uint64_t carry = 0;
  for (int i = 0; i < DIGITS; i++) {
    carry += number->digit[i] * factor;
    number->digit[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

/* a^i b^j */
static struct whole product_of_powers(int64_t a, int64_t i, int64_t b, int64_t j) {
  struct whole number = {{1}};
  while (i-- > 0) multiply(&number, (uint64_t)a);
  while (j-- > 0) multiply(&number, (uint64_t)b);
  return number;
}

static int is_less(const struct whole *a, const struct whole *b) {
  int i = DIGITS - 1;
  while (i > 0 && a->digit[i] == b->digit[i]) i--;
  return a->digit[i] < b->digit[i];
}

int64_t contract_t5_bucket(int64_t relative, int bidirectional, int64_t buckets, int64_t max_distance) {
  const int64_t n = bidirectional ? buckets / 2 : buckets, first = bidirectional && relative > 0 ? n : 0;
  const int64_t r = bidirectional ? llabs(relative) : relative < 0 ? -relative : 0;
  const int64_t e = n / 2, m = n - e;
  if (r < e) return first + r;
  const struct whole distance = product_of_powers(r, m, 1, 0);
  int64_t k = m - 1;
  for (; k > 0; k--) {
    const struct whole border = product_of_powers(max_distance, k, e, m - k);
    if (!is_less(&distance, &border)) break;
  }
  return first + e + k;
}

/* The paper's round as it is written there: L, R of two blocks. */
uint32_t contract_random(uint64_t seed, uint64_t stream, uint64_t index) {
  const uint64_t number = index >> 2;
  uint32_t right0 = (uint32_t)number, left0 = (uint32_t)(number >> 32), right1 = (uint32_t)stream,
           left1 = (uint32_t)(stream >> 32), key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t product0 = (uint64_t)right0 * 0xd2511f53u, product1 = (uint64_t)right1 * 0xcd9e8d57u;
    right0 = (uint32_t)(product1 / 0x100000000u) ^ left0 ^ key0;
    left0 = (uint32_t)product1;
    right1 = (uint32_t)(product0 / 0x100000000u) ^ left1 ^ key1;
    left1 = (uint32_t)product0;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  const uint32_t words[4] = {right0, left0, right1, left1};
  return words[index & 3];
}

float contract_dropout(float x, float p, uint32_t number) {
  const float kept = 1.0f - p, scale = 1.0f / kept;
  return (double)number >= (double)p * 4294967296.0 ? x * scale : 0.0f;
}
