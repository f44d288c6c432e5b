/* GRU and LSTM cells: the logistic function against long double, bits of steps for sizes, types, strides, special
 * values, instruction sets and threads; PyTorch's formulas in float64; states replaced in place; refusals. */
#include "contract.h"
#include "nn/contract_nn.h"
#include "nn/contract_recurrent.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/nn.h>
#include <fovea/recurrent.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In units in the last place of the result; below 2^-126 a unit is 2^-149. */
static double sigmoid_error(float x) {
  const long double expected = 1 / (1 + expl(-(long double)x));
  int exponent;
  frexp((double)expected, &exponent);
  const int unit = exponent < -125 ? -149 : exponent - 24;
  return fabs((double)((long double)contract_sigmoid(x) - expected)) * ldexp(1, -unit);
}

static void test_sigmoid(void **state) {
  (void)state;
  double worst = 0;
  float above = 0;
  if (sizeof(long double) == sizeof(double)) skip();
  for (uint32_t bits = 0; bits < bits_of(INFINITY); bits += USUAL_OR_LONG(4001, 331)) {
    worst = fmax(worst, sigmoid_error(from_bits(bits)));
    worst = fmax(worst, sigmoid_error(-from_bits(bits)));
    above = fmaxf(above, contract_sigmoid(from_bits(bits)));
  }
  print_message("at most %.3f ulp\n", worst);
  assert_true(worst <= 2 && above == 1);
  assert_true(contract_sigmoid(0) == 0.5f && contract_sigmoid(INFINITY) == 1 && contract_sigmoid(-INFINITY) == 0);
  assert_true(isnan(contract_sigmoid(NAN)));
}

struct shape {
  int is_lstm, projected; /* projected: there is no layer for x */
  int64_t rows, in, dim;
  int special, padding;
  fovea_type types[5]; /* of x, h, y, c and new_c */
};

struct step {
  struct shape shape;
  struct matrix x, h, y, c, new_c, weights[2], biases[2];
  fovea_nn_linear input, hidden;
  fovea_nn_cell cell;
  fovea_nn_cell_rows rows;
  float *expected_y, *expected_c;
};

/* Rows through a layer: x W^T + b. */
static void project(const struct step *s, int which, const float *x, int64_t in, int64_t out, float *y) {
  for (int64_t i = 0; i < out; i++)
    y[i] = contract_nn_dot(x, s->weights[which].numbers + i * in, in) + s->biases[which].numbers[i];
}

static void make_expected(struct step *s) {
  const struct shape *t = &s->shape;
  const int64_t out = (t->is_lstm ? 4 : 3) * t->dim, all = t->rows * t->dim + 1;
  float *sums = malloc((size_t)(2 * out) * sizeof *sums);
  s->expected_y = malloc((size_t)all * sizeof(float));
  s->expected_c = malloc((size_t)all * sizeof(float));
  assert_true(sums && s->expected_y && s->expected_c);
  for (int64_t i = 0; i < t->rows; i++) {
    const float *x = s->x.numbers + i * s->x.dim, *h = s->h.numbers + i * t->dim;
    float *y = s->expected_y + i * t->dim, *new_c = s->expected_c + i * t->dim;
    if (!t->projected) project(s, 0, x, t->in, out, sums);
    project(s, 1, h, t->dim, out, sums + out);
    const float *from_x = t->projected ? x : sums;
    if (t->is_lstm) {
      contract_lstm(from_x, sums + out, s->c.numbers + i * t->dim, t->dim, y, new_c);
    } else {
      contract_gru(from_x, sums + out, h, t->dim, y);
    }
  }
  free(sums);
}

static struct matrix make(const struct shape *t, int64_t dim, fovea_type type, struct generator *generator) {
  return matrix_create(t->rows, dim, dim + t->padding, type, t->special, generator);
}

static void describe(struct step *s) {
  const struct shape *t = &s->shape;
  fovea_nn_cell_rows *r = &s->rows;
  fovea_nn_cell_init(&s->cell, t->projected ? NULL : &s->input, &s->hidden);
  fovea_nn_cell_rows_init(r, &s->cell, t->rows, s->x.memory.data, s->h.memory.data, s->y.memory.data);
  r->x_type = t->types[0];
  r->h_type = t->types[1];
  r->y_type = t->types[2];
  r->x_stride = s->x.stride;
  r->h_stride = r->y_stride = s->h.stride;
  if (!t->is_lstm) return;
  r->c = s->c.memory.data;
  r->new_c = s->new_c.memory.data;
  r->c_type = t->types[3];
  r->new_c_type = t->types[4];
  r->c_stride = r->new_c_stride = s->c.stride;
}

