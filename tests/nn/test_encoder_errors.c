/* What stacks of layers are refused for, without a change of caches; and what they are not refused for. */
#include "nn/stack.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/guarded.h"

#include <fovea/cache.h>
#include <stddef.h>
#include <string.h>

enum { BATCH = 2, LENGTH = 7, WIDTH = STACK_WIDTH, ROWS = BATCH * LENGTH, SIZE = ROWS * WIDTH };
enum { SCORES = BATCH * STACK_HEADS * LENGTH * LENGTH, CACHE = STACK_LAYERS * BATCH * LENGTH * WIDTH };

static const int32_t ids[ROWS] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
static const int32_t types[ROWS] = {0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1};
static float x[SIZE];
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

static void run(const fovea_nn_encoder_rows *rows) {
  fovea_error error;
  if (fovea_nn_encoder_run(&stack.encoder, rows, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

static void make_kind(int kind) {
  (void)kind;
  stack_create(&stack, STACK_LAYERS, 0, 0, 7);
}

/* ---- Refusals ---- */

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    fovea_nn_encoder_rows rows;                                                                                    \
    struct over over;                                                                                              \
    fovea_error error;                                                                                             \
    make_kind(0);                                                                                                  \
    make_over(&over, BATCH, LENGTH);                                                                               \
    fovea_nn_encoder_rows_init(&rows, &over.attending, ids, y);                                                    \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, NULL, &error), status);                           \
    assert_error_says(&error, word);                                                                               \
    assert_memory_equal(y, zeros, sizeof zeros);                                                                   \
  } while (0)

static float *weights_of(const void *weights) {
  return (float *)(uintptr_t)weights;
}

