/* Layers of attention: the bits of their steps by single calls; token by token through a cache, and rows first, as
 * at once; other people's answers; scratch and refusals. */
#include "conformance/case.h"
#include "nn/contract_nn.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/generator.h"
#include "support/guarded.h"

#include <fovea/cache.h>
#include <fovea/nn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, LENGTH = 13, IN = 24, HEADS = 4, KV_HEADS = 2, DIM = 8, OUT = 20, ROWS = BATCH * LENGTH };

static float weights[4][HEADS * DIM * 32], biases[4][HEADS * DIM], x[ROWS * IN];

struct model {
  fovea_nn_linear query, key, value, output;
  fovea_nn_attention attention;
};

static struct model make_model(void) {
  struct model m;
  fovea_nn_linear_init(&m.query, IN, HEADS * DIM, weights[0]);
  fovea_nn_linear_init(&m.key, IN, KV_HEADS * DIM, weights[1]);
  fovea_nn_linear_init(&m.value, IN, KV_HEADS * DIM, weights[2]);
  fovea_nn_linear_init(&m.output, HEADS * DIM, OUT, weights[3]);
  m.query.bias = biases[0];
  m.output.bias = biases[3];
  fovea_nn_attention_init(&m.attention, NULL, NULL, NULL, NULL);
  return m;
}

/* The layers lie in the model, wherever it is. */
static const fovea_nn_attention *attention_of(struct model *m) {
  m->attention.query = &m->query;
  m->attention.key = &m->key;
  m->attention.value = &m->value;
  m->attention.output = &m->output;
  return &m->attention;
}

static fovea_problem causal_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, KV_HEADS, LENGTH, LENGTH, DIM, DIM);
  problem.causal = 1;
  return problem;
}

static void run(struct model *m, const fovea_problem *problem, const fovea_nn_attention_tensors *tensors) {
  fovea_error error;
  if (fovea_nn_attention_run(attention_of(m), problem, tensors, NULL, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
}

static void multiply(const fovea_nn_linear *linear, int64_t rows, const float *from, float *to) {
  fovea_nn_linear_rows call;
  fovea_nn_linear_rows_init(&call, linear, rows, from, to);
  assert_int_equal(fovea_nn_linear_run(linear, &call, NULL, NULL), FOVEA_OK);
}

/* What rows are rotated to, if not to their positions. */
static const int64_t *positions;

static void rotate(const fovea_rotary *rotary, float *heads, int64_t count) {
  fovea_rotation rotation;
  fovea_rotation_init(&rotation, BATCH, count, LENGTH, DIM, heads, heads);
  rotation.from_strides = rotation.to_strides = fovea_strides_rows_before_heads(LENGTH, count, DIM);
  rotation.positions = positions;
  assert_int_equal(fovea_rotary_apply(rotary, &rotation, NULL, NULL), FOVEA_OK);
}

static void make_rotary(fovea_rotary *rotary) {
  fovea_rotary_init(rotary, FOVEA_ROTARY_HALVES, DIM);
}

/* What the layer must give, step by step. */
static void compute(const struct model *m, const fovea_rotary *rotary, float y[ROWS * OUT]) {
  static float q[ROWS * HEADS * DIM], k[ROWS * KV_HEADS * DIM], v[ROWS * KV_HEADS * DIM], o[ROWS * HEADS * DIM];
  fovea_problem problem = causal_problem();
  fovea_tensors tensors;
  multiply(&m->query, ROWS, x, q);
  multiply(&m->key, ROWS, x, k);
  multiply(&m->value, ROWS, x, v);
  if (rotary) {
    rotate(rotary, q, HEADS);
    rotate(rotary, k, KV_HEADS);
  }
  problem.q_strides = problem.o_strides = fovea_strides_rows_before_heads(LENGTH, HEADS, DIM);
  problem.k_strides = problem.v_strides = fovea_strides_rows_before_heads(LENGTH, KV_HEADS, DIM);
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  multiply(&m->output, ROWS, o, y);
}

static void test_single_steps(void **state) {
  (void)state;
  static float y[ROWS * OUT], expected[ROWS * OUT];
  struct model m = make_model();
  const fovea_problem problem = causal_problem();
  fovea_nn_attention_tensors tensors;
  fovea_rotary rotary;
  make_rotary(&rotary);
  fovea_nn_attention_tensors_init(&tensors, x, y);
  for (int rotated = 0; rotated < 2; rotated++) {
    m.attention.rotary = rotated ? &rotary : NULL;
    compute(&m, m.attention.rotary, expected);
    run(&m, &problem, &tensors);
    assert_memory_equal(y, expected, sizeof y);
  }
  tensors.residual = y; /* y += attention(x) */
  run(&m, &problem, &tensors);
  for (int i = 0; i < ROWS * OUT; i++) expected[i] = contract_nn_result(expected[i] + expected[i]);
  assert_memory_equal(y, expected, sizeof y);
}

/* (length, batch, dim) tensors give the same rows. */
static void test_rows_first(void **state) {
  (void)state;
  static float y[ROWS * OUT], expected[ROWS * OUT], turned[ROWS * IN];
  struct model m = make_model();
  const fovea_problem problem = causal_problem();
  fovea_nn_attention_tensors tensors;
  compute(&m, NULL, expected);
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < LENGTH; i++)
      memcpy(turned + (i * BATCH + b) * IN, x + (b * LENGTH + i) * IN, IN * sizeof(float));
  fovea_nn_attention_tensors_init(&tensors, turned, y);
  tensors.rows_first = 1;
  run(&m, &problem, &tensors);
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < LENGTH; i++)
      assert_memory_equal(y + (i * BATCH + b) * OUT, expected + (b * LENGTH + i) * OUT, OUT * sizeof(float));
}

