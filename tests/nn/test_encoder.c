/* Stacks of layers: the bits of their steps by single calls, of a batch element alone, packed and token by token; a
 * whole encoder of PyTorch's, from ids to the final norm; scratch. */
#include "conformance/case.h"
#include "nn/stack.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/guarded.h"
#include "support/trial.h"

#include <fovea/cache.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, LENGTH = 7, WIDTH = STACK_WIDTH, ROWS = BATCH * LENGTH, SIZE = ROWS * WIDTH };

static const int32_t ids[ROWS] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
static const int32_t types[ROWS] = {0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1};
static float x[SIZE], type_table[2 * WIDTH];
static struct stack stack;

/* What a stack attends over. */
struct over {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_attending attending;
};

static void make_over(struct over *over, int64_t batch, int64_t length) {
  fovea_problem_init(&over->problem, batch, STACK_HEADS, STACK_HEADS, length, length, STACK_DIM, STACK_DIM);
  fovea_nn_attention_tensors_init(&over->tensors, NULL, NULL);
  over->attending = (fovea_nn_attending){&over->problem, &over->tensors};
}

static void run(const fovea_nn_encoder_rows *rows, const fovea_execution *execution) {
  fovea_error error;
  if (fovea_nn_encoder_run(&stack.encoder, rows, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

/* ---- Single calls ---- */

enum { FROM_X = 1, WITH_TYPES = 2, EMBEDDING_NORM = 4, NO_FINAL_NORM = 8, NORM_FIRST = 16, KINDS = 32 };

static void normalise(const fovea_nn_norm *norm, float *rows) {
  fovea_nn_norm_rows call;
  fovea_nn_norm_rows_init(&call, norm, ROWS, rows, rows);
  assert_int_equal(fovea_nn_norm_run(norm, &call, NULL, NULL), FOVEA_OK);
}

/* Batch element by batch element, so that positions count a call's rows. */
static void embed(float *y) {
  for (int b = 0; b < BATCH; b++) {
    fovea_nn_embedding_rows rows;
    fovea_nn_embedding_rows_init(&rows, &stack.embedding, LENGTH, ids + b * LENGTH, y + b * LENGTH * WIDTH);
    if (stack.embedding.token_types.data) rows.token_type_ids = types + b * LENGTH;
    assert_int_equal(fovea_nn_embed(&stack.embedding, &rows, NULL, NULL), FOVEA_OK);
  }
}

static void compute(const fovea_nn_attending *self, int from_x, float *y) {
  if (from_x) memcpy(y, x, sizeof x);
  if (!from_x) embed(y);
  if (stack.encoder.embedding_norm) normalise(stack.encoder.embedding_norm, y);
  for (int64_t i = 0; i < stack.encoder.count; i++)
    assert_int_equal(fovea_nn_block_run(&stack.layers[i].block, self, NULL, y, y, NULL, NULL), FOVEA_OK);
  if (stack.encoder.final_norm) normalise(stack.encoder.final_norm, y);
}

static void make_kind(int kind) {
  stack_create(&stack, kind & FROM_X ? 1 : STACK_LAYERS, 0, (kind & NORM_FIRST) != 0, 7);
  if (kind & WITH_TYPES) stack.embedding.token_types = (fovea_nn_table){type_table, 2, FOVEA_F32, WIDTH};
  if (kind & EMBEDDING_NORM) stack.encoder.embedding_norm = &stack.embedding_norm;
  if (kind & NO_FINAL_NORM) stack.encoder.final_norm = NULL;
}

static void test_single_calls(void **state) {
  (void)state;
  static float y[SIZE], expected[SIZE];
  struct over over;
  make_over(&over, BATCH, LENGTH);
  over.problem.causal = 1;
  for (int kind = 0; kind < KINDS; kind++) {
    fovea_nn_encoder_rows rows;
    make_kind(kind);
    compute(&over.attending, kind & FROM_X, expected);
    fovea_nn_encoder_rows_init(&rows, &over.attending, kind & FROM_X ? NULL : ids, y);
    if (kind & FROM_X) {
      memcpy(y, x, sizeof y); /* in place */
      rows.x = y;
    } else if (kind & WITH_TYPES) {
      rows.token_type_ids = types;
    }
    run(&rows, NULL);
    assert_memory_equal(y, expected, sizeof y);
  }
}

/* Rows that are rotated to other positions than their own, which the embedding takes; a layer without a rotary
 * embedding passes the list over. A stack without one refuses it. */
static void test_rotary_positions(void **state) {
  (void)state;
  static float y[SIZE], expected[SIZE];
  int64_t listed[ROWS];
  struct over over, alone;
  fovea_nn_encoder_rows rows;
  fovea_rotary rotary;
  fovea_error error;
  make_kind(NORM_FIRST);
  make_over(&over, BATCH, LENGTH);
  make_over(&alone, BATCH, LENGTH);
  over.problem.causal = alone.problem.causal = 1;
  over.tensors.rotary_positions = listed;
  for (int i = 0; i < ROWS; i++) listed[i] = 5 * i % 17 - 3;
  fovea_nn_encoder_rows_init(&rows, &over.attending, ids, y);
  assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "self.tensors.rotary_positions: no layer has a rotary embedding");
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, STACK_DIM);
  stack.layers[0].self_attention.rotary = stack.layers[2].self_attention.rotary = &rotary;
  run(&rows, NULL);
  embed(expected);
  for (int i = 0; i < STACK_LAYERS; i++) {
    alone.tensors.rotary_positions = i == 1 ? NULL : listed;
    assert_int_equal(
        fovea_nn_block_run(&stack.layers[i].block, &alone.attending, NULL, expected, expected, NULL, NULL),
        FOVEA_OK);
  }
  normalise(stack.encoder.final_norm, expected);
  assert_memory_equal(y, expected, sizeof y);
}

/* Each layer's scores, as the layers give them one by one. */
static void test_scores(void **state) {
  (void)state;
  enum { SCORES = BATCH * STACK_HEADS * LENGTH * LENGTH };
  static float y[SIZE], rows_of_layer[SIZE], scores[STACK_LAYERS][SCORES + 3], expected[SCORES];
  struct over over, alone;
  fovea_nn_encoder_rows rows;
  fovea_error error;
  make_kind(0);
  make_over(&over, BATCH, LENGTH);
  over.problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  over.tensors.scores = scores[0];
  fovea_nn_encoder_rows_init(&rows, &over.attending, ids, y);
  assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "self_score_layer is 0");
  rows.self_score_layer = SCORES + 3;
  run(&rows, NULL);
  make_over(&alone, BATCH, LENGTH);
  alone.problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  alone.tensors.scores = expected;
  embed(rows_of_layer);
  for (int i = 0; i < STACK_LAYERS; i++) {
    assert_int_equal(fovea_nn_block_run(&stack.layers[i].block, &alone.attending, NULL, rows_of_layer,
                                        rows_of_layer, NULL, NULL),
                     FOVEA_OK);
    assert_memory_equal(scores[i], expected, sizeof expected);
  }
  over.problem.scores.kind = FOVEA_SCORES_NONE;
  over.tensors.scores = NULL;
  assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "self_score_layer");
}

