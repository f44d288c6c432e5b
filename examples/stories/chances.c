#include "chances.h"

#include "words.h"

#include <stdlib.h>

bool chances_open(struct chances *chances, int64_t count, struct failure *failure) {
  *chances = (struct chances){.count = count};
  chances->chance = malloc((size_t)count * sizeof *chances->chance);
  chances->numbers = malloc((size_t)count * sizeof *chances->numbers);
  return (chances->chance && chances->numbers) || refuse(failure, "no memory for %lld tokens", (long long)count);
}

void chances_close(struct chances *chances) {
  free(chances->chance);
  free(chances->numbers);
  *chances = (struct chances){.chance = NULL};
}

bool chances_take(struct chances *chances, const float *logits, double temperature,
                  const fovea_execution *execution, struct failure *failure) {
  if (!(temperature >= TEMPERATURE_LEAST && temperature <= TEMPERATURE_MOST))
    return refuse(failure, "the temperature is %g; it must be 0, or from 1e-6 to 1e6", temperature);
  const float inverse = 1 / (float)temperature;
  fovea_nn_map map;
  fovea_error error;
  for (int64_t i = 0; i < chances->count; i++) chances->numbers[i] = logits[i] * inverse;
  fovea_nn_map_init(&map, 1, chances->count, chances->numbers, chances->numbers);
  if (fovea_nn_softmax(&map, execution, &error) != FOVEA_OK) return refuse(failure, "%s", error.text);
  chances->total = 0;
  for (int64_t i = 0; i < chances->count; i++) {
    const float p = chances->numbers[i];
    if (!(p >= 0 && p <= 2)) return refuse(failure, "a number that follows a token is not finite");
    chances->chance[i] = 1 + (uint32_t)(p * 0x1p24f); /* exact, then cut off */
    chances->total += chances->chance[i];
  }
  return true;
}

uint64_t chances_before(const struct chances *chances, int64_t token) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < token; i++) sum += chances->chance[i];
  return sum;
}

int32_t chances_find(const struct chances *chances, uint64_t number) {
  int64_t token = 0;
  for (; token + 1 < chances->count && number >= chances->chance[token]; token++) number -= chances->chance[token];
  return (int32_t)token;
}

/* floor(a b / 2^64) for b below 2^32 */
static uint64_t high_product(uint64_t a, uint64_t b) {
  return ((a >> 32) * b + ((a & UINT32_MAX) * b >> 32)) >> 32;
}

int32_t chances_draw(const struct chances *chances, uint64_t *generator) {
  uint64_t z = *generator += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return chances_find(chances, high_product(z ^ z >> 31, chances->total));
}