/* A step for each token, through a cache in panels, with rotary embedding. */
static void test_token_by_token(void **state) {
  (void)state;
  static float y[ROWS * OUT], expected[ROWS * OUT], keys[BATCH * KV_HEADS * 32 * DIM], values[sizeof keys / 4];
  static float step_x[BATCH * IN], step_y[BATCH * OUT];
  struct model m = make_model();
  fovea_rotary rotary;
  fovea_pages pages;
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
  make_rotary(&rotary);
  m.attention.rotary = &rotary;
  compute(&m, &rotary, expected);
  fovea_pages_init(&pages, BATCH, 32, KV_HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  pages.k = keys;
  pages.v = values;
  for (int b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &segments[b], NULL), FOVEA_OK);
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  for (int i = 0; i < LENGTH; i++) {
    fovea_problem problem;
    fovea_nn_attention_tensors tensors;
    fovea_problem_init(&problem, BATCH, HEADS, KV_HEADS, 1, i + 1, DIM, DIM);
    problem.causal = problem.cache.segmented = 1;
    for (int b = 0; b < BATCH; b++) memcpy(step_x + b * IN, x + (b * LENGTH + i) * IN, IN * sizeof(float));
    fovea_nn_attention_tensors_init(&tensors, step_x, step_y);
    tensors.cache.sequences = sequences;
    tensors.first_position = i;
    run(&m, &problem, &tensors);
    for (int b = 0; b < BATCH; b++) memcpy(y + (b * LENGTH + i) * OUT, step_y + b * OUT, OUT * sizeof(float));
  }
  assert_memory_equal(y, expected, sizeof y);
}

/* Rows that are rotated to positions of several numbers, at once, rows first, and through a cache: in chunks, and
 * of a packed batch. Their places are not rotated by. */