static void test_ids(void **state) {
  (void)state;
  static float y[SIZE], expected[SIZE];
  int64_t long_ids[ROWS], places[ROWS];
  fovea_nn_encoder_rows rows;
  struct over over;
  make_kind(0);
  make_over(&over, BATCH, LENGTH);
  compute(&over.attending, 0, expected);
  for (int i = 0; i < ROWS; i++) {
    long_ids[i] = ids[i];
    places[i] = i % LENGTH;
  }
  fovea_nn_encoder_rows_init(&rows, &over.attending, long_ids, y);
  rows.id_type = FOVEA_NN_INT64;
  run(&rows, NULL);
  assert_memory_equal(y, expected, sizeof y);
  memset(y, 0, sizeof y);
  rows.position_ids = places;
  run(&rows, NULL);
  assert_memory_equal(y, expected, sizeof y);
}

/* ---- Batch elements ---- */

/* Batch element 1 has so many rows. */
enum { SHORT = 4, PACKED = LENGTH + SHORT };

/* Rows of both batch elements alone, and the SHORT rows of the second. */
static void compute_alone(float *y) {
  for (int b = 0; b < BATCH; b++) {
    fovea_nn_encoder_rows rows;
    struct over over;
    make_over(&over, 1, b == 0 ? LENGTH : SHORT);
    fovea_nn_encoder_rows_init(&rows, &over.attending, ids + b * LENGTH, y + b * LENGTH * WIDTH);
    run(&rows, NULL);
  }
}

