/* Sinusoidal positions against contract_rows.c, bit for bit: layouts, exponents, odd dims, types, strides, far
 * and negative positions, sums with rows, instruction sets, threads; and against the golden table of another
 * program. */
#include "conformance/case.h"
#include "nn/contract_rows.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/nn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t furthest = INT64_C(1) << 40;

/* A call with its tensors, and what it must give. */
struct waves {
  struct matrix x, y;
  int64_t *positions;
  fovea_nn_sinusoid_rows rows;
  float *expected;
};

struct waves_case {
  int64_t rows, dim, first;
  double base;
  fovea_nn_wave_layout layout;
  fovea_nn_wave_exponent exponent;
  fovea_type y_type, x_type; /* x_type is NONE: there is no x */
  int padding, listed, in_place;
  float scale;
};
enum { NONE = 99 };

static void make_expected(struct waves *waves, const struct waves_case *c) {
  struct fraction *turns = malloc((size_t)(c->dim + 1) * sizeof *turns);
  assert_non_null(turns);
  contract_waves(c->dim, c->base, c->exponent, turns);
  for (int64_t r = 0; r < c->rows; r++) {
    float *row = waves->expected + r * c->dim;
    contract_sinusoids(c->dim, c->layout, c->exponent, turns, waves->positions[r], row);
    for (int64_t d = 0; d < c->dim && waves->rows.x; d++) {
      const float scaled = waves->x.numbers[r * c->dim + d] * c->scale;
      row[d] = scaled + row[d];
    }
  }
  free(turns);
}

static void waves_create(struct waves *waves, const struct waves_case *c, struct generator *generator) {
  memset(waves, 0, sizeof *waves);
  waves->y = matrix_create(c->rows, c->dim, c->dim + c->padding, c->y_type, 0, generator);
  waves->positions = malloc((size_t)(c->rows + 1) * sizeof(int64_t));
  waves->expected = malloc((size_t)(c->rows * c->dim + 1) * sizeof(float));
  assert_true(waves->positions && waves->expected);
  for (int64_t r = 0; r < c->rows; r++)
    waves->positions[r] = c->listed ? generator_below(generator, 2 * furthest + 1) - furthest : c->first + r;
  fovea_nn_sinusoid_rows *rows = &waves->rows;
  fovea_nn_sinusoid_rows_init(rows, c->rows, c->dim, waves->y.memory.data);
  rows->y_type = c->y_type;
  rows->y_stride = waves->y.stride;
  rows->base = c->base;
  rows->layout = c->layout;
  rows->exponent = c->exponent;
  if (c->listed)
    rows->positions = waves->positions;
  else
    rows->first_position = c->first;
  if ((int)c->x_type != NONE) {
    waves->x = matrix_create(c->rows, c->dim, c->dim + 2 * c->padding, c->x_type, 10, generator);
    rows->x = waves->x.memory.data;
    rows->x_type = c->x_type;
    rows->x_stride = waves->x.stride;
    rows->scale = c->scale;
  }
  make_expected(waves, c);
}

static void waves_destroy(struct waves *waves) {
  matrix_destroy(&waves->y);
  if (waves->x.numbers) matrix_destroy(&waves->x);
  free(waves->positions);
  free(waves->expected);
}

static void assert_waves(struct waves *waves, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&waves->y);
  if (fovea_nn_sinusoids(&waves->rows, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&waves->y, waves->expected);
}

static void check_case(const struct waves_case *c, struct generator *generator) {
  struct waves waves;
  waves_create(&waves, c, generator);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    assert_waves(&waves, on_isa(*isa));
  }
  waves_destroy(&waves);
}

static struct waves_case plain_case(int64_t rows, int64_t dim) {
  return (struct waves_case){.rows = rows, .dim = dim, .base = 10000.0, .x_type = (fovea_type)NONE, .scale = 1.0f};
}

static void test_dims(void **state) {
  (void)state;
  static const int64_t dims[] = {1, 2, 3, 4, 5, 6, 7, 16, 31, 33, 64, 255, 256, 257, 258, 259, 513, 514, 1030};
  struct generator generator = {1};
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
    for (int mode = 0; mode < 4; mode++) {
      struct waves_case c = plain_case(3, dims[i]);
      c.layout = (fovea_nn_wave_layout)(mode % 2);
      c.exponent = (fovea_nn_wave_exponent)(mode / 2);
      c.first = generator_below(&generator, 5000);
      check_case(&c, &generator);
    }
}

