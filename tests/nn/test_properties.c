/* What must hold of layers whatever their weights are: closed forms, symmetries, and what a result may depend on.
 */
#include "nn/contract_nn.h"
#include "support/check.h"
#include "support/generator.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, LENGTH = 23, MEMORY = 31, WIDTH = 36, HEADS = 4, HIDDEN = 50, ROWS = BATCH * LENGTH };
enum { DIM = WIDTH / HEADS, SQUARE = WIDTH * WIDTH };

static float numbers[9 * SQUARE + 6 * SQUARE], x[ROWS * WIDTH], memory[BATCH * MEMORY * WIDTH];

/* A layer with attention over itself and over a memory. */
struct model {
  fovea_nn_linear self[4], cross[4], up, down; /* query, key, value, output */
  fovea_nn_attention attentions[2];
  fovea_nn_norm norms[3];
  fovea_nn_block block;
};

static void make_model(struct model *m) {
  for (int i = 0; i < 4; i++) {
    fovea_nn_linear_init(&m->self[i], WIDTH, WIDTH, numbers + i * SQUARE);
    fovea_nn_linear_init(&m->cross[i], WIDTH, WIDTH, numbers + (4 + i) * SQUARE);
    m->self[i].bias = m->cross[i].bias = numbers + (8 + i) * WIDTH;
  }
  fovea_nn_attention_init(&m->attentions[0], &m->self[0], &m->self[1], &m->self[2], &m->self[3]);
  fovea_nn_attention_init(&m->attentions[1], &m->cross[0], &m->cross[1], &m->cross[2], &m->cross[3]);
  fovea_nn_linear_init(&m->up, WIDTH, HIDDEN, numbers + 9 * SQUARE);
  fovea_nn_linear_init(&m->down, HIDDEN, WIDTH, numbers + 12 * SQUARE);
  m->up.activation = FOVEA_NN_ACTIVATION_GELU;
  for (int i = 0; i < 3; i++) {
    fovea_nn_norm_init(&m->norms[i], FOVEA_NN_LAYER_NORM, WIDTH);
    m->norms[i].gamma = numbers + (20 + i) * WIDTH;
    m->norms[i].beta = numbers + (24 + i) * WIDTH;
  }
  fovea_nn_block_init(&m->block, &m->attentions[0], &m->norms[0], &m->up, &m->down, &m->norms[2]);
  m->block.cross = &m->attentions[1];
  m->block.cross_norm = &m->norms[1];
}