static void test_refused(void **state) {
  (void)state;
  static float y[SIZE], zeros[SIZE];
  const int32_t wrong[ROWS] = {0, 1, STACK_VOCABULARY};
  const int64_t firsts[BATCH] = {0, 1};
  unsigned char mask[1] = {1};
  fovea_nn_linear narrow;
  fovea_nn_encoder *e = &stack.encoder;
  REFUSED(e->struct_size--, FOVEA_ERROR_ARGUMENT, "encoder.struct_size");
  REFUSED(rows.struct_size++, FOVEA_ERROR_ARGUMENT, "rows.struct_size");
  REFUSED(e->blocks = NULL, FOVEA_ERROR_ARGUMENT, "blocks");
  REFUSED(e->count = 0, FOVEA_ERROR_ARGUMENT, "encoder.count");
  REFUSED(e->block_size = 8, FOVEA_ERROR_ARGUMENT, "block_size");
  REFUSED(e->embedding = NULL, FOVEA_ERROR_ARGUMENT, "embedding");
  REFUSED(stack.layers[2].block.struct_size = 7, FOVEA_ERROR_ARGUMENT, "blocks[2].struct_size");
  REFUSED(stack.layers[1].block.up = NULL, FOVEA_ERROR_ARGUMENT, "blocks[1].up is NULL");
  REFUSED(stack.layers[0].block.self = NULL, FOVEA_ERROR_ARGUMENT, "blocks[0].self is NULL");
  REFUSED(stack.layers[2].block.self = NULL, FOVEA_ERROR_ARGUMENT, "blocks[2].self is NULL");
  REFUSED(stack.layers[2].block.norm_first = 2, FOVEA_ERROR_ARGUMENT, "blocks[2].norm_first is 2");
  REFUSED(stack.layers[1].norms[0].eps = -1, FOVEA_ERROR_ARGUMENT, "blocks[1].self_norm.eps");
  REFUSED(stack.layers[1].self[1].in--, FOVEA_ERROR_ARGUMENT, "blocks[1].self.key.in");
  REFUSED(stack.layers[2].self[2].out--, FOVEA_ERROR_ARGUMENT, "blocks[2].self.value.out");
  REFUSED(stack.final_norm.dim++, FOVEA_ERROR_ARGUMENT, "final_norm.dim");
  REFUSED(stack.embedding.dim++, FOVEA_ERROR_ARGUMENT, "embedding.dim");
  REFUSED(rows.self = NULL, FOVEA_ERROR_ARGUMENT, "self");
  REFUSED(over.attending.problem = NULL, FOVEA_ERROR_ARGUMENT, "self: problem");
  REFUSED(rows.cross = &over.attending, FOVEA_ERROR_UNUSED, "blocks[0].cross is set");
  REFUSED(rows.y = NULL, FOVEA_ERROR_ARGUMENT, "y");
  REFUSED(rows.y = stack.positions, FOVEA_ERROR_ARGUMENT, "y shares memory with positions");
  REFUSED(rows.ids = NULL, FOVEA_ERROR_ARGUMENT, "ids");
  REFUSED(rows.ids = wrong, FOVEA_ERROR_ARGUMENT, "ids[2] is 11");
  REFUSED(rows.id_type = 2, FOVEA_ERROR_ARGUMENT, "id_type");
  REFUSED(rows.x = x, FOVEA_ERROR_UNUSED, "ids");
  REFUSED(stack.embedding.tokens.stride = INT64_MAX, FOVEA_ERROR_ARGUMENT, "tokens.stride is 9223372036854775807");
  REFUSED(stack.embedding.positions.type = (fovea_type)7, FOVEA_ERROR_ARGUMENT, "positions.type is 7");
  REFUSED(stack.embedding.tokens.data = (const char *)x + 1, FOVEA_ERROR_ARGUMENT, "tokens.data is 1 bytes");
  REFUSED(rows.x = x; rows.ids = NULL; rows.position_ids = ids, FOVEA_ERROR_UNUSED, "position_ids");
  REFUSED(rows.x = y + 1; rows.ids = NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with x");
  REFUSED(rows.token_type_ids = types, FOVEA_ERROR_UNUSED, "token_type_ids");
  REFUSED(stack.embedding.positions.count = LENGTH - 1, FOVEA_ERROR_ARGUMENT,
          "first_position: batch element 0 has 7 rows");
  REFUSED(rows.position_ids = types; over.tensors.first_positions = firsts, FOVEA_ERROR_UNUSED, "first_positions");
  REFUSED(over.tensors.first_position = 1;
          over.tensors.first_positions = firsts, FOVEA_ERROR_UNUSED, "first_position");
  REFUSED(stack.final_norm.struct_size--, FOVEA_ERROR_ARGUMENT, "final_norm.struct_size");
  REFUSED(rows.y = weights_of(stack.layers[0].up.weights), FOVEA_ERROR_ARGUMENT,
          "blocks[0].y shares memory with weights");
  REFUSED(rows.y = weights_of(stack.layers[2].self[1].bias), FOVEA_ERROR_ARGUMENT,
          "blocks[2].y shares memory with bias");
  REFUSED(rows.y = weights_of(stack.layers[1].norms[0].gamma), FOVEA_ERROR_ARGUMENT, "blocks[1].y shares memory");
  fovea_rotary turning;
  fovea_rotary_init(&turning, FOVEA_ROTARY_HALVES, STACK_DIM);
  turning.cosines = turning.sines = y;
  turning.table_rows = LENGTH;
  REFUSED(stack.layers[1].self_attention.rotary = &turning, FOVEA_ERROR_ARGUMENT,
          "blocks[1].y shares memory with cosines");
  REFUSED(over.tensors.cache.layer = 1, FOVEA_ERROR_UNUSED, "cache.layer");
  REFUSED(over.tensors.mask = mask, FOVEA_ERROR_UNUSED, "blocks[0].self.mask is not NULL");
  REFUSED(over.problem.batch = 0, FOVEA_ERROR_ARGUMENT, "batch");
  REFUSED(over.problem.causal = 2, FOVEA_ERROR_ARGUMENT, "causal");
  REFUSED(narrow = stack.layers[1].self[0]; narrow.in = 20; narrow.weight_stride = 20;
          stack.layers[1].self_attention.query = &narrow, FOVEA_ERROR_ARGUMENT, "blocks[1].self.output.out");
}

/* ---- Caches ---- */

static float caches[2][CACHE], memory[SIZE + 1];
static fovea_rotary rotary;

/* A step of a decoder: one row of each batch element, whose layers append it to their caches. */
struct step {
  struct over self, cross;
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
  fovea_nn_encoder_rows rows;
};

static void make_step(struct step *step, float *y) {
  fovea_pages pages;
  stack_create(&stack, STACK_LAYERS, 1, 0, 7);
  memset(caches, 0, sizeof caches);
  fovea_pages_init(&pages, BATCH, LENGTH, STACK_HEADS, STACK_DIM, STACK_DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.layers = STACK_LAYERS;
  pages.k = caches[0];
  pages.v = caches[1];
  make_over(&step->self, BATCH, 1);
  make_over(&step->cross, BATCH, 1);
  for (int b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &step->segments[b], NULL), FOVEA_OK);
    step->sequences[b] = fovea_sequence_of(&step->segments[b], 1);
  }
  step->self.problem.cache.segmented = 1;
  step->self.tensors.cache.sequences = step->sequences;
  fovea_problem_init(&step->cross.problem, BATCH, STACK_HEADS, STACK_HEADS, 1, LENGTH, STACK_DIM, STACK_DIM);
  step->cross.tensors.memory = memory;
  fovea_nn_encoder_rows_init(&step->rows, &step->self.attending, ids, y);
  step->rows.cross = &step->cross.attending;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, STACK_DIM);
}

