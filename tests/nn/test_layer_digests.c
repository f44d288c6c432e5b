/* The stored digests of the layers of `fovea selftest`, computed from the contract. */
#include "modes/contract_modes.h"
#include "nn/coded_weights.h"
#include "nn/contract_codes.h"
#include "nn/contract_nn.h"
#include "support/check.h"
#include "support/types.h"
#include "tools/fovea/selftest_layers.h"
#include "tools/fovea/selftest_problems.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static float number_at(const void *tensor, fovea_type type, int64_t i) {
  if (type == FOVEA_F32) return ((const float *)tensor)[i];
  return from_bits(widened(type, ((const uint16_t *)tensor)[i]));
}

static void store_at(void *tensor, fovea_type type, int64_t i, float number) {
  if (type == FOVEA_F32)
    ((float *)tensor)[i] = contract_nn_result(number);
  else
    ((uint16_t *)tensor)[i] = rounded(type, number);
}

static void load_row(float *row, const void *tensor, fovea_type type, int64_t first, int64_t count) {
  for (int64_t i = 0; i < count; i++) row[i] = number_at(tensor, type, first + i);
}

static void *room(int64_t count, size_t size) {
  void *memory = malloc((size_t)count * size);
  assert_non_null(memory);
  return memory;
}

/* The weights of an output in all that the modes need: as numbers; as values of codes with scales and offsets. */
struct output {
  float *numbers;
  int8_t *values;
  float scale;                 /* of all values, if they were quantised here */
  struct contract_code *codes; /* of each dim, if there are codes */
};

static void load_output(struct output *w, const selftest_layer_run *run, int64_t out) {
  const selftest_layer *d = run->layer;
  for (int64_t i = 0; i < d->in && d->kind == SELFTEST_CODES; i++) {
    w->codes[i] = contract_codes_code(&run->codes, out, i);
    w->numbers[i] = contract_codes_number(&run->codes, out, i);
  }
  if (d->kind == SELFTEST_CODES) return;
  load_row(w->numbers, run->linear.weights, d->weights, out * d->in, d->in);
  if (d->kind == SELFTEST_QUANTISED) coded_row(w->numbers, d->in, w->values, &w->scale);
}

/* docs/numerics.md, L1, int8 mode: the products of the codes of a row, over weights of one scale. */
static float quantised_dot(const int8_t *c, const struct output *w, int64_t in) {
  int64_t sum = 0;
  for (int64_t i = 0; i < in; i++) sum += (int64_t)c[i] * w->values[i];
  return fmaf((float)sum, w->scale, 0);
}

/* The same over codes of a format. */
static float coded_dot(const int8_t *c, const struct contract_code *codes, int64_t in, int64_t group) {
  float r = 0;
  for (int64_t first = 0; first < in; first += group) {
    int64_t products = 0, sum = 0;
    for (int64_t i = first; i < in && i < first + group; i++) {
      products += c[i] * (int64_t)codes[i].value;
      sum += c[i];
    }
    r = fmaf((float)products, codes[first].scale, r);
    if (codes[first].has_offset) r = fmaf((float)sum, codes[first].offset, r);
  }
  return r;
}

static float dot(const selftest_layer_run *run, const float *x, const struct output *w) {
  const selftest_layer *d = run->layer;
  if (d->mode == FOVEA_MODE_BF16) return contract_mode_dot_bf16(x, w->numbers, d->in);
  if (d->mode == FOVEA_MODE_EXACT) return contract_nn_dot(x, w->numbers, d->in);
  int8_t *codes = room(d->in, 1);
  float scale;
  coded_row(x, d->in, codes, &scale);
  const float r = d->kind == SELFTEST_QUANTISED
                      ? quantised_dot(codes, w, d->in)
                      : coded_dot(codes, w->codes, d->in, contract_codes_group(&run->codes));
  free(codes);
  return r * scale;
}

static float after_dot(const selftest_layer_run *run, int64_t place, float y) {
  const selftest_layer *d = run->layer;
  if (d->bias) y = y + run->linear.bias[place % d->out];
  if (d->activation == FOVEA_NN_ACTIVATION_RELU) y = contract_nn_relu(y);
  if (d->gate) y = y * ((const float *)run->rows.gate)[place];
  if (d->residual) y = y + ((const float *)run->rows.residual)[place];
  return y;
}

static uint64_t contract_digest(const selftest_layer *d) {
  selftest_layer_run run;
  assert_true(selftest_prepare_layer(d, &run));
  float *x = room(d->in * d->rows, sizeof *x);
  struct output w = {room(d->in, sizeof(float)), room(d->in, 1), 0, room(d->in, sizeof(struct contract_code))};
  load_row(x, run.rows.x, d->x, 0, d->in * d->rows);
  for (int64_t out = 0; out < d->out; out++) {
    load_output(&w, &run, out);
    for (int64_t row = 0; row < d->rows; row++) {
      const int64_t place = row * d->out + out;
      store_at(run.rows.y, d->y, place, after_dot(&run, place, dot(&run, x + row * d->in, &w)));
    }
  }
  const uint64_t digest = selftest_layer_digest(&run);
  selftest_release_layer(&run);
  free(x);
  free(w.numbers);
  free(w.values);
  free(w.codes);
  return digest;
}

static void test_digests(void **state) {
  (void)state;
  for (int i = 0; i < selftest_layer_count; i++) {
    const uint64_t digest = contract_digest(&selftest_layers[i]);
    if (digest != selftest_layer_digests[i])
      fail_msg("%s: %016" PRIx64 ", not %016" PRIx64, selftest_layers[i].name, digest, selftest_layer_digests[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_digests)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
