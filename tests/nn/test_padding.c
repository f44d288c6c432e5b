/* Layers over padded batches: padding after the rows of a batch element or in front of them changes no bit of the
 * others, whatever it holds, and a diagonal that nobody asked for is refused before anything is written. */
#include "nn/stack.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/generator.h"

#include <fovea/cache.h>
#include <math.h>
#include <string.h>

enum { BATCH = 3, LENGTH = 40, WIDTH = STACK_WIDTH, ROW = LENGTH * WIDTH };

/* Multiples of 16, so that sums keep their order (tests/test_padding.c). */
static const int64_t pad[BATCH] = {0, 16, 32}, minus_pad[BATCH] = {0, -16, -32}, none[BATCH] = {0};
static const int64_t lengths[BATCH] = {40, 24, 8};

static struct stack stack;
static fovea_rotary rotary;
static float x[BATCH * ROW];

/* A layer of attention or an encoder over one batch. */
struct layer {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  int is_encoder;
};

static struct layer make_layer(int is_encoder, int causal, int64_t batch, int64_t rows, int64_t keys) {
  struct layer layer = {.is_encoder = is_encoder};
  fovea_problem_init(&layer.problem, batch, STACK_HEADS, STACK_HEADS, rows, keys, STACK_DIM, STACK_DIM);
  layer.problem.causal = causal;
  fovea_nn_attention_tensors_init(&layer.tensors, NULL, NULL);
  return layer;
}

static fovea_status run(struct layer *layer, const float *from, float *to, fovea_error *error) {
  if (!layer->is_encoder) {
    layer->tensors.x = from;
    layer->tensors.y = to;
    return fovea_nn_attention_run(&stack.layers[0].self_attention, &layer->problem, &layer->tensors, NULL, error);
  }
  const fovea_nn_attending self = {&layer->problem, &layer->tensors};
  fovea_nn_encoder_rows rows;
  fovea_nn_encoder_rows_init(&rows, &self, NULL, to);
  rows.x = from;
  return fovea_nn_encoder_run(&stack.encoder, &rows, NULL, error);
}

