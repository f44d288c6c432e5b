/* What may follow a row, as integers, so that every machine draws the same token. */
#ifndef STORIES_CHANCES_H
#define STORIES_CHANCES_H

#include "failure.h"

#include <fovea/nn.h>

/* Chance i of a row of logits x is 1 + floor(2^24 p[i]), for p = softmax(x fl(1 / fl(temperature))) of docs/numerics.md,
 * L4; so every token has a chance. */
struct chances {
  int64_t count;
  uint32_t *chance; /* of each token */
  uint64_t total;   /* of all, below 2^25 + count */
  float *numbers;
};

bool chances_open(struct chances *chances, int64_t count, struct failure *failure);
void chances_close(struct chances *chances);

/* Refuses logits that are not finite, and temperatures that are not from 1e-6 to 1e6, as fovea.verify does. */
bool chances_take(struct chances *chances, const float *logits, double temperature,
                  const fovea_execution *execution, struct failure *failure);

/* The sum of the chances of tokens before a token. */
uint64_t chances_before(const struct chances *chances, int64_t token);

/* The token in whose chance a number from 0 to total - 1 lies. */
int32_t chances_find(const struct chances *chances, uint64_t number);

/* Draws a token: number floor(z total / 2^64) for the next z of SplitMix64 (Steele, Lea and Flood, 2014). */
int32_t chances_draw(const struct chances *chances, uint64_t *generator);

#endif
