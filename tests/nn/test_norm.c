/* Norms against contract_norm.c, bit for bit, and against long double. */
#include "nn/contract_norm.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/nn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = 99 };

struct norm_case {
  fovea_nn_norm_kind kind;
  int64_t rows, dim;
  int padding, special, with_gamma, with_beta;
  fovea_type x_type, y_type, residual_type, sum_type; /* the last two may be NONE */
};

/* A norm with its tensors, and what it must give. */
struct trial_norm {
  struct matrix x, y, residual, sum;
  struct guarded gamma, beta;
  fovea_nn_norm norm;
  fovea_nn_norm_rows rows;
  float *inputs, *expected;
};

static struct guarded factors(int64_t dim, struct generator *generator) {
  struct guarded g = guarded_create((size_t)dim * sizeof(float), GUARD_AT_END);
  for (int64_t i = 0; i < dim; i++) ((float *)(void *)g.data)[i] = generator_uniform(generator);
  return g;
}

static void expect(struct trial_norm *t, const struct norm_case *c) {
  t->inputs = malloc((size_t)(c->rows * c->dim + 1) * sizeof(float));
  t->expected = malloc((size_t)(c->rows * c->dim + 1) * sizeof(float));
  assert_non_null(t->inputs);
  assert_non_null(t->expected);
  for (int64_t i = 0; i < c->rows * c->dim; i++)
    t->inputs[i] = t->x.numbers[i] + (t->residual.numbers ? t->residual.numbers[i] : 0);
  if (!t->residual.numbers) memcpy(t->inputs, t->x.numbers, (size_t)(c->rows * c->dim) * sizeof(float));
  for (int64_t row = 0; row < c->rows; row++)
    contract_norm(c->kind, t->inputs + row * c->dim, c->dim, (float)t->norm.eps, t->norm.gamma, t->norm.beta,
                  t->expected + row * c->dim);
}

static void norm_create(struct trial_norm *t, const struct norm_case *c, struct generator *generator) {
  memset(t, 0, sizeof *t);
  t->x = matrix_create(c->rows, c->dim, c->dim + c->padding, c->x_type, c->special, generator);
  t->y = matrix_create(c->rows, c->dim, c->dim + 2 * c->padding, c->y_type, 0, generator);
  t->gamma = factors(c->dim, generator);
  t->beta = factors(c->dim, generator);
  fovea_nn_norm_init(&t->norm, c->kind, c->dim);
  if (c->with_gamma) t->norm.gamma = (const float *)(void *)t->gamma.data;
  if (c->with_beta) t->norm.beta = (const float *)(void *)t->beta.data;
  fovea_nn_norm_rows_init(&t->rows, &t->norm, c->rows, t->x.memory.data, t->y.memory.data);
  t->rows.x_type = c->x_type;
  t->rows.x_stride = t->x.stride;
  t->rows.y_type = c->y_type;
  t->rows.y_stride = t->y.stride;
  if ((int)c->residual_type != NONE) {
    t->residual = matrix_create(c->rows, c->dim, c->dim + c->padding, c->residual_type, c->special, generator);
    t->rows.residual = t->residual.memory.data;
    t->rows.residual_type = c->residual_type;
    t->rows.residual_stride = t->residual.stride;
  }
  if ((int)c->residual_type != NONE && (int)c->sum_type != NONE) {
    t->sum = matrix_create(c->rows, c->dim, c->dim, c->sum_type, 0, generator);
    t->rows.sum = t->sum.memory.data;
    t->rows.sum_type = c->sum_type;
  }
  expect(t, c);
}

static void norm_destroy(struct trial_norm *t) {
  matrix_destroy(&t->x);
  matrix_destroy(&t->y);
  if (t->residual.numbers) matrix_destroy(&t->residual);
  if (t->sum.numbers) matrix_destroy(&t->sum);
  guarded_destroy(&t->gamma);
  guarded_destroy(&t->beta);
  free(t->inputs);
  free(t->expected);
}

static void assert_norm(struct trial_norm *t, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&t->y);
  if (t->sum.numbers) matrix_spoil(&t->sum);
  if (fovea_nn_norm_run(&t->norm, &t->rows, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&t->y, t->expected);
  if (t->sum.numbers) assert_matrix(&t->sum, t->inputs);
}

static struct norm_case random_case(struct generator *generator) {
  struct norm_case c = {.kind = (fovea_nn_norm_kind)generator_below(generator, 2)};
  c.rows = generator_below(generator, 9);
  c.dim = 1 + generator_below(generator, generator_below(generator, 2) ? 40 : 500);
  c.padding = (int)generator_below(generator, 4);
  c.special = generator_below(generator, 2) ? 100 : 0;
  c.with_gamma = (int)generator_below(generator, 2);
  c.with_beta = c.kind == FOVEA_NN_LAYER_NORM && generator_below(generator, 2);
  c.x_type = (fovea_type)generator_below(generator, 3);
  c.y_type = (fovea_type)generator_below(generator, 3);
  c.residual_type = (fovea_type)(generator_below(generator, 2) ? NONE : generator_below(generator, 3));
  c.sum_type = (fovea_type)(generator_below(generator, 2) ? NONE : generator_below(generator, 3));
  return c;
}

static void test_random(void **state) {
  (void)state;
  struct generator generator = {31};
  for (int i = 0; i < USUAL_OR_LONG(200, 3000); i++) {
    const struct norm_case c = random_case(&generator);
    struct trial_norm t;
    norm_create(&t, &c, &generator);
    for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
      assert_norm(&t, on_isa(*isa));
    }
    norm_destroy(&t);
  }
}

