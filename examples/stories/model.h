/* The weights of a language model of Llama's kind, read from a checkpoint of llama2.c (version 0). */
#ifndef STORIES_MODEL_H
#define STORIES_MODEL_H

#include "file.h"

#include <stdint.h>

/* Matrices are (outputs, inputs), as products use them; layers follow each other. */
struct model {
  int64_t dim, hidden_dim, layers, heads, kv_heads, vocabulary, longest; /* longest: positions it was trained for */
  int64_t head_dim, kv_dim;                                              /* of one head; of all kv heads */

  const float *embedding;                    /* vocabulary x dim */
  const float *attention_norm;               /* layers x dim */
  const float *query, *key, *value, *output; /* layers x (dim | kv_dim | kv_dim | dim) x dim */
  const float *hidden_norm;                  /* layers x dim */
  const float *gate, *down, *up;             /* layers x (hidden_dim x dim, dim x hidden_dim, hidden_dim x dim) */
  const float *final_norm;                   /* dim */
  const float *classifier;                   /* vocabulary x dim; may be the embedding */

  struct file file; /* where all weights lie */
};

bool model_read(struct model *model, const char *path, struct failure *failure);
void model_free(struct model *model);

#endif
