/* Layers of quantised weights: packed from the bytes of each format, a layer has the bits of the f32 layer whose weights are
 * the numbers that contract_codes.c reads from these bytes. What is refused. */
#include "nn/drawn_codes.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/trial.h"

#include <string.h>

struct coded_rows {
  int64_t rows;
  fovea_type x_type;
  int special, padding, with_bias;
};

/* A layer of quantised weights beside the layer of their numbers. */
static void check_layer(const struct drawn_codes *coded, const struct coded_rows *c, struct generator *generator) {
  const int64_t in = coded->codes.in, out = coded->codes.out;
  struct matrix x = matrix_create(c->rows, in, in + c->padding, c->x_type, c->special, generator);
  struct matrix y = matrix_create(c->rows, out, out + c->padding, FOVEA_F32, 0, generator);
  struct matrix bias = matrix_create(1, out, out, FOVEA_F32, 0, generator);
  float *expected = malloc((size_t)(c->rows * out) * sizeof *expected);
  fovea_nn_linear plain, quantised;
  fovea_nn_linear_rows rows;
  fovea_error error;
  assert_non_null(expected);
  fovea_nn_linear_init(&plain, in, out, coded->numbers);
  fovea_nn_linear_init(&quantised, in, out, coded->packed.data);
  quantised.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  if (c->with_bias) plain.bias = quantised.bias = (const float *)(const void *)bias.memory.data;
  plain.activation = quantised.activation = c->with_bias ? FOVEA_NN_ACTIVATION_GELU : FOVEA_NN_ACTIVATION_NONE;
  for (const char *const *isa = whole_isas(); *isa; isa++) { /* products of pairs take no codes */
    fovea_nn_linear_rows_init(&rows, &plain, c->rows, x.memory.data, expected);
    rows.x_type = c->x_type;
    rows.x_stride = x.stride;
    if (fovea_nn_linear_run(&plain, &rows, on_isa(*isa), &error) != FOVEA_OK) fail_msg("%s", error.text);
    rows.y = y.memory.data;
    rows.y_stride = y.stride;
    for (int threads = 1; threads <= 3; threads += 2) {
      matrix_spoil(&y);
      if (fovea_nn_linear_run(&quantised, &rows, execution_of(*isa, threads), &error) != FOVEA_OK)
        fail_msg("%s", error.text);
      assert_matrix(&y, expected);
    }
  }
  free(expected);
  matrix_destroy(&x);
  matrix_destroy(&y);
  matrix_destroy(&bias);
}

/* Each format: few rows, a tile, several tiles. Where programs are slow, each number of rows meets one size in three. */
static void test_layers(void **state) {
  static const int64_t rows[] = {1, 2, 3, 4, 5, 16, 40};
  const size_t step = USUAL_OR_SLOW(1, 3);
  struct generator generator = {32};
  (void)state;
  for (int format = 0; format < FORMATS; format++) {
    struct coded_size sizes[6];
    const int count = coded_sizes_of((fovea_nn_format)format, sizes);
    for (int i = 0; i < count; i++) {
      struct drawn_codes coded = drawn_codes_create((fovea_nn_format)format, sizes[i], 0, &generator);
      for (size_t j = (size_t)(format + i) % step; j < sizeof rows / sizeof rows[0]; j += step) {
        const struct coded_rows c = {.rows = rows[j],
                                     .x_type = (fovea_type)generator_below(&generator, 3),
                                     .padding = (int)generator_below(&generator, 3),
                                     .with_bias = (int)generator_below(&generator, 2)};
        check_layer(&coded, &c, &generator);
      }
      drawn_codes_destroy(&coded);
    }
  }
}

/* Scales and rows that are zero, subnormal, infinite or NaN. */
static void test_special(void **state) {
  struct generator generator = {33};
  (void)state;
  for (int format = 0; format < FORMATS; format++) {
    struct drawn_codes coded =
        drawn_codes_create((fovea_nn_format)format, (struct coded_size){256, 40, 32, 16}, 1, &generator);
    for (int64_t rows = 1; rows <= 9; rows += 4) {
      const struct coded_rows c = {.rows = rows, .special = 20};
      check_layer(&coded, &c, &generator);
    }
    drawn_codes_destroy(&coded);
  }
}

/* Many outputs, so that tasks of few rows have several groups and there are several tasks; register tiles of many
 * rows; two pieces and a part. */
