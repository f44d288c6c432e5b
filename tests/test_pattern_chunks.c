/* One pattern for a prompt, its chunks and steps of decoding; and keys that a pattern hides. */
#include "support/check.h"
#include "support/executors.h"
#include "support/patterns.h"
#include "support/problems.h"
#include "support/trial.h"

/* ---- One pattern for a prompt, its chunks, and steps of decoding */

enum { LENGTH = 300, HEADS = 4, KV_HEADS = 2, DIM = 24 };

/* Chunks of some rows of one trial, each a call of its own: it sees the keys up to its last row. */
struct chunks {
  const struct trial *whole;
  fovea_tensors tensors;
  int64_t rows; /* of a chunk */
  fovea_status status[LENGTH];
};

static void run_chunk(void *job, int64_t task, int worker) {
  struct chunks *chunks = job;
  const int64_t first = task * chunks->rows;
  const int64_t rows = first + chunks->rows > LENGTH ? LENGTH - first : chunks->rows;
  const fovea_problem *whole = &chunks->whole->problem;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  (void)worker;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, rows, first + rows, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  fovea_execution_init(&execution);
  execution.threads = 1;
  problem.causal = 1;
  problem.q_strides = whole->q_strides;
  problem.k_strides = whole->k_strides;
  problem.v_strides = whole->v_strides;
  problem.o_strides = whole->o_strides;
  problem.lse_strides = whole->lse_strides;
  problem.pattern = whole->pattern;
  fovea_problem_set_terms(&problem, whole->terms.list, whole->terms.count);
  problem.scales = whole->scales;
  problem.normaliser.kind = whole->normaliser.kind;
  problem.normaliser.divisor = whole->normaliser.divisor;
  problem.normaliser.divisor_value = whole->normaliser.divisor_value;
  problem.normaliser.sigmoid_bias = whole->normaliser.sigmoid_bias;
  problem.entropy = whole->entropy;
  problem.top.k = whole->top.k;
  problem.top.strides = (fovea_strides){0, LENGTH * whole->top.k, whole->top.k};
  tensors = chunks->tensors;
  tensors.q = (const float *)tensors.q + first * DIM;
  tensors.o = (float *)tensors.o + first * DIM;
  if (tensors.lse != NULL) tensors.lse += first;
  if (tensors.entropy != NULL) tensors.entropy += first;
  if (tensors.top.keys != NULL) tensors.top.keys += first * whole->top.k;
  if (tensors.top.scores != NULL) tensors.top.scores += first * whole->top.k;
  chunks->status[task] = fovea_attend(&problem, &tensors, &execution, NULL);
}

static void check_chunks(const struct trial *whole, int64_t rows) {
  struct trial split = trial_sharing_inputs(whole);
  struct executor executor = {.order = TASKS_SHUFFLED};
  static struct chunks chunks;
  chunks = (struct chunks){whole, trial_tensors(&split), rows, {FOVEA_OK}};
  const int64_t count = (LENGTH + rows - 1) / rows;
  threads_for(&executor, count, 3, run_chunk, &chunks);
  for (int64_t i = 0; i < count; i++) assert_int_equal(chunks.status[i], FOVEA_OK);
  assert_same_outputs(&split, whole);
  trial_destroy(&split);
}

/* Position terms, scales of heads and outputs of rows; some without the softmax. */
static void add_features(fovea_problem *problem, uint64_t seed) {
  static fovea_position_term terms[2];
  if (seed % 3 == 0) return;
  terms[0] = seed % 2 ? fovea_term_alibi(0) : fovea_term_grid(HEADS, 1, 20, 15);
  terms[1] = fovea_term_t5(HEADS, 32, 128, 0);
  fovea_problem_set_terms(problem, terms, 1 + (int64_t)(seed % 2));
  if (seed % 5 == 0) problem->scales = FOVEA_SCALES_PER_HEAD;
  problem->entropy = 1;
  problem->top.k = 6;
  if (seed % 3 == 1) return;
  problem->entropy = 0;
  problem->top.k = 0;
  problem_set_normaliser(problem, (int)seed % 3 + 9);
}

