/* Plans that calls make: one for each problem, whatever number of layers attends over it. */
#include "nn/coding.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/guarded.h"

#include <fovea/recurrent.h>
#include <string.h>

static int plans; /* that were made since the last count_plans() */

fovea_status __real_fovea_plan_create(const fovea_problem *problem, const fovea_execution *execution,
                                      fovea_plan **plan, fovea_error *error);
fovea_status __wrap_fovea_plan_create(const fovea_problem *problem, const fovea_execution *execution,
                                      fovea_plan **plan, fovea_error *error);
fovea_status __real_fovea_plan_create_in(const fovea_problem *problem, const fovea_execution *execution,
                                         void *memory, size_t size, fovea_plan **plan, fovea_error *error);
fovea_status __wrap_fovea_plan_create_in(const fovea_problem *problem, const fovea_execution *execution,
                                         void *memory, size_t size, fovea_plan **plan, fovea_error *error);

fovea_status __wrap_fovea_plan_create(const fovea_problem *problem, const fovea_execution *execution,
                                      fovea_plan **plan, fovea_error *error) {
  plans++;
  return __real_fovea_plan_create(problem, execution, plan, error);
}

fovea_status __wrap_fovea_plan_create_in(const fovea_problem *problem, const fovea_execution *execution,
                                         void *memory, size_t size, fovea_plan **plan, fovea_error *error) {
  plans++;
  return __real_fovea_plan_create_in(problem, execution, memory, size, plan, error);
}

static int count_plans(void) {
  const int count = plans;
  plans = 0;
  return count;
}

enum { LAYERS = 6, ROWS = BATCH * SOURCE, SIZE = ROWS * WIDTH };

static float x[SIZE], bias[2][WIDTH];
static struct stack stack;
static fovea_nn_attention attentions[LAYERS];
static fovea_nn_block blocks[LAYERS];

/* Six layers of the weights of three; layer i has a key and a value of the bias if bit i of `with_bias` is set. */
static void make_layers(unsigned with_bias) {
  stack_create(&stack, STACK_LAYERS, 0, 0, 5);
  for (int i = 0; i < LAYERS; i++) {
    blocks[i] = stack.layers[i % STACK_LAYERS].block;
    attentions[i] = *blocks[i].self;
    blocks[i].self = &attentions[i];
    if (!(with_bias >> i & 1)) continue;
    attentions[i].bias_key = bias[0];
    attentions[i].bias_value = bias[1];
  }
  stack.encoder.blocks = blocks;
  stack.encoder.block_size = sizeof blocks[0];
  stack.encoder.count = LAYERS;
  stack.encoder.final_norm = NULL;
}

struct over {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_attending attending;
};

static void make_over(struct over *over) {
  memset(over, 0, sizeof *over);
  make_problem(&over->problem, SOURCE, SOURCE);
  fovea_nn_attention_tensors_init(&over->tensors, NULL, NULL);
  over->attending = (fovea_nn_attending){&over->problem, &over->tensors};
}

/* Layer by layer. */
static void compute(const fovea_nn_attending *self, float *y) {
  memcpy(y, x, sizeof x);
  for (int i = 0; i < LAYERS; i++)
    assert_int_equal(fovea_nn_block_run(&blocks[i], self, NULL, y, y, NULL, NULL), FOVEA_OK);
}

/* Runs the stack in memory of its own and in scratch of the size that is asked for, and in one byte less. */
static void check_stack(const fovea_nn_attending *self, int expected_plans) {
  static float y[SIZE], expected[SIZE];
  fovea_nn_encoder_rows rows;
  fovea_execution execution;
  fovea_error error;
  fovea_nn_encoder_rows_init(&rows, self, NULL, y);
  fovea_execution_init(&execution);
  rows.x = x;
  compute(self, expected);
  count_plans();
  assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, NULL, NULL), FOVEA_OK);
  assert_int_equal(count_plans(), expected_plans);
  assert_memory_equal(y, expected, sizeof y);
  execution.threads = 1;
  execution.scratch_size =
      measured(fovea_nn_encoder_scratch_size(&stack.encoder, &rows, with_threads(1), measured_size(), NULL));
  assert_int_equal(count_plans(), expected_plans);
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
  execution.scratch = scratch.data;
  memset(y, 0, sizeof y);
  assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, &execution, NULL), FOVEA_OK);
  assert_int_equal(count_plans(), expected_plans);
  assert_memory_equal(y, expected, sizeof y);
  execution.scratch_size--;
  assert_int_equal(fovea_nn_encoder_run(&stack.encoder, &rows, &execution, &error), FOVEA_ERROR_SPACE);
  guarded_destroy(&scratch);
}

