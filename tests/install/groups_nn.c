/* Linear layers that need groups of kernels. */
#include "groups.h"

#include <fovea/weights.h>

#include <stdint.h>
#include <string.h>

enum { IN = 32, OUT = 2, MOST = 4096 };

static float numbers[OUT * IN], y[OUT];
static uint16_t halves[OUT * IN];
static _Alignas(64) unsigned char weights[MOST];

static fovea_status run(const fovea_nn_linear *linear, fovea_error *error) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, 1, numbers, y);
  return fovea_nn_linear_run(linear, &rows, NULL, error);
}

static fovea_status exact(fovea_error *error) {
  fovea_nn_linear linear;
  fovea_nn_linear_init(&linear, IN, OUT, numbers);
  return run(&linear, error);
}

static fovea_status in_bf16(fovea_error *error) {
  fovea_nn_linear linear;
  fovea_nn_linear_init(&linear, IN, OUT, halves);
  linear.weight_type = FOVEA_BF16;
  if (fovea_nn_pack(&linear, weights, NULL, error) != FOVEA_OK) return FOVEA_ERROR_ARGUMENT;
  linear.weights = weights;
  linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  linear.weight_stride = 0;
  linear.mode = FOVEA_MODE_BF16;
  return run(&linear, error);
}

static fovea_status quantise(fovea_error *error) {
  fovea_nn_linear linear;
  fovea_nn_linear_init(&linear, IN, OUT, numbers);
  if (fovea_nn_quantised_size(IN, OUT) > MOST) return FOVEA_ERROR_SPACE;
  return fovea_nn_quantise(&linear, weights, NULL, error);
}

static fovea_nn_codes q8_0(void) {
  static unsigned char blocks[OUT * 34];
  fovea_nn_codes codes;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_Q8_0, IN, OUT, blocks);
  return codes;
}

static fovea_status pack_codes(fovea_error *error) {
  const fovea_nn_codes codes = q8_0();
  return fovea_nn_pack_codes(&codes, weights, NULL, error);
}

/* What is refused sets the size to 0. */
static fovea_status measure(fovea_error *error) {
  const fovea_nn_codes codes = q8_0();
  size_t size = 7;
  const fovea_status status = fovea_nn_codes_size(&codes, &size, error);
  return (status == FOVEA_OK) == (size > 0 && size <= MOST) ? status : FOVEA_ERROR_SPACE;
}

/* Bytes without a header, if this build cannot make weights. */
static fovea_status quantised(fovea_mode mode, fovea_error *error) {
  fovea_nn_linear linear;
  memset(weights, 0, sizeof weights);
  (void)pack_codes(NULL);
  fovea_nn_linear_init(&linear, IN, OUT, weights);
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  linear.mode = mode;
  return run(&linear, error);
}

static fovea_status of_codes(fovea_error *error) {
  return quantised(FOVEA_MODE_EXACT, error);
}

static fovea_status in_int8(fovea_error *error) {
  return quantised(FOVEA_MODE_INT8, error);
}

const group_call layer_calls[] = {
    {{NULL}, "a layer", "", exact},
    {{"bf16"}, "a layer in bf16 mode", "linear.mode", in_bf16},
    {{"formats"}, "codes as weights", "", pack_codes},
    {{"formats"}, "the size of codes as weights", "", measure},
    {{"formats"}, "a layer of codes", "linear.layout", of_codes},
    {{"int8", "formats"}, "quantised weights", "", quantise},
    {{"int8", "formats"}, "a layer in int8 mode", "linear.", in_int8},
};

const int layer_call_count = (int)(sizeof layer_calls / sizeof layer_calls[0]);
