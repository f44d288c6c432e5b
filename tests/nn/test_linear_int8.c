/* Linear layers in int8 mode against plain C by the clauses of docs/numerics.md, bit for bit: sizes, formats, types,
 * epilogues, special values, tables of instruction sets, threads, scratch and none. */
#include "../../nn/linear.h"
#include "nn/coded_weights.h"
#include "nn/contract_functions.h"
#include "nn/contract_nn.h"
#include "nn/int8_names.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/isas.h"
#include "support/trial.h"

#include <fovea/weights.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct int8_case {
  int64_t in, out, rows;
  int bits, group, has_offsets;
  int special, extreme;
  int with_more; /* bias, activation, gate, residual, types */
  int far;       /* results of the rows lie 8 MB apart */
};

struct int8_layer {
  struct coded_weights weights;
  struct matrix x, y, gate, residual;
  float *bias, *expected;
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
};

/* The products of a row whose codes are known, with one output. */
static float expected_product(const struct coded_weights *w, const int8_t *codes, float scale, int64_t o) {
  const int64_t group = w->group ? w->group : w->in;
  float r = 0;
  for (int64_t g = 0; g < w->groups; g++) {
    int64_t products = 0, sum = 0;
    for (int64_t d = g * group; d < (g + 1) * group && d < w->in; d++) {
      products += (int64_t)codes[d] * w->codes[o * w->in + d];
      sum += codes[d];
    }
    r = fmaf((float)products, w->scales[o * w->groups + g], r);
    if (w->has_offsets) r = fmaf((float)sum, w->offsets[o * w->groups + g], r);
  }
  return r * scale;
}

static void expect(struct int8_layer *layer) {
  const int64_t in = layer->linear.in, out = layer->linear.out;
  int8_t *codes = malloc((size_t)in);
  assert_non_null(codes);
  for (int64_t row = 0; row < layer->rows.rows; row++) {
    float scale;
    coded_row(layer->x.numbers + row * in, in, codes, &scale);
    for (int64_t o = 0; o < out; o++) {
      float y = expected_product(&layer->weights, codes, scale, o);
      if (layer->linear.bias) y = y + layer->bias[o];
      y = contract_nn_activation(y, layer->linear.activation);
      if (layer->rows.gate) y = y * layer->gate.numbers[row * out + o];
      if (layer->rows.residual) y = y + layer->residual.numbers[row * out + o];
      layer->expected[row * out + o] = y;
    }
  }
  free(codes);
}

static void layer_create(struct int8_layer *layer, const struct int8_case *c, struct generator *generator) {
  const fovea_type x_type = c->with_more ? (fovea_type)generator_below(generator, 3) : FOVEA_F32;
  const fovea_type y_type = c->with_more ? (fovea_type)generator_below(generator, 3) : FOVEA_F32;
  const int64_t pad = c->with_more ? 3 : 0;
  memset(layer, 0, sizeof *layer);
  layer->weights = coded_weights_create(c->in, c->out, c->bits, c->group, c->has_offsets, c->extreme, generator);
  layer->x = matrix_create(c->rows, c->in, c->in + pad, x_type, c->special, generator);
  const int64_t y_pad = c->far ? (8 << 20) / 2 / c->rows : pad;
  layer->y = matrix_create(c->rows, c->out, c->out + y_pad, y_type, 0, generator);
  layer->gate = matrix_create(c->rows, c->out, c->out, FOVEA_BF16, 0, generator);
  layer->residual = matrix_create(c->rows, c->out, c->out, FOVEA_F32, c->special, generator);
  layer->bias = malloc((size_t)c->out * sizeof(float));
  layer->expected = malloc((size_t)(c->rows * c->out + 1) * sizeof(float));
  assert_true(layer->bias && layer->expected);
  for (int64_t i = 0; i < c->out; i++) layer->bias[i] = generator_uniform(generator);
  fovea_nn_linear_init(&layer->linear, c->in, c->out, layer->weights.memory.data);
  layer->linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  layer->linear.mode = FOVEA_MODE_INT8;
  fovea_nn_linear_rows_init(&layer->rows, &layer->linear, c->rows, layer->x.memory.data, layer->y.memory.data);
  layer->rows.x_type = x_type, layer->rows.x_stride = layer->x.stride;
  layer->rows.y_type = y_type, layer->rows.y_stride = layer->y.stride;
  if (c->with_more) {
    layer->linear.bias = layer->bias;
    layer->linear.activation = (fovea_nn_activation)generator_below(generator, FOVEA_NN_ACTIVATION_ELU + 1);
    layer->rows.gate = layer->gate.memory.data, layer->rows.gate_type = FOVEA_BF16;
    layer->rows.residual = layer->residual.memory.data;
  }
  expect(layer);
}