static void test_padded(void **state) {
  (void)state;
  static float y[SIZE], expected[PACKED * WIDTH];
  const int64_t lengths[BATCH] = {LENGTH, SHORT};
  fovea_nn_encoder_rows rows;
  struct over over;
  make_kind(EMBEDDING_NORM);
  compute_alone(expected);
  make_over(&over, BATCH, LENGTH);
  over.problem.kv_lens = lengths;
  fovea_nn_encoder_rows_init(&rows, &over.attending, ids, y);
  run(&rows, NULL);
  assert_memory_equal(y, expected, sizeof expected);
}

static void test_packed(void **state) {
  (void)state;
  static float y[PACKED * WIDTH], expected[PACKED * WIDTH];
  const int32_t ends[BATCH + 1] = {0, LENGTH, PACKED};
  fovea_nn_encoder_rows rows;
  struct over over;
  make_kind(0);
  compute_alone(expected);
  make_over(&over, BATCH, PACKED);
  over.problem.cu_seqlens_q = over.problem.cu_seqlens_kv = ends;
  fovea_nn_encoder_rows_init(&rows, &over.attending, ids, y);
  run(&rows, NULL);
  assert_memory_equal(y, expected, sizeof y);
}

static void test_rows_first(void **state) {
  (void)state;
  static float y[SIZE], expected[SIZE];
  int32_t turned[ROWS];
  fovea_nn_encoder_rows rows;
  struct over over;
  make_kind(0);
  make_over(&over, BATCH, LENGTH);
  compute(&over.attending, 0, expected);
  for (int i = 0; i < ROWS; i++) turned[i] = ids[i % BATCH * LENGTH + i / BATCH];
  over.tensors.rows_first = 1;
  fovea_nn_encoder_rows_init(&rows, &over.attending, turned, y);
  run(&rows, NULL);
  for (int i = 0; i < ROWS; i++)
    assert_memory_equal(y + i * WIDTH, expected + (i % BATCH * LENGTH + i / BATCH) * WIDTH, WIDTH * sizeof *y);
}

/* A model of a language: causal, over caches that all layers share. The second batch element is ahead by two. */
static void test_token_by_token(void **state) {
  (void)state;
  static float memory[2][STACK_LAYERS * BATCH * LENGTH * WIDTH], expected[SIZE], y[BATCH * WIDTH];
  fovea_pages pages;
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
  struct over over;
  fovea_nn_encoder_rows rows;
  make_kind(NORM_FIRST);
  make_over(&over, BATCH, LENGTH);
  over.problem.causal = 1;
  compute(&over.attending, 0, expected);
  fovea_pages_init(&pages, BATCH, LENGTH, STACK_HEADS, STACK_DIM, STACK_DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.layers = STACK_LAYERS;
  pages.k = memory[0];
  pages.v = memory[1];
  for (int b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &segments[b], NULL), FOVEA_OK);
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  const fovea_sequence second = sequences[1];
  for (int i = -2; i < LENGTH; i++) {
    const int b = i < 0 ? 1 : 0, ended = i + 2 >= LENGTH; /* which batch elements have a token at this step */
    const int64_t firsts[BATCH] = {i < 0 ? i + 2 : i, i + 2}, lengths[BATCH] = {firsts[0] + 1, firsts[1] + 1};
    const int32_t step[BATCH] = {ids[b * LENGTH + firsts[0]], ids[LENGTH + (ended ? 0 : firsts[1])]};
    const int64_t batch = i < 0 || ended ? 1 : BATCH;
    make_over(&over, batch, 1);
    fovea_problem_init(&over.problem, batch, STACK_HEADS, STACK_HEADS, 1, LENGTH, STACK_DIM, STACK_DIM);
    over.problem.causal = over.problem.cache.segmented = 1;
    over.problem.kv_lens = lengths;
    over.tensors.cache.sequences = i < 0 ? &second : sequences;
    over.tensors.first_positions = firsts;
    fovea_nn_encoder_rows_init(&rows, &over.attending, step, y);
    run(&rows, NULL);
    assert_memory_equal(y, expected + (b * LENGTH + firsts[0]) * WIDTH, WIDTH * sizeof *y);
    if (batch == BATCH) assert_memory_equal(y + WIDTH, expected + (LENGTH + firsts[1]) * WIDTH, WIDTH * sizeof *y);
  }
}

