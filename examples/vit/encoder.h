/* Images through the model. The logits of an image have the same bits whatever images are in the batch, and for any
 * number of threads. */
#ifndef VIT_ENCODER_H
#define VIT_ENCODER_H

#include "digits.h"

/* Writes (count, DIGITS) logits of (count, IMAGE_PIXELS) pixels; count is at least 1. threads 0: as many as there
 * are CPUs. */
bool encoder_logits(const struct model *model, const unsigned char *images, int64_t count, int threads,
                    float *logits, struct failure *failure);

/* Writes softmax of DIGITS logits. */
bool encoder_probabilities(const struct model *model, const float *logits, float *probabilities,
                           struct failure *failure);

/* The digit with the largest logit; of equal ones the least. */
int encoder_choice(const float *logits);

/* Writes what each token of an image attends to in each layer and head: (layers, MODEL_HEADS, TOKENS, TOKENS)
 * numbers, each row adds up to 1. */
bool encoder_attention(const struct model *model, const unsigned char *image, float *weights,
                       struct failure *failure);

#endif