#define STEP_REFUSED(change, status, word)                                                                         \
  do {                                                                                                             \
    struct step step;                                                                                              \
    fovea_error error;                                                                                             \
    fovea_execution e = *on_isa(NULL);                                                                             \
    make_step(&step, y);                                                                                           \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &step.rows, &e, &error), status);                        \
    assert_error_says(&error, word);                                                                               \
    assert_memory_equal(y, zeros, sizeof zeros);                                                                   \
    for (int i = 0; i < 2; i++)                                                                                    \
      for (int j = 0; j < CACHE; j++) assert_true(caches[i][j] == 0.0f);                                           \
  } while (0)

static void test_caches_stay(void **state) {
  (void)state;
  static float y[BATCH * WIDTH], zeros[BATCH * WIDTH], table[STACK_DIM];
  struct step good;
  make_step(&good, y);
  run(&good.rows);
  assert_memory_not_equal(caches[0], zeros, sizeof zeros);
  memset(y, 0, sizeof y);
  /* Which layer finds an error of the call says nothing. */
  STEP_REFUSED(e.isa = "nonsense", FOVEA_ERROR_ARGUMENT, "isa: nonsense");
  fovea_error error;
  struct step step;
  make_step(&step, y);
  assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &step.rows, on_isa("nonsense"), &error),
                   FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.field, "isa");
  STEP_REFUSED(stack.final_norm.eps = -1, FOVEA_ERROR_ARGUMENT, "final_norm.eps");
  STEP_REFUSED(rotary.dims = 64; stack.layers[1].self_attention.rotary = &rotary, FOVEA_ERROR_ARGUMENT,
                                 "blocks[1].self.rotary.dims is 64");
  STEP_REFUSED(rotary.cosines = rotary.sines = table; rotary.table_rows = 2;
               stack.layers[2].self_attention.rotary = &rotary;
               step.self.tensors.first_position = 2, FOVEA_ERROR_ARGUMENT,
               "blocks[2].self.first_position is 2, and batch element 0 has 1 rows");
  STEP_REFUSED(rotary.cosines = rotary.sines = table; rotary.table_rows = 2;
               stack.layers[0].cross_attention.rotary = &rotary, FOVEA_ERROR_ARGUMENT,
               "blocks[0].cross.first_position: has 7 rows");
  STEP_REFUSED(step.cross.tensors.memory = (char *)memory + 1, FOVEA_ERROR_ARGUMENT, "blocks[0].cross.memory");
  STEP_REFUSED(step.cross.tensors.memory = NULL, FOVEA_ERROR_ARGUMENT, "blocks[0].cross.q_len: memory is NULL");
  STEP_REFUSED(step.cross.tensors.memory = NULL; step.cross.problem.kv_len = 1;
               fovea_problem_init(&step.cross.problem, BATCH, STACK_HEADS, STACK_HEADS, 1, 1, STACK_DIM, STACK_DIM),
               FOVEA_ERROR_ARGUMENT, "blocks[0].cross.tensors.memory is NULL");
}