static void layer_destroy(struct int8_layer *layer) {
  coded_weights_destroy(&layer->weights);
  matrix_destroy(&layer->x);
  matrix_destroy(&layer->y);
  matrix_destroy(&layer->gate);
  matrix_destroy(&layer->residual);
  free(layer->bias);
  free(layer->expected);
}

/* With scratch, and as a part of calls that have none. */
static void assert_layer(struct int8_layer *layer, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&layer->y);
  if (fovea_nn_linear_run(&layer->linear, &layer->rows, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&layer->y, layer->expected);
  matrix_spoil(&layer->y);
  if (fovea_nn_run_linear(&layer->linear, &layer->rows, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&layer->y, layer->expected);
}

static void check_case(const struct int8_case *c, struct generator *generator) {
  struct int8_layer layer;
  layer_create(&layer, c, generator);
  for (const char *const *isa = int8_names(); *isa; isa++) {
    assert_layer(&layer, execution_of(*isa, 1));
    assert_layer(&layer, execution_of(*isa, 3));
  }
  layer_destroy(&layer);
}

static const int64_t some_rows[] = {1, 2, 5, 16, 40}, some_ins[] = {1, 3, 16, 100, 128, 130, 300, 512, 1029},
                     some_outs[] = {1, 16, 17, 33, 100};
static const int some_groups[] = {0, 32, 16, 64, 128};

static void test_sizes(void **state) {
  struct generator generator = {31};
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(60, 900); i++) {
    const struct int8_case c = {.in = some_ins[i % 9],
                                .out = some_outs[generator_below(&generator, 5)],
                                .rows = some_rows[i % 5],
                                .bits = i / 2 % 2 ? 4 : 8,
                                .group = some_groups[generator_below(&generator, 5)],
                                .has_offsets = i % 2,
                                .special = i % 7 == 0 ? 200 : 0,
                                .with_more = i % 3 == 0};
    check_case(&c, &generator);
  }
}

/* One row, all ways that weights lie in: dims that end within a word, a word of 4 bits, a group and a piece. */
static void test_one_row(void **state) {
  static const int64_t ins[] = {2, 7, 12, 36, 128, 133, 155, 400};
  struct generator generator = {40};
  (void)state;
  for (int i = 0; i < 20; i++) {
    for (int j = 0; j < 8; j++) {
      const struct int8_case c = {.in = ins[j],
                                  .out = some_outs[generator_below(&generator, 5)],
                                  .rows = 1,
                                  .bits = i % 2 ? 4 : 8,
                                  .group = some_groups[i / 4],
                                  .has_offsets = i / 2 % 2,
                                  .special = j == 7 ? 200 : 0,
                                  .with_more = j % 3 == 0};
      check_case(&c, &generator);
    }
  }
}

/* One row beside more outputs than a task keeps the sums of. */
static void test_wide_row(void **state) {
  struct generator generator = {41};
  (void)state;
  for (int i = 0; i < 4; i++) {
    const struct int8_case c = {
        .in = 260, .out = 2100, .rows = 1, .bits = i % 2 ? 4 : 8, .group = i < 2 ? 0 : 32, .has_offsets = i == 3};
    check_case(&c, &generator);
  }
}

/* Rows of several tiles and blocks, and outputs of several tasks. */
static void test_many(void **state) {
  struct generator generator = {32};
  (void)state;
  for (int i = 0; i < 4; i++) {
    const struct int8_case c = {.in = i % 2 ? 260 : 128,
                                .out = i < 2 ? 300 : 40,
                                .rows = i < 2 ? 60 : 203,
                                .bits = i % 2 ? 4 : 8,
                                .group = i < 2 ? 0 : 32,
                                .has_offsets = i == 3};
    check_case(&c, &generator);
  }
}

/* Results that no cache near the core keeps are fetched while they are computed. */
static void test_far(void **state) {
  struct generator generator = {38};
  (void)state;
  for (int i = 0; i < 2; i++) {
    const struct int8_case c = {.in = 200, .out = 70, .rows = i ? 70 : 30, .bits = 8, .with_more = i, .far = 1};
    struct int8_layer layer;
    layer_create(&layer, &c, &generator);
    assert_layer(&layer, execution_of(NULL, 2));
    layer_destroy(&layer);
  }
}

