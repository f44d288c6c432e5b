/* Errors of linear layers in bf16 mode and in int8 mode against float64, within the bounds of docs/numerics.md, L1: each
 * output's, and the root mean square of random numbers'. */
#include "nn/coded_weights.h"
#include "support/check.h"
#include "support/generator.h"
#include "support/memory.h"
#include "support/types.h"

#include <fovea/weights.h>

#include <math.h>

enum { ROWS = 48, OUT = 80, GROUP = 32 };
static const double unit = 0x1p-24;            /* f32 rounds a number by so much of it */
static const double half_step = 0.5 + 0x1p-15; /* of codes, which are found with two roundings before the last */

/* bf16 mode over numbers of bf16; int8 mode over f32 weights, of which fovea_nn_quantise() makes codes; int8 mode over
 * codes with a scale and an offset for each 32 dims. */
enum kind { BF16, QUANTISED, CODES };

struct layer {
  enum kind kind;
  int64_t in;
  float *x, *w, *y;
  void *converted, *packed;
  struct coded_weights coded;
  fovea_nn_linear linear;
};

/* Of random numbers, nearly normal ones: sums of twelve. */
static float normal(struct generator *generator) {
  float sum = 0;
  for (int i = 0; i < 12; i++) sum += generator_uniform(generator);
  return sum / 2;
}

static void pack_bf16(struct layer *layer) {
  uint16_t *converted = memory_allocate((size_t)(OUT * layer->in) * 2);
  for (int64_t i = 0; i < OUT * layer->in; i++) {
    converted[i] = rounded(FOVEA_BF16, layer->w[i]);
    layer->w[i] = rounded_number(FOVEA_BF16, layer->w[i]);
  }
  layer->converted = converted;
  layer->linear.weights = converted;
  layer->linear.weight_type = FOVEA_BF16;
  layer->packed = memory_allocate((size_t)fovea_nn_panel_elements(layer->in, OUT, FOVEA_BF16) * 2);
  assert_int_equal(fovea_nn_pack(&layer->linear, layer->packed, NULL, NULL), FOVEA_OK);
  layer->linear.weights = layer->packed;
  layer->linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
}

static void quantise(struct layer *layer) {
  layer->packed = memory_allocate(fovea_nn_quantised_size(layer->in, OUT));
  assert_int_equal(fovea_nn_quantise(&layer->linear, layer->packed, NULL, NULL), FOVEA_OK);
  layer->linear.weights = layer->packed;
  layer->linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
}

/* 4 bits; what they stand for takes the place of the weights. */
static void take_codes(struct layer *layer, struct generator *generator) {
  struct coded_weights *coded = &layer->coded;
  *coded = coded_weights_create(layer->in, OUT, 4, GROUP, 1, 0, generator);
  for (int64_t i = 0; i < OUT * layer->in; i++) {
    const int64_t group = i / layer->in * coded->groups + i % layer->in / GROUP;
    layer->w[i] = fmaf((float)coded->codes[i], coded->scales[group], coded->offsets[group]);
  }
  layer->linear.weights = coded->memory.data;
  layer->linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
}