/* A block alone. */
static void test_caches_of_a_block_stay(void **state) {
  (void)state;
  static float y[BATCH * WIDTH], zeros[BATCH * WIDTH];
  struct step step;
  make_step(&step, y);
  const fovea_nn_block *block = &stack.layers[0].block;
  assert_int_equal(fovea_nn_block_run(block, step.rows.self, step.rows.cross, x, y, on_isa("nonsense"), NULL),
                   FOVEA_ERROR_ARGUMENT);
  make_step(&step, y);
  assert_int_equal(fovea_nn_block_run(block, step.rows.self, step.rows.cross, x, NULL, NULL, NULL),
                   FOVEA_ERROR_ARGUMENT);
  step.cross.tensors.memory = NULL;
  fovea_problem_init(&step.cross.problem, BATCH, STACK_HEADS, STACK_HEADS, 1, 1, STACK_DIM, STACK_DIM);
  assert_int_equal(fovea_nn_block_run(block, step.rows.self, step.rows.cross, x, y, NULL, NULL),
                   FOVEA_ERROR_ARGUMENT);
  assert_memory_equal(y, zeros, sizeof y);
  for (int j = 0; j < CACHE; j++) assert_true(caches[0][j] == 0.0f && caches[1][j] == 0.0f);

  /* Which attention is wrong. */
  fovea_error error;
  const unsigned char mask = 1;
  make_step(&step, y);
  step.cross.tensors.mask = &mask;
  assert_int_equal(fovea_nn_block_run(block, step.rows.self, step.rows.cross, x, y, NULL, &error),
                   FOVEA_ERROR_UNUSED);
  assert_string_equal(error.field, "cross.mask");
  make_step(&step, y);
  step.self.tensors.mask = &mask;
  assert_int_equal(fovea_nn_block_run(block, step.rows.self, step.rows.cross, x, y, NULL, &error),
                   FOVEA_ERROR_UNUSED);
  assert_string_equal(error.field, "self.mask");
}

/* ---- Problems at the end of memory ---- */

/* A copy before a page that cannot be read. */
static fovea_problem *at_end_of_memory(const struct guarded *place, const fovea_problem *problem) {
  const size_t size = place->size;
  memcpy(place->data, problem, size);
  memcpy(place->data, &size, sizeof size);
  return (fovea_problem *)(void *)place->data;
}

static void test_end_of_memory(void **state) {
  (void)state;
  static float y[SIZE], expected[SIZE];
  const struct guarded places[2] = {guarded_create(sizeof(fovea_problem), GUARD_AT_END),
                                    guarded_create(sizeof(fovea_problem), GUARD_AT_END)};
  struct over self, cross;
  fovea_nn_encoder_rows rows;
  stack_create(&stack, STACK_LAYERS, 1, 0, 7);
  make_over(&self, BATCH, LENGTH);
  make_over(&cross, BATCH, LENGTH);
  cross.tensors.memory = memory;
  fovea_nn_encoder_rows_init(&rows, &self.attending, ids, expected);
  rows.cross = &cross.attending;
  run(&rows);
  rows.y = y;
  self.attending.problem = at_end_of_memory(&places[0], &self.problem);
  cross.attending.problem = at_end_of_memory(&places[1], &cross.problem);
  run(&rows);
  assert_memory_equal(y, expected, sizeof y);
  for (int i = 0; i < 2; i++) guarded_destroy((struct guarded *)(uintptr_t)&places[i]);
}

/* ---- Positions ---- */