static void test_all(void **state) {
  (void)state;
  static const double bases[] = {1.0, 1.5, 10000.0, 500000.0, 1e30, 0x1.fffffffffffffp+1023};
  static const int64_t firsts[] = {0, 1, -3, 4999, -1000000, 1 << 24};
  struct generator generator = {2};
  for (int i = 0; i < USUAL_OR_LONG(60, 400); i++) {
    struct waves_case c = plain_case(generator_below(&generator, 6), 1 + generator_below(&generator, 300));
    c.base = bases[generator_below(&generator, 6)];
    c.first = firsts[generator_below(&generator, 6)];
    if (i % 10 == 0) c.first = -furthest;
    if (i % 10 == 1 && c.rows > 0) c.first = furthest - (c.rows - 1);
    c.listed = generator_below(&generator, 3) == 0;
    c.layout = (fovea_nn_wave_layout)generator_below(&generator, 2);
    c.exponent = (fovea_nn_wave_exponent)generator_below(&generator, 2);
    c.y_type = (fovea_type)generator_below(&generator, 3);
    c.padding = (int)generator_below(&generator, 4);
    if (generator_below(&generator, 2)) {
      c.x_type = (fovea_type)generator_below(&generator, 3);
      c.scale = generator_below(&generator, 2) ? 1.0f : 0x1.6a09e6p4f;
    }
    check_case(&c, &generator);
  }
}

/* Exact angles that were computed in another way, with 600 bits. */
static void test_exact_angles(void **state) {
  (void)state;
  static const struct {
    double base;
    int64_t pairs, pair, position;
    float cosine, sine;
  } angles[] = {
#include "angles.inc"
  };
  for (size_t i = 0; i < sizeof angles / sizeof angles[0]; i++) {
    float row[2 * 129];
    fovea_nn_sinusoid_rows rows;
    assert_true(angles[i].pairs <= 129);
    fovea_nn_sinusoid_rows_init(&rows, 1, 2 * angles[i].pairs, row);
    rows.base = angles[i].base;
    rows.first_position = angles[i].position;
    assert_int_equal(fovea_nn_sinusoids(&rows, NULL, NULL), FOVEA_OK);
    assert_memory_equal(&row[2 * angles[i].pair], &angles[i].sine, sizeof(float));
    assert_memory_equal(&row[2 * angles[i].pair + 1], &angles[i].cosine, sizeof(float));
    /* The frequencies base^(-i / pairs) are the first of the frequencies to base, of one wave more. */
    float longer[2 * 130];
    rows.dim = rows.y_stride = rows.x_stride = 2 * angles[i].pairs + 2;
    rows.y = longer;
    rows.exponent = FOVEA_NN_WAVES_TO_BASE;
    assert_int_equal(fovea_nn_sinusoids(&rows, NULL, NULL), FOVEA_OK);
    assert_memory_equal(longer, row, (size_t)angles[i].pairs * 2 * sizeof(float));
  }
}

static void test_threads(void **state) {
  (void)state;
  struct generator generator = {3};
  struct waves_case c = plain_case(300, 300);
  struct waves waves;
  fovea_execution execution;
  c.first = -150;
  c.x_type = FOVEA_F32;
  waves_create(&waves, &c, &generator);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) assert_waves(&waves, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_waves(&waves, &execution);
    assert_int_equal(executor.calls, 2); /* one for each piece of the waves */
  }
  waves_destroy(&waves);
}

/* Added in place, and rows one by one. */
static void test_in_place(void **state) {
  (void)state;
  struct generator generator = {4};
  struct waves_case c = plain_case(5, 37);
  struct waves waves;
  c.x_type = FOVEA_F32;
  c.scale = 3.0f;
  c.first = 100;
  waves_create(&waves, &c, &generator);
  memcpy(waves.y.memory.data, waves.x.memory.data, waves.y.memory.size);
  waves.rows.x = waves.rows.y;
  waves.rows.rows = 1;
  for (int row = 0; row < 5; row++) {
    assert_int_equal(fovea_nn_sinusoids(&waves.rows, NULL, NULL), FOVEA_OK);
    waves.rows.x = waves.rows.y = (float *)waves.rows.y + 37;
    waves.rows.first_position++;
  }
  assert_matrix(&waves.y, waves.expected);
  waves_destroy(&waves);
}

/* Rows of a table in double precision: no further from it than rounding to f32 may be. */
static void test_golden(void **state) {
  (void)state;
  const char *root = getenv("FOVEA_CONFORMANCE_DIR");
  struct test_case test;
  char directory[1024], error[256];
  if (!root) skip();
  snprintf(directory, sizeof directory, "%s/oracles", root);
  if (!case_read(&test, directory, "seed4_sinusoidal_pe", error, sizeof error)) fail_msg("%s", error);
  const struct array *table = case_output(&test, "pe_f64");
  static const int64_t positions[] = {0, 1, 2, 100, 1000, 4999}; /* found by its sines and cosines */
  float *rows = malloc((size_t)table->count * sizeof *rows);
  assert_non_null(rows);
  assert_int_equal(table->shape[0], sizeof positions / sizeof *positions);
  fovea_nn_sinusoid_rows call;
  fovea_nn_sinusoid_rows_init(&call, table->shape[0], table->shape[1], rows);
  call.positions = positions;
  assert_int_equal(fovea_nn_sinusoids(&call, NULL, NULL), FOVEA_OK);
  for (int64_t i = 0; i < table->count; i++) {
    const double expected = ((const double *)table->data)[i];
    assert_true(fabs((double)rows[i] - expected) <= 0x1p-25 + 1e-12);
  }
  free(rows);
  case_free(&test);
}