static void attend(const fovea_nn_attention *attention, int64_t batch, int64_t rows, const float *from,
                   const float *over, int64_t keys, float *y) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, batch, HEADS, HEADS, rows, keys, DIM, DIM);
  fovea_nn_attention_tensors_init(&tensors, from, y);
  tensors.memory = over;
  if (fovea_nn_attention_run(attention, &problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

/* Causal in itself. */
static void run_block(const fovea_nn_block *block, int64_t batch, int64_t rows, const float *from,
                      const float *over, float *y) {
  fovea_problem problems[2];
  fovea_nn_attention_tensors tensors[2];
  const fovea_nn_attending self = {&problems[0], &tensors[0]}, cross = {&problems[1], &tensors[1]};
  fovea_error error;
  fovea_problem_init(&problems[0], batch, HEADS, HEADS, rows, rows, DIM, DIM);
  fovea_problem_init(&problems[1], batch, HEADS, HEADS, rows, MEMORY, DIM, DIM);
  problems[0].causal = 1;
  for (int i = 0; i < 2; i++) fovea_nn_attention_tensors_init(&tensors[i], NULL, NULL);
  tensors[1].memory = over;
  if (fovea_nn_block_run(block, &self, &cross, from, y, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

static void make_identity(fovea_nn_linear *layer, float *weights, int64_t dim) {
  for (int64_t i = 0; i < dim * dim; i++) weights[i] = i % (dim + 1) == 0 ? 1.0f : 0.0f;
  fovea_nn_linear_init(layer, dim, dim, weights);
}

/* One head that projects nothing is attention itself: its products with 1 and sums with 0 are exact. */
static void test_one_head(void **state) {
  (void)state;
  static float identity[SQUARE], y[ROWS * WIDTH], expected[ROWS * WIDTH];
  fovea_nn_linear layer;
  fovea_nn_attention attention;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_nn_attention_tensors layer_tensors;
  make_identity(&layer, identity, WIDTH);
  fovea_nn_attention_init(&attention, &layer, &layer, &layer, &layer);
  fovea_problem_init(&problem, BATCH, 1, 1, LENGTH, MEMORY, WIDTH, WIDTH);
  for (problem.causal = 0; problem.causal < 2; problem.causal++) {
    fovea_tensors_init(&tensors, x, memory, memory, expected, NULL);
    assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
    fovea_nn_attention_tensors_init(&layer_tensors, x, y);
    layer_tensors.memory = memory;
    assert_int_equal(fovea_nn_attention_run(&attention, &problem, &layer_tensors, NULL, NULL), FOVEA_OK);
    assert_memory_equal(y, expected, sizeof y);
  }
}

static void test_self_is_cross(void **state) {
  (void)state;
  static float y[ROWS * WIDTH], expected[ROWS * WIDTH], copy[ROWS * WIDTH];
  struct model m;
  make_model(&m);
  memcpy(copy, x, sizeof copy);
  attend(&m.attentions[0], BATCH, LENGTH, x, NULL, LENGTH, expected);
  attend(&m.attentions[0], BATCH, LENGTH, x, copy, LENGTH, y);
  assert_memory_equal(y, expected, sizeof y);
}

/* The sinusoids of position p + k are the sinusoids of p, each pair rotated by the angle of k. Each of the five
 * numbers is within 2^-25 of the real one (and a little, for angles), and |sin| + |cos| is at most sqrt(2). */
static void test_positions_rotate(void **state) {
  (void)state;
  enum { DIMS = 128 };
  static const int64_t starts[] = {0, 1, 17, 4999, -300, 1000000007}, steps[] = {1, 2, 63, 1000, -5};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    for (size_t j = 0; j < sizeof steps / sizeof *steps; j++) {
      const int64_t positions[3] = {starts[i], steps[j], starts[i] + steps[j]};
      float pe[3][DIMS];
      fovea_nn_sinusoid_rows rows;
      fovea_nn_sinusoid_rows_init(&rows, 3, DIMS, pe);
      rows.positions = positions;
      assert_int_equal(fovea_nn_sinusoids(&rows, NULL, NULL), FOVEA_OK);
      for (int d = 0; d < DIMS; d += 2) {
        const double s = (double)pe[0][d], c = (double)pe[0][d + 1], t = (double)pe[1][d], e = (double)pe[1][d + 1];
        assert_true(fabs(s * e + c * t - (double)pe[2][d]) <= 4 * 0x1p-25);
        assert_true(fabs(c * e - s * t - (double)pe[2][d + 1]) <= 4 * 0x1p-25);
      }
    }
}

/* ---- A convolution (Cordonnier et al., 2020) ---- */

enum { HIGH = 6, WIDE = 7, PIXELS = HIGH * WIDE, CHANNELS = 5, MAPS = 8, TAPS = 9, PATCH = TAPS * CHANNELS };

/* Whether the tap of a pixel is this pixel. */
static int is_tap(int pixel, int tap, int other) {
  return other / WIDE == pixel / WIDE + tap / 3 - 1 && other % WIDE == pixel % WIDE + tap % 3 - 1;
}

/* Nine heads, each of which sees one neighbour of its pixel, or at a border none. Its weight is exactly 1, so heads
 * side by side are the patch of the pixel. */
static void convolve(const float *image, const float *kernels, float *maps) {
  static float identity[CHANNELS * CHANNELS], ones[TAPS * CHANNELS];
  static unsigned char mask[TAPS][PIXELS][PIXELS];
  fovea_nn_linear query, key, value, output;
  fovea_nn_attention attention;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_error error;
  for (int tap = 0; tap < TAPS; tap++)
    for (int i = 0; i < PIXELS * PIXELS; i++)
      mask[tap][i / PIXELS][i % PIXELS] = (unsigned char)is_tap(i / PIXELS, tap, i % PIXELS);
  make_identity(&value, identity, CHANNELS);
  fovea_nn_linear_init(&query, CHANNELS, TAPS, ones);
  fovea_nn_linear_init(&key, CHANNELS, 1, image); /* any weights: a row sees one key */
  fovea_nn_linear_init(&output, PATCH, MAPS, kernels);
  fovea_nn_attention_init(&attention, &query, &key, &value, &output);
  fovea_problem_init(&problem, 1, TAPS, 1, PIXELS, PIXELS, 1, CHANNELS);
  problem.mask.type = FOVEA_MASK_BOOL;
  problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, 1, TAPS, PIXELS, PIXELS);
  fovea_nn_attention_tensors_init(&tensors, image, maps);
  tensors.mask = mask;
  if (fovea_nn_attention_run(&attention, &problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

/* The sum over a patch in float64, and the sum of its sizes. Kernels are [map][row][column][channel]. */
static double direct(const float *image, const float *kernel, int pixel, double *size, float *patch) {
  double sum = 0;
  *size = 0;
  for (int i = 0; i < PATCH; i++) {
    patch[i] = 0;
    for (int other = 0; other < PIXELS; other++)
      if (is_tap(pixel, i / CHANNELS, other)) patch[i] = image[other * CHANNELS + i % CHANNELS];
    sum += (double)patch[i] * (double)kernel[i];
    *size += fabs((double)patch[i] * (double)kernel[i]);
  }
  return sum;
}

static void test_convolution(void **state) {
  (void)state;
  static float maps[PIXELS * MAPS], patch[PATCH];
  const float *image = x, *kernels = numbers;
  convolve(image, kernels, maps);
  for (int i = 0; i < PIXELS * MAPS; i++) {
    const float *kernel = kernels + i % MAPS * PATCH;
    double size;
    const double expected = direct(image, kernel, i / MAPS, &size, patch);
    assert_true(fabs((double)maps[i] - expected) <= PATCH * 0x1p-24 * size);
    assert_true(maps[i] == contract_nn_dot(patch, kernel, PATCH));
  }
}

/* ---- Symmetries ---- */

/* A row for each row, in another order. */
static void permute(const float *from, int64_t rows, float *to) {
  for (int64_t i = 0; i < rows; i++) memcpy(to + (7 * i + 3) % rows * WIDTH, from + i * WIDTH, WIDTH * sizeof *to);
}

/* Without positions and masks rows are a set. */
static void test_permutations(void **state) {
  (void)state;
  static float y[LENGTH * WIDTH], turned[LENGTH * WIDTH], expected[LENGTH * WIDTH], again[MEMORY * WIDTH];
  struct model m;
  make_model(&m);
  attend(&m.attentions[1], 1, LENGTH, x, memory, MEMORY, y);
  permute(y, LENGTH, expected);
  permute(x, LENGTH, turned);
  attend(&m.attentions[1], 1, LENGTH, turned, memory, MEMORY, turned);
  assert_memory_equal(turned, expected, sizeof expected); /* queries */
  permute(memory, MEMORY, again);
  attend(&m.attentions[1], 1, LENGTH, x, again, MEMORY, turned);
  for (int i = 0; i < LENGTH * WIDTH; i++) assert_true(fabsf(turned[i] - y[i]) <= 1e-5f); /* keys */
  permute(x, LENGTH, again);
  attend(&m.attentions[0], 1, LENGTH, x, NULL, LENGTH, y);
  permute(y, LENGTH, expected);
  attend(&m.attentions[0], 1, LENGTH, again, NULL, LENGTH, turned);
  for (int i = 0; i < LENGTH * WIDTH; i++) assert_true(fabsf(turned[i] - expected[i]) <= 1e-5f); /* both */
}

/* Every number of x reaches every row, and under a causal rule every row from its own on and no other. */
static void test_dependence(void **state) {
  (void)state;
  static float y[LENGTH * WIDTH], changed[LENGTH * WIDTH], other[LENGTH * WIDTH], causal[LENGTH * WIDTH];
  struct model m;
  make_model(&m);
  attend(&m.attentions[0], 1, LENGTH, x, NULL, LENGTH, y);
  run_block(&m.block, 1, LENGTH, x, memory, causal);
  for (int i = 0; i < LENGTH * WIDTH; i++) {
    memcpy(changed, x, sizeof changed);
    changed[i] += 4;
    attend(&m.attentions[0], 1, LENGTH, changed, NULL, LENGTH, other);
    for (int row = 0; row < LENGTH; row++)
      assert_memory_not_equal(other + row * WIDTH, y + row * WIDTH, WIDTH * sizeof *y);
    run_block(&m.block, 1, LENGTH, changed, memory, other);
    for (int row = 0; row < LENGTH; row++) {
      const int same = memcmp(other + row * WIDTH, causal + row * WIDTH, WIDTH * sizeof *y) == 0;
      assert_int_equal(same, row < i / WIDTH);
    }
  }
}

/* ---- Alone as in a batch ---- */

static void test_batch_of_attention(void **state) {
  (void)state;
  static float y[ROWS * WIDTH], alone[LENGTH * WIDTH];
  struct model m;
  make_model(&m);
  for (int is_block = 0; is_block < 2; is_block++) {
    if (is_block)
      run_block(&m.block, BATCH, LENGTH, x, memory, y);
    else
      attend(&m.attentions[1], BATCH, LENGTH, x, memory, MEMORY, y);
    for (int b = 0; b < BATCH; b++) {
      const float *from = x + b * LENGTH * WIDTH, *over = memory + b * MEMORY * WIDTH;
      if (is_block)
        run_block(&m.block, 1, LENGTH, from, over, alone);
      else
        attend(&m.attentions[1], 1, LENGTH, from, over, MEMORY, alone);
      assert_memory_equal(alone, y + b * LENGTH * WIDTH, sizeof alone);
    }
  }
}

/* What a causal layer makes of a text does not depend on how it goes on. */
static void test_prefixes(void **state) {
  (void)state;
  static float y[LENGTH * WIDTH], prefix[LENGTH * WIDTH];
  struct model m;
  make_model(&m);
  run_block(&m.block, 1, LENGTH, x, memory, y);
  for (int64_t length = 1; length < LENGTH; length++) {
    run_block(&m.block, 1, length, x, memory, prefix);
    assert_memory_equal(prefix, y, (size_t)(length * WIDTH) * sizeof *y);
  }
}

/* Rows of every kind of call: all at once in y, one by one in alone. */
static void run_rows(const struct model *m, int kind, int64_t rows, const float *from, float *y) {
  fovea_nn_linear_rows linear;
  fovea_nn_norm_rows norm;
  fovea_nn_map map;
  fovea_nn_linear_rows_init(&linear, &m->self[0], rows, from, y);
  linear.residual = from;
  fovea_nn_norm_rows_init(&norm, &m->norms[0], rows, from, y);
  fovea_nn_map_init(&map, rows, WIDTH, from, y);
  const fovea_status status = kind == 0   ? fovea_nn_linear_run(&m->self[0], &linear, NULL, NULL)
                              : kind == 1 ? fovea_nn_norm_run(&m->norms[0], &norm, NULL, NULL)
                              : kind == 2 ? fovea_nn_softmax(&map, NULL, NULL)
                                          : fovea_nn_activate(&map, FOVEA_NN_ACTIVATION_GELU, NULL, NULL);
  assert_int_equal(status, FOVEA_OK);
}

static void test_rows_alone(void **state) {
  (void)state;
  static float y[ROWS * WIDTH], alone[WIDTH];
  struct model m;
  make_model(&m);
  for (int kind = 0; kind < 4; kind++) {
    run_rows(&m, kind, ROWS, x, y);
    for (int row = 0; row < ROWS; row++) {
      run_rows(&m, kind, 1, x + row * WIDTH, alone);
      assert_memory_equal(alone, y + row * WIDTH, sizeof alone);
    }
  }
}

/* ---- Identities ---- */

static void test_no_dropout(void **state) {
  (void)state;
  static float y[ROWS * WIDTH];
  fovea_nn_dropout_rows rows;
  fovea_nn_dropout_rows_init(&rows, ROWS, WIDTH, x, y);
  rows.seed = 9;
  assert_int_equal(fovea_nn_dropout(&rows, NULL, NULL), FOVEA_OK);
  assert_memory_equal(y, x, sizeof y);
}

/* A norm does not see the mean of its row, nor, to the eps and rounding, its size. */
static void test_norm_forgets(void **state) {
  (void)state;
  static float moved[ROWS * WIDTH], y[ROWS * WIDTH], expected[ROWS * WIDTH];
  fovea_nn_norm norm;
  fovea_nn_norm_rows rows;
  fovea_nn_norm_init(&norm, FOVEA_NN_LAYER_NORM, WIDTH);
  norm.eps = 0;
  fovea_nn_norm_rows_init(&rows, &norm, ROWS, x, expected);
  assert_int_equal(fovea_nn_norm_run(&norm, &rows, NULL, NULL), FOVEA_OK);
  for (int i = 0; i < ROWS * WIDTH; i++) moved[i] = 4 * x[i];
  fovea_nn_norm_rows_init(&rows, &norm, ROWS, moved, y);
  assert_int_equal(fovea_nn_norm_run(&norm, &rows, NULL, NULL), FOVEA_OK);
  assert_memory_equal(y, expected, sizeof y); /* powers of two change no rounding */
  for (int i = 0; i < ROWS * WIDTH; i++) moved[i] = 3 * x[i] + 2;
  assert_int_equal(fovea_nn_norm_run(&norm, &rows, NULL, NULL), FOVEA_OK);
  for (int i = 0; i < ROWS * WIDTH; i++) assert_true(fabsf(y[i] - expected[i]) <= 4e-6f);
}

/* Softmax does not see what is added to a row, and its rows sum to 1. */
static void test_softmax_forgets(void **state) {
  (void)state;
  static float moved[ROWS * WIDTH], y[ROWS * WIDTH], expected[ROWS * WIDTH];
  struct model m;
  make_model(&m);
  for (int i = 0; i < ROWS * WIDTH; i++) moved[i] = x[i] + 8;
  run_rows(&m, 2, ROWS, x, expected);
  run_rows(&m, 2, ROWS, moved, y);
  for (int row = 0; row < ROWS; row++) {
    double sum = 0;
    for (int d = 0; d < WIDTH; d++) {
      assert_true(fabsf(y[row * WIDTH + d] - expected[row * WIDTH + d]) <= 4e-6f * expected[row * WIDTH + d]);
      sum += (double)expected[row * WIDTH + d];
    }
    assert_true(fabs(sum - 1) <= WIDTH * 0x1p-24);
  }
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {41};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = generator_uniform(&generator) * 0.5f;
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = generator_uniform(&generator);
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) memory[i] = generator_uniform(&generator);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_head),           cmocka_unit_test(test_self_is_cross),
      cmocka_unit_test(test_positions_rotate),   cmocka_unit_test(test_convolution),
      cmocka_unit_test(test_permutations),       cmocka_unit_test(test_dependence),
      cmocka_unit_test(test_batch_of_attention), cmocka_unit_test(test_prefixes),
      cmocka_unit_test(test_rows_alone),         cmocka_unit_test(test_no_dropout),
      cmocka_unit_test(test_norm_forgets),       cmocka_unit_test(test_softmax_forgets),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