/* Positions that the embedding alone takes, and positions of batch elements that have ended. */
static void test_positions(void **state) {
  (void)state;
  static float y[SIZE], expected[SIZE];
  const int64_t lengths[BATCH] = {LENGTH, 3}, firsts[BATCH] = {2, STACK_POSITIONS - 3};
  int32_t places[ROWS] = {0};
  fovea_nn_encoder_rows rows;
  struct over over;
  for (int i = 0; i < LENGTH; i++) places[i] = 2 + i;
  for (int i = 0; i < 3; i++) places[LENGTH + i] = STACK_POSITIONS - 3 + i;
  make_kind(0);
  make_over(&over, BATCH, LENGTH);
  over.problem.q_lens = lengths;
  fovea_nn_encoder_rows_init(&rows, &over.attending, ids, expected);
  rows.position_ids = places;
  run(&rows);
  rows.position_ids = NULL;
  rows.y = y;
  over.tensors.first_positions = firsts;
  run(&rows);
  assert_memory_equal(y, expected, sizeof y);
  over.problem.q_lens = NULL;
  assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  over.tensors.first_positions = NULL;
  over.tensors.first_position = 2;
  run(&rows);
  for (int i = 0; i < ROWS; i++) places[i] = 2 + i % LENGTH;
  rows.position_ids = places;
  rows.y = expected;
  over.tensors.first_position = 0;
  run(&rows);
  assert_memory_equal(y, expected, sizeof y);
}

/* A batch element without rows has no position. */
static void test_ended(void **state) {
  (void)state;
  static float y[BATCH * WIDTH];
  const int64_t lengths[BATCH] = {1, 0}, firsts[BATCH] = {3, STACK_POSITIONS}, keys[BATCH] = {4, LENGTH};
  struct step step;
  make_step(&step, y);
  fovea_problem_init(&step.self.problem, BATCH, STACK_HEADS, STACK_HEADS, 1, LENGTH, STACK_DIM, STACK_DIM);
  step.self.problem.cache.segmented = 1;
  step.self.problem.q_lens = step.cross.problem.q_lens = lengths;
  step.self.problem.kv_lens = keys;
  step.self.tensors.first_positions = firsts;
  run(&step.rows);
}

/* ---- Scores ---- */

struct both {
  struct over self, cross;
  fovea_nn_encoder_rows rows;
};

static void make_both(struct both *both, float *self, float *cross, float *y) {
  stack_create(&stack, STACK_LAYERS, 1, 0, 7);
  make_over(&both->self, BATCH, LENGTH);
  make_over(&both->cross, BATCH, LENGTH);
  both->self.problem.scores.kind = both->cross.problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  both->self.tensors.scores = self;
  both->cross.tensors.scores = cross;
  both->cross.tensors.memory = memory;
  fovea_nn_encoder_rows_init(&both->rows, &both->self.attending, ids, y);
  both->rows.cross = &both->cross.attending;
  both->rows.self_score_layer = both->rows.cross_score_layer = SCORES;
}

#define SCORES_REFUSED(change, status, word)                                                                       \
  do {                                                                                                             \
    struct both both;                                                                                              \
    fovea_error error;                                                                                             \
    make_both(&both, scores, scores + STACK_LAYERS * SCORES, y);                                                   \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &both.rows, NULL, &error), status);                      \
    assert_error_says(&error, word);                                                                               \
  } while (0)

static void test_scores_refused(void **state) {
  (void)state;
  static float scores[2 * STACK_LAYERS * SCORES + 1], y[SIZE];
  SCORES_REFUSED(both.rows.cross_score_layer = 1, FOVEA_ERROR_ARGUMENT, "cross_score_layer is 1");
  SCORES_REFUSED(both.rows.self_score_layer = -(SCORES - 1);
                 both.self.tensors.scores = scores + 2 * SCORES, FOVEA_ERROR_ARGUMENT, "self_score_layer");
  SCORES_REFUSED(both.rows.cross_score_layer = INT64_C(1) << 57, FOVEA_ERROR_ARGUMENT, "cross_score_layer: 2^57");
  SCORES_REFUSED(both.cross.tensors.scores = scores, FOVEA_ERROR_ARGUMENT,
                 "self.tensors.scores shares memory with cross.tensors.scores");
  SCORES_REFUSED(both.cross.tensors.scores = scores + STACK_LAYERS * SCORES - 1, FOVEA_ERROR_ARGUMENT,
                 "self.tensors.scores shares memory with cross.tensors.scores");
  SCORES_REFUSED(both.rows.y = scores + 5 * SCORES, FOVEA_ERROR_ARGUMENT, "scores shares memory with y");
  SCORES_REFUSED(both.self.tensors.scores = stack.positions, FOVEA_ERROR_ARGUMENT, "scores");
  SCORES_REFUSED(both.self.tensors.scores = weights_of(stack.layers[2].down.weights), FOVEA_ERROR_ARGUMENT,
                 "scores: weights");
  SCORES_REFUSED(both.rows.x = scores + 5 * SCORES;
                 both.rows.ids = NULL, FOVEA_ERROR_ARGUMENT, "scores shares memory with x");
  SCORES_REFUSED(stack.layers[1].self_attention.average_scores = 1;
                 both.rows.self_score_layer = LENGTH * LENGTH, FOVEA_ERROR_ARGUMENT, "self_score_layer");
}

