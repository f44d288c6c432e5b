/* Scores of a layer of attention as an output: the scores of the core call, and their average over heads. */
#include "nn/contract_nn.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/generator.h"
#include "support/trial.h"

#include <fovea/nn.h>

#include <math.h>
#include <string.h>

enum { BATCH = 2, ROWS = 11, KEYS = 21, IN = 20, HEADS = 6, KV_HEADS = 2, DIM = 8, OUT = 12 };
enum { ALL_KEYS = KEYS + 1, NUMBERS = BATCH * HEADS * ROWS * ALL_KEYS };

static float weights[4][HEADS * DIM * 64], x[BATCH * ROWS * IN], memory[BATCH * KEYS * IN], extra[HEADS * DIM];

struct model {
  fovea_nn_linear query, key, value, output;
  fovea_nn_attention attention;
};

static void make_model(struct model *m) {
  fovea_nn_linear_init(&m->query, IN, HEADS * DIM, weights[0]);
  fovea_nn_linear_init(&m->key, IN, KV_HEADS * DIM, weights[1]);
  fovea_nn_linear_init(&m->value, IN, KV_HEADS * DIM, weights[2]);
  fovea_nn_linear_init(&m->output, HEADS * DIM, OUT, weights[3]);
  fovea_nn_attention_init(&m->attention, &m->query, &m->key, &m->value, &m->output);
}

static fovea_problem make_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, KV_HEADS, ROWS, KEYS, DIM, DIM);
  problem.causal = 1;
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  return problem;
}

static void multiply(const fovea_nn_linear *linear, int64_t rows, const float *from, float *to) {
  fovea_nn_linear_rows call;
  fovea_nn_linear_rows_init(&call, linear, rows, from, to);
  assert_int_equal(fovea_nn_linear_run(linear, &call, NULL, NULL), FOVEA_OK);
}

/* The core call on projections by single calls. */
static void attend(const struct model *m, float *scores) {
  static float q[BATCH * ROWS * HEADS * DIM], k[BATCH * KEYS * KV_HEADS * DIM], v[BATCH * KEYS * KV_HEADS * DIM],
      o[BATCH * ROWS * HEADS * DIM];
  fovea_problem problem = make_problem();
  fovea_tensors tensors;
  multiply(&m->query, BATCH * ROWS, x, q);
  multiply(&m->key, BATCH * KEYS, memory, k);
  multiply(&m->value, BATCH * KEYS, memory, v);
  problem.q_strides = problem.o_strides = fovea_strides_rows_before_heads(ROWS, HEADS, DIM);
  problem.k_strides = problem.v_strides = fovea_strides_rows_before_heads(KEYS, KV_HEADS, DIM);
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  tensors.scores = scores;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
}

static void run(const struct model *m, const fovea_problem *problem, const fovea_nn_attention_tensors *tensors,
                const fovea_execution *execution) {
  fovea_error error;
  if (fovea_nn_attention_run(&m->attention, problem, tensors, execution, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
}

/* The average of all heads, (batch, rows, keys). */
static void average(const float *scores, int64_t keys, float *to) {
  const int64_t head = ROWS * keys;
  for (int64_t b = 0; b < BATCH; b++)
    for (int64_t i = 0; i < head; i++) {
      float sum = scores[b * HEADS * head + i];
      for (int64_t h = 1; h < HEADS; h++) sum += scores[(b * HEADS + h) * head + i];
      to[b * head + i] = contract_nn_result(sum / (float)HEADS);
    }
}

static void test_core_scores(void **state) {
  (void)state;
  static float scores[NUMBERS], expected[NUMBERS], averages[NUMBERS], y[BATCH * ROWS * OUT],
      without[BATCH * ROWS * OUT];
  const size_t size = BATCH * HEADS * ROWS * KEYS * sizeof(float);
  const char *const *isas = usable_isas();
  struct model m;
  make_model(&m);
  attend(&m, expected);
  average(expected, KEYS, averages);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    fovea_problem problem = make_problem();
    fovea_nn_attention_tensors tensors;
    if (strchr(isas[isa], '_') != NULL) continue; /* tables of pairs */
    fovea_nn_attention_tensors_init(&tensors, x, y);
    tensors.memory = memory;
    tensors.scores = scores;
    m.attention.average_scores = 0;
    run(&m, &problem, &tensors, on_isa(isas[isa]));
    assert_memory_equal(scores, expected, size);
    m.attention.average_scores = 1;
    memset(scores, 0xff, sizeof scores);
    run(&m, &problem, &tensors, on_isa(isas[isa]));
    assert_memory_equal(scores, averages, size / HEADS);
    assert_int_equal(((unsigned char *)scores)[size / HEADS], 0xff);
    problem.scores.kind = FOVEA_SCORES_NONE;
    tensors.scores = NULL;
    tensors.y = without;
    m.attention.average_scores = 0;
    run(&m, &problem, &tensors, on_isa(isas[isa]));
    assert_memory_equal(y, without, sizeof y);
  }
}

/* Strides of the caller's, in scratch of the caller's. */
static void test_strides_and_scratch(void **state) {
  (void)state;
  static float scores[BATCH * ROWS * 40], expected[NUMBERS], averages[NUMBERS], y[BATCH * ROWS * OUT];
  static _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory_of_call[1 << 20];
  struct model m;
  fovea_problem problem = make_problem();
  fovea_nn_attention_tensors tensors;
  fovea_execution execution;
  make_model(&m);
  attend(&m, expected);
  average(expected, KEYS, averages);
  m.attention.average_scores = 1;
  problem.scores.strides = (fovea_strides){40, 0, BATCH * 40};
  fovea_nn_attention_tensors_init(&tensors, x, y);
  tensors.memory = memory;
  tensors.scores = scores;
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = memory_of_call;
  execution.scratch_size =
      measured(fovea_nn_attention_scratch_size(&m.attention, &problem, with_threads(1), measured_size(), NULL));
  assert_in_range(execution.scratch_size, 1, sizeof memory_of_call);
  memset(scores, 0xff, sizeof scores);
  run(&m, &problem, &tensors, &execution);
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < ROWS; i++) {
      assert_memory_equal(scores + (i * BATCH + b) * 40, averages + (b * ROWS + i) * KEYS, KEYS * sizeof(float));
      assert_int_equal(((unsigned char *)(scores + (i * BATCH + b) * 40 + KEYS))[0], 0xff);
    }
}

