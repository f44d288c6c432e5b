/* Rotary positions of a memory's rows: the bits of single calls, packed and rows first, through caches, and what is
 * refused. Nothing is written over lists of positions and tables. */
#include "nn/coding.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/generator.h"

#include <string.h>

enum { HEADS = 4, KV_HEADS = 2, DIM = 8, IN = 12, AXES = 2, ROWS = BATCH * TARGET, KEYS = BATCH * SOURCE };

static float weights[4][HEADS * DIM * IN], x[ROWS * IN], memory[KEYS * IN];
static const unsigned char axes[DIM / 2] = {0, 1, 1, 0};
static int64_t listed[AXES * KEYS];

/* A layer of cross-attention. Must not be copied. */
struct layer {
  fovea_nn_linear query, key, value, output;
  fovea_rotary rotary;
  fovea_nn_attention attention;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
};

static void make_layer(struct layer *layer, float *y) {
  fovea_nn_linear_init(&layer->query, IN, HEADS * DIM, weights[0]);
  fovea_nn_linear_init(&layer->key, IN, KV_HEADS * DIM, weights[1]);
  fovea_nn_linear_init(&layer->value, IN, KV_HEADS * DIM, weights[2]);
  fovea_nn_linear_init(&layer->output, HEADS * DIM, IN, weights[3]);
  fovea_rotary_init(&layer->rotary, FOVEA_ROTARY_HALVES, DIM);
  layer->rotary.axes = AXES;
  layer->rotary.pair_axes = axes;
  fovea_nn_attention_init(&layer->attention, &layer->query, &layer->key, &layer->value, &layer->output);
  layer->attention.rotary = &layer->rotary;
  fovea_problem_init(&layer->problem, BATCH, HEADS, KV_HEADS, TARGET, SOURCE, DIM, DIM);
  fovea_nn_attention_tensors_init(&layer->tensors, x, y);
  layer->tensors.memory = memory;
  layer->tensors.memory_positions = listed;
}

static fovea_status run_layer(struct layer *layer, const fovea_execution *execution, fovea_error *error) {
  return fovea_nn_attention_run(&layer->attention, &layer->problem, &layer->tensors, execution, error);
}