/* In the caller's scratch. */
static void test_scores_in_scratch(void **state) {
  (void)state;
  static _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char scratch[1 << 20];
  static float scores[STACK_LAYERS * SCORES], y[SIZE];
  struct both both;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.scratch = scratch;
  execution.scratch_size = sizeof scratch;
  execution.threads = 1;
  for (int kind = 0; kind < 4; kind++) {
    float *inside = (float *)(void *)(scratch + (kind % 2 ? sizeof scratch / 2 : 0));
    make_both(&both, kind < 2 ? inside : scores, kind < 2 ? scores : inside, y);
    assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &both.rows, &execution, NULL), FOVEA_ERROR_ARGUMENT);
  }
}

/* Layers may be any axis of the scores, and self and cross may take turns. */
static void test_score_layouts(void **state) {
  (void)state;
  enum { INNER = LENGTH * STACK_LAYERS };
  static float plain[2 * STACK_LAYERS * SCORES], turns[2 * STACK_LAYERS * SCORES], y[SIZE];
  struct both both;
  make_both(&both, plain, plain + STACK_LAYERS * SCORES, y);
  run(&both.rows);
  both.self.tensors.scores = turns;
  both.cross.tensors.scores = turns + SCORES;
  both.rows.self_score_layer = both.rows.cross_score_layer = 2 * SCORES;
  run(&both.rows);
  for (int i = 0; i < STACK_LAYERS; i++) {
    assert_memory_equal(turns + 2 * i * SCORES, plain + i * SCORES, SCORES * sizeof *plain);
    assert_memory_equal(turns + (2 * i + 1) * SCORES, plain + (STACK_LAYERS + i) * SCORES, SCORES * sizeof *plain);
  }
  const fovea_strides strides = {2 * STACK_HEADS * LENGTH * INNER, LENGTH * INNER, INNER};
  both.self.problem.scores.strides = both.cross.problem.scores.strides = strides;
  both.cross.tensors.scores = turns + STACK_HEADS * LENGTH * INNER; /* each after the scores of self */
  both.rows.self_score_layer = both.rows.cross_score_layer = LENGTH;
  run(&both.rows);
  for (int i = 0; i < STACK_LAYERS; i++)
    for (int b = 0; b < BATCH; b++)
      assert_memory_equal(turns + 2 * b * STACK_HEADS * LENGTH * INNER + i * LENGTH,
                          plain + i * SCORES + b * STACK_HEADS * LENGTH * LENGTH, LENGTH * sizeof *plain);
}

static int set_up(void **state) {
  (void)state;
  for (uint32_t i = 0; i < SIZE; i++) x[i] = stack_number(100000 + i);
  for (uint32_t i = 0; i < SIZE; i++) memory[i] = stack_number(300000 + i);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),        cmocka_unit_test(test_caches_stay),
      cmocka_unit_test(test_end_of_memory),  cmocka_unit_test(test_caches_of_a_block_stay),
      cmocka_unit_test(test_positions),      cmocka_unit_test(test_ended),
      cmocka_unit_test(test_scores_refused), cmocka_unit_test(test_scores_in_scratch),
      cmocka_unit_test(test_score_layouts),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
