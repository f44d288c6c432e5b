/* A captured sentence: its tokens, the Q, K and V that a language model computed for them in one layer, and the
 * output of the model's own attention. capture.py wrote the files. */
#ifndef FOVEA_EXAMPLES_CAPTURED_H
#define FOVEA_EXAMPLES_CAPTURED_H

#include <fovea/fovea.h>
#include <stdbool.h>

#define CAPTURED_TOKEN_LIMIT 64 /* tokens in a sentence */
#define CAPTURED_TOKEN_SIZE  32 /* bytes of a token, with the final 0 */

struct captured {
  int64_t heads, tokens, dim;
  float *q, *k, *v;     /* (heads, tokens, dim) */
  float *context;       /* (heads, tokens, dim): the model's softmax(q k^T / sqrt(dim)) v */
  float *probabilities; /* (heads, tokens, tokens): the model's softmax(q k^T / sqrt(dim)) */
  char token[CAPTURED_TOKEN_LIMIT][CAPTURED_TOKEN_SIZE];
};

/* Reads q.npy, k.npy, v.npy, context.npy, probabilities.npy and tokens.txt. On failure writes one line to `error`
 * and leaves nothing to free. */
bool captured_load(const char *directory, struct captured *captured, char *error, size_t error_size);
void captured_free(struct captured *captured);

/* Number of the first token with that text, -1 if there is none. */
int64_t captured_find(const struct captured *captured, const char *token);

/* The attention of the layer as a problem for Fovea: every token sees every token, one kv head for each query
 * head. */
void captured_problem(const struct captured *captured, fovea_problem *problem);

/* Attention over the captured tensors: writes (heads, tokens, dim) to o. `isa` may be NULL. */
fovea_status captured_attend(const struct captured *captured, const char *isa, float *o, fovea_error *error);

/* The weights with which that attention averages the rows of V: writes (heads, tokens, tokens). `isa` may be NULL.
 */
fovea_status captured_weights(const struct captured *captured, const char *isa, float *weights, fovea_error *error);

#endif
