/* Chooses the next token by the scores of all tokens. */
#ifndef STORIES_SAMPLE_H
#define STORIES_SAMPLE_H

#include <stdint.h>

/* The token with the highest score; of equal scores the first. */
int32_t sample_greedily(const float *logits, int64_t count);

/* A token drawn with the probabilities softmax(logits / temperature). Advances the generator's state. */
int32_t sample_randomly(const float *logits, int64_t count, double temperature, uint64_t *state);

#endif
