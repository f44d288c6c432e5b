/* A small encoder-decoder, and calls of it. */
#ifndef FOVEA_TESTS_NN_CODING_H
#define FOVEA_TESTS_NN_CODING_H

#include "nn/stack.h"

#include <fovea/cache.h>
#include <fovea/encoder.h>

enum {
  BATCH = 2,
  SOURCE = 6,
  TARGET = 5,
  SHORT = 4, /* rows of the second source */
  PACKED = SOURCE + SHORT,
  WIDTH = STACK_WIDTH,
  OUT = STACK_VOCABULARY,
  CACHE = STACK_LAYERS * BATCH * SOURCE * WIDTH
};

extern const int32_t source_ids[BATCH * SOURCE];
extern const int32_t target_ids[BATCH * TARGET];
extern const int64_t source_lengths[BATCH];
extern const int32_t source_ends[BATCH + 1];
extern struct stack encoder, decoder;

/* All that a call takes. */
struct call {
  fovea_nn_encoder_decoder model;
  fovea_problem problems[3]; /* of the source, of the target, across */
  fovea_nn_attention_tensors tensors[3];
  fovea_nn_attending over[3];
  fovea_nn_encoder_rows source, target;
  float memory[BATCH * SOURCE * WIDTH];
};

/* Sets sizes. */
void make_problem(fovea_problem *problem, int64_t rows, int64_t keys);
void make_models(int norm_first);
/* All positions at once. The second source is shorter. */
void make_call(struct call *c, float *y);

/* Caches of all batch elements and layers. */
struct cache {
  float k[CACHE], v[CACHE];
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
};

void make_cache(struct cache *cache);

#endif