static void test_encoder(void **state) {
  (void)state;
  struct over over;
  make_layers(0);
  make_over(&over);
  check_stack(&over.attending, 1);
  over.problem.kv_lens = source_lengths;
  check_stack(&over.attending, 1);
}

/* A key of the bias is one more key: these layers share another plan. */
static void test_two_kinds(void **state) {
  (void)state;
  struct over over;
  make_over(&over);
  for (unsigned with_bias = 1; with_bias < 1u << LAYERS; with_bias += 7) {
    make_layers(with_bias);
    check_stack(&over.attending, with_bias == (1u << LAYERS) - 1 ? 1 : 2);
  }
}

static void test_layers(void **state) {
  (void)state;
  static float y[SIZE], memory[SIZE];
  struct over self, cross;
  make_models(0);
  make_over(&self);
  make_over(&cross);
  cross.tensors.memory = memory;
  count_plans();
  assert_int_equal(fovea_nn_block_run(&encoder.layers[0].block, &self.attending, NULL, x, y, NULL, NULL), FOVEA_OK);
  assert_int_equal(count_plans(), 1);
  assert_int_equal(
      fovea_nn_block_run(&decoder.layers[0].block, &self.attending, &cross.attending, x, y, NULL, NULL), FOVEA_OK);
  assert_int_equal(count_plans(), 2);
  self.tensors.x = x;
  self.tensors.y = y;
  assert_int_equal(
      fovea_nn_attention_run(&encoder.layers[0].self_attention, &self.problem, &self.tensors, NULL, NULL),
      FOVEA_OK);
  assert_int_equal(count_plans(), 1);
}

/* One of the source's self-attention, one of the target's, one of cross-attention. */
static void test_encoder_decoder(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT];
  struct call call;
  fovea_execution execution;
  make_models(0);
  make_call(&call, y);
  fovea_execution_init(&execution);
  count_plans();
  assert_int_equal(fovea_nn_encoder_decoder_run(&call.model, &call.source, &call.target, NULL, NULL), FOVEA_OK);
  assert_int_equal(count_plans(), 3);
  memcpy(expected, y, sizeof y);
  execution.threads = 1;
  execution.scratch_size = measured(fovea_nn_encoder_decoder_scratch_size(&call.model, &call.source, &call.target,
                                                                          with_threads(1), measured_size(), NULL));
  assert_int_equal(count_plans(), 3);
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
  execution.scratch = scratch.data;
  memset(y, 0, sizeof y);
  assert_int_equal(fovea_nn_encoder_decoder_run(&call.model, &call.source, &call.target, &execution, NULL),
                   FOVEA_OK);
  assert_int_equal(count_plans(), 3);
  assert_memory_equal(y, expected, sizeof y);
  guarded_destroy(&scratch);
}

/* Additive attention takes rows in tiles, of which the last may have a plan of its own. */
static void test_additive(void **state) {
  (void)state;
  enum { DIM = 4, KEYS = 3, MOST = 300 };
  static float queries[MOST * DIM], keys[KEYS * DIM], values[KEYS * DIM], w[DIM], o[MOST * DIM];
  static const struct {
    int64_t rows;
    int plans;
  } cases[] = {{5, 1}, {128, 1}, {256, 1}, {257, 2}, {300, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fovea_nn_additive additive;
    fovea_nn_additive_tensors tensors;
    fovea_nn_additive_init(&additive, DIM, w);
    fovea_nn_additive_tensors_init(&tensors, &additive, 1, cases[i].rows, KEYS, DIM, queries, keys, values, o);
    count_plans();
    assert_int_equal(fovea_nn_additive_run(&additive, &tensors, NULL, NULL), FOVEA_OK);
    assert_int_equal(count_plans(), cases[i].plans);
  }
}

int main(void) {
  for (int i = 0; i < SIZE; i++) x[i] = stack_number((uint32_t)i);
  for (int i = 0; i < WIDTH; i++) bias[0][i] = bias[1][i] = stack_number(9999u + (uint32_t)i);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_encoder),         cmocka_unit_test(test_two_kinds), cmocka_unit_test(test_layers),
      cmocka_unit_test(test_encoder_decoder), cmocka_unit_test(test_additive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
