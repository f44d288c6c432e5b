/* Attention weights of all layers and heads as one picture: how much the class token takes from each patch. */
#ifndef VIT_SUMMARY_H
#define VIT_SUMMARY_H

#include "model.h"

/* Both take (layers, MODEL_HEADS, TOKENS, TOKENS) weights, and write one number for each patch; these add up to 1.
 */

/* The class token's row of the last layer, averaged over the heads. */
void summary_last_layer(const float *weights, int64_t layers, float patches[PATCHES]);

/* Attention rollout (Abnar & Zuidema, 2020): the product of all layers' matrices, each averaged over the heads and
 * with the identity, for the residual. */
void summary_rollout(const float *weights, int64_t layers, float patches[PATCHES]);

#endif