static void layer_run(struct layer *layer, struct generator *generator) {
  fovea_nn_linear_rows rows;
  fovea_error error;
  layer->y = memory_allocate(ROWS * OUT * sizeof(float));
  fovea_nn_linear_init(&layer->linear, layer->in, OUT, layer->w);
  if (layer->kind == BF16) pack_bf16(layer);
  if (layer->kind == QUANTISED) quantise(layer);
  if (layer->kind == CODES) take_codes(layer, generator);
  layer->linear.weight_stride = 0;
  layer->linear.mode = layer->kind == BF16 ? FOVEA_MODE_BF16 : FOVEA_MODE_INT8;
  fovea_nn_linear_rows_init(&rows, &layer->linear, ROWS, layer->x, layer->y);
  if (fovea_nn_linear_run(&layer->linear, &rows, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

static void layer_destroy(struct layer *layer) {
  memory_free(layer->x);
  memory_free(layer->w);
  memory_free(layer->y);
  memory_free(layer->converted);
  memory_free(layer->packed);
  if (layer->kind == CODES) coded_weights_destroy(&layer->coded);
}

/* Numbers of a row of x or of W, and of both. */
struct sums {
  double largest, magnitudes, squares;
};
struct output {
  struct sums x, w, products;
  double exact;
  double parts, parts_by_x; /* of codes: magnitudes of both parts of a weight, and these times |x| */
};

static void add(struct sums *sums, double number) {
  sums->largest = fmax(sums->largest, fabs(number));
  sums->magnitudes += fabs(number);
  sums->squares += number * number;
}

static struct output output_of(const struct layer *layer, int64_t row, int64_t out) {
  struct output o = {.exact = 0};
  for (int64_t d = 0; d < layer->in; d++) {
    const double x = (double)layer->x[row * layer->in + d], w = (double)layer->w[out * layer->in + d];
    add(&o.x, x);
    add(&o.w, w);
    add(&o.products, x * w);
    o.exact += x * w;
    if (layer->kind == CODES) {
      const int64_t group = out * layer->coded.groups + d / GROUP;
      const double scaled = (double)layer->coded.codes[out * layer->in + d] * (double)layer->coded.scales[group];
      const double part = fabs(scaled) + fabs((double)layer->coded.offsets[group]);
      o.parts += part;
      o.parts_by_x += part * fabs(x);
    }
  }
  return o;
}

/* The most that an output may be off, and the mean square of its error if roundings are spread evenly over a step. */
struct bounds {
  double most, square;
};

static struct bounds bounds_of_bf16(const struct output *o, int64_t in) {
  const double f32 = ((double)in / 16 + 18) * unit;
  return (struct bounds){(0x1p-8 + f32) * o->products.magnitudes, 0x1p-16 / 3 * o->products.squares};
}

static struct bounds bounds_of_quantised(const struct output *o, int64_t in) {
  const double d = o->x.largest / 127, s = o->w.largest / 127;
  const double codes = half_step * (d * o->w.magnitudes + s * o->x.magnitudes + half_step * (double)in * d * s);
  return (struct bounds){codes + 9 * unit * (codes + o->products.magnitudes),
                         (d * d * o->w.squares + s * s * o->x.squares) / 12};
}

static struct bounds bounds_of_codes(const struct output *o, int64_t groups) {
  const double d = o->x.largest / 127, of_codes = o->parts_by_x + half_step * d * o->parts;
  return (struct bounds){half_step * d * o->w.magnitudes + 3 * (double)(groups + 2) * unit * of_codes,
                         d * d * o->w.squares / 12};
}

static struct bounds bounds_of(const struct layer *layer, const struct output *o) {
  if (layer->kind == CODES) return bounds_of_codes(o, layer->coded.groups);
  return layer->kind == BF16 ? bounds_of_bf16(o, layer->in) : bounds_of_quantised(o, layer->in);
}

/* Holds each output to its bound. Returns the root mean square of the errors as a part of what even rounding gives; and
 * in *nearest the smallest error as a part of its bound. */
static double check_layer(const struct layer *layer, double *nearest) {
  double errors = 0, squares = 0;
  *nearest = 1;
  for (int64_t row = 0; row < ROWS; row++)
    for (int64_t out = 0; out < OUT; out++) {
      const struct output o = output_of(layer, row, out);
      const struct bounds bounds = bounds_of(layer, &o);
      const double error = fabs((double)layer->y[row * OUT + out] - o.exact);
      if (!(error <= bounds.most))
        fail_msg("kind %d, in %d: the error is %g; at most it is %g", layer->kind, (int)layer->in, error,
                 bounds.most);
      *nearest = fmin(*nearest, error / bounds.most);
      errors += error * error;
      squares += bounds.square;
    }
  return sqrt(errors / squares);
}

static struct layer layer_create(enum kind kind, int64_t in) {
  struct layer layer = {.kind = kind, .in = in};
  layer.x = memory_allocate((size_t)(ROWS * in) * sizeof(float));
  layer.w = memory_allocate((size_t)(OUT * in) * sizeof(float));
  return layer;
}

/* Normal numbers: about what even rounding gives, so not as little as exact mode's errors. */
static void check_random(enum kind kind) {
  static const int64_t ins[] = {40, 384, 2048};
  struct generator generator = {51};
  for (int i = 0; i < 3; i++) {
    struct layer layer = layer_create(kind, ins[i]);
    double nearest;
    for (int64_t j = 0; j < ROWS * layer.in; j++) layer.x[j] = normal(&generator);
    for (int64_t j = 0; j < OUT * layer.in; j++) layer.w[j] = normal(&generator);
    layer_run(&layer, &generator);
    const double part = check_layer(&layer, &nearest);
    if (!(part > 0.5 && part < 1.1))
      fail_msg("kind %d, in %d: the root mean square of errors is %g of what even rounding gives", kind,
               (int)layer.in, part);
    layer_destroy(&layer);
  }
}

/* Numbers that are all rounded down, by nearly half a step: the bound of an output is reached. */
static void check_coherent(enum kind kind) {
  struct layer layer = layer_create(kind, 300);
  struct generator generator = {52};
  double nearest;
  for (int64_t j = 0; j < ROWS * layer.in; j++)
    layer.x[j] = kind == BF16 ? 0x1.00fcp0f : j % layer.in ? 63.49f : 127.0f;
  for (int64_t j = 0; j < OUT * layer.in; j++) layer.w[j] = j % layer.in ? 63.49f / 64 : 127.0f / 64;
  layer_run(&layer, &generator);
  check_layer(&layer, &nearest);
  assert_true(nearest > 0.9);
  layer_destroy(&layer);
}

static void test_bf16(void **state) {
  (void)state;
  check_random(BF16);
  check_coherent(BF16);
}

static void test_int8(void **state) {
  (void)state;
  check_random(QUANTISED);
  check_coherent(QUANTISED);
  check_random(CODES);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bf16), cmocka_unit_test(test_int8)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
