/* The stored digests of the layers of `fovea selftest`, computed from the contract. */
#include "nn/contract_nn.h"
#include "support/check.h"
#include "support/types.h"
#include "tools/fovea/selftest_layers.h"
#include "tools/fovea/selftest_problems.h"

#include <inttypes.h>
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

static uint64_t contract_digest(const selftest_layer *d) {
  selftest_layer_run run;
  assert_true(selftest_prepare_layer(d, &run));
  float *x = malloc((size_t)d->in * sizeof *x), *w = malloc((size_t)d->in * sizeof *w);
  assert_non_null(x);
  assert_non_null(w);
  for (int64_t row = 0; row < d->rows; row++) {
    load_row(x, run.rows.x, d->x, row * d->in, d->in);
    for (int64_t out = 0; out < d->out; out++) {
      const int64_t place = row * d->out + out;
      load_row(w, run.plain_weights, d->weights, out * d->in, d->in);
      float y = contract_nn_dot(x, w, d->in);
      if (d->bias) y = y + run.linear.bias[out];
      if (d->activation == FOVEA_NN_ACTIVATION_RELU) y = contract_nn_relu(y);
      if (d->gate) y = y * ((const float *)run.rows.gate)[place];
      if (d->residual) y = y + ((const float *)run.rows.residual)[place];
      store_at(run.rows.y, d->y, place, y);
    }
  }
  const uint64_t digest = selftest_layer_digest(&run);
  selftest_release_layer(&run);
  free(x);
  free(w);
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