static void run(struct layer *layer) {
  fovea_error error;
  if (run_layer(layer, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

static void multiply(const fovea_nn_linear *linear, int64_t rows, const float *from, float *to) {
  fovea_nn_linear_rows call;
  fovea_nn_linear_rows_init(&call, linear, rows, from, to);
  assert_int_equal(fovea_nn_linear_run(linear, &call, NULL, NULL), FOVEA_OK);
}

static void rotate(const fovea_rotary *rotary, float *rows, int64_t length, int64_t heads,
                   const int64_t *positions) {
  fovea_rotation rotation;
  fovea_rotation_init(&rotation, BATCH, heads, length, DIM, rows, rows);
  rotation.from_strides = rotation.to_strides = fovea_strides_rows_before_heads(length, heads, DIM);
  rotation.positions = positions;
  assert_int_equal(fovea_rotary_apply(rotary, &rotation, NULL, NULL), FOVEA_OK);
}

static void compute(const struct layer *layer, float y[ROWS * IN]) {
  static float q[ROWS * HEADS * DIM], k[KEYS * KV_HEADS * DIM], v[KEYS * KV_HEADS * DIM], o[ROWS * HEADS * DIM];
  fovea_problem problem = layer->problem;
  fovea_tensors tensors;
  multiply(&layer->query, ROWS, x, q);
  multiply(&layer->key, KEYS, memory, k);
  multiply(&layer->value, KEYS, memory, v);
  rotate(&layer->rotary, q, TARGET, HEADS, NULL);
  rotate(&layer->rotary, k, SOURCE, KV_HEADS, listed);
  problem.q_strides = problem.o_strides = fovea_strides_rows_before_heads(TARGET, HEADS, DIM);
  problem.k_strides = problem.v_strides = fovea_strides_rows_before_heads(SOURCE, KV_HEADS, DIM);
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  multiply(&layer->output, ROWS, o, y);
}

static void test_layer(void **state) {
  (void)state;
  static float y[ROWS * IN], expected[ROWS * IN], turned_x[ROWS * IN], turned_memory[KEYS * IN];
  struct layer layer;
  const int32_t rows[] = {0, TARGET, ROWS}, keys[] = {0, SOURCE, KEYS};
  make_layer(&layer, y);
  compute(&layer, expected);
  run(&layer);
  assert_memory_equal(y, expected, sizeof y);

  layer.problem.cu_seqlens_q = rows;
  layer.problem.cu_seqlens_kv = keys;
  layer.problem.q_len = ROWS;
  layer.problem.kv_len = KEYS;
  memset(y, 0, sizeof y);
  run(&layer);
  assert_memory_equal(y, expected, sizeof y);

  for (int i = 0; i < ROWS; i++)
    memcpy(turned_x + i * IN, x + (i % BATCH * TARGET + i / BATCH) * IN, IN * sizeof *x);
  for (int i = 0; i < KEYS; i++)
    memcpy(turned_memory + i * IN, memory + (i % BATCH * SOURCE + i / BATCH) * IN, IN * sizeof *x);
  make_layer(&layer, y);
  layer.tensors.x = turned_x;
  layer.tensors.memory = turned_memory;
  layer.tensors.rows_first = 1;
  run(&layer);
  for (int i = 0; i < ROWS; i++)
    assert_memory_equal(y + i * IN, expected + (i % BATCH * TARGET + i / BATCH) * IN, IN * sizeof *y);
}

/* The positions that rows have without a list. */
static void test_usual_positions(void **state) {
  (void)state;
  static float y[ROWS * IN], expected[ROWS * IN];
  int64_t usual[AXES * KEYS];
  struct layer layer;
  make_layer(&layer, expected);
  layer.tensors.memory_positions = NULL;
  run(&layer);
  for (int i = 0; i < AXES * KEYS; i++) usual[i] = i % SOURCE;
  layer.tensors.memory_positions = usual;
  layer.tensors.y = y;
  run(&layer);
  assert_memory_equal(y, expected, sizeof y);
}

/* A decoder whose layers rotate, at once and step by step over caches. */
static void test_decoder(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT], usual[BATCH * TARGET * OUT];
  static struct cache across;
  static struct call c;
  fovea_rotary rotary;
  fovea_error error;
  make_models(0);
  fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, STACK_DIM);
  for (int i = 0; i < STACK_LAYERS; i++)
    decoder.layers[i].cross_attention.rotary = i == 1 ? NULL : &rotary; /* a layer without passes the list over */
  make_call(&c, usual);
  assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, NULL, NULL), FOVEA_OK);
  make_call(&c, expected);
  c.tensors[2].memory_positions = listed;
  if (fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, NULL, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_memory_not_equal(expected, usual, sizeof usual);

  make_cache(&across);
  c.tensors[2].memory = c.memory;
  c.tensors[2].cache.sequences = across.sequences;
  if (fovea_nn_encoder_decoder_prepare(&c.model, &c.over[2], NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  c.target.y = y;
  c.problems[2].cache.segmented = 1;
  assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, NULL, &c.target, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "memory is set and would not be used: cache.segmented is 1");
  c.tensors[2].memory = NULL;
  c.tensors[2].memory_positions = NULL;
  if (fovea_nn_encoder_decoder_run(&c.model, NULL, &c.target, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_memory_equal(y, expected, sizeof y);

  for (int i = 0; i < STACK_LAYERS; i++) decoder.layers[i].cross_attention.rotary = NULL;
  make_call(&c, y);
  c.tensors[2].memory_positions = listed;
  assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "memory_positions is set and would not be used: no layer");
  c.tensors[2].memory = c.memory;
  c.tensors[2].cache.sequences = across.sequences;
  assert_int_equal(fovea_nn_encoder_decoder_prepare(&c.model, &c.over[2], NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "memory_positions is set and would not be used: no layer");
}

/* Aligned scratch in some memory. */
static void use_scratch(fovea_execution *execution, int64_t *memory_of_scratch, size_t size) {
  execution->threads = 1;
  execution->scratch = memory_of_scratch;
  execution->scratch_size = size;
}

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    struct layer layer;                                                                                            \
    fovea_execution execution;                                                                                     \
    fovea_error error;                                                                                             \
    make_layer(&layer, y);                                                                                         \
    fovea_execution_init(&execution);                                                                              \
    change;                                                                                                        \
    assert_int_equal(run_layer(&layer, &execution, &error), status);                                               \
    assert_error_says(&error, word);                                                                               \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static float y[ROWS * IN], zeros[ROWS * IN];
  static _Alignas(64) int64_t numbers[1 << 18];
  static _Alignas(4) unsigned char bytes[ROWS * IN * 4 + DIM / 2];
  int64_t far[AXES * KEYS];
  memcpy(far, listed, sizeof far);
  far[KEYS + 2] = -(INT64_C(1) << 40) - 1;
  REFUSED(layer.tensors.memory = NULL; layer.problem.kv_len = TARGET, FOVEA_ERROR_UNUSED,
                                       "memory_positions is set and would not be used: memory is NULL");
  REFUSED(layer.attention.rotary = NULL, FOVEA_ERROR_UNUSED,
          "memory_positions is set and would not be used: there is no rotary");
  REFUSED(layer.tensors.memory_positions = far, FOVEA_ERROR_ARGUMENT, "memory_positions[14] is -1099511627777");
  REFUSED(layer.tensors.memory_positions = (const int64_t *)(const void *)((const char *)listed + 2),
          FOVEA_ERROR_ARGUMENT, "memory_positions is not at a multiple of");
  /* What is written lies elsewhere. */
  REFUSED(layer.tensors.memory_positions = numbers; layer.tensors.y = (float *)(void *)&numbers[AXES * KEYS - 1],
                                                    FOVEA_ERROR_ARGUMENT, "y shares memory with memory_positions");
  REFUSED(layer.tensors.rotary_positions = numbers; layer.tensors.y = (float *)(void *)&numbers[AXES * ROWS - 1],
                                                    FOVEA_ERROR_ARGUMENT, "y shares memory with rotary_positions");
  REFUSED(layer.tensors.first_positions = numbers; layer.tensors.y = (float *)(void *)&numbers[BATCH - 1],
                                                   FOVEA_ERROR_ARGUMENT, "y shares memory with first_positions");
  REFUSED(layer.rotary.pair_axes = bytes;
          layer.tensors.y = (float *)(void *)bytes, FOVEA_ERROR_ARGUMENT, "y shares memory with pair_axes");
  REFUSED(layer.tensors.memory_positions = numbers + 8; use_scratch(&execution, numbers, sizeof numbers),
                                                        FOVEA_ERROR_ARGUMENT,
                                                        "scratch shares memory with memory_positions");
  REFUSED(layer.rotary.pair_axes = (const unsigned char *)numbers + 1;
          use_scratch(&execution, numbers, sizeof numbers), FOVEA_ERROR_ARGUMENT,
          "scratch shares memory with pair_axes");
  assert_memory_equal(y, zeros, sizeof y);
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {7};
  for (int i = 0; i < 4; i++)
    for (size_t j = 0; j < sizeof weights[i] / sizeof(float); j++) weights[i][j] = generator_uniform(&generator);
  for (int i = 0; i < ROWS * IN; i++) x[i] = generator_uniform(&generator);
  for (int i = 0; i < KEYS * IN; i++) memory[i] = generator_uniform(&generator);
  for (int i = 0; i < AXES * KEYS; i++) listed[i] = generator_below(&generator, 60) - 30;
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layer),
      cmocka_unit_test(test_usual_positions),
      cmocka_unit_test(test_decoder),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