/* ---- Scratch, threads, instruction sets ---- */

static void test_everywhere(void **state) {
  (void)state;
  static float y[SIZE], expected[SIZE];
  fovea_nn_encoder_rows rows;
  fovea_execution execution;
  struct over over;
  make_kind(EMBEDDING_NORM);
  make_over(&over, BATCH, LENGTH);
  compute(&over.attending, 0, expected);
  fovea_nn_encoder_rows_init(&rows, &over.attending, ids, y);
  fovea_execution_init(&execution);
  for (const char *const *isa = whole_isas(); *isa; isa++) {
    execution.isa = *isa;
    for (execution.threads = 1; execution.threads <= 3; execution.threads++) {
      memset(y, 0, sizeof y);
      run(&rows, &execution);
      assert_memory_equal(y, expected, sizeof y);
    }
  }
}

static void *refuse_to_allocate(void *user, size_t size, size_t alignment) {
  (void)user;
  (void)alignment;
  fail_msg("%d bytes were allocated", (int)size);
  return NULL;
}

static void free_nothing(void *user, void *memory) {
  (void)user;
  (void)memory;
}

static void test_scratch(void **state) {
  (void)state;
  static float y[SIZE], expected[SIZE];
  fovea_nn_encoder_rows rows;
  fovea_execution execution;
  struct over over;
  make_kind(EMBEDDING_NORM);
  make_over(&over, BATCH, LENGTH);
  compute(&over.attending, 0, expected);
  fovea_nn_encoder_rows_init(&rows, &over.attending, ids, y);
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch_size =
      measured(fovea_nn_encoder_scratch_size(&stack.encoder, &rows, with_threads(1), measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  execution.allocator = (fovea_allocator){.allocate = refuse_to_allocate, .release = free_nothing};
  run(&rows, &execution);
  assert_memory_equal(y, expected, sizeof y);
  assert_true(guarded_slack_intact(&scratch));
  memset(y, 0, sizeof y);
  memset(expected, 0, sizeof expected);
  for (int i = 0; i < 2; i++) {
    execution.scratch_size = i == 0 ? execution.scratch_size - 1 : 64;
    assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, &execution, NULL), FOVEA_ERROR_SPACE);
  }
  assert_memory_equal(y, expected, sizeof y);
  guarded_destroy(&scratch);
}

/* ---- A walk-through of PyTorch ---- */

static const float *part(const struct test_case *test, const char *prefix, const char *name) {
  char whole[128];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  const struct array *array = case_input(test, whole);
  if (!array) fail_msg("there is no %s", whole);
  return array->data;
}

static void take_norm(fovea_nn_norm *norm, int64_t width, const float *gamma, const float *beta) {
  fovea_nn_norm_init(norm, FOVEA_NN_LAYER_NORM, width);
  norm->gamma = gamma;
  norm->beta = beta;
}

