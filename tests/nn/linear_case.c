#include "nn/linear_case.h"

#include "modes/contract_modes.h"
#include "nn/contract_functions.h"
#include "nn/contract_nn.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/isas.h"

#include <stdlib.h>
#include <string.h>

static float expected_number(const struct linear_layer *layer, int64_t row, int64_t out) {
  const fovea_nn_linear *l = &layer->linear;
  const int64_t place = row * l->out + out;
  const float *x = layer->x.numbers + row * l->in, *weights = layer->weights.numbers + out * l->in;
  float y =
      l->mode == FOVEA_MODE_BF16 ? contract_mode_dot_bf16(x, weights, l->in) : contract_nn_dot(x, weights, l->in);
  if (l->bias) y = y + layer->bias[out];
  y = contract_nn_activation(y, l->activation);
  if (layer->rows.gate) y = y * layer->gate.numbers[place];
  if (layer->rows.residual) y = y + layer->residual.numbers[place];
  return y;
}

/* Where bf16 mode begins to take numbers as 0. */
static void draw_small_rows(struct linear_layer *layer, struct generator *generator) {
  for (int64_t row = 0; row < layer->weights.rows; row += 3)
    matrix_fill_row(&layer->weights, row, row % 2 ? 0x1p-56f : 0x1p-57f, generator);
  for (int64_t row = 1; row < layer->x.rows; row += 3)
    matrix_fill_row(&layer->x, row, row % 2 ? 0x1p-56f : 0x1p-57f, generator);
}

static void make_tensors(struct linear_layer *layer, const struct linear_case *c, struct generator *generator) {
  const int64_t pad = c->padding;
  memset(layer, 0, sizeof *layer);
  layer->weights = matrix_create(c->out, c->in, c->in + pad, c->weight_type, c->special, generator);
  layer->x = matrix_create(c->rows, c->in, c->in + 3 * pad, c->x_type, c->special, generator);
  if (c->mode == FOVEA_MODE_BF16) draw_small_rows(layer, generator);
  layer->y = matrix_create(c->rows, c->out, c->out + pad, c->y_type, 0, generator);
  if ((int)c->gate_type != LINEAR_NONE)
    layer->gate = matrix_create(c->rows, c->out, c->out + 2 * pad, c->gate_type, c->special, generator);
  if ((int)c->residual_type != LINEAR_NONE)
    layer->residual = matrix_create(c->rows, c->out, c->out, c->residual_type, c->special, generator);
  layer->bias_memory = guarded_create((size_t)c->out * sizeof(float), GUARD_AT_END);
  layer->bias = (float *)(void *)layer->bias_memory.data;
  for (int64_t i = 0; i < c->out; i++) layer->bias[i] = generator_uniform(generator);
}

static void pack(struct linear_layer *layer, const struct linear_case *c) {
  const int64_t elements = fovea_nn_panel_elements(c->in, c->out, c->weight_type);
  layer->panels = guarded_create((size_t)elements * type_size(c->weight_type), GUARD_AT_END);
  assert_int_equal(fovea_nn_pack(&layer->linear, layer->panels.data, NULL, NULL), FOVEA_OK);
  guarded_make_read_only(&layer->panels);
  layer->linear.weights = layer->panels.data;
  layer->linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  layer->linear.weight_stride = 0;
}

void linear_layer_create(struct linear_layer *layer, const struct linear_case *c, struct generator *generator) {
  make_tensors(layer, c, generator);
  fovea_nn_linear_init(&layer->linear, c->in, c->out, layer->weights.memory.data);
  layer->linear.weight_type = c->weight_type;
  layer->linear.weight_stride = layer->weights.stride;
  layer->linear.bias = c->with_bias ? layer->bias : NULL;
  layer->linear.activation = c->activation;
  fovea_nn_linear_rows_init(&layer->rows, &layer->linear, c->rows, layer->x.memory.data, layer->y.memory.data);
  layer->rows.x_type = c->x_type;
  layer->rows.x_stride = layer->x.stride;
  layer->rows.y_type = c->y_type;
  layer->rows.y_stride = layer->y.stride;
  if (layer->gate.numbers) {
    layer->rows.gate = layer->gate.memory.data;
    layer->rows.gate_type = c->gate_type;
    layer->rows.gate_stride = layer->gate.stride;
  }
  if (layer->residual.numbers) {
    layer->rows.residual = layer->residual.memory.data;
    layer->rows.residual_type = c->residual_type;
  }
  if (c->packed) pack(layer, c);
  layer->linear.mode = c->mode;
  layer->expected = malloc((size_t)(c->rows * c->out + 1) * sizeof(float));
  assert_non_null(layer->expected);
  for (int64_t row = 0; row < c->rows; row++)
    for (int64_t out = 0; out < c->out; out++)
      layer->expected[row * c->out + out] = expected_number(layer, row, out);
}

void linear_layer_destroy(struct linear_layer *layer) {
  matrix_destroy(&layer->weights);
  matrix_destroy(&layer->x);
  matrix_destroy(&layer->y);
  if (layer->gate.numbers) matrix_destroy(&layer->gate);
  if (layer->residual.numbers) matrix_destroy(&layer->residual);
  guarded_destroy(&layer->bias_memory);
  if (layer->panels.mapping) guarded_destroy(&layer->panels);
  free(layer->expected);
}

void assert_linear_layer(struct linear_layer *layer, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&layer->y);
  if (fovea_nn_linear_run(&layer->linear, &layer->rows, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&layer->y, layer->expected);
}

void check_linear_case(const struct linear_case *c, struct generator *generator) {
  struct linear_layer layer;
  linear_layer_create(&layer, c, generator);
  const int pairs = c->weight_type == FOVEA_BF16 && (c->mode == FOVEA_MODE_BF16 || c->x_type == FOVEA_BF16);
  for (const char *const *isa = pairs ? usable_isas() : whole_isas(); *isa; isa++) {
    assert_linear_layer(&layer, on_isa(*isa));
  }
  linear_layer_destroy(&layer);
}

struct linear_case plain_linear_case(int64_t in, int64_t out, int64_t rows) {
  return (struct linear_case){.in = in,
                              .out = out,
                              .rows = rows,
                              .gate_type = (fovea_type)LINEAR_NONE,
                              .residual_type = (fovea_type)LINEAR_NONE};
}

void draw_linear_settings(struct linear_case *c, struct generator *generator) {
  c->with_bias = (int)generator_below(generator, 2);
  c->activation = (fovea_nn_activation)generator_below(generator, FOVEA_NN_ACTIVATION_ELU + 1);
  c->packed = (int)generator_below(generator, 2);
  c->padding = (int)generator_below(generator, 4);
  c->special = generator_below(generator, 2) ? 20 : 0;
  c->weight_type = (fovea_type)generator_below(generator, 3);
  c->x_type = (fovea_type)generator_below(generator, 3);
  c->y_type = (fovea_type)generator_below(generator, 3);
  if (generator_below(generator, 2)) c->gate_type = (fovea_type)generator_below(generator, 3);
  if (generator_below(generator, 2)) c->residual_type = (fovea_type)generator_below(generator, 3);
}
