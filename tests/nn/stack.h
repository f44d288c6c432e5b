/* Small stacks of layers whose weights are a formula, which transformer.py has as well. */
#ifndef FOVEA_TESTS_NN_STACK_H
#define FOVEA_TESTS_NN_STACK_H

#include <fovea/embedding.h>
#include <fovea/encoder.h>
#include <fovea/nn.h>

enum {
  STACK_LAYERS = 3,
  STACK_WIDTH = 24,
  STACK_HEADS = 3,
  STACK_DIM = STACK_WIDTH / STACK_HEADS,
  STACK_HIDDEN = 40,
  STACK_VOCABULARY = 11,
  STACK_POSITIONS = 16
};

struct stack_layer {
  fovea_nn_linear self[4], cross[4], up, down; /* query, key, value, output */
  fovea_nn_attention self_attention, cross_attention;
  fovea_nn_norm norms[3]; /* of self, of cross, of the network */
  fovea_nn_block block;
};

struct stack {
  struct stack_layer layers[STACK_LAYERS];
  fovea_nn_norm embedding_norm, final_norm;
  fovea_nn_embedding embedding; /* with sinusoids at STACK_POSITIONS positions */
  fovea_nn_linear output;       /* STACK_VOCABULARY logits */
  fovea_nn_encoder encoder;     /* with a final norm */
  float positions[STACK_POSITIONS * STACK_WIDTH];
  float numbers[32000];
};

/* Makes a stack of `count` layers, with cross-attention or without; `first` is the index of its first weight. */
void stack_create(struct stack *stack, int count, int with_cross, int norm_first, uint32_t first);
/* The index after its last weight. */
uint32_t stack_end(const struct stack *stack, uint32_t first);

/* Number i of the formula, from -0.5 on and below 0.5. */
float stack_number(uint32_t i);

#endif