static void test_rotary_positions(void **state) {
  (void)state;
  enum { AXES = 3, CHUNK = 5 };
  static float y[ROWS * OUT], expected[ROWS * OUT], turned[ROWS * IN];
  static float keys[BATCH * KV_HEADS * 32 * DIM], values[sizeof keys / 4];
  static const unsigned char axes[DIM / 2] = {0, 1, 2, 1};
  int64_t listed[AXES * ROWS], some[AXES * ROWS];
  struct generator generator = {9};
  struct model m = make_model();
  fovea_problem problem = causal_problem();
  fovea_nn_attention_tensors tensors;
  fovea_rotary rotary;
  fovea_pages pages;
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
  make_rotary(&rotary);
  rotary.axes = AXES;
  rotary.pair_axes = axes;
  m.attention.rotary = &rotary;
  for (int i = 0; i < AXES * ROWS; i++) listed[i] = generator_below(&generator, 200) - 100;
  positions = listed;
  compute(&m, &rotary, expected);
  positions = NULL;
  fovea_nn_attention_tensors_init(&tensors, x, y);
  tensors.rotary_positions = listed;
  run(&m, &problem, &tensors);
  assert_memory_equal(y, expected, sizeof y);

  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < LENGTH; i++)
      memcpy(turned + (i * BATCH + b) * IN, x + (b * LENGTH + i) * IN, IN * sizeof(float));
  tensors.x = turned;
  tensors.rows_first = 1;
  run(&m, &problem, &tensors);
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < LENGTH; i++)
      assert_memory_equal(y + (i * BATCH + b) * OUT, expected + (b * LENGTH + i) * OUT, OUT * sizeof(float));

  fovea_pages_init(&pages, BATCH, 32, KV_HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  pages.k = keys;
  pages.v = values;
  for (int b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &segments[b], NULL), FOVEA_OK);
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  for (int packed = 0; packed < 2; packed++) {
    memset(y, 0, sizeof y);
    for (int first = 0; first < LENGTH; first += CHUNK) {
      const int count = LENGTH - first < CHUNK ? LENGTH - first : CHUNK, rows = BATCH * count;
      const int32_t cumulative[] = {0, count, 2 * count};
      const int64_t lengths[] = {first + count, first + count};
      static float chunk_x[ROWS * IN], chunk_y[ROWS * OUT];
      fovea_problem_init(&problem, BATCH, HEADS, KV_HEADS, packed ? rows : count, first + count, DIM, DIM);
      problem.causal = problem.cache.segmented = 1;
      problem.cu_seqlens_q = packed ? cumulative : NULL;
      problem.kv_lens = packed ? lengths : NULL;
      for (int i = 0; i < rows; i++) {
        const int from = i / count * LENGTH + first + i % count;
        memcpy(chunk_x + i * IN, x + from * IN, IN * sizeof(float));
        for (int axis = 0; axis < AXES; axis++) some[axis * rows + i] = listed[axis * ROWS + from];
      }
      fovea_nn_attention_tensors_init(&tensors, chunk_x, chunk_y);
      tensors.cache.sequences = sequences;
      tensors.first_position = first;
      tensors.rotary_positions = some;
      run(&m, &problem, &tensors);
      for (int i = 0; i < rows; i++)
        memcpy(y + (i / count * LENGTH + first + i % count) * OUT, chunk_y + i * OUT, OUT * sizeof(float));
    }
    assert_memory_equal(y, expected, sizeof y);
  }
}

