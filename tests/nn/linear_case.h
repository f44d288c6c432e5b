/* A linear layer of any settings with its tensors in guarded memory, and what the contract says that it gives. */
#ifndef FOVEA_TESTS_NN_LINEAR_CASE_H
#define FOVEA_TESTS_NN_LINEAR_CASE_H

#include "nn/layer.h"

#include <fovea/nn.h>

/* A layer with its tensors, and what it must give. */
struct linear_layer {
  struct matrix weights, x, y, gate, residual;
  float *bias;
  struct guarded bias_memory;
  struct guarded panels;
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  float *expected;
};

struct linear_case {
  int64_t in, out, rows;
  int padding; /* elements between rows */
  fovea_type weight_type, x_type, y_type;
  int packed, with_bias, special;
  fovea_nn_activation activation;
  fovea_type gate_type, residual_type; /* LINEAR_NONE: there is none */
  fovea_mode mode;
};
enum { LINEAR_NONE = 99 };

/* Exact mode, f32, in rows, and nothing after the products. */
struct linear_case plain_linear_case(int64_t in, int64_t out, int64_t rows);
/* Everything but the sizes and the mode. */
void draw_linear_settings(struct linear_case *c, struct generator *generator);

void linear_layer_create(struct linear_layer *layer, const struct linear_case *c, struct generator *generator);
void linear_layer_destroy(struct linear_layer *layer);

/* Runs it: it must give what it must. */
void assert_linear_layer(struct linear_layer *layer, const fovea_execution *execution);
/* The same on every instruction set. */
void check_linear_case(const struct linear_case *c, struct generator *generator);

#endif
