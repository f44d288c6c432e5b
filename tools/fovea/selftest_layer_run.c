/* Tensors and digests of the self test's layers. */
#include "selftest_layers.h"
#include "selftest_numbers.h"

#include <stdlib.h>

enum { TENSOR_WEIGHTS = 32, TENSOR_X, TENSOR_BIAS, TENSOR_GATE, TENSOR_RESIDUAL };

/* Takes room for `count` elements of any type, and fills it unless `tensor` is 0. */
static float *take(float **next, int64_t count, fovea_type type, int tensor) {
  float *place = *next;
  *next += (count + 15) / 16 * 16;
  if (tensor != 0) selftest_fill_uniform(place, type, tensor, count);
  return place;
}

static bool pack(const selftest_layer *description, selftest_layer_run *run, float *panels) {
  if (!description->packed) return true;
  if (fovea_nn_pack(&run->linear, panels, NULL, NULL) != FOVEA_OK) return false;
  run->linear.weights = panels;
  run->linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  run->linear.weight_stride = 0;
  return true;
}

/* Four bytes for every number, whatever its type. */
bool selftest_prepare_layer(const selftest_layer *d, selftest_layer_run *run) {
  const int64_t weights = d->in * d->out, outputs = d->rows * d->out;
  const int64_t panels = fovea_nn_panel_elements(d->in, d->out, d->weights);
  run->memory = calloc((size_t)(weights + panels + d->rows * d->in + d->out + 3 * outputs) + 7 * 16, sizeof(float));
  if (!run->memory) return false;
  float *next = run->memory;
  run->plain_weights = take(&next, weights, d->weights, TENSOR_WEIGHTS);
  const float *x = take(&next, d->rows * d->in, d->x, TENSOR_X);
  float *y = take(&next, outputs, d->y, 0);
  const float *bias = take(&next, d->out, FOVEA_F32, TENSOR_BIAS);
  const float *gate = take(&next, outputs, FOVEA_F32, TENSOR_GATE);
  const float *residual = take(&next, outputs, FOVEA_F32, TENSOR_RESIDUAL);
  fovea_nn_linear_init(&run->linear, d->in, d->out, run->plain_weights);
  run->linear.weight_type = d->weights;
  run->linear.bias = d->bias ? bias : NULL;
  run->linear.activation = d->activation;
  fovea_nn_linear_rows_init(&run->rows, &run->linear, d->rows, x, y);
  run->rows.x_type = d->x;
  run->rows.y_type = d->y;
  run->rows.gate = d->gate ? gate : NULL;
  run->rows.residual = d->residual ? residual : NULL;
  return pack(d, run, take(&next, panels, FOVEA_F32, 0));
}

void selftest_release_layer(selftest_layer_run *run) {
  free(run->memory);
}

uint64_t selftest_layer_digest(const selftest_layer_run *run) {
  return selftest_digest_of(run->rows.y, run->rows.y_type, run->rows.rows * run->linear.out);
}