static void test_scratch(void **state) {
  (void)state;
  static float y[ROWS * OUT], expected[ROWS * OUT];
  struct model m = make_model();
  const fovea_problem problem = causal_problem();
  fovea_nn_attention_tensors tensors;
  fovea_execution execution;
  fovea_error error;
  compute(&m, NULL, expected);
  fovea_nn_attention_tensors_init(&tensors, x, y);
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch_size =
      measured(fovea_nn_attention_scratch_size(attention_of(&m), &problem, with_threads(1), measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  assert_int_equal(fovea_nn_attention_run(attention_of(&m), &problem, &tensors, &execution, &error), FOVEA_OK);
  assert_memory_equal(y, expected, sizeof y);
  execution.scratch_size--;
  assert_int_equal(fovea_nn_attention_run(attention_of(&m), &problem, &tensors, &execution, &error),
                   FOVEA_ERROR_SPACE);
  guarded_destroy(&scratch);
}

/* A layer whose y is refused leaves its caches as they were. */
static void test_caches_stay(void **state) {
  (void)state;
  static float keys[BATCH * KV_HEADS * 32 * DIM], values[sizeof keys / 4], zeros[sizeof keys / 4];
  struct model m = make_model();
  fovea_pages pages;
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_pages_init(&pages, BATCH, 32, KV_HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.k = keys;
  pages.v = values;
  for (int b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &segments[b], NULL), FOVEA_OK);
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  fovea_problem_init(&problem, BATCH, HEADS, KV_HEADS, 1, 1, DIM, DIM);
  problem.cache.segmented = 1;
  fovea_nn_attention_tensors_init(&tensors, x, NULL);
  tensors.cache.sequences = sequences;
  assert_int_equal(fovea_nn_attention_run(attention_of(&m), &problem, &tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_memory_equal(keys, zeros, sizeof keys);
  assert_memory_equal(values, zeros, sizeof values);
}

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    struct model m = make_model();                                                                                 \
    fovea_problem problem = causal_problem();                                                                      \
    fovea_nn_attention_tensors tensors;                                                                            \
    fovea_error error;                                                                                             \
    fovea_nn_attention_tensors_init(&tensors, x, y);                                                               \
    attention_of(&m);                                                                                              \
    fovea_execution e = *on_isa(NULL);                                                                             \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_attention_run(&m.attention, &problem, &tensors, &e, &error), status);                \
    assert_error_says(&error, word);                                                                               \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static float y[ROWS * OUT];
  REFUSED(m.attention.struct_size = 7, FOVEA_ERROR_ARGUMENT, "attention");
  REFUSED(tensors.struct_size++, FOVEA_ERROR_ARGUMENT, "tensors");
  REFUSED(m.attention.query = NULL, FOVEA_ERROR_ARGUMENT, "query");
  REFUSED(m.attention.key = NULL, FOVEA_ERROR_ARGUMENT, "key");
  REFUSED(m.query.out--, FOVEA_ERROR_ARGUMENT, "query.out");
  REFUSED(m.output.in++, FOVEA_ERROR_ARGUMENT, "output.in");
  REFUSED(problem.q_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "q_type");
  REFUSED(problem.o_strides.row++, FOVEA_ERROR_UNUSED, "o_strides");
  REFUSED(fovea_problem_init(&problem, BATCH, HEADS, KV_HEADS, LENGTH, 9, DIM, DIM), FOVEA_ERROR_ARGUMENT,
          "q_len: memory");
  REFUSED(tensors.memory_values = x, FOVEA_ERROR_UNUSED, "memory_values");
  REFUSED(tensors.first_position = 3, FOVEA_ERROR_UNUSED, "first_position");
  static int64_t listed[ROWS];
  fovea_rotary turning;
  make_rotary(&turning);
  REFUSED(tensors.rotary_positions = listed, FOVEA_ERROR_UNUSED, "rotary_positions is set");
  REFUSED(m.attention.rotary = &turning; tensors.rotary_positions = listed;
          tensors.first_position = 3, FOVEA_ERROR_UNUSED, "first_position: rotary_positions is not NULL");
  listed[ROWS - 1] = (INT64_C(1) << 40) + 1;
  REFUSED(m.attention.rotary = &turning;
          tensors.rotary_positions = listed, FOVEA_ERROR_ARGUMENT, "rotary_positions[25] is 1099511627777");
  REFUSED(m.attention.rotary = &turning;
          tensors.rotary_positions = (const int64_t *)(const void *)((const char *)listed + 2),
          FOVEA_ERROR_ARGUMENT, "rotary_positions");
  REFUSED(tensors.cache.layer = 1, FOVEA_ERROR_UNUSED, "cache.layer");
  REFUSED(m.attention.bias_key = x, FOVEA_ERROR_ARGUMENT, "bias_value");
  REFUSED(m.attention.bias_key = m.attention.bias_value = x;
          problem.window_left = 3, FOVEA_ERROR_UNUSED, "bias_key: window");
  REFUSED(tensors.x = NULL, FOVEA_ERROR_ARGUMENT, "x");
  REFUSED(m.key.in--, FOVEA_ERROR_ARGUMENT, "key.in");
  REFUSED(m.value.in--, FOVEA_ERROR_ARGUMENT, "value.in");
  REFUSED(fovea_problem_init(&problem, BATCH, HEADS, KV_HEADS, 0, 0, DIM, DIM);
          e.isa = "abacus", FOVEA_ERROR_ARGUMENT, "isa: abacus");
  REFUSED(m.key.weights = NULL, FOVEA_ERROR_ARGUMENT, "key.weights is NULL");
  REFUSED(m.value.weight_stride = INT64_MAX, FOVEA_ERROR_ARGUMENT, "value.weight_stride is 9223372036854775807");
  REFUSED(m.output.activation = (fovea_nn_activation)99, FOVEA_ERROR_ARGUMENT, "output.activation is 99");
  REFUSED(m.query.struct_size = 3, FOVEA_ERROR_ARGUMENT, "query.struct_size is 3");
  REFUSED(m.query.out = -4, FOVEA_ERROR_ARGUMENT, "query.out is -4");
  REFUSED(problem.batch = INT64_C(1) << 47, FOVEA_ERROR_ARGUMENT, "batch");
  REFUSED(problem.batch = 0, FOVEA_ERROR_ARGUMENT, "batch");
  REFUSED(tensors.memory_type = FOVEA_BF16, FOVEA_ERROR_UNUSED, "memory_type");
  REFUSED(tensors.residual_stride = OUT, FOVEA_ERROR_UNUSED, "residual_stride");
  REFUSED(tensors.rows_first = 2, FOVEA_ERROR_ARGUMENT, "rows_first");
  const int32_t cumulative[BATCH + 1] = {0, 4, LENGTH};
  REFUSED(problem.cu_seqlens_q = cumulative, FOVEA_ERROR_ARGUMENT, "cu_seqlens_kv");
  REFUSED(m.attention.bias_key = m.attention.bias_value = x;
          problem.offset = -2, FOVEA_ERROR_UNUSED, "bias_key: causal");
  REFUSED(tensors.mask = x, FOVEA_ERROR_UNUSED, "mask");
  REFUSED(fovea_problem_init(&problem, BATCH, 6, KV_HEADS, LENGTH, LENGTH, DIM, DIM), FOVEA_ERROR_ARGUMENT,
          "query.out");
}

/* ---- torch.nn.MultiheadAttention ---- */

static const float *numbers_of(const struct test_case *test, const char *name) {
  const struct array *array = case_input(test, name);
  return array ? array->data : NULL;
}

/* In PyTorch's boolean masks, true hides a key. */
static void use_mask(const struct array *mask, int padding, fovea_problem *problem,
                     fovea_nn_attention_tensors *tensors, unsigned char *seen) {
  const int64_t rows = padding ? 1 : mask->shape[0], keys = mask->shape[1];
  problem->mask.type = mask->element == ELEMENT_BOOL ? FOVEA_MASK_BOOL : FOVEA_MASK_F32;
  problem->mask.strides = fovea_mask_layout(problem->mask.type, padding ? mask->shape[0] : 1, 1, rows, keys);
  tensors->mask = mask->data;
  if (mask->element != ELEMENT_BOOL) return;
  for (int64_t i = 0; i < mask->count; i++) seen[i] = !((const unsigned char *)mask->data)[i];
  tensors->mask = seen;
}

/* PyTorch appends the key of the bias, which is the first here. */
static void check_torch_weights(const struct test_case *test, const float *scores, int with_bias) {
  const struct array *weights = case_output(test, "weights");
  const int64_t keys = weights->shape[weights->rank - 1], rows = weights->count / keys;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < keys; j++) {
      const double expected = ((const double *)weights->data)[i * keys + j];
      const float actual = scores[i * keys + (with_bias ? (j + 1) % keys : j)];
      if (!(fabs((double)actual - expected) <= 3e-7))
        fail_msg("%s: weight %d of row %d: %g, not %g", test->name, (int)j, (int)i, (double)actual, expected);
    }
}

static void check_torch(const struct test_case *test) {
  const struct array *query = case_input(test, "query"), *key = case_input(test, "key");
  const struct array *mask = case_input(test, "attn_mask"), *padding = case_input(test, "key_padding_mask");
  const struct array *y = case_output(test, "y");
  const int64_t width = query->shape[2], heads = (int64_t)case_number(test, "num_heads", 1);
  const float *weight = numbers_of(test, "in_proj_weight"), *bias = numbers_of(test, "in_proj_bias");
  static unsigned char seen[4096];
  static float scores[1 << 14];
  struct model m;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  float *out = malloc((size_t)y->count * sizeof *out);
  assert_non_null(out);
  fovea_nn_linear_init(&m.query, width, width, weight);
  fovea_nn_linear_init(&m.key, width, width, weight + width * width);
  fovea_nn_linear_init(&m.value, width, width, weight + 2 * width * width);
  fovea_nn_linear_init(&m.output, width, width, numbers_of(test, "out_proj_weight"));
  m.query.bias = bias;
  m.key.bias = bias ? bias + width : NULL;
  m.value.bias = bias ? bias + 2 * width : NULL;
  m.output.bias = numbers_of(test, "out_proj_bias");
  fovea_nn_attention_init(&m.attention, NULL, NULL, NULL, NULL);
  m.attention.bias_key = numbers_of(test, "bias_k");
  m.attention.bias_value = numbers_of(test, "bias_v");
  fovea_problem_init(&problem, query->shape[0], heads, heads, query->shape[1], key->shape[1], width / heads,
                     width / heads);
  if (case_number(test, "add_zero_attn", 0) != 0) problem.sink = FOVEA_SINK_ZERO;
  fovea_nn_attention_tensors_init(&tensors, query->data, out);
  tensors.memory = key->data;
  tensors.memory_values = numbers_of(test, "value");
  if (mask) use_mask(mask, 0, &problem, &tensors, seen);
  if (padding) use_mask(padding, 1, &problem, &tensors, seen);
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  m.attention.average_scores = case_output(test, "weights")->rank == 3;
  tensors.scores = scores;
  run(&m, &problem, &tensors);
  check_torch_weights(test, scores, m.attention.bias_key != NULL);
  for (int64_t i = 0; i < y->count; i++) {
    const double expected = ((const double *)y->data)[i];
    if (!(fabs((double)out[i] - expected) <= 5e-7))
      fail_msg("%s %d: %g, not %g", test->name, (int)i, (double)out[i], expected);
  }
  free(out);
}

static void test_torch(void **state) {
  (void)state;
  static const char *const names[] = {"self",      "cross",   "causal", "boolmask",
                                      "floatmask", "padding", "nobias", "bias_kv"};
  const char *directory = getenv("FOVEA_CONFORMANCE_DIR");
  char folder[1024], error[256];
  if (!directory) skip();
  snprintf(folder, sizeof folder, "%s/oracles", directory);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[64];
    struct test_case test;
    snprintf(name, sizeof name, "torch_mha_%s", names[i]);
    if (!case_read(&test, folder, name, error, sizeof error)) fail_msg("%s", error);
    check_torch(&test);
    case_free(&test);
  }
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {31};
  for (int i = 0; i < 4; i++) {
    for (size_t j = 0; j < sizeof weights[i] / sizeof(float); j++) weights[i][j] = generator_uniform(&generator);
    for (size_t j = 0; j < sizeof biases[i] / sizeof(float); j++) biases[i][j] = generator_uniform(&generator);
  }
  for (int i = 0; i < ROWS * IN; i++) x[i] = generator_uniform(&generator);
  return 0;
}