static void expect(struct layer *layer, const float *from, float *to) {
  fovea_error error;
  if (run(layer, from, to, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

/* NaN everywhere but in the rows first[b] to first[b] + lengths[b] - 1 of each batch element. */
static void make_rows(const int64_t *first) {
  struct generator generator = {4};
  for (int64_t i = 0; i < BATCH * ROW; i++) {
    const int64_t b = i / ROW, row = i % ROW / WIDTH - first[b];
    x[i] = row >= 0 && row < lengths[b] ? generator_uniform(&generator) : NAN;
  }
}

static void assert_alone(int is_encoder, int causal, const int64_t *first, const float *y) {
  for (int64_t b = 0; b < BATCH; b++) {
    static float expected[ROW];
    const int64_t at = b * ROW + first[b] * WIDTH;
    struct layer alone = make_layer(is_encoder, causal, 1, lengths[b], lengths[b]);
    expect(&alone, x + at, expected);
    assert_memory_equal(y + at, expected, (size_t)(lengths[b] * WIDTH) * sizeof *y);
  }
}

/* With rotary embedding, whose positions count from each batch element's first row. */
static void test_tensors(void **state) {
  (void)state;
  static float y[BATCH * ROW];
  for (int kind = 0; kind < 8; kind++) {
    const int is_encoder = kind & 1, causal = kind >> 1 & 1, left = kind >> 2;
    struct layer layer = make_layer(is_encoder, causal, BATCH, LENGTH, LENGTH);
    if (left) {
      layer.problem.kv_begins = pad;
      layer.tensors.first_positions = minus_pad;
    } else {
      layer.problem.q_lens = layer.problem.kv_lens = lengths;
    }
    make_rows(left ? pad : none);
    expect(&layer, x, y);
    assert_alone(is_encoder, causal, left ? pad : none, y);
  }
}

/* Prompts padded in front go through the layers into caches; then come steps of one row. */
static void test_caches(void **state) {
  (void)state;
  enum { PROMPT = 36 };
  static float y[BATCH * ROW], memory[2][STACK_LAYERS * BATCH * ROW], from[BATCH * ROW], to[BATCH * ROW];
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
  fovea_pages pages;
  fovea_pages_init(&pages, BATCH, LENGTH, STACK_HEADS, STACK_DIM, STACK_DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.layers = STACK_LAYERS;
  pages.k = memory[0];
  pages.v = memory[1];
  for (int b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &segments[b], NULL), FOVEA_OK);
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  for (int layer = 0; layer < STACK_LAYERS; layer++)
    stack.layers[layer].self_attention.rotary = NULL; /* of slots */
  make_rows(pad);
  for (int64_t length = 0; length < LENGTH; length += length == 0 ? PROMPT : 1) {
    const int64_t rows = length == 0 ? PROMPT : 1;
    struct layer layer = make_layer(1, 1, BATCH, rows, length + rows);
    layer.problem.cache.segmented = 1;
    layer.problem.kv_begins = pad;
    layer.tensors.cache.sequences = sequences;
    layer.tensors.first_position = length;
    for (int64_t b = 0; b < BATCH; b++)
      memcpy(from + b * rows * WIDTH, x + b * ROW + length * WIDTH, (size_t)(rows * WIDTH) * sizeof *x);
    expect(&layer, from, to);
    for (int64_t b = 0; b < BATCH; b++)
      memcpy(y + b * ROW + length * WIDTH, to + b * rows * WIDTH, (size_t)(rows * WIDTH) * sizeof *x);
  }
  assert_alone(1, 1, pad, y);
  for (int layer = 0; layer < STACK_LAYERS; layer++) stack.layers[layer].self_attention.rotary = &rotary;
}

/* kv_lens alone: half of a padded batch is missing. */
static void test_refused(void **state) {
  (void)state;
  static float y[BATCH * ROW];
  make_rows(none);
  for (int kind = 0; kind < 4; kind++) {
    fovea_error error;
    struct layer layer = make_layer(kind & 1, kind < 2, BATCH, LENGTH, LENGTH);
    layer.problem.kv_lens = lengths;
    if (kind >= 2) layer.problem.window_left = layer.problem.window_right = 4;
    memset(y, 0x3a, sizeof y);
    assert_int_equal(run(&layer, x, y, &error), FOVEA_ERROR_ARGUMENT);
    assert_error_says(&error, "offset: batch element 1 has q length 40 and kv length 24");
    assert_error_says(&error, "offset: set q_lens");
    assert_error_says(&error, "offset");
    for (size_t i = 0; i < sizeof y; i++) assert_int_equal(((const unsigned char *)y)[i], 0x3a);
  }
}

/* The key of a bias is one more key, but not one that rows may lie at. */
static void test_bias(void **state) {
  (void)state;
  static float y[BATCH * ROW], bias[WIDTH];
  static const int64_t shorter[BATCH] = {39, 39, 8};
  fovea_nn_attention *attention = &stack.layers[0].self_attention;
  fovea_error error;
  attention->rotary = NULL;
  attention->bias_key = attention->bias_value = bias;
  for (int kind = 0; kind < 3; kind++) {
    struct layer layer = make_layer(0, 1, BATCH, LENGTH, LENGTH - 1);
    layer.tensors.memory = x;
    if (kind == 1) layer.problem.q_lens = shorter;
    if (kind == 2) layer.problem.offset = -1;
    assert_int_equal(run(&layer, x, y, &error), kind == 0 ? FOVEA_ERROR_UNUSED : FOVEA_OK);
    if (kind == 0)
      assert_string_equal(error.text,
                          "bias_key is given together with causal and more rows than keys; set q_lens if "
                          "rows are padding, or offset");
  }
  attention->rotary = &rotary;
  attention->bias_key = attention->bias_value = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_caches),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_bias),
  };
  stack_create(&stack, STACK_LAYERS, 0, 1, 0);
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, STACK_DIM);
  for (int layer = 0; layer < STACK_LAYERS; layer++) stack.layers[layer].self_attention.rotary = &rotary;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
