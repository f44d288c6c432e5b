/* The next token from the scores of all of them. */
#ifndef STORIES_SAMPLE_H
#define STORIES_SAMPLE_H

#include <stdint.h>

/* The one with the highest score; of equal ones the first. */
int32_t sample_greedily(const float *logits, int64_t count);

/* One drawn with the probabilities softmax(logits / temperature); advances the generator's state. */
int32_t sample_randomly(const float *logits, int64_t count, double temperature, uint64_t *state);

#endif