/* A call that would succeed. */
static float numbers[3 * 4 * 8];
static int64_t listed[4];
static fovea_nn_sinusoid_rows good_call(void) {
  fovea_nn_sinusoid_rows rows;
  fovea_nn_sinusoid_rows_init(&rows, 4, 8, numbers + 32);
  return rows;
}

static void assert_refused(const fovea_nn_sinusoid_rows *rows, fovea_status status, const char *text) {
  fovea_error error = {.text = ""};
  memset(numbers, 0x3a, sizeof numbers);
  assert_int_equal(fovea_nn_sinusoids(rows, NULL, &error), status);
  assert_error_says(&error, text);
  assert_int_equal(fovea_nn_sinusoids(rows, NULL, NULL), status);
  for (size_t i = 0; i < sizeof numbers; i++) assert_int_equal(((const unsigned char *)numbers)[i], 0x3a);
}

#define REFUSED_CALL(change, status, text)                                                                         \
  do {                                                                                                             \
    fovea_nn_sinusoid_rows rows = good_call();                                                                     \
    change;                                                                                                        \
    assert_refused(&rows, status, text);                                                                           \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_sinusoids(NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED_CALL(rows.struct_size--, FOVEA_ERROR_ARGUMENT, "rows.struct_size");
  REFUSED_CALL(rows.rows = -1, FOVEA_ERROR_ARGUMENT, "rows is -1");
  REFUSED_CALL(rows.dim = 0, FOVEA_ERROR_ARGUMENT, "dim is 0; it must be from 1 to 1048576");
  REFUSED_CALL(rows.dim = (1 << 20) + 1, FOVEA_ERROR_ARGUMENT, "dim is 1048577");
  REFUSED_CALL(rows.y = NULL, FOVEA_ERROR_ARGUMENT, "y is NULL");
  REFUSED_CALL(rows.y = (char *)rows.y + 1, FOVEA_ERROR_ARGUMENT, "y is 1 bytes off an address");
  REFUSED_CALL(rows.y_stride = 7, FOVEA_ERROR_ARGUMENT, "y_stride");
  REFUSED_CALL(rows.y_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "y_type is 9");
  REFUSED_CALL(rows.layout = (fovea_nn_wave_layout)2, FOVEA_ERROR_ARGUMENT, "layout is 2");
  REFUSED_CALL(rows.exponent = (fovea_nn_wave_exponent)-1, FOVEA_ERROR_ARGUMENT, "exponent is -1");
  REFUSED_CALL(rows.base = 0.5, FOVEA_ERROR_ARGUMENT, "base is 0.5");
  REFUSED_CALL(rows.base = (double)INFINITY, FOVEA_ERROR_ARGUMENT, "base is inf");
  REFUSED_CALL(rows.base = (double)NAN, FOVEA_ERROR_ARGUMENT, "base is nan");
  REFUSED_CALL(rows.first_position = -furthest - 1, FOVEA_ERROR_ARGUMENT, "first_position is -1099511627777");
  REFUSED_CALL(rows.first_position = furthest - 2, FOVEA_ERROR_ARGUMENT, "first_position: for 4 rows");
  REFUSED_CALL(rows.first_position = INT64_MAX, FOVEA_ERROR_ARGUMENT, "first_position is");
  listed[2] = furthest + 1;
  REFUSED_CALL(rows.positions = listed, FOVEA_ERROR_ARGUMENT, "positions[2] is 1099511627777; it must be from -");
  listed[2] = 0;
  REFUSED_CALL((rows.positions = listed, rows.first_position = 1), FOVEA_ERROR_UNUSED, "first_position is 1");
  REFUSED_CALL(rows.positions = (const int64_t *)(const void *)((const char *)listed + 1), FOVEA_ERROR_ARGUMENT,
               "positions is ");
  REFUSED_CALL(rows.positions = rows.y, FOVEA_ERROR_ARGUMENT, "y shares memory with positions");
  REFUSED_CALL(rows.scale = 2, FOVEA_ERROR_UNUSED, "scale: x is NULL");
  REFUSED_CALL(rows.x_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "x_type: x is NULL");
  REFUSED_CALL(rows.x_stride = 9, FOVEA_ERROR_UNUSED, "x_stride: x is NULL");
  REFUSED_CALL((rows.x = rows.y, rows.scale = NAN), FOVEA_ERROR_ARGUMENT, "scale is nan");
  REFUSED_CALL((rows.x = rows.y, rows.x_type = FOVEA_F16), FOVEA_ERROR_ARGUMENT, "y shares memory with x");
  REFUSED_CALL(rows.x = numbers + 33, FOVEA_ERROR_ARGUMENT, "y shares memory with x");
  fovea_nn_sinusoid_rows good = good_call();
  assert_int_equal(fovea_nn_sinusoids(&good, on_isa("abacus"), NULL), FOVEA_ERROR_ARGUMENT);
  good.x = good.y;
  good.positions = listed;
  good.scale = 2;
  assert_int_equal(fovea_nn_sinusoids(&good, NULL, NULL), FOVEA_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dims),    cmocka_unit_test(test_all),      cmocka_unit_test(test_exact_angles),
      cmocka_unit_test(test_threads), cmocka_unit_test(test_in_place), cmocka_unit_test(test_golden),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