static void step_create(struct step *s, const struct shape *t, struct generator *generator) {
  const int64_t out = (t->is_lstm ? 4 : 3) * t->dim, dims[2] = {t->in, t->dim};
  memset(s, 0, sizeof *s);
  s->shape = *t;
  s->x = make(t, t->projected ? out : t->in, t->types[0], generator);
  s->h = make(t, t->dim, t->types[1], generator);
  s->y = make(t, t->dim, t->types[2], generator);
  s->c = make(t, t->dim, t->types[3], generator);
  s->new_c = make(t, t->dim, t->types[4], generator);
  for (int i = 0; i < 2; i++) {
    s->weights[i] = matrix_create(out, dims[i], dims[i], FOVEA_F32, 0, generator);
    s->biases[i] = matrix_create(1, out, out, FOVEA_F32, 0, generator);
  }
  fovea_nn_linear_init(&s->input, t->in, out, s->weights[0].memory.data);
  fovea_nn_linear_init(&s->hidden, t->dim, out, s->weights[1].memory.data);
  s->input.bias = (const float *)(const void *)s->biases[0].memory.data;
  s->hidden.bias = (const float *)(const void *)s->biases[1].memory.data;
  describe(s);
  make_expected(s);
}

enum { MATRICES = 9 };

static void step_destroy(struct step *s) {
  struct matrix *all[MATRICES] = {&s->x,          &s->h,          &s->y,         &s->c,        &s->new_c,
                                  &s->weights[0], &s->weights[1], &s->biases[0], &s->biases[1]};
  for (int i = 0; i < MATRICES; i++) matrix_destroy(all[i]);
  free(s->expected_y);
  free(s->expected_c);
}

static void run(const struct step *s, const fovea_execution *execution) {
  fovea_error error;
  const fovea_status status = s->shape.is_lstm ? fovea_nn_lstm(&s->cell, &s->rows, execution, &error)
                                               : fovea_nn_gru(&s->cell, &s->rows, execution, &error);
  if (status != FOVEA_OK) fail_msg("%s", error.text);
}

static void assert_step(struct step *s, const fovea_execution *execution) {
  matrix_spoil(&s->y);
  matrix_spoil(&s->new_c);
  run(s, execution);
  assert_matrix(&s->y, s->expected_y);
  if (s->shape.is_lstm) assert_matrix(&s->new_c, s->expected_c);
}

static void test_bits(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int i = 0; i < USUAL_OR_LONG(40, 300); i++) {
    struct shape t = {.is_lstm = i % 2,
                      .projected = (int)generator_below(&generator, 3) == 0,
                      .rows = generator_below(&generator, 6),
                      .in = 1 + generator_below(&generator, 40),
                      .dim = 1 + generator_below(&generator, i % 10 ? 40 : 150),
                      .special = generator_below(&generator, 3) ? 0 : 30,
                      .padding = (int)generator_below(&generator, 4)};
    struct step s;
    for (int j = 0; j < 5; j++) t.types[j] = (fovea_type)generator_below(&generator, 3);
    step_create(&s, &t, &generator);
    for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
      assert_step(&s, on_isa(*isa));
    }
    step_destroy(&s);
  }
}

/* Sums of all sizes, so that gates take every value; also subnormal results. */
static void test_gates(void **state) {
  (void)state;
  static const float scales[] = {1, 8, 50, 120, 1e4f, 1e-20f};
  struct generator generator = {2};
  for (int i = 0; i < 12; i++) {
    struct step s;
    const struct shape t = {.is_lstm = i % 2, .projected = 1, .rows = 40, .in = 1, .dim = 33};
    step_create(&s, &t, &generator);
    float *x = (float *)(void *)s.x.memory.data;
    for (int64_t j = 0; j < s.x.rows * s.x.dim; j++) s.x.numbers[j] = x[j] = x[j] * scales[i / 2];
    free(s.expected_y);
    free(s.expected_c);
    make_expected(&s);
    for (const char *const *isa = usable_isas_for(NULL); *isa; isa++) {
      assert_step(&s, on_isa(*isa));
    }
    step_destroy(&s);
  }
}

