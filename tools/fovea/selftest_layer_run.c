/* Tensors and digests of the self test's layers. */
#include "selftest_layers.h"
#include "selftest_numbers.h"

#include <stdlib.h>
#include <string.h>

enum {
  TENSOR_WEIGHTS = 32,
  TENSOR_X,
  TENSOR_BIAS,
  TENSOR_GATE,
  TENSOR_RESIDUAL,
  TENSOR_CODES,
  TENSOR_SCALES,
  TENSOR_ZEROS,
  TENSOR_GROUPS
};

/* ---- Codes ------------------------------------------------------------------------------------------------------ */

/* Blocks of a format: their dims, their bytes, and where their scales begin: `halves` numbers of f16. Of GPTQ and AWQ
 * eight codes and their word; of E4M3 a byte. */
static const struct {
  int dims, bytes, scales, halves;
} blocks[] = {
    [FOVEA_NN_FORMAT_Q8_0] = {32, 34, 0, 1},   [FOVEA_NN_FORMAT_Q4_0] = {32, 18, 0, 1},
    [FOVEA_NN_FORMAT_Q4_1] = {32, 20, 0, 2},   [FOVEA_NN_FORMAT_Q5_0] = {32, 22, 0, 1},
    [FOVEA_NN_FORMAT_Q5_1] = {32, 24, 0, 2},   [FOVEA_NN_FORMAT_Q4_K] = {256, 144, 0, 2},
    [FOVEA_NN_FORMAT_Q5_K] = {256, 176, 0, 2}, [FOVEA_NN_FORMAT_Q6_K] = {256, 210, 208, 1},
    [FOVEA_NN_FORMAT_IQ4_NL] = {32, 18, 0, 1}, [FOVEA_NN_FORMAT_MXFP4] = {32, 17, 0, 0},
    [FOVEA_NN_FORMAT_GPTQ] = {8, 4, 0, 0},     [FOVEA_NN_FORMAT_AWQ] = {8, 4, 0, 0},
    [FOVEA_NN_FORMAT_E4M3] = {1, 1, 0, 0},
};

static uint8_t random_byte(int tensor, int64_t index) {
  return (uint8_t)selftest_random_bits(((uint64_t)tensor << 40) + (uint64_t)index);
}

static void fill_bytes(uint8_t *bytes, int tensor, int64_t count) {
  for (int64_t i = 0; i < count; i++) bytes[i] = random_byte(tensor, i);
}

/* Makes random bytes an f16 from 2^-6 to 2^-2. */
static void make_scale(uint8_t *half) {
  half[1] = (uint8_t)(0x24 + half[1] % 16);
}

static void make_scales(const selftest_layer *d, uint8_t *data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += blocks[d->format].bytes) {
    uint8_t *block = data + i;
    for (int j = 0; j < blocks[d->format].halves; j++) make_scale(block + blocks[d->format].scales + 2 * j);
    if (d->format == FOVEA_NN_FORMAT_MXFP4) block[0] = (uint8_t)(119 + block[0] % 8);
    if (d->format == FOVEA_NN_FORMAT_E4M3 && (block[0] & 0x7f) == 0x7f) block[0] ^= 1; /* no NaN */
  }
}

static int64_t code_bytes(const selftest_layer *d) {
  return d->in * d->out / blocks[d->format].dims * blocks[d->format].bytes;
}

/* Scales that lie apart. */
static int64_t scale_count(const selftest_layer *d) {
  const int64_t outs = d->format == FOVEA_NN_FORMAT_E4M3 ? d->group_outs : 1;
  return d->group > 0 ? (d->in + d->group - 1) / d->group * ((d->out + outs - 1) / outs) : 0;
}

/* Four bytes for each scale; of GPTQ and AWQ half a byte for each zero, and of GPTQ a word for each dim. */
static int64_t apart_bytes(const selftest_layer *d) {
  return 4 * scale_count(d) + scale_count(d) / 2 + 4 * d->in;
}

/* The scales and zeros of GPTQ and AWQ, and the groups of dims. */
static void fill_words(const selftest_layer *d, uint8_t *at, fovea_nn_codes *codes) {
  const int64_t count = scale_count(d), groups = count / d->out;
  uint8_t *zeros = at + 2 * count, *g_idx = zeros + count / 2;
  fill_bytes(at, TENSOR_SCALES, 2 * count);
  for (int64_t i = 0; i < count; i++) make_scale(at + 2 * i);
  fill_bytes(zeros, TENSOR_ZEROS, count / 2);
  codes->scales = at;
  codes->zeros = zeros;
  codes->zeros_less_one = d->zeros_less_one;
  if (!d->scattered) return;
  for (int64_t i = 0; i < d->in; i++) {
    const int32_t group = random_byte(TENSOR_GROUPS, i) % (int32_t)groups;
    memcpy(g_idx + 4 * i, &group, sizeof group);
  }
  codes->g_idx = g_idx;
}

/* Where what lies apart from the codes begins, in floats. */
static int64_t apart_place(const selftest_layer *d) {
  return (code_bytes(d) + 3) / 4;
}

static void fill_codes(const selftest_layer *d, float *numbers, fovea_nn_codes *codes) {
  const int64_t bytes = code_bytes(d);
  uint8_t *data = (uint8_t *)numbers;
  float *apart = numbers + apart_place(d);
  fovea_nn_codes_init(codes, d->format, d->in, d->out, data);
  fill_bytes(data, TENSOR_CODES, bytes);
  make_scales(d, data, bytes);
  codes->group = d->group;
  if (d->format == FOVEA_NN_FORMAT_GPTQ || d->format == FOVEA_NN_FORMAT_AWQ) fill_words(d, (uint8_t *)apart, codes);
  if (d->format != FOVEA_NN_FORMAT_E4M3) return;
  selftest_fill_mixed(apart, d->scales, TENSOR_SCALES, scale_count(d), 0x1p-6f, 0);
  codes->scales = apart;
  codes->group_outs = d->group_outs;
  codes->scale_type = d->scales;
}

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