static void take_layer(const struct test_case *test, int number, int64_t width, struct stack_layer *l) {
  static const char *const names[] = {"self_attn_W_q_weight", "self_attn_W_k_weight", "self_attn_W_v_weight",
                                      "self_attn_W_o_weight"};
  const int64_t hidden = (int64_t)case_number(test, "d_ff", 0);
  char prefix[64];
  snprintf(prefix, sizeof prefix, "layers_%d_", number);
  for (int i = 0; i < 4; i++) fovea_nn_linear_init(&l->self[i], width, width, part(test, prefix, names[i]));
  fovea_nn_attention_init(&l->self_attention, &l->self[0], &l->self[1], &l->self[2], &l->self[3]);
  fovea_nn_linear_init(&l->up, width, hidden, part(test, prefix, "feed_forward_linear1_weight"));
  fovea_nn_linear_init(&l->down, hidden, width, part(test, prefix, "feed_forward_linear2_weight"));
  l->up.bias = part(test, prefix, "feed_forward_linear1_bias");
  l->down.bias = part(test, prefix, "feed_forward_linear2_bias");
  l->up.activation = FOVEA_NN_ACTIVATION_RELU;
  take_norm(&l->norms[0], width, part(test, prefix, "norm1_weight"), part(test, prefix, "norm1_bias"));
  take_norm(&l->norms[2], width, part(test, prefix, "norm2_weight"), part(test, prefix, "norm2_bias"));
  fovea_nn_block_init(&l->block, &l->self_attention, &l->norms[0], &l->up, &l->down, &l->norms[2]);
}

/* 1,000 tokens, 128 dims, 4 heads, 2 layers. Its mask is 1 for keys that are visible. */
static void test_walk_through(void **state) {
  (void)state;
  const char *directory = getenv("FOVEA_CONFORMANCE_DIR");
  static float positions[10 * 128], y[20 * 128];
  struct test_case test;
  char folder[1024], error[256];
  if (!directory) skip();
  snprintf(folder, sizeof folder, "%s/oracles", directory);
  if (!case_read(&test, folder, "seed4_transformer_encoder", error, sizeof error)) fail_msg("%s", error);
  const struct array *mask = case_input(&test, "mask"), *expected = case_output(&test, "y");
  fovea_nn_sinusoid_rows sinusoids;
  fovea_nn_encoder_rows rows;
  struct over over;
  unsigned char seen[20];
  make_kind(0);
  for (int i = 0; i < 2; i++) take_layer(&test, i, 128, &stack.layers[i]);
  take_norm(&stack.final_norm, 128, part(&test, "", "norm_weight"), part(&test, "", "norm_bias"));
  fovea_nn_sinusoid_rows_init(&sinusoids, 10, 128, positions);
  assert_int_equal(fovea_nn_sinusoids(&sinusoids, NULL, NULL), FOVEA_OK);
  fovea_nn_embedding_init(&stack.embedding, 128, 1000, part(&test, "", "embedding_weight"));
  stack.embedding.scale = sqrtf(128);
  stack.embedding.positions = (fovea_nn_table){positions, 10, FOVEA_F32, 128};
  stack.encoder.count = 2;
  make_over(&over, 2, 10);
  fovea_problem_init(&over.problem, 2, 4, 4, 10, 10, 32, 32);
  over.problem.mask.type = FOVEA_MASK_BOOL;
  over.problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, 2, 1, 1, 10);
  for (int i = 0; i < 20; i++) seen[i] = ((const float *)mask->data)[i] != 0;
  over.tensors.mask = seen;
  fovea_nn_encoder_rows_init(&rows, &over.attending, part(&test, "", "ids"), y);
  rows.id_type = FOVEA_NN_INT64;
  run(&rows, NULL);
  for (int64_t i = 0; i < expected->count; i++) {
    const double wanted = ((const double *)expected->data)[i];
    if (!(fabs((double)y[i] - wanted) <= 4e-6)) fail_msg("%d: %g, not %g", (int)i, (double)y[i], wanted);
  }
  case_free(&test);
}

static int set_up(void **state) {
  (void)state;
  for (uint32_t i = 0; i < SIZE; i++) x[i] = stack_number(100000 + i);
  for (uint32_t i = 0; i < 2 * WIDTH; i++) type_table[i] = stack_number(200000 + i);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_single_calls), cmocka_unit_test(test_rotary_positions),
      cmocka_unit_test(test_scores),       cmocka_unit_test(test_ids),
      cmocka_unit_test(test_padded),       cmocka_unit_test(test_packed),
      cmocka_unit_test(test_rows_first),   cmocka_unit_test(test_token_by_token),
      cmocka_unit_test(test_everywhere),   cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_walk_through),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