static void test_tasks(void **state) {
  (void)state;
  for (int is_lstm = 0; is_lstm < 2; is_lstm++) {
    struct generator generator = {3};
    const struct shape t = {.is_lstm = is_lstm, .rows = 150, .in = 31, .dim = 201};
    struct step s;
    fovea_execution execution;
    step_create(&s, &t, &generator);
    fovea_execution_init(&execution);
    for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) assert_step(&s, &execution);
    for (int order = 0; order < TASK_ORDERS; order++) {
      struct executor executor = {(enum task_order)order, 0};
      execution.parallel_for = threads_for;
      execution.parallel_context = &executor;
      assert_step(&s, &execution);
      assert_int_equal(executor.calls, 3);
    }
    fovea_execution_init(&execution);
    execution.scratch_size =
        measured(fovea_nn_cell_scratch_size(&s.cell, t.rows, &execution, measured_size(), NULL));
    struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
    execution.scratch = scratch.data;
    assert_step(&s, &execution);
    execution.scratch_size--;
    assert_int_equal(is_lstm ? fovea_nn_lstm(&s.cell, &s.rows, &execution, NULL)
                             : fovea_nn_gru(&s.cell, &s.rows, &execution, NULL),
                     FOVEA_ERROR_SPACE);
    guarded_destroy(&scratch);
    s.rows.y = s.h.memory.data; /* in place */
    if (is_lstm) s.rows.new_c = s.c.memory.data;
    run(&s, NULL);
    for (int64_t i = 0; i < t.rows * t.dim; i++) {
      assert_true(((const float *)s.rows.y)[i] == s.expected_y[i]);
      if (is_lstm) assert_true(((const float *)s.rows.new_c)[i] == s.expected_c[i]);
    }
    step_destroy(&s);
  }
}

static double logistic(double x) {
  return 1 / (1 + exp(-x));
}

static double sum_of(const struct step *s, int which, const float *x, int64_t in, int64_t out) {
  double sum = (double)s->biases[which].numbers[out];
  for (int64_t d = 0; d < in; d++) sum += (double)s->weights[which].numbers[out * in + d] * (double)x[d];
  return sum;
}

/* The formulas as torch.nn.GRUCell and LSTMCell document them. */
static void test_formulas(void **state) {
  (void)state;
  struct generator generator = {4};
  for (int is_lstm = 0; is_lstm < 2; is_lstm++) {
    const struct shape t = {.is_lstm = is_lstm, .rows = 5, .in = 19, .dim = 23};
    struct step s;
    step_create(&s, &t, &generator);
    assert_step(&s, NULL);
    for (int64_t i = 0; i < t.rows * t.dim; i++) {
      const float *x = s.x.numbers + i / t.dim * t.in, *h = s.h.numbers + i / t.dim * t.dim;
      const double y = (double)((const float *)s.rows.y)[i];
      double a[4] = {0}, b[4] = {0}, expected;
      for (int g = 0; g < 3 + is_lstm; g++) {
        a[g] = sum_of(&s, 0, x, t.in, g * t.dim + i % t.dim);
        b[g] = sum_of(&s, 1, h, t.dim, g * t.dim + i % t.dim);
      }
      if (is_lstm) {
        const double c = logistic(a[1] + b[1]) * (double)s.c.numbers[i] + logistic(a[0] + b[0]) * tanh(a[2] + b[2]);
        expected = logistic(a[3] + b[3]) * tanh(c);
        assert_true(fabs((double)((const float *)s.rows.new_c)[i] - c) < 2e-6);
      } else {
        const double r = logistic(a[0] + b[0]), z = logistic(a[1] + b[1]), n = tanh(a[2] + r * b[2]);
        expected = (1 - z) * n + z * (double)h[i % t.dim];
      }
      assert_true(fabs(y - expected) < 2e-6);
    }
    step_destroy(&s);
  }
}

static float numbers[4096], outputs[64];

