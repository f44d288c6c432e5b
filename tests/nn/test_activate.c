/* Activations: the contract's functions against long double, and the kernels against the contract's, bit for bit.
 */
#include "nn/contract_functions.h"
#include "nn/contract_nn.h"
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

enum { ACTIVATIONS = FOVEA_NN_ACTIVATION_ELU + 1 };

static long double exact(long double x, fovea_nn_activation activation) {
  switch (activation) {
  case FOVEA_NN_ACTIVATION_GELU:
    return x * erfcl(-x * 0.707106781186547524400844362104849039L) / 2;
  case FOVEA_NN_ACTIVATION_GELU_TANH:
    return x / (1 + expl(-1.595769121605730711759784239737527475L * (x + 0.044715L * x * x * x)));
  case FOVEA_NN_ACTIVATION_ELU:
    return x > 0 ? x : expm1l(x);
  default:
    return x / (1 + expl(-x));
  }
}

/* In units in the last place of the result; below 2^-126 a unit is 2^-149. */
static double error_of(float x, fovea_nn_activation activation) {
  const long double expected = exact((long double)x, activation);
  int exponent;
  frexp((double)expected, &exponent);
  const int unit = expected == 0 || exponent < -125 ? -149 : exponent - 24;
  return fabs((double)((long double)contract_nn_activation(x, activation) - expected)) * ldexp(1, -unit);
}

/* Every so many floats, more densely above 2^-20. 176 million of both signs were tried once. */
static void test_accuracy(void **state) {
  static const struct {
    const char *name;
    fovea_nn_activation activation;
    float hard; /* where its worst error was */
    double most;
  } functions[] = {{"GELU", FOVEA_NN_ACTIVATION_GELU, -0x1.64ce6ep+3f, 2.0},
                   {"GELU_TANH", FOVEA_NN_ACTIVATION_GELU_TANH, -0x1.69951cp+2f, 2.0},
                   {"SiLU", FOVEA_NN_ACTIVATION_SILU, -0x1.7c3d4cp+5f, 2.0},
                   {"ELU", FOVEA_NN_ACTIVATION_ELU, -0x1.2663d2p-2f, 1.3}};
  const uint32_t step = USUAL_OR_LONG(4001, 331);
  (void)state;
  if (sizeof(long double) == sizeof(double)) skip(); /* references need more digits than erfc in double has */
  for (int i = 0; i < 4; i++) {
    const fovea_nn_activation activation = functions[i].activation;
    double worst = error_of(functions[i].hard, activation);
    for (uint32_t bits = 0; bits < bits_of(INFINITY); bits += bits < bits_of(0x1p-20f) ? 16 * step : step) {
      worst = fmax(worst, error_of(from_bits(bits), activation));
      worst = fmax(worst, error_of(from_bits(bits | 0x80000000u), activation));
    }
    print_message("%s: at most %.3f ulp\n", functions[i].name, worst);
    assert_true(worst <= functions[i].most);
  }
}

/* Of exp, which is no activation. */
static void test_exp(void **state) {
  const uint32_t step = USUAL_OR_LONG(4001, 331);
  double worst = 0;
  (void)state;
  if (sizeof(long double) == sizeof(double)) skip();
  for (uint32_t bits = 0; bits < bits_of(88.7f); bits += bits < bits_of(0x1p-20f) ? 16 * step : step) {
    for (int minus = 0; minus < 2; minus++) {
      const float x = from_bits(minus ? bits | 0x80000000u : bits);
      const long double expected = expl((long double)x);
      int exponent;
      frexp((double)expected, &exponent);
      if (x < -86.5f) continue;
      worst = fmax(worst, fabs((double)((long double)contract_exp(x) - expected)) * ldexp(1, 24 - exponent));
    }
  }
  print_message("exp: at most %.3f ulp\n", worst);
  assert_true(worst <= 1.0);
  assert_true(isnan(contract_exp(NAN)) && isinf(contract_exp(89)) && isinf(contract_exp(INFINITY)));
  assert_true(contract_exp(-86.6f) == 0 && contract_exp(-INFINITY) == 0 && contract_exp(0) == 1);
  assert_true(contract_exp(88.72f) < INFINITY && contract_exp(-0.0f) == 1);
}