static const struct norm_case large = {
    .rows = 700, .dim = 3000, .with_gamma = 1, .with_beta = 1, .residual_type = FOVEA_F32, .sum_type = FOVEA_F32};

static void test_threads(void **state) {
  (void)state;
  struct generator generator = {32};
  struct trial_norm t;
  fovea_execution execution;
  norm_create(&t, &large, &generator);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) assert_norm(&t, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_norm(&t, &execution);
    assert_int_equal(executor.calls, 1);
  }
  norm_destroy(&t);
}

/* The sum takes the place of the residual, and y the place of x; or the other way round. */
static void test_in_place(void **state) {
  (void)state;
  for (int swapped = 0; swapped < 2; swapped++)
    for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
      struct generator generator = {33};
      struct trial_norm t;
      norm_create(&t, &large, &generator);
      t.rows.y = swapped ? t.residual.memory.data : t.x.memory.data;
      t.rows.sum = swapped ? t.x.memory.data : t.residual.memory.data;
      assert_int_equal(fovea_nn_norm_run(&t.norm, &t.rows, on_isa(*isa), NULL), FOVEA_OK);
      assert_matrix(swapped ? &t.residual : &t.x, t.expected);
      assert_matrix(swapped ? &t.x : &t.residual, t.inputs);
      norm_destroy(&t);
    }
}

/* Against long double: rows about a mean of 3, which costs digits, but not the result. */
static void test_accuracy(void **state) {
  enum { DIM = 1000 };
  float x[DIM], y[DIM];
  struct generator generator = {34};
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    long double mean = 0, squares = 0;
    for (int i = 0; i < DIM; i++) x[i] = generator_uniform(&generator) + 3;
    for (int i = 0; i < DIM; i++) mean += (long double)x[i] / DIM;
    if (kind == FOVEA_NN_RMS_NORM) mean = 0;
    for (int i = 0; i < DIM; i++) squares += ((long double)x[i] - mean) * ((long double)x[i] - mean) / DIM;
    contract_norm((fovea_nn_norm_kind)kind, x, DIM, 1e-5f, NULL, NULL, y);
    for (int i = 0; i < DIM; i++) {
      const long double expected = ((long double)x[i] - mean) / sqrtl(squares + 1e-5L);
      assert_true(fabsl((long double)y[i] - expected) <= 2e-6L);
    }
  }
}

static void assert_refused(const fovea_nn_norm *norm, const fovea_nn_norm_rows *rows, fovea_status status,
                           const char *text) {
  fovea_error error;
  assert_int_equal(fovea_nn_norm_run(norm, rows, NULL, &error), status);
  assert_error_says(&error, text);
}

static void test_norm_errors(void **state) {
  (void)state;
  float x[20] = {0}, y[20];
  fovea_nn_norm good, norm;
  fovea_nn_norm_rows rows;
  fovea_nn_norm_init(&good, FOVEA_NN_RMS_NORM, 8);
  fovea_nn_norm_rows_init(&rows, &good, 2, x, y);
  assert_refused(NULL, &rows, FOVEA_ERROR_ARGUMENT, "norm");
  norm = good, norm.struct_size--;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "norm");
  norm = good, norm.dim = 0;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "dim");
  norm = good, norm.kind = (fovea_nn_norm_kind)2;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "kind");
  norm = good, norm.eps = -1e-9;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "norm.eps");
  norm = good, norm.eps = (double)NAN;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "norm.eps");
  norm = good, norm.beta = x;
  assert_refused(&norm, &rows, FOVEA_ERROR_UNUSED, "beta");
  norm = good, norm.gamma = y + 4;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "y shares memory with gamma");
  assert_int_equal(fovea_nn_norm_run(&good, &rows, on_isa("none"), NULL), FOVEA_ERROR_ARGUMENT);
}

static void test_row_errors(void **state) {
  (void)state;
  float x[20] = {0}, y[20], z[20] = {0};
  fovea_nn_norm norm;
  fovea_nn_norm_rows good, rows;
  fovea_nn_norm_init(&norm, FOVEA_NN_LAYER_NORM, 8);
  fovea_nn_norm_rows_init(&good, &norm, 2, x, y);
  assert_refused(&norm, NULL, FOVEA_ERROR_ARGUMENT, "rows");
  rows = good, rows.struct_size++;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "rows");
  rows = good, rows.rows = -1;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "rows");
  rows = good, rows.y = NULL;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "y");
  rows = good, rows.sum = z;
  assert_refused(&norm, &rows, FOVEA_ERROR_UNUSED, "sum");
  rows = good, rows.sum_stride = 9;
  assert_refused(&norm, &rows, FOVEA_ERROR_UNUSED, "sum_stride");
  rows = good, rows.residual_type = FOVEA_F16;
  assert_refused(&norm, &rows, FOVEA_ERROR_UNUSED, "residual_type");
  rows = good, rows.residual = z, rows.sum = y;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "sum shares memory with y");
  rows = good, rows.residual = z, rows.sum = z + 1;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "sum shares memory with residual");
  rows = good, rows.y = x + 1;
  assert_refused(&norm, &rows, FOVEA_ERROR_ARGUMENT, "y shares memory with x");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),   cmocka_unit_test(test_threads),     cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_accuracy), cmocka_unit_test(test_norm_errors), cmocka_unit_test(test_row_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