static void test_wide(void **state) {
  struct generator generator = {34};
  (void)state;
  static const fovea_nn_format formats[] = {FOVEA_NN_FORMAT_Q8_0, FOVEA_NN_FORMAT_IQ4_NL, FOVEA_NN_FORMAT_Q5_1,
                                            FOVEA_NN_FORMAT_E4M3, FOVEA_NN_FORMAT_GPTQ};
  for (int i = 0; i < 5; i++) {
    const struct coded_size size = {288, i == 4 ? 1608 : 1605, i < 3 ? 0 : 128, i < 3 ? 0 : 128};
    struct drawn_codes coded = drawn_codes_create(formats[i], size, 0, &generator);
    for (int64_t rows = 1; rows <= 17; rows += 16) {
      const struct coded_rows c = {.rows = rows};
      check_layer(&coded, &c, &generator);
    }
    drawn_codes_destroy(&coded);
  }
}

/* A layer of attention: its projections, in its scratch. Its output may not lie over quantised weights. */
static void test_attention(void **state) {
  enum { DIM = 64, LENGTH = 20 };
  struct generator generator = {35};
  struct drawn_codes coded[4];
  fovea_nn_linear layers[2][4];
  fovea_nn_attention attention[2];
  fovea_problem problem;
  fovea_error error;
  static float x[LENGTH * DIM], y[2][LENGTH * DIM];
  (void)state;
  for (int i = 0; i < LENGTH * DIM; i++) x[i] = generator_uniform(&generator);
  for (int i = 0; i < 4; i++) {
    coded[i] = drawn_codes_create(FOVEA_NN_FORMAT_Q4_1, (struct coded_size){DIM, DIM, 0, 0}, 0, &generator);
    fovea_nn_linear_init(&layers[0][i], DIM, DIM, coded[i].numbers);
    fovea_nn_linear_init(&layers[1][i], DIM, DIM, coded[i].packed.data);
    layers[1][i].layout = FOVEA_NN_WEIGHTS_QUANTISED;
  }
  fovea_problem_init(&problem, 1, 4, 4, LENGTH, LENGTH, DIM / 4, DIM / 4);
  for (int kind = 0; kind < 2; kind++) {
    fovea_nn_linear *l = layers[kind];
    fovea_nn_attention_tensors tensors;
    fovea_nn_attention_init(&attention[kind], &l[0], &l[1], &l[2], &l[3]);
    fovea_nn_attention_tensors_init(&tensors, x, y[kind]);
    if (fovea_nn_attention_run(&attention[kind], &problem, &tensors, NULL, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  fovea_nn_attention_tensors over;
  fovea_nn_attention_tensors_init(&over, x, coded[3].packed.data + coded[3].packed.size - 64);
  assert_int_equal(fovea_nn_attention_run(&attention[1], &problem, &over, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "y shares memory with");
  for (int i = 0; i < 4; i++) drawn_codes_destroy(&coded[i]);
}

/* ---- What is refused -------------------------------------------------------------------------------------------- */

enum { OUTPUTS = 16, UNTOUCHED = 0x3a };

static void assert_untouched(const void *memory, size_t size) {
  for (size_t i = 0; i < size; i++) assert_int_equal(((const unsigned char *)memory)[i], UNTOUCHED);
}

/* A row is refused. y has room for OUTPUTS numbers. */
static void assert_layer_refused(const fovea_nn_linear *linear, void *y, fovea_status expected, const char *text) {
  static const float x[64];
  fovea_nn_linear_rows rows;
  fovea_error error;
  memset(y, UNTOUCHED, OUTPUTS * sizeof(float));
  fovea_nn_linear_rows_init(&rows, linear, 1, x, y);
  assert_int_equal(fovea_nn_linear_run(linear, &rows, NULL, &error), expected);
  assert_error_says(&error, text);
  assert_untouched(y, OUTPUTS * sizeof(float));
}

static void test_refused_layers(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096];
  static float y[OUTPUTS], panels[64 * OUTPUTS];
  fovea_nn_codes codes;
  fovea_nn_linear linear;
  fovea_error error;
  (void)state;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_Q8_0, 64, OUTPUTS, data);
  assert_int_equal(fovea_nn_pack_codes(&codes, weights, NULL, NULL), FOVEA_OK);
  fovea_nn_linear_init(&linear, 64, OUTPUTS, weights);
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  const fovea_nn_linear good = linear;
#define LAYER_REFUSED(field, value, status, text)                                                                  \
  linear = good, linear.field = (value), assert_layer_refused(&linear, y, status, text)
  LAYER_REFUSED(in, 32, FOVEA_ERROR_ARGUMENT, "linear.in is 32, and weights were packed for 64");
  LAYER_REFUSED(out, 15, FOVEA_ERROR_ARGUMENT, "linear.out is 15, and weights were packed for 16");
  LAYER_REFUSED(weights, NULL, FOVEA_ERROR_ARGUMENT, "linear.weights is NULL");
  LAYER_REFUSED(weights, weights + 4, FOVEA_ERROR_ARGUMENT, "linear.weights is 4 bytes off");
  LAYER_REFUSED(weights, data, FOVEA_ERROR_ARGUMENT, "linear.weights do not begin with the header");
  LAYER_REFUSED(weight_type, FOVEA_F16, FOVEA_ERROR_UNUSED, "linear.weight_type is 1 and would not be used");
  LAYER_REFUSED(weight_stride, 64, FOVEA_ERROR_UNUSED, "linear.weight_stride is 64 and would not be used");
  LAYER_REFUSED(layout, (fovea_nn_layout)3, FOVEA_ERROR_ARGUMENT, "linear.layout is 3");
  linear = good;
  assert_layer_refused(&linear, weights + 1024, FOVEA_ERROR_ARGUMENT, "y shares memory with weights");
  memset(panels, UNTOUCHED, sizeof panels);
  assert_int_equal(fovea_nn_pack(&linear, panels, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.layout is FOVEA_NN_WEIGHTS_QUANTISED");
  assert_untouched(panels, sizeof panels);
  /* Fields of the header: bits, group, has_offsets, is_e4m3, is_scattered. */
  static const struct {
    int at;
    unsigned char value;
    const char *text;
  } headers[] = {{4, 5, "linear.weights hold codes of 5 bits"},
                 {24, 33, "linear.weights have a scale for each 33 dims"},
                 {28, 2, "linear.has_offsets of weights is 2"},
                 {48, 2, "linear.is_e4m3 of weights is 2"},
                 {52, 1, "linear.is_scattered of weights is 1"}};
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    const unsigned char before = weights[headers[i].at];
    weights[headers[i].at] = headers[i].value;
    assert_layer_refused(&linear, y, FOVEA_ERROR_ARGUMENT, headers[i].text);
    weights[headers[i].at] = before;
  }
}

/* Scattered groups have no int8 mode, and groups that are not there are refused also in packed weights. */
static void test_refused_groups(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096];
  static const float x[64];
  int32_t groups[64] = {0, 1};
  float y[OUTPUTS];
  fovea_nn_codes codes;
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  (void)state;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_GPTQ, 64, 8, data);
  codes.group = 32;
  codes.scales = codes.zeros = data;
  codes.g_idx = groups;
  assert_int_equal(fovea_nn_pack_codes(&codes, weights, NULL, NULL), FOVEA_OK);
  fovea_nn_linear_init(&linear, 64, 8, weights);
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  fovea_nn_linear_rows_init(&rows, &linear, 1, x, y);
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, NULL), FOVEA_OK);
  linear.mode = FOVEA_MODE_INT8;
  assert_layer_refused(&linear, y, FOVEA_ERROR_ARGUMENT,
                       "linear.mode is FOVEA_MODE_INT8, which takes groups of dims in their order");
  linear.mode = FOVEA_MODE_EXACT;
  weights[64 + 4 * 63] = 2;
  assert_layer_refused(&linear, y, FOVEA_ERROR_ARGUMENT,
                       "linear.weights have dim 63 in group 2; they have 2 groups");
}

/* int8 mode multiplies integers. */
static void test_refused_fp8(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096];
  static const float x[60];
  float y = 7;
  fovea_nn_codes codes;
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_error error;
  (void)state;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_E4M3, 60, 1, data);
  codes.group = codes.group_outs = 128;
  codes.scales = data;
  assert_int_equal(fovea_nn_pack_codes(&codes, weights, NULL, NULL), FOVEA_OK);
  fovea_nn_linear_init(&linear, 60, 1, weights);
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  linear.mode = FOVEA_MODE_INT8;
  fovea_nn_linear_rows_init(&rows, &linear, 1, x, &y);
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.mode is FOVEA_MODE_INT8, which takes codes of integers");
  assert_true(y == 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layers),         cmocka_unit_test(test_special),
      cmocka_unit_test(test_wide),           cmocka_unit_test(test_attention),
      cmocka_unit_test(test_refused_layers), cmocka_unit_test(test_refused_groups),
      cmocka_unit_test(test_refused_fp8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