static void test_limits(void **state) {
  (void)state;
  for (int i = FOVEA_NN_ACTIVATION_GELU; i < ACTIVATIONS; i++) {
    const fovea_nn_activation activation = (fovea_nn_activation)i;
    assert_true(isnan(contract_nn_activation(NAN, activation)));
    assert_int_equal(bits_of(contract_nn_activation(INFINITY, activation)), bits_of(INFINITY));
    assert_int_equal(bits_of(contract_nn_activation(0x1.fffffep+127f, activation)), bits_of(0x1.fffffep+127f));
    const float least = activation == FOVEA_NN_ACTIVATION_ELU ? -1 : 0;
    assert_true(contract_nn_activation(-INFINITY, activation) == least);
    assert_true(contract_nn_activation(-0x1.fffffep+127f, activation) == least);
    assert_true(contract_nn_activation(0, activation) == 0 && contract_nn_activation(-0.0f, activation) == 0);
  }
}

/* What a kernel gives for some numbers. */
static void assert_numbers(const char *isa, const float *x, int count, fovea_nn_activation activation) {
  enum { MOST = 4096 };
  float y[MOST];
  fovea_nn_map map;
  fovea_nn_map_init(&map, 1, count, x, y);
  assert_int_equal(fovea_nn_activate(&map, activation, on_isa(isa), NULL), FOVEA_OK);
  for (int i = 0; i < count; i++) {
    const float expected = contract_nn_result(contract_nn_activation(x[i], activation));
    const uint32_t bits = isnan(expected) ? 0x7fc00000u : bits_of(expected);
    if (bits_of(y[i]) == bits) continue;
    fail_msg("%s: activation %d of %a is %a, not %a", isa, (int)activation, (double)x[i], (double)y[i],
             (double)expected);
  }
}

static void sweep(const char *isa, uint32_t first, uint32_t last, uint32_t step, fovea_nn_activation activation) {
  enum { COUNT = 4001 };
  float x[COUNT + 1];
  int count = 0;
  for (uint32_t bits = first; bits < last; bits += step) {
    x[count++] = from_bits(bits);
    x[count++] = from_bits(bits | 0x80000000u);
    if (count < COUNT && last - bits > step) continue;
    assert_numbers(isa, x, count, activation);
    count = 0;
  }
}

static void test_bits(void **state) {
  (void)state;
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    for (int i = 0; i < ACTIVATIONS; i++) {
      const fovea_nn_activation activation = (fovea_nn_activation)i;
      sweep(*isa, 0, bits_of(INFINITY), USUAL_OR_LONG(100003, 2003), activation);
      sweep(*isa, bits_of(0x1p-12f), bits_of(120.0f), USUAL_OR_LONG(5003, 211), activation);
      sweep(*isa, 0x7f7ffff0u, 0x7f800010u, 1, activation); /* infinity and signalling NaNs */
      sweep(*isa, 0x7fc00000u, 0x7fc00010u, 1, activation);
      sweep(*isa, 0, 100, 1, activation);
      for (int j = 0; j < 6; j++) {
        static const float limits[] = {6.0f, 10.8f, 14.5f, 20.0f, 32.0f, 110.0f};
        sweep(*isa, bits_of(limits[j]) - 500, bits_of(limits[j]) + 500, 1, activation);
      }
    }
  }
}

/* Sizes, strides, types, x as y, threads. */
static void test_rows(void **state) {
  (void)state;
  struct generator generator = {11};
  for (int i = 0; i < USUAL_OR_LONG(100, 1000); i++) {
    const int64_t rows = generator_below(&generator, 30), dim = 1 + generator_below(&generator, 70);
    const fovea_nn_activation activation = (fovea_nn_activation)generator_below(&generator, ACTIVATIONS);
    const fovea_type type = (fovea_type)generator_below(&generator, 3);
    struct matrix x = matrix_create(rows, dim, dim + 2, type, 10, &generator);
    struct matrix y = matrix_create(rows, dim, dim + generator_below(&generator, 5),
                                    (fovea_type)generator_below(&generator, 3), 0, &generator);
    float *expected = malloc((size_t)(rows * dim + 1) * sizeof(float));
    assert_non_null(expected);
    for (int64_t j = 0; j < rows * dim; j++) expected[j] = contract_nn_activation(x.numbers[j], activation);
    fovea_nn_map map;
    fovea_nn_map_init(&map, rows, dim, x.memory.data, y.memory.data);
    map.x_type = type;
    map.x_stride = x.stride;
    map.y_type = y.type;
    map.y_stride = y.stride;
    for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
      matrix_spoil(&y);
      assert_int_equal(fovea_nn_activate(&map, activation, on_isa(*isa), NULL), FOVEA_OK);
      assert_matrix(&y, expected);
    }
    matrix_destroy(&x);
    matrix_destroy(&y);
    free(expected);
  }
}