/* The largest sums that there are. */
static void test_extremes(void **state) {
  struct generator generator = {33};
  (void)state;
  for (int i = 0; i < 8; i++) {
    const struct int8_case c = {.in = 131072,
                                .out = 3,
                                .rows = i < 4 ? 2 : 1,
                                .bits = i % 2 ? 4 : 8,
                                .group = i % 4 < 2 ? 0 : 128,
                                .has_offsets = 1,
                                .extreme = 1};
    struct int8_layer layer;
    layer_create(&layer, &c, &generator);
    for (int64_t d = 0; d < c.rows * c.in; d++) {
      const float number = d < c.in ? 1 : -1;
      memcpy(layer.x.memory.data + d * 4, &number, 4);
      layer.x.numbers[d] = number;
    }
    expect(&layer);
    for (const char *const *isa = int8_names(); *isa; isa++) assert_layer(&layer, execution_of(*isa, 1));
    layer_destroy(&layer);
  }
}

/* NaN, infinities, rows next to nothing, and rows around the limit. */
static void test_special_rows(void **state) {
  const float numbers[] = {NAN,  INFINITY, -INFINITY,      0x1p-149f, -0x1p-80f, 0x1.fffffep-81f,
                           0.0f, -0.0f,    0x1.fffffep127f};
  enum { ROWS = sizeof numbers / sizeof numbers[0] };
  struct generator generator = {34};
  (void)state;
  for (int with_more = 0; with_more < 2; with_more++) {
    const struct int8_case c = {.in = 70, .out = 20, .rows = ROWS, .bits = 8};
    struct int8_layer layer;
    layer_create(&layer, &c, &generator);
    for (int64_t row = 0; row < ROWS; row++) {
      const int64_t place = row * c.in + row * 7;
      if (row > 2 && row < 8) {
        memset(layer.x.memory.data + row * c.in * 4, 0, (size_t)c.in * 4);
        memset(layer.x.numbers + row * c.in, 0, (size_t)c.in * 4);
      }
      memcpy(layer.x.memory.data + place * 4, &numbers[row], 4);
      layer.x.numbers[place] = numbers[row];
    }
    layer.linear.bias = with_more ? layer.bias : NULL;
    expect(&layer);
    for (const char *const *isa = int8_names(); *isa; isa++) assert_layer(&layer, execution_of(*isa, 1));
    layer_destroy(&layer);
  }
}

/* A layer's rows without anything after the products. */
static void expect_rows(const struct coded_weights *w, const float *x, int64_t rows, float *y) {
  int8_t codes[64];
  for (int64_t row = 0; row < rows; row++) {
    float scale;
    assert_true(w->in <= 64);
    coded_row(x + row * w->in, w->in, codes, &scale);
    for (int64_t o = 0; o < w->out; o++) y[row * w->out + o] = expected_product(w, codes, scale, o);
  }
}

/* Multi-head attention in scratch of its own: of one key its value is all that the output layer gets. */
static void test_attention(void **state) {
  enum { BATCH = 21, DIM = 48, HEADS = 3 };
  struct generator generator = {39};
  struct coded_weights weights[4];
  fovea_nn_linear layers[4];
  fovea_nn_attention attention;
  fovea_nn_attention_tensors tensors;
  fovea_problem problem;
  fovea_error error;
  float x[BATCH * DIM], y[BATCH * DIM], v[BATCH * DIM], expected[BATCH * DIM];
  (void)state;
  for (int i = 0; i < BATCH * DIM; i++) x[i] = generator_uniform(&generator);
  for (int i = 0; i < 4; i++) {
    weights[i] = coded_weights_create(DIM, DIM, i % 2 ? 4 : 8, i < 2 ? 0 : 32, i == 2, 0, &generator);
    fovea_nn_linear_init(&layers[i], DIM, DIM, weights[i].memory.data);
    layers[i].layout = FOVEA_NN_WEIGHTS_QUANTISED;
    layers[i].mode = FOVEA_MODE_INT8;
  }
  expect_rows(&weights[2], x, BATCH, v);
  expect_rows(&weights[3], v, BATCH, expected);
  for (int i = 0; i < BATCH * DIM; i++) expected[i] = contract_nn_result(expected[i]);
  fovea_nn_attention_init(&attention, &layers[0], &layers[1], &layers[2], &layers[3]);
  fovea_problem_init(&problem, BATCH, HEADS, HEADS, 1, 1, DIM / HEADS, DIM / HEADS);
  fovea_nn_attention_tensors_init(&tensors, x, y);
  for (const char *const *isa = int8_names(); *isa; isa++) {
    for (int threads = 1; threads <= 3; threads += 2) {
      fovea_execution *execution = execution_of(*isa, threads);
      size_t size = 0;
      memset(y, 0xa5, sizeof y);
      assert_int_equal(fovea_nn_attention_scratch_size(&attention, &problem, execution, &size, &error), FOVEA_OK);
      struct guarded scratch = guarded_create(size, GUARD_AT_END);
      execution->scratch = scratch.data;
      execution->scratch_size = size;
      if (fovea_nn_attention_run(&attention, &problem, &tensors, execution, &error) != FOVEA_OK)
        fail_msg("%s", error.text);
      assert_memory_equal(y, expected, sizeof y);
      guarded_destroy(&scratch);
    }
  }
  for (int i = 0; i < 4; i++) coded_weights_destroy(&weights[i]);
}