/* Takes room for `count` elements of any type. */
static void *take(float **next, int64_t count) {
  float *place = *next;
  *next += (count + 15) / 16 * 16;
  return place;
}

static void *take_filled(float **next, int64_t count, fovea_type type, int tensor) {
  void *place = take(next, count);
  selftest_fill_uniform(place, type, tensor, count);
  return place;
}

static void describe(const selftest_layer *d, selftest_layer_run *run) {
  run->layer = d;
  run->linear.weight_type = d->weights;
  run->linear.activation = d->activation;
  run->rows.x_type = d->x;
  run->rows.y_type = d->y;
}

/* Four bytes for every number, whatever its type. */
bool selftest_prepare_layer(const selftest_layer *d, selftest_layer_run *run) {
  const int64_t weights = d->kind == SELFTEST_CODES ? 0 : d->in * d->out, outputs = d->rows * d->out;
  const int64_t numbers = d->kind == SELFTEST_CODES ? apart_place(d) + (apart_bytes(d) + 3) / 4 : 0;
  run->memory =
      calloc((size_t)(weights + numbers + d->rows * d->in + d->out + 3 * outputs) + 7 * 16, sizeof(float));
  if (!run->memory) return false;
  float *next = run->memory;
  const void *plain = take_filled(&next, weights, d->weights, TENSOR_WEIGHTS);
  void *x = take(&next, d->rows * d->in), *y = take(&next, outputs);
  selftest_fill_mixed(x, d->x, TENSOR_X, d->rows * d->in, d->gain > 0 ? d->gain : 1, d->strange);
  const float *bias = take_filled(&next, d->out, FOVEA_F32, TENSOR_BIAS);
  const float *gate = take_filled(&next, outputs, FOVEA_F32, TENSOR_GATE);
  const float *residual = take_filled(&next, outputs, FOVEA_F32, TENSOR_RESIDUAL);
  fovea_nn_linear_init(&run->linear, d->in, d->out, plain);
  fovea_nn_linear_rows_init(&run->rows, &run->linear, d->rows, x, y);
  describe(d, run);
  run->linear.bias = d->bias ? bias : NULL;
  run->rows.gate = d->gate ? gate : NULL;
  run->rows.residual = d->residual ? residual : NULL;
  if (d->kind == SELFTEST_CODES) fill_codes(d, take(&next, numbers), &run->codes);
  return true;
}

void selftest_release_layer(selftest_layer_run *run) {
  free(run->memory);
}

/* ---- A run ------------------------------------------------------------------------------------------------------ */

/* The bytes of the weights as they are multiplied; 0: as they lie. */
static fovea_status size_of_weights(const selftest_layer_run *run, size_t *size, fovea_error *error) {
  const selftest_layer *d = run->layer;
  *size = 0;
  if (d->kind == SELFTEST_CODES) return fovea_nn_codes_size(&run->codes, size, error);
  if (d->kind == SELFTEST_QUANTISED)
    *size = fovea_nn_quantised_size(d->in, d->out);
  else if (d->packed)
    *size = (size_t)fovea_nn_panel_elements(d->in, d->out, d->weights) * sizeof(float);
  return FOVEA_OK;
}

static fovea_status pack(const selftest_layer_run *run, void *to, const fovea_execution *execution,
                         fovea_error *error) {
  if (run->layer->kind == SELFTEST_CODES) return fovea_nn_pack_codes(&run->codes, to, execution, error);
  if (run->layer->kind == SELFTEST_QUANTISED) return fovea_nn_quantise(&run->linear, to, execution, error);
  return fovea_nn_pack(&run->linear, to, execution, error);
}

fovea_status selftest_run_layer(selftest_layer_run *run, const char *isa, fovea_error *error) {
  enum { ALIGNMENT = 64 };
  fovea_nn_linear linear = run->linear;
  fovea_execution execution;
  size_t size;
  fovea_execution_init(&execution);
  execution.isa = isa;
  fovea_status status = size_of_weights(run, &size, error);
  if (status) return status;
  char *memory = calloc(size + ALIGNMENT, 1);
  if (!memory) {
    if (error) *error = (fovea_error){.status = FOVEA_ERROR_MEMORY, .text = "out of memory"};
    return FOVEA_ERROR_MEMORY;
  }
  if (size > 0) {
    void *weights = memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT);
    status = pack(run, weights, &execution, error);
    linear.weights = weights;
    linear.layout = run->layer->kind == SELFTEST_NUMBERS ? FOVEA_NN_WEIGHTS_IN_PANELS : FOVEA_NN_WEIGHTS_QUANTISED;
    linear.weight_stride = 0;
    if (run->layer->kind != SELFTEST_NUMBERS) linear.weight_type = FOVEA_F32;
  }
  linear.mode = run->layer->mode;
  if (!status) status = fovea_nn_linear_run(&linear, &run->rows, &execution, error);
  free(memory);
  return status;
}

uint64_t selftest_layer_digest(const selftest_layer_run *run) {
  return selftest_digest_of(run->rows.y, run->rows.y_type, run->rows.rows * run->linear.out);
}
