#include "sample.h"

#include <math.h>

int32_t sample_greedily(const float *logits, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; i++)
    if (logits[i] > logits[best]) best = i;
  return (int32_t)best;
}

/* SplitMix64 of Steele, Lea and Flood; from 0 to below 1. */
static double random_number(uint64_t *state) {
  uint64_t bits = *state += 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  return (double)((bits ^ bits >> 31) >> 11) / 9007199254740992.0; /* 2^53 */
}

int32_t sample_randomly(const float *logits, int64_t count, double temperature, uint64_t *state) {
  const double highest = (double)logits[sample_greedily(logits, count)];
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += exp(((double)logits[i] - highest) / temperature);
  double left = random_number(state) * sum;
  for (int64_t i = 0; i < count; i++) {
    left -= exp(((double)logits[i] - highest) / temperature);
    if (left < 0) return (int32_t)i;
  }
  return sample_greedily(logits, count); /* left over by rounding */
}
