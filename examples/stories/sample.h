/* Chooses the next token by the scores of all tokens. */
#ifndef STORIES_SAMPLE_H
#define STORIES_SAMPLE_H

#include "chances.h"

/* The token with the highest score; of equal scores the first. */
int32_t sample_greedily(const float *logits, int64_t count);

/* The token that follows `chances->count` logits: at temperature 0 the likeliest; else one that is drawn by its chance,
 * which advances the generator. */
bool sample_token(struct chances *chances, const float *logits, double temperature,
                  const fovea_execution *execution, uint64_t *generator, int32_t *token, struct failure *failure);

#endif