/* Rows that belong to no sequence are not written; keys count from the sequence's first. */
static void test_packed(void **state) {
  (void)state;
  static const int32_t q[] = {1, 4, 9}, kv[] = {0, 6, 20};
  static float scores[ROWS * 14], heads[HEADS * ROWS * 14], y[ROWS * OUT];
  struct model m;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  make_model(&m);
  fovea_problem_init(&problem, 2, HEADS, KV_HEADS, ROWS, KEYS, DIM, DIM);
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  problem.cu_seqlens_q = q;
  problem.cu_seqlens_kv = kv;
  problem.scores.strides = (fovea_strides){0, ROWS * 14, 14};
  fovea_nn_attention_tensors_init(&tensors, x, y);
  tensors.memory = memory;
  tensors.scores = heads;
  run(&m, &problem, &tensors, NULL);
  m.attention.average_scores = 1;
  problem.scores.strides.head = 0;
  tensors.scores = scores;
  memset(scores, 0xff, sizeof scores);
  run(&m, &problem, &tensors, NULL);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < 14; j++) {
      float sum = heads[i * 14 + j];
      for (int h = 1; h < HEADS; h++) sum += heads[(h * ROWS + i) * 14 + j];
      if (i < 1 || i >= 9) {
        assert_true(isnan(scores[i * 14 + j]));
      } else {
        assert_true(scores[i * 14 + j] == sum / (float)HEADS);
        if (i < 4 && j >= 6) assert_true(scores[i * 14 + j] == 0.0f);
      }
    }
}

/* One more number in each row, and rows that sum to 1. */
static void test_bias_key(void **state) {
  (void)state;
  static float scores[NUMBERS], y[BATCH * ROWS * OUT];
  struct model m;
  fovea_problem problem = make_problem();
  fovea_nn_attention_tensors tensors;
  make_model(&m);
  m.attention.bias_key = m.attention.bias_value = extra;
  fovea_nn_attention_tensors_init(&tensors, x, y);
  tensors.memory = memory;
  tensors.scores = scores;
  for (int averaged = 0; averaged < 2; averaged++) {
    m.attention.average_scores = averaged;
    run(&m, &problem, &tensors, NULL);
    for (int row = 0; row < (averaged ? BATCH * ROWS : BATCH * HEADS * ROWS); row++) {
      double sum = 0.0;
      for (int j = 0; j < ALL_KEYS; j++) sum += (double)scores[row * ALL_KEYS + j];
      assert_true(fabs(sum - 1.0) < 30.0 * 0x1p-24);
      assert_true(scores[row * ALL_KEYS] > 0.0f);
    }
  }
}

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    fovea_problem problem = make_problem();                                                                        \
    fovea_nn_attention_tensors tensors;                                                                            \
    fovea_error error;                                                                                             \
    make_model(&m);                                                                                                \
    fovea_nn_attention_tensors_init(&tensors, x, y);                                                               \
    tensors.memory = memory;                                                                                       \
    tensors.scores = scores;                                                                                       \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_attention_run(&m.attention, &problem, &tensors, NULL, &error), status);              \
    assert_error_says(&error, word);                                                                               \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static float scores[NUMBERS], y[BATCH * ROWS * OUT];
  struct model m;
  REFUSED(tensors.scores = NULL, FOVEA_ERROR_ARGUMENT, "scores");
  REFUSED(problem.scores.kind = FOVEA_SCORES_NONE, FOVEA_ERROR_UNUSED, "scores");
  REFUSED(m.attention.average_scores = 1;
          problem.scores.heads.begin = 1, FOVEA_ERROR_UNUSED, "problem.scores.heads is set and would not be used");
  REFUSED(problem.scores.kind = FOVEA_SCORES_NONE; tensors.scores = NULL;
          m.attention.average_scores = 1, FOVEA_ERROR_UNUSED, "average_scores");
  REFUSED(m.attention.average_scores = 2, FOVEA_ERROR_ARGUMENT, "average_scores");
  REFUSED(m.attention.average_scores = 1;
          problem.scores.strides.row = KEYS - 1, FOVEA_ERROR_ARGUMENT, "scores.strides.row");
  REFUSED(problem.scores.strides.row = KEYS - 1, FOVEA_ERROR_ARGUMENT, "scores.strides.row");
}

