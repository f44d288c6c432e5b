/* The weights that fovea_nn_quantise() writes, against plain C, byte for byte: sizes, types, special values, tables of
 * instruction sets; and what it refuses. */
#include "nn/coded_weights.h"
#include "nn/contract_nn.h"
#include "nn/int8_names.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/isas.h"

#include <fovea/weights.h>

#include <stdlib.h>
#include <string.h>

static void check_quantise(int64_t in, int64_t out, fovea_type type, int special, struct generator *generator) {
  struct matrix weights = matrix_create(out, in, in + 2, type, special, generator);
  struct coded_weights w = {.in = in, .out = out, .bits = 8, .groups = 1};
  const size_t size = coded_weights_size(in, out, 8, 0, 0);
  struct guarded expected = guarded_create(size, GUARD_AT_END), quantised = guarded_create(size, GUARD_AT_END);
  fovea_nn_linear linear;
  fovea_error error;
  assert_int_equal(fovea_nn_quantised_size(in, out), size);
  w.codes = malloc((size_t)(in * out));
  w.scales = malloc((size_t)out * sizeof(float));
  assert_true(w.codes && w.scales);
  for (int64_t o = 0; o < out; o++) {
    coded_row(weights.numbers + o * in, in, w.codes + o * in, &w.scales[o]);
    w.scales[o] = contract_nn_result(w.scales[o]);
  }
  coded_weights_write(expected.data, &w, NULL);
  fovea_nn_linear_init(&linear, in, out, weights.memory.data);
  linear.weight_type = type;
  linear.weight_stride = weights.stride;
  for (const char *const *isa = int8_names(); *isa; isa++) {
    memset(quantised.data, 0xa5, size);
    if (fovea_nn_quantise(&linear, quantised.data, execution_of(*isa, 2), &error) != FOVEA_OK)
      fail_msg("%s", error.text);
    assert_memory_equal(quantised.data, expected.data, size);
  }
  guarded_destroy(&expected);
  guarded_destroy(&quantised);
  matrix_destroy(&weights);
  free(w.codes);
  free(w.scales);
}

static void test_quantise(void **state) {
  static const int64_t ins[] = {1, 3, 16, 100, 128, 130, 300, 512, 1029}, outs[] = {1, 16, 17, 33, 100};
  struct generator generator = {35};
  (void)state;
  for (int i = 0; i < 24; i++) {
    check_quantise(ins[i % 9], outs[i % 5], (fovea_type)(i % 3), i % 2 ? 60 : 0, &generator);
  }
}

static void test_quantise_errors(void **state) {
  (void)state;
  _Alignas(64) static unsigned char to[1024], spoilt[1024];
  static float weights[300];
  fovea_nn_linear linear;
  fovea_error error;
  memset(to, 0xa5, sizeof to);
  memset(spoilt, 0xa5, sizeof spoilt);
  assert_int_equal(fovea_nn_quantised_size(0, 5), 0);
  assert_int_equal(fovea_nn_quantised_size(5, 0), 0);
  assert_int_equal(fovea_nn_quantised_size(INT64_C(1) << 40, INT64_C(1) << 40), 0);
  fovea_nn_linear_init(&linear, 20, 10, weights);
  assert_int_equal(fovea_nn_quantise(NULL, to, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear is NULL");
  assert_int_equal(fovea_nn_quantise(&linear, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "quantised is NULL");
  assert_int_equal(fovea_nn_quantise(&linear, to + 4, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "quantised is 4 bytes off");
  linear.weights = to + 64;
  assert_int_equal(fovea_nn_quantise(&linear, to, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "quantised shares memory with weights");
  linear.weights = weights;
  linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  assert_int_equal(fovea_nn_quantise(&linear, to, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.layout is");
  assert_memory_equal(to, spoilt, sizeof to);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantise), cmocka_unit_test(test_quantise_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
