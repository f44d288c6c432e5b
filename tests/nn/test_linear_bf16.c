/* Linear layers in bf16 mode against contract_modes.c, bit for bit: any settings, tasks, threads, and AMX. */
#include "nn/contract_nn.h"
#include "nn/linear_case.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/trial.h"

#include <stdlib.h>
#include <string.h>

/* A layer in bf16 mode of any other settings. */
static struct linear_case bf16_case(int i, struct generator *generator) {
  struct linear_case c = plain_linear_case(1 + generator_below(generator, 400), 1 + generator_below(generator, 150),
                                           generator_below(generator, i % 3 ? 12 : 80));
  draw_linear_settings(&c, generator);
  c.special = i % 4 == 0 ? 7 : i % 4 == 1 ? 2000 : 0;
  c.weight_type = FOVEA_BF16;
  c.packed = 1;
  c.mode = FOVEA_MODE_BF16;
  return c;
}

/* bf16 mode: few rows and many, pieces and panels that are not whole, weights that are too small. */
static void test_bf16_mode(void **state) {
  (void)state;
  struct generator generator = {31};
  for (int i = 0; i < USUAL_OR_LONG(40, 200); i++) {
    struct linear_case c = bf16_case(i, &generator);
    check_linear_case(&c, &generator);
  }
}

/* Many tasks of rows and of outputs, with scratch and without, on one thread and three. */
static void check_bf16_tasks(const struct linear_case *c, struct generator *generator) {
  struct linear_layer layer;
  fovea_execution execution;
  linear_layer_create(&layer, c, generator);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 3; execution.threads += 2)
    assert_linear_layer(&layer, &execution);
  linear_layer_destroy(&layer);
}

static void test_bf16_tasks(void **state) {
  (void)state;
  struct generator generator = {32};
  const int64_t sizes[][3] = {{100, 700, 530}, {1300, 130, 300}, {384, 384, 64}, {130, 48, 33}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    struct linear_case c = plain_linear_case(sizes[i][0], sizes[i][1], sizes[i][2]);
    c.weight_type = FOVEA_BF16;
    c.x_type = (fovea_type)(i % 3);
    c.packed = 1;
    c.mode = FOVEA_MODE_BF16;
    check_bf16_tasks(&c, &generator);
  }
}

/* Weights of more than 8 MB, rows of more than 1 MB as packed, and results 8 MB apart: each way around the caches. The
 * rows are copies of a few, so that the contract has little to compute. */
static void check_large(struct linear_layer *layer, int64_t rows, const fovea_execution *execution) {
  const int64_t in = layer->linear.in, out = layer->linear.out, y_stride = 8192;
  float *x = malloc((size_t)(rows * in) * sizeof *x), *y = calloc((size_t)(rows * y_stride), sizeof *y);
  fovea_nn_linear_rows some;
  fovea_error error;
  assert_true(x && y);
  for (int64_t row = 0; row < rows; row++)
    memcpy(x + row * in, layer->x.numbers + row % layer->x.rows * in, (size_t)in * sizeof *x);
  fovea_nn_linear_rows_init(&some, &layer->linear, rows, x, y);
  some.y_stride = y_stride;
  if (fovea_nn_linear_run(&layer->linear, &some, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  for (int64_t row = 0; row < rows; row++)
    assert_memory_equal(y + row * y_stride, layer->expected + row % layer->x.rows * out, (size_t)out * sizeof *y);
  free(x);
  free(y);
}

static void test_large(void **state) {
  struct generator generator = {34};
  struct linear_case c = plain_linear_case(2100, 2000, 3);
  struct linear_layer layer;
  fovea_execution execution;
  (void)state;
  if (getenv("FOVEA_TEST_EMULATED")) skip();
  c.weight_type = FOVEA_BF16;
  c.packed = 1;
  c.mode = FOVEA_MODE_BF16;
  linear_layer_create(&layer, &c, &generator);
  for (int64_t i = 0; i < c.rows * c.out; i++) layer.expected[i] = contract_nn_result(layer.expected[i]);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 2; execution.threads++) check_large(&layer, 257, &execution);
  linear_layer_destroy(&layer);
}

/* The last test of the program, since nothing takes the permission back. */
static void test_amx(void **state) {
  struct generator generator = {33};
  if (fovea_allow_amx(NULL) != FOVEA_OK) skip();
  for (int i = 0; i < USUAL_OR_LONG(60, 300); i++) {
    struct linear_case c = bf16_case(i, &generator);
    check_bf16_tasks(&c, &generator);
  }
  test_bf16_tasks(state);
  test_large(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bf16_mode),
      cmocka_unit_test(test_bf16_tasks),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_amx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