/* Scores lie apart from all else. */
static void test_apart(void **state) {
  (void)state;
  static float scores[NUMBERS], y[BATCH * ROWS * OUT];
  static unsigned char mask[sizeof scores];
  struct model m;
  for (int averaged = 0; averaged < 2; averaged++) {
#define OVERLAPPING(change, word) REFUSED(m.attention.average_scores = averaged; change, FOVEA_ERROR_ARGUMENT, word)
    OVERLAPPING(tensors.y = scores, "scores shares memory with y");
    OVERLAPPING(tensors.y = scores + 100, "scores shares memory with y");
    OVERLAPPING(tensors.residual = tensors.y = scores, "scores shares memory with residual");
    OVERLAPPING(tensors.residual = scores, "scores shares memory with residual");
    OVERLAPPING(tensors.x = scores, "scores shares memory with x");
    OVERLAPPING(tensors.memory = scores, "scores shares memory with memory");
    OVERLAPPING(tensors.memory_values = scores, "scores shares memory with memory_values");
    OVERLAPPING(m.value.weights = scores, "scores shares memory with weights");
    OVERLAPPING(m.output.bias = scores, "scores shares memory with bias");
    OVERLAPPING(problem.mask.type = FOVEA_MASK_BOOL; tensors.mask = mask;
                tensors.scores = (float *)(void *)mask, "scores: mask");
#undef OVERLAPPING
  }
}

/* Scratch is used up to the end of the call, and holds the plan. */
static void test_apart_from_scratch(void **state) {
  (void)state;
  static float scores[NUMBERS], y[BATCH * ROWS * OUT];
  static _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char scratch[1 << 20];
  struct model m;
  fovea_problem problem = make_problem();
  fovea_nn_attention_tensors tensors;
  fovea_execution execution;
  make_model(&m);
  fovea_nn_attention_tensors_init(&tensors, x, y);
  tensors.memory = memory;
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = scratch;
  execution.scratch_size = sizeof scratch;
  for (int kind = 0; kind < 4; kind++) {
    m.attention.average_scores = kind % 2;
    tensors.scores = (float *)(void *)(scratch + (kind < 2 ? 0 : 40000));
    assert_int_equal(fovea_nn_attention_run(&m.attention, &problem, &tensors, &execution, NULL),
                     FOVEA_ERROR_ARGUMENT);
  }
  tensors.scores = scores;
  run(&m, &problem, &tensors, &execution);
}

/* Sizes whose products do not fit are no undefined behaviour. */
static void test_large_sizes(void **state) {
  (void)state;
  struct model m;
  fovea_problem problem;
  make_model(&m);
  for (int averaged = 0; averaged < 2; averaged++) {
    fovea_problem_init(&problem, 1, 32, 32, INT64_C(1) << 30, INT64_C(1) << 30, DIM, DIM);
    m.attention.average_scores = averaged;
    (void)measured(fovea_nn_attention_scratch_size(&m.attention, &problem, with_threads(1), measured_size(), NULL));
    problem.scores.kind = FOVEA_SCORES_WEIGHTS;
    assert_int_equal(
        measured(fovea_nn_attention_scratch_size(&m.attention, &problem, with_threads(1), measured_size(), NULL)),
        0);
  }
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {77};
  for (int i = 0; i < 4; i++)
    for (size_t j = 0; j < sizeof weights[i] / sizeof(float); j++) weights[i][j] = generator_uniform(&generator);
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = generator_uniform(&generator);
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) memory[i] = generator_uniform(&generator);
  for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) extra[i] = generator_uniform(&generator);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_core_scores), cmocka_unit_test(test_strides_and_scratch),
      cmocka_unit_test(test_packed),      cmocka_unit_test(test_bias_key),
      cmocka_unit_test(test_refused),     cmocka_unit_test(test_apart),
      cmocka_unit_test(test_large_sizes), cmocka_unit_test(test_apart_from_scratch),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