static void free_nothing(void *context, void *pointer) {
  (void)context;
  (void)pointer;
}

#define REFUSED(lstm, change, status, word)                                                                        \
  do {                                                                                                             \
    fovea_nn_linear input, hidden;                                                                                 \
    fovea_nn_cell cell;                                                                                            \
    fovea_nn_cell_rows rows;                                                                                       \
    fovea_execution e = *on_isa(NULL);                                                                             \
    fovea_error error = {.text = ""};                                                                              \
    fovea_nn_linear_init(&input, 6, (lstm) ? 20 : 15, numbers);                                                    \
    fovea_nn_linear_init(&hidden, 5, (lstm) ? 20 : 15, numbers);                                                   \
    fovea_nn_cell_init(&cell, &input, &hidden);                                                                    \
    fovea_nn_cell_rows_init(&rows, &cell, 4, numbers, numbers, outputs);                                           \
    if (lstm) rows.c = numbers, rows.new_c = outputs + 32;                                                         \
    memset(outputs, 0x3a, sizeof outputs);                                                                         \
    change;                                                                                                        \
    assert_int_equal((lstm) ? fovea_nn_lstm(&cell, &rows, &e, &error) : fovea_nn_gru(&cell, &rows, &e, &error),    \
                     status);                                                                                      \
    assert_error_says(&error, word);                                                                               \
    for (size_t i = 0; i < sizeof outputs; i++) assert_int_equal(((const unsigned char *)outputs)[i], 0x3a);       \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_gru(NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED(0, cell.struct_size--, FOVEA_ERROR_ARGUMENT, "cell.struct_size");
  REFUSED(0, rows.struct_size--, FOVEA_ERROR_ARGUMENT, "rows.struct_size");
  REFUSED(0, cell.hidden = NULL, FOVEA_ERROR_ARGUMENT, "hidden is NULL");
  REFUSED(0, hidden.out = 20, FOVEA_ERROR_ARGUMENT, "hidden.out is 20; it must be 3 times");
  REFUSED(1, hidden.out = 19, FOVEA_ERROR_ARGUMENT, "hidden.out is 19; it must be 4 times");
  REFUSED(1, input.out = 24, FOVEA_ERROR_ARGUMENT, "input.out is 24");
  REFUSED(0, rows.rows = -1, FOVEA_ERROR_ARGUMENT, "rows is -1");
  REFUSED(0, rows.c = numbers, FOVEA_ERROR_UNUSED, "c is set and would not be used");
  REFUSED(0, rows.new_c_stride++, FOVEA_ERROR_UNUSED, "new_c_stride is set and would not be used");
  REFUSED(1, rows.c = NULL, FOVEA_ERROR_ARGUMENT, "c is NULL");
  REFUSED(1, rows.new_c = NULL, FOVEA_ERROR_ARGUMENT, "new_c is NULL");
  REFUSED(0, rows.x = NULL, FOVEA_ERROR_ARGUMENT, "x is NULL");
  REFUSED(0, rows.h_type = (fovea_type)5, FOVEA_ERROR_ARGUMENT, "h_type is 5");
  REFUSED(0, rows.y_stride = 4, FOVEA_ERROR_ARGUMENT, "y_stride is 4");
  REFUSED(0, rows.h = outputs + 1, FOVEA_ERROR_ARGUMENT, "y shares memory with h");
  REFUSED(0, rows.x = outputs, FOVEA_ERROR_ARGUMENT, "y shares memory with x");
  REFUSED(1, rows.new_c = outputs, FOVEA_ERROR_ARGUMENT, "new_c shares memory with y");
  REFUSED(1, rows.c = outputs, FOVEA_ERROR_ARGUMENT, "y shares memory with c");
  REFUSED(0, hidden.weights = outputs, FOVEA_ERROR_ARGUMENT, "y shares memory with hidden.weights");
  REFUSED(0, e.isa = "abacus", FOVEA_ERROR_ARGUMENT, "isa: abacus");
  REFUSED(0, e.allocator.release = free_nothing, FOVEA_ERROR_ARGUMENT, "allocator.allocate is NULL");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sigmoid), cmocka_unit_test(test_bits),     cmocka_unit_test(test_gates),
      cmocka_unit_test(test_tasks),   cmocka_unit_test(test_formulas), cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
