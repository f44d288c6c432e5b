#include "sample.h"

int32_t sample_greedily(const float *logits, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; i++)
    if (logits[i] > logits[best]) best = i;
  return (int32_t)best;
}

bool sample_token(struct chances *chances, const float *logits, double temperature,
                  const fovea_execution *execution, uint64_t *generator, int32_t *token, struct failure *failure) {
  if (temperature > 0) {
    if (!chances_take(chances, logits, temperature, execution, failure)) return false;
    *token = chances_draw(chances, generator);
  } else {
    *token = sample_greedily(logits, chances->count);
  }
  return true;
}