/* A size of 0 is no refusal, and a refusal says what the run would say. */
static void test_scratch_size_refused(void **state) {
  (void)state;
  static float y[ROWS * OUT];
  struct model m = make_model();
  fovea_problem problem = causal_problem();
  fovea_nn_attention_tensors tensors;
  fovea_error error, of_run;
  size_t size = 1;
  attention_of(&m);
  assert_int_equal(fovea_nn_attention_scratch_size(&m.attention, &problem, NULL, &size, NULL), FOVEA_OK);
  assert_true(size > 1);
  assert_int_equal(fovea_nn_attention_scratch_size(&m.attention, &problem, NULL, NULL, &error),
                   FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "size is NULL");
  assert_int_equal(fovea_nn_attention_scratch_size(&m.attention, &problem, with_threads(-1), &size, NULL),
                   FOVEA_ERROR_ARGUMENT);
  assert_int_equal(size, 0);
  size = 1;
  assert_int_equal(fovea_nn_attention_scratch_size(&m.attention, &problem, on_isa("abacus"), &size, &error),
                   FOVEA_ERROR_ARGUMENT);
  assert_int_equal(size, 0);
  size = 1;
  problem.batch = 0;
  fovea_nn_attention_tensors_init(&tensors, x, y);
  const fovea_status status = fovea_nn_attention_run(&m.attention, &problem, &tensors, NULL, &of_run);
  assert_int_equal(fovea_nn_attention_scratch_size(&m.attention, &problem, NULL, &size, &error), status);
  assert_string_equal(error.text, of_run.text);
  assert_int_equal(size, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_single_steps),
      cmocka_unit_test(test_rows_first),
      cmocka_unit_test(test_token_by_token),
      cmocka_unit_test(test_rotary_positions),
      cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_caches_stay),
      cmocka_unit_test(test_scratch_size_refused),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_torch),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
