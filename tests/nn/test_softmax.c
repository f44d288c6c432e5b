/* Softmax of rows against contract_norm.c, bit for bit, and against long double. */
#include "nn/contract_norm.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/nn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows with their softmax. */
struct rows {
  struct matrix x, y;
  fovea_nn_map map;
  float *expected;
};

static struct rows rows_create(int64_t count, int64_t dim, int padding, fovea_type x_type, fovea_type y_type,
                               int special, struct generator *generator) {
  struct rows r;
  r.x = matrix_create(count, dim, dim + padding, x_type, special, generator);
  r.y = matrix_create(count, dim, dim + 2 * padding, y_type, 0, generator);
  r.expected = malloc((size_t)(count * dim + 1) * sizeof(float));
  assert_non_null(r.expected);
  for (int64_t i = 0; i < count; i++) contract_softmax(r.x.numbers + i * dim, dim, r.expected + i * dim);
  fovea_nn_map_init(&r.map, count, dim, r.x.memory.data, r.y.memory.data);
  r.map.x_type = x_type;
  r.map.y_type = y_type;
  r.map.x_stride = r.x.stride;
  r.map.y_stride = r.y.stride;
  return r;
}

static void rows_destroy(struct rows *r) {
  matrix_destroy(&r->x);
  matrix_destroy(&r->y);
  free(r->expected);
}

static void assert_rows(struct rows *r, const fovea_execution *execution) {
  matrix_spoil(&r->y);
  assert_int_equal(fovea_nn_softmax(&r->map, execution, NULL), FOVEA_OK);
  assert_matrix(&r->y, r->expected);
}

static void test_random(void **state) {
  (void)state;
  struct generator generator = {41};
  for (int i = 0; i < USUAL_OR_LONG(200, 3000); i++) {
    const int64_t count = generator_below(&generator, 9);
    const int64_t dim = 1 + generator_below(&generator, generator_below(&generator, 2) ? 40 : 500);
    const fovea_type from = (fovea_type)generator_below(&generator, 3),
                     to = (fovea_type)generator_below(&generator, 3);
    struct rows r = rows_create(count, dim, (int)generator_below(&generator, 4), from, to,
                                generator_below(&generator, 2) ? 100 : 0, &generator);
    for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
      assert_rows(&r, on_isa(*isa));
    }
    rows_destroy(&r);
  }
}

static void test_special_rows(void **state) {
  enum { DIM = 21 };
  float x[4][DIM], y[4][DIM];
  fovea_nn_map map;
  (void)state;
  for (int i = 0; i < DIM; i++) {
    x[0][i] = -INFINITY;
    x[1][i] = i == 20 ? NAN : 1;
    x[2][i] = i == 3 ? INFINITY : 1;
    x[3][i] = i == 7 ? -3e38f : -INFINITY;
  }
  fovea_nn_map_init(&map, 4, DIM, x, y);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    assert_int_equal(fovea_nn_softmax(&map, on_isa(*isa), NULL), FOVEA_OK);
    for (int i = 0; i < DIM; i++) {
      assert_int_equal(bits_of(y[0][i]), 0);
      assert_int_equal(bits_of(y[1][i]), 0x7fc00000u);
      assert_int_equal(bits_of(y[2][i]), 0x7fc00000u);
      assert_int_equal(bits_of(y[3][i]), bits_of(i == 7 ? 1.0f : 0.0f));
    }
  }
}

static void test_accuracy(void **state) {
  enum { DIM = 1000 };
  float x[DIM], y[DIM];
  long double sum = 0;
  struct generator generator = {42};
  (void)state;
  for (int i = 0; i < DIM; i++) x[i] = generator_uniform(&generator) * 4;
  for (int i = 0; i < DIM; i++) sum += expl((long double)x[i]);
  contract_softmax(x, DIM, y);
  for (int i = 0; i < DIM; i++) {
    const long double expected = expl((long double)x[i]) / sum;
    assert_true(fabsl((long double)y[i] - expected) <= 1e-6L * expected);
  }
}

static void test_threads(void **state) {
  (void)state;
  struct generator generator = {43};
  struct rows r = rows_create(500, 300, 0, FOVEA_F32, FOVEA_F32, 0, &generator);
  fovea_execution execution;
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) assert_rows(&r, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_rows(&r, &execution);
    assert_int_equal(executor.calls, 1);
  }
  r.map.y = r.x.memory.data; /* in place */
  assert_int_equal(fovea_nn_softmax(&r.map, NULL, NULL), FOVEA_OK);
  assert_matrix(&r.x, r.expected);
  rows_destroy(&r);
}

static void test_errors(void **state) {
  (void)state;
  float x[20] = {0};
  fovea_nn_map map;
  fovea_error error;
  assert_int_equal(fovea_nn_softmax(NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  fovea_nn_map_init(&map, 2, 8, x, x + 1);
  assert_int_equal(fovea_nn_softmax(&map, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "y shares memory with x");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),  cmocka_unit_test(test_special_rows), cmocka_unit_test(test_accuracy),
      cmocka_unit_test(test_threads), cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
