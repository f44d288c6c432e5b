/* The numbers of a small encoder, 523,776 weights, and what goes into it: read from a directory, or made up. */
#ifndef ENCODER_WEIGHTS_H
#define ENCODER_WEIGHTS_H

#include "../stories/failure.h"

#include <stddef.h>
#include <stdint.h>

enum {
  ENCODER_VOCABULARY = 1000,
  ENCODER_DIM = 128,
  ENCODER_HEADS = 4,
  ENCODER_HIDDEN = 512,
  ENCODER_LAYERS = 2,
  ENCODER_BATCH = 2,
  ENCODER_LENGTH = 10,
  ENCODER_ROWS = ENCODER_BATCH * ENCODER_LENGTH,
  ENCODER_PARTS = 1 + 12 * ENCODER_LAYERS + 2
};

/* The parts of a layer, in the order in which they follow the table of tokens. */
enum layer_part {
  PART_QUERY,
  PART_KEY,
  PART_VALUE,
  PART_OUTPUT,
  PART_UP,
  PART_UP_BIAS,
  PART_DOWN,
  PART_DOWN_BIAS,
  PART_SELF_GAMMA,
  PART_SELF_BETA,
  PART_FEED_GAMMA,
  PART_FEED_BETA,
  PART_COUNT
};

struct weights {
  float *numbers; /* of all parts, one after the other */
  int64_t count;
  int64_t
      begins[ENCODER_PARTS]; /* of the table of tokens, the parts of each layer, gamma and beta of the last norm */
  int64_t ids[ENCODER_ROWS];
  unsigned char seen[ENCODER_ROWS]; /* keys; 0: padding */
};

/* Reads the case seed4_transformer_encoder of the conformance data: f32 numbers in files of their own. */
bool weights_read(struct weights *weights, const char *directory, struct failure *failure);
/* Makes numbers up, the same on every machine; the last two keys of each text are padding. */
bool weights_generate(struct weights *weights, struct failure *failure);
void weights_free(struct weights *weights);

const float *weights_of_layer(const struct weights *weights, int layer, enum layer_part part);

/* Reads `count` numbers of `size` bytes, which are all that a file has. */
bool weights_read_file(const char *directory, const char *name, void *to, int64_t count, size_t size,
                       struct failure *failure);

#endif