/* Threads share the pattern, which was made once for the whole sequence. */
static void test_chunks(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 3, 17, 64, 150};
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(4, 30); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    const fovea_rule *rule = rule_random_joined(&made, &generator, 2, 0, LENGTH, LENGTH);
    fovea_pattern *pattern = pattern_of(rule, 0, LENGTH, LENGTH, 0);
    fovea_problem problem;
    fovea_problem_init(&problem, 1, HEADS, KV_HEADS, LENGTH, LENGTH, DIM, DIM);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    problem.pattern = pattern;
    add_features(&problem, seed);
    struct trial whole = trial_create(&problem, seed);
    const struct rule_table rules = same_rules(rule, 0);
    struct trial masked = masked_trial(&whole, seed, &rules);
    trial_run(&masked, NULL, NULL);
    trial_run(&whole, NULL, NULL);
    assert_same_outputs(&whole, &masked);
    for (int i = 0; i < 5; i++) check_chunks(&whole, rows[i]);
    trial_destroy(&masked);
    trial_destroy(&whole);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

/* ---- Keys that a pattern hides */

enum { HIDDEN_ROWS = 90, HIDDEN_KEYS = 420 };

/* Keys and values that `row` does not see become NaN and infinite. Rows that see none of them keep their bits. */
static void check_hidden(const fovea_problem *problem, const struct trial *clean, const fovea_rule *rule,
                         int64_t row, uint64_t seed) {
  static const uint32_t wild[] = {0x7fc00000, 0xff800000, 0x7f800000, 0xff800123};
  struct trial changed = trial_create(problem, seed);
  const char *const *isas = usable_isas_for(problem);
  for (int64_t key = 0; key < HIDDEN_KEYS; key++)
    for (int64_t d = 0; d < DIM && !rule_sees(rule, row, key); d++)
      for (int64_t h = 0; h < KV_HEADS; h++) {
        tensor_row(&changed.k, 0, h, key)[d] = from_bits(wild[(key + d) % 4]);
        tensor_row(&changed.v, 0, h, key)[d] = from_bits(wild[(key + d + 1) % 4]);
      }
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&changed, isas[isa], &execution);
    for (int64_t i = 0; i < HIDDEN_ROWS; i++) {
      const struct part at = {0, 0, i};
      int64_t key = 0;
      while (key < HIDDEN_KEYS && (rule_sees(rule, row, key) || !rule_sees(rule, i, key))) key++;
      if (key == HIDDEN_KEYS) assert_same_part(&changed, at, clean, at, 1, HEADS, 1);
    }
  }
  trial_destroy(&changed);
}

static void test_hidden_keys(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(12, 72); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    const fovea_rule_kind kind = (fovea_rule_kind)(1 + seed % FOVEA_RULE_NEIGHBOURHOOD);
    const fovea_rule *rule = rule_random(&made, &generator, kind, 0, HIDDEN_ROWS, HIDDEN_KEYS);
    if (seed % 5 == 0) rule = rule_keep(&made, fovea_rule_not(rule));
    fovea_pattern *pattern = pattern_of(rule, 0, HIDDEN_ROWS, HIDDEN_KEYS, 1);
    fovea_problem problem;
    fovea_problem_init(&problem, 1, HEADS, KV_HEADS, HIDDEN_ROWS, HIDDEN_KEYS, DIM, DIM);
    fovea_problem_resolve(&problem, NULL);
    problem.pattern = pattern;
    struct trial clean = trial_create(&problem, seed);
    trial_run(&clean, NULL, NULL);
    for (int i = 0; i < 3; i++)
      check_hidden(&problem, &clean, rule, generator_below(&generator, HIDDEN_ROWS), seed);
    trial_destroy(&clean);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_hidden_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