static void test_threads(void **state) {
  (void)state;
  struct generator generator = {12};
  struct matrix x = matrix_create(300, 1000, 1000, FOVEA_F32, 50, &generator);
  struct matrix y = matrix_create(300, 1000, 1001, FOVEA_F16, 0, &generator);
  float *expected = malloc(300000 * sizeof(float));
  fovea_nn_map map;
  fovea_execution execution;
  assert_non_null(expected);
  for (int i = 0; i < 300000; i++) expected[i] = contract_gelu(x.numbers[i]);
  fovea_nn_map_init(&map, 300, 1000, x.memory.data, y.memory.data);
  map.y_type = FOVEA_F16;
  map.y_stride = y.stride;
  fovea_execution_init(&execution);
  execution.parallel_for = threads_for;
  execution.threads = 3; /* a process may have one CPU, and its default is to call no parallel_for */
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_context = &executor;
    matrix_spoil(&y);
    assert_int_equal(fovea_nn_activate(&map, FOVEA_NN_ACTIVATION_GELU, &execution, NULL), FOVEA_OK);
    assert_matrix(&y, expected);
    assert_int_equal(executor.calls, 1);
  }
  map.y = x.memory.data; /* in place, on the library's threads */
  map.y_type = FOVEA_F32;
  map.y_stride = 1000;
  assert_int_equal(fovea_nn_activate(&map, FOVEA_NN_ACTIVATION_GELU, NULL, NULL), FOVEA_OK);
  for (int i = 0; i < 300000; i++) expected[i] = contract_nn_result(expected[i]);
  assert_matrix(&x, expected);
  matrix_destroy(&x);
  matrix_destroy(&y);
  free(expected);
}

static void assert_refused(const fovea_nn_map *map, int activation, fovea_status status, const char *text) {
  fovea_error error;
  assert_int_equal(fovea_nn_activate(map, (fovea_nn_activation)activation, NULL, &error), status);
  assert_error_says(&error, text);
}

static void test_errors(void **state) {
  (void)state;
  float x[20] = {0}, y[20];
  fovea_nn_map good, map;
  fovea_nn_map_init(&good, 2, 8, x, y);
  assert_refused(NULL, 1, FOVEA_ERROR_ARGUMENT, "map");
  map = good, map.struct_size--;
  assert_refused(&map, 1, FOVEA_ERROR_ARGUMENT, "map");
  map = good, map.dim = 0;
  assert_refused(&map, 1, FOVEA_ERROR_ARGUMENT, "dim");
  map = good, map.rows = -1;
  assert_refused(&map, 1, FOVEA_ERROR_ARGUMENT, "rows");
  map = good, map.x = NULL;
  assert_refused(&map, 1, FOVEA_ERROR_ARGUMENT, "x");
  map = good, map.y_type = (fovea_type)77;
  assert_refused(&map, 1, FOVEA_ERROR_ARGUMENT, "y_type");
  map = good, map.y_stride = 7;
  assert_refused(&map, 1, FOVEA_ERROR_ARGUMENT, "y_stride");
  map = good, map.y = x + 1;
  assert_refused(&map, 1, FOVEA_ERROR_ARGUMENT, "y shares memory with x");
  assert_int_equal(fovea_nn_activate(&good, FOVEA_NN_ACTIVATION_NONE, on_isa("none"), NULL), FOVEA_ERROR_ARGUMENT);
  assert_refused(&good, ACTIVATIONS, FOVEA_ERROR_ARGUMENT, "activation");
  assert_refused(&good, -1, FOVEA_ERROR_ARGUMENT, "activation");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accuracy), cmocka_unit_test(test_exp),  cmocka_unit_test(test_limits),
      cmocka_unit_test(test_bits),     cmocka_unit_test(test_rows), cmocka_unit_test(test_threads),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