/* ---- Scratch and bad input ------------------------------------------------------------------------------------ */

/* Exactly as much as is said, and no more for fewer rows. */
static void test_scratch(void **state) {
  struct generator generator = {36};
  (void)state;
  for (int i = 0; i < 8; i++) {
    const struct int8_case c = {.in = i % 2 ? 300 : 256,
                                .out = 70,
                                .rows = i < 4 ? 30 : 1,
                                .bits = i % 2 ? 4 : 8,
                                .group = i % 4 < 2 ? 0 : 16,
                                .has_offsets = i % 4 > 1};
    struct int8_layer layer;
    layer_create(&layer, &c, &generator);
    for (const char *const *isa = int8_names(); *isa; isa++) {
      for (int threads = 1; threads <= 3; threads++) {
        fovea_execution *execution = execution_of(*isa, threads);
        fovea_error error;
        size_t size = 0, fewer = 1;
        assert_int_equal(fovea_nn_linear_scratch_size(&layer.linear, c.rows, execution, &size, &error), FOVEA_OK);
        assert_true(size > 0);
        for (int64_t rows = 0; rows < c.rows; rows++) {
          assert_int_equal(fovea_nn_linear_scratch_size(&layer.linear, rows, execution, &fewer, &error), FOVEA_OK);
          assert_true(fewer <= size && (fewer == 0) == (rows == 0));
        }
        struct guarded scratch = guarded_create(size, GUARD_AT_END);
        execution->scratch = scratch.data;
        execution->scratch_size = size;
        assert_layer(&layer, execution);
        execution->scratch_size = size - 1;
        matrix_spoil(&layer.y);
        assert_int_equal(fovea_nn_linear_run(&layer.linear, &layer.rows, execution, &error), FOVEA_ERROR_SPACE);
        assert_error_says(&error, "scratch_size is");
        guarded_destroy(&scratch);
      }
    }
    layer_destroy(&layer);
  }
}

static void test_mode_errors(void **state) {
  struct generator generator = {37};
  (void)state;
  struct coded_weights whole = coded_weights_create(131073, 1, 8, 0, 0, 0, &generator);
  struct coded_weights groups = coded_weights_create(131073, 1, 8, 128, 0, 0, &generator);
  struct matrix x = matrix_create(1, 131073, 131073, FOVEA_F32, 0, &generator);
  float y = 7;
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_error error;
  fovea_nn_linear_init(&linear, 131073, 1, whole.memory.data);
  fovea_nn_linear_rows_init(&rows, &linear, 1, x.memory.data, &y);
  linear.mode = FOVEA_MODE_INT8;
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.mode is FOVEA_MODE_INT8");
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.in is 131073; with mode FOVEA_MODE_INT8");
  assert_true(y == 7);
  linear.weights = groups.memory.data;
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_OK);
  linear.mode = FOVEA_MODE_BF16;
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.mode is FOVEA_MODE_BF16");
  coded_weights_destroy(&whole);
  coded_weights_destroy(&groups);
  matrix_destroy(&x);
}

/* What this process may do from here on: so it is the last test. */
static void test_amx(void **state) {
  struct generator generator = {38};
  (void)state;
  if (fovea_allow_amx(NULL) != FOVEA_OK) skip();
  for (int i = 0; i < USUAL_OR_LONG(120, 900); i++) {
    const struct int8_case c = {.in = some_ins[i % 9],
                                .out = some_outs[generator_below(&generator, 5)],
                                .rows = i % 4 == 0 ? 16 : 16 + generator_below(&generator, 60),
                                .bits = i / 2 % 2 ? 4 : 8,
                                .group = (int[]){0, 0, 64, 128, 32}[generator_below(&generator, 5)],
                                .has_offsets = i % 2,
                                .special = i % 7 == 0 ? 200 : 0,
                                .with_more = i % 3 == 0};
    struct int8_layer layer;
    layer_create(&layer, &c, &generator);
    assert_layer(&layer, execution_of(NULL, 1));
    assert_layer(&layer, execution_of(NULL, 3));
    layer_destroy(&layer);
  }
  test_far(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_row),      cmocka_unit_test(test_wide_row),  cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_many),         cmocka_unit_test(test_far),       cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_special_rows), cmocka_unit_test(test_attention), cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_mode_errors),  cmocka_unit_test(test_amx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
