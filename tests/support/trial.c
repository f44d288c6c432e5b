#include "trial.h"

#include "arch/formats.h"
#include "check.h"
#include "contract.h"
#include "modes.h"
#include "patterns.h"
#include "positions.h"
#include "src/system/dispatch.h"
#include "tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void create_outputs(struct trial *trial, enum guarded_edge edge) {
  const fovea_problem *problem = &trial->problem;
  const int64_t batches = problem_q_batches(problem);
  tensor_create_of(problem->o_type, &trial->o, batches, problem->heads, problem->q_len, problem->v_dim,
                   problem->o_strides, edge);
  tensor_create(&trial->lse, batches, problem->heads, problem->q_len, 1, problem->lse_strides, edge);
  const struct score_part part = problem_score_part(problem);
  const int wanted = problem->scores.kind != FOVEA_SCORES_NONE && part.keys > 0;
  tensor_create(&trial->scores, wanted ? part.batches : 0, part.heads, part.rows, part.keys,
                problem->scores.strides, edge);
  const fovea_strides top = problem->top.strides;
  tensor_create(&trial->entropy, problem->entropy ? batches : 0, problem->heads, problem->q_len, 1,
                problem->lse_strides, edge);
  const int64_t columns = problem_score_keys(problem);
  tensor_create(&trial->column_sums, problem->column_sums.wanted && columns > 0 ? problem->batch : 0,
                problem->heads, 1, columns, (fovea_strides){problem->heads * columns, columns, 0}, edge);
  const int64_t top_batches = problem->top.k > 0 ? batches : 0;
  tensor_create(&trial->top_keys, top_batches, problem->heads, problem->q_len, problem->top.k, top, edge);
  tensor_create(&trial->top_scores, top_batches, problem->heads, problem->q_len, problem->top.k, top, edge);
  const fovea_strides by_entry = {problem->heads, 0, 0};
  tensor_create(&trial->max_logits, problem->max_logits ? problem->batch : 0, 1, 1, problem->heads, by_entry, edge);
  trial_clear(trial);
}

struct trial trial_create_at(const fovea_problem *given, uint64_t seed, enum guarded_edge edge) {
  struct trial trial = {.problem = *given};
  const fovea_problem *problem = &trial.problem;
  fovea_problem_resolve(&trial.problem, NULL);
  const int64_t q_batches = problem_q_batches(problem), kv_batches = problem_kv_batches(problem);
  const fovea_strides no_strides = {0, 0, 0};
  tensor_create_of(problem->q_type, &trial.q, q_batches, problem->heads, problem->q_len, problem->qk_dim,
                   problem->q_strides, edge);
  tensor_create_of(problem->k_type, &trial.k, kv_batches, problem->kv_heads, problem->kv_len, problem->qk_dim,
                   problem->k_strides, edge);
  tensor_create_of(problem->v_type, &trial.v, kv_batches, problem->kv_heads, problem->kv_len, problem->v_dim,
                   problem->v_strides, edge);
  trial.mask = mask_create(problem, edge);
  tensor_create(&trial.sinks, 1, 1, 1, problem->heads, no_strides, edge);
  tensor_fill_random(&trial.q, seed * 3 + 1, 2.0f);
  tensor_fill_random(&trial.k, seed * 3 + 2, 2.0f);
  tensor_fill_random(&trial.v, seed * 3 + 3, 1.0f);
  mask_fill_random(&trial.mask, seed, (enum mask_pattern)(seed % MASK_PATTERNS));
  tensor_fill_random(&trial.sinks, seed + 5, 4.0f);
  positions_create(&trial, seed, edge);
  create_outputs(&trial, edge);
  return trial;
}

struct trial trial_create(const fovea_problem *problem, uint64_t seed) {
  return trial_create_at(problem, seed, GUARD_AT_END);
}

struct trial trial_of_part(const fovea_problem *problem, const struct trial *whole, struct part q, struct part kv) {
  struct trial trial = trial_create(problem, 0);
  tensor_copy_part(&trial.q, &whole->q, q.batch, q.head, q.row);
  tensor_copy_part(&trial.k, &whole->k, kv.batch, kv.head, kv.row);
  tensor_copy_part(&trial.v, &whole->v, kv.batch, kv.head, kv.row);
  mask_copy_part(&trial.mask, &whole->mask, q.batch, q.head, q.row);
  memcpy(trial.sinks.data, whole->sinks.data + q.head, (size_t)problem->heads * sizeof(float));
  vectors_copy_part(&trial, whole, kv.head);
  return trial;
}

struct trial trial_sharing_inputs(const struct trial *other) {
  struct trial trial = *other;
  struct guarded *const others[] = {&trial.q.memory,    &trial.q.storage, &trial.k.memory,    &trial.k.storage,
                                    &trial.v.memory,    &trial.v.storage, &trial.mask.memory, &trial.sinks.memory,
                                    &trial.head_scales, &trial.row_scales};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) others[i]->mapping = NULL;
  for (int i = 0; i < FOVEA_POSITION_TERMS_LIMIT; i++) trial.terms[i].memory.mapping = NULL;
  trial.shaw_keys.memory.mapping = trial.shaw_values.memory.mapping = NULL;
  trial.key_centre.memory.mapping = trial.key_scale.memory.mapping = trial.value_scale.memory.mapping = NULL;
  create_outputs(&trial, GUARD_AT_END);
  return trial;
}

void trial_destroy(struct trial *trial) {
  tensor_destroy(&trial->q);
  tensor_destroy(&trial->k);
  tensor_destroy(&trial->v);
  tensor_destroy(&trial->o);
  tensor_destroy(&trial->lse);
  tensor_destroy(&trial->scores);
  tensor_destroy(&trial->max_logits);
  tensor_destroy(&trial->entropy);
  tensor_destroy(&trial->column_sums);
  tensor_destroy(&trial->top_keys);
  tensor_destroy(&trial->top_scores);
  mask_destroy(&trial->mask);
  tensor_destroy(&trial->sinks);
  positions_destroy(trial);
}

fovea_tensors trial_tensors(const struct trial *trial) {
  fovea_tensors tensors;
  tensor_store(&trial->q);
  tensor_store(&trial->k);
  tensor_store(&trial->v);
  fovea_tensors_init(&tensors, tensor_pointer(&trial->q), tensor_pointer(&trial->k), tensor_pointer(&trial->v),
                     tensor_pointer(&trial->o), trial->lse.data);
  tensors.mask = trial->mask.data;
  /* The library refuses tensors that the problem does not use. */
  if (trial->problem.sink == FOVEA_SINK_PER_HEAD && !trial->problem.state) tensors.sink = trial->sinks.data;
  positions_set(trial, &tensors);
  if (trial->problem.cache.segmented) tensors.k = tensors.v = NULL;
  if (trial->problem.state) tensors.o = tensors.lse = NULL;
  if (trial->problem.normaliser.kind != FOVEA_NORMALISER_SOFTMAX) tensors.lse = NULL;
  if (trial->problem.scores.kind != FOVEA_SCORES_NONE) tensors.scores = trial->scores.data;
  if (trial->problem.top.k > 0) {
    tensors.top.keys = (int32_t *)(void *)trial->top_keys.data;
    tensors.top.scores = trial->top_scores.data;
  }
  if (trial->problem.column_sums.wanted) tensors.column_sums = trial->column_sums.data;
  if (trial->problem.entropy) tensors.entropy = trial->entropy.data;
  if (trial->problem.max_logits) tensors.max_logits = trial->max_logits.data;
  return tensors;
}

void trial_clear(struct trial *trial) {
  tensor_fill_untouched(&trial->o);
  tensor_fill_untouched(&trial->lse);
  tensor_fill_untouched(&trial->scores);
  tensor_fill_untouched(&trial->max_logits);
  tensor_fill_untouched(&trial->entropy);
  tensor_fill_untouched(&trial->column_sums);
  tensor_fill_untouched(&trial->top_keys);
  tensor_fill_untouched(&trial->top_scores);
}

void trial_load(const struct trial *trial) {
  tensor_load(&trial->o);
}

int trial_gaps_untouched(const struct trial *trial) {
  return tensor_gaps_untouched(&trial->o) && tensor_gaps_untouched(&trial->lse) &&
         tensor_gaps_untouched(&trial->scores) && tensor_gaps_untouched(&trial->max_logits) &&
         tensor_gaps_untouched(&trial->entropy) && tensor_gaps_untouched(&trial->column_sums) &&
         tensor_gaps_untouched(&trial->top_keys) && tensor_gaps_untouched(&trial->top_scores);
}

void trial_run(struct trial *trial, const char *isa, const fovea_execution *execution) {
  fovea_execution on_set;
  fovea_execution_init(&on_set);
  if (execution != NULL) on_set = *execution;
  on_set.isa = trial->isa = isa;
  trial_clear(trial);
  const fovea_tensors tensors = trial_tensors(trial);
  fovea_error error;
  const fovea_status status = fovea_attend(&trial->problem, &tensors, &on_set, &error);
  trial_load(trial);
  if (status == FOVEA_OK) return;
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  fail_msg("status %d (%s) for %s, isa %s", (int)status, error.text, problem, isa != NULL ? isa : "best");
}

/* Compares one row with the expected row. `what` names the comparison. */
static void assert_row(const struct trial *trial, const char *what, struct part at, const float *expected_o,
                       const float *expected_lse) {
  const float *o = tensor_row(&trial->o, at.batch, at.head, at.row);
  const float *lse = tensor_row(&trial->lse, at.batch, at.head, at.row);
  const size_t size = (size_t)trial->o.dim * sizeof(float);
  if (memcmp(o, expected_o, size) == 0 && memcmp(lse, expected_lse, sizeof *lse) == 0) return;
  int64_t d = 0;
  while (d < trial->o.dim && bits_of(o[d]) == bits_of(expected_o[d])) d++;
  const float actual = d < trial->o.dim ? o[d] : *lse, expected = d < trial->o.dim ? expected_o[d] : *expected_lse;
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  fail_msg("%s: %s of batch %lld head %lld row %lld dim %lld is %08x (%.9g), not %08x (%.9g); %s", what,
           d < trial->o.dim ? "O" : "LSE", (long long)at.batch, (long long)at.head, (long long)at.row, (long long)d,
           (unsigned)bits_of(actual), (double)actual, (unsigned)bits_of(expected), (double)expected, problem);
}

/* The same for the row's scores. */
static void assert_scores(const struct trial *trial, const char *what, struct part at, const float *expected) {
  const float *scores = tensor_row(&trial->scores, at.batch, at.head, at.row);
  int64_t key = 0;
  while (key < trial->scores.dim && bits_of(scores[key]) == bits_of(expected[key])) key++;
  if (key == trial->scores.dim) return;
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  fail_msg("%s: score of batch %lld head %lld row %lld key %lld is %08x (%.9g), not %08x (%.9g); %s", what,
           (long long)at.batch, (long long)at.head, (long long)at.row, (long long)key,
           (unsigned)bits_of(scores[key]), (double)scores[key], (unsigned)bits_of(expected[key]),
           (double)expected[key], problem);
}

/* The same for the row's keys with the largest scores. */
static void assert_top(const struct trial *trial, struct part at, const int32_t *keys, const float *scores) {
  const int32_t *actual = (const int32_t *)(void *)tensor_row(&trial->top_keys, at.batch, at.head, at.row);
  const float *actual_scores = tensor_row(&trial->top_scores, at.batch, at.head, at.row);
  for (int64_t n = 0; n < trial->top_keys.dim; n++) {
    if (actual[n] == keys[n] && bits_of(actual_scores[n]) == bits_of(scores[n])) continue;
    char problem[DESCRIPTION_SIZE];
    problem_describe(&trial->problem, problem, sizeof problem);
    fail_msg("top key %lld of batch %lld head %lld row %lld is %d (%.9g), not %d (%.9g); %s", (long long)n,
             (long long)at.batch, (long long)at.head, (long long)at.row, (int)actual[n], (double)actual_scores[n],
             (int)keys[n], (double)scores[n], problem);
  }
}

static void assert_entropy(const struct trial *trial, struct part at, float expected) {
  const float actual = *tensor_row(&trial->entropy, at.batch, at.head, at.row);
  if (bits_of(actual) == bits_of(expected)) return;
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  fail_msg("entropy of batch %lld head %lld row %lld is %08x (%.9g), not %08x (%.9g); %s", (long long)at.batch,
           (long long)at.head, (long long)at.row, (unsigned)bits_of(actual), (double)actual,
           (unsigned)bits_of(expected), (double)expected, problem);
}

/* All scores of both. */
static int both_have_scores(const struct trial *one, const struct trial *other) {
  return one->scores.batch > 0 && other->scores.batch > 0 && one->scores.dim == other->scores.dim &&
         one->scores.rows == one->o.rows && other->scores.rows == other->o.rows &&
         one->scores.heads == one->o.heads && other->scores.heads == other->o.heads &&
         one->scores.batch == one->o.batch && other->scores.batch == other->o.batch;
}

void assert_same_part(const struct trial *actual, struct part actual_first, const struct trial *expected,
                      struct part expected_first, int64_t batches, int64_t heads, int64_t rows) {
  const int64_t dim = actual->o.dim;
  float *numbers = malloc((size_t)dim * sizeof(float));
  assert_non_null(numbers);
  for (int64_t b = 0; b < batches; b++)
    for (int64_t h = 0; h < heads; h++)
      for (int64_t i = 0; i < rows; i++) {
        const struct part at = {actual_first.batch + b, actual_first.head + h, actual_first.row + i};
        const struct part other = {expected_first.batch + b, expected_first.head + h, expected_first.row + i};
        memcpy(numbers, tensor_row(&expected->o, other.batch, other.head, other.row), (size_t)dim * sizeof(float));
        for (int64_t d = 0; d < dim && actual->o.type != expected->o.type; d++)
          numbers[d] = rounded_number(actual->o.type, numbers[d]);
        assert_row(actual, "against another run", at, numbers,
                   tensor_row(&expected->lse, other.batch, other.head, other.row));
        if (actual->entropy.batch > 0 && expected->entropy.batch > 0)
          assert_entropy(actual, at, *tensor_row(&expected->entropy, other.batch, other.head, other.row));
        if (actual->top_keys.dim > 0 && actual->top_keys.dim == expected->top_keys.dim)
          assert_top(actual, at,
                     (const int32_t *)(void *)tensor_row(&expected->top_keys, other.batch, other.head, other.row),
                     tensor_row(&expected->top_scores, other.batch, other.head, other.row));
        if (both_have_scores(actual, expected))
          assert_scores(actual, "against another run", at,
                        tensor_row(&expected->scores, other.batch, other.head, other.row));
      }
  free(numbers);
}

static void assert_columns(const struct trial *trial, int64_t batch, int64_t head, const float *expected) {
  const float *actual = tensor_row(&trial->column_sums, batch, head, 0);
  for (int64_t j = 0; j < trial->column_sums.dim; j++) {
    if (bits_of(actual[j]) == bits_of(expected[j])) continue;
    char problem[DESCRIPTION_SIZE];
    problem_describe(&trial->problem, problem, sizeof problem);
    fail_msg("column sum of batch %lld head %lld key %lld is %08x (%.9g), not %08x (%.9g); %s", (long long)batch,
             (long long)head, (long long)j, (unsigned)bits_of(actual[j]), (double)actual[j],
             (unsigned)bits_of(expected[j]), (double)expected[j], problem);
  }
}

static void assert_max_logits(const struct trial *trial, int64_t batch, const float *expected) {
  const float *actual = tensor_row(&trial->max_logits, batch, 0, 0);
  for (int64_t head = 0; head < trial->max_logits.dim; head++) {
    if (bits_of(actual[head]) == bits_of(expected[head])) continue;
    char problem[DESCRIPTION_SIZE];
    problem_describe(&trial->problem, problem, sizeof problem);
    fail_msg("max_logits of batch %lld head %lld is %08x (%.9g), not %08x (%.9g); %s", (long long)batch,
             (long long)head, (unsigned)bits_of(actual[head]), (double)actual[head],
             (unsigned)bits_of(expected[head]), (double)expected[head], problem);
  }
}

/* Parts of scores of the same shape. */
static void assert_same_score_parts(const struct trial *actual, const struct trial *expected) {
  const struct tensor *one = &actual->scores, *other = &expected->scores;
  if (one->batch != other->batch || one->heads != other->heads || one->rows != other->rows ||
      one->dim != other->dim)
    return;
  for (int64_t b = 0; b < one->batch; b++)
    for (int64_t h = 0; h < one->heads; h++)
      for (int64_t i = 0; i < one->rows; i++) {
        const struct part at = {b, h, i};
        assert_scores(actual, "against another run", at, tensor_row(other, b, h, i));
      }
}

void assert_same_outputs(const struct trial *actual, const struct trial *expected) {
  for (int64_t b = 0; b < actual->max_logits.batch && b < expected->max_logits.batch; b++)
    assert_max_logits(actual, b, tensor_row(&expected->max_logits, b, 0, 0));
  for (int64_t b = 0; b < actual->column_sums.batch && b < expected->column_sums.batch; b++)
    for (int64_t h = 0; h < actual->column_sums.heads; h++)
      assert_columns(actual, b, h, tensor_row(&expected->column_sums, b, h, 0));
  if (!both_have_scores(actual, expected)) assert_same_score_parts(actual, expected);
  const struct part first = {0, 0, 0};
  assert_same_part(actual, first, expected, first, actual->o.batch, actual->o.heads, actual->o.rows);
}

/* What the mask alone adds. */
static float bias_of(const struct trial *trial, int64_t batch, int64_t head, int64_t row, int64_t key) {
  if (trial->mask.type == FOVEA_MASK_NONE) return 0.0f;
  const int64_t element = key - problem_mask_begin(&trial->problem, batch), keys = trial->problem.mask.keys;
  if (element < 0) return 0.0f;
  if (keys != FOVEA_UNLIMITED && element >= keys) return -INFINITY;
  return mask_get(&trial->mask, batch, head, row, element);
}

struct row_rules {
  const struct trial *trial;
  struct entry entry;
  int64_t batch, head, row;
};

static int pattern_sees(const struct row_rules *rules, int64_t position) {
  const struct rule_table *table = rules->trial->rules;
  const fovea_rule *rule = table != NULL ? table->of[rules->batch][rules->head] : NULL;
  return rule == NULL || rule_sees(rule, table->by_row ? rules->row : rules->row + rules->entry.offset, position);
}

static int contract_sees(const void *context, int64_t position) {
  const struct row_rules *rules = context;
  return row_sees(&rules->trial->problem, &rules->entry, rules->row, position) && pattern_sees(rules, position) &&
         !term_hides(rules->trial, rules->batch, rules->head, rules->row, position) &&
         bias_of(rules->trial, rules->batch, rules->head, rules->row, position) != -INFINITY;
}

int trial_sees(const struct trial *trial, int64_t batch, int64_t head, int64_t row, int64_t key) {
  const struct row_rules rules = {trial, problem_entry(&trial->problem, batch), batch, head, row};
  return contract_sees(&rules, key);
}

/* Memory that the contract needs: the biases of one row and its outputs. */
struct workspace {
  float *bias, *out, *scores;
  float *terms[FOVEA_POSITION_TERMS_LIMIT];
  float *max_logits; /* of the entry's heads, so far */
  float *columns;    /* of the head, so far: sums, sixteen sums, and room for weights, of all keys */
};

/* NaN if one of them is. */
static float larger(float a, float b) {
  return isnan(a) || a > b ? a : b;
}

/* Adds a row to the column sums of its head, and compares them when it is the last. */
static void add_columns(const struct trial *trial, const struct contract_row *contract, int64_t batch, int64_t head,
                        int64_t row, int64_t rows, float *columns) {
  const fovea_problem *problem = &trial->problem;
  const int64_t keys = trial->column_sums.dim;
  float *sixteen = columns + keys, *weights = columns + 17 * keys;
  const int64_t end =
      problem->column_sums.rows.end == FOVEA_UNLIMITED ? problem->q_len : problem->column_sums.rows.end;
  if (row == 0) memset(columns, 0, (size_t)(18 * keys) * sizeof(float));
  if (row >= problem->column_sums.rows.begin && row < end) contract_row_weights(contract, weights);
  if (row < problem->column_sums.rows.begin || row >= end) memset(weights, 0, (size_t)keys * sizeof(float));
  contract_add_columns(weights, keys, row, row == rows - 1, sixteen, columns);
  if (row == rows - 1) assert_columns(trial, batch, head, columns);
}

static void assert_contract_row(const struct trial *trial, int64_t batch, int64_t head, int64_t row,
                                const struct workspace *workspace) {
  static const float zero = 0.0f;
  const fovea_problem *problem = &trial->problem;
  const struct row_rules rules = {trial, problem_entry(problem, batch), batch, head, row};
  const struct entry *entry = &rules.entry;
  const int64_t kv_head = head / (problem->heads / problem->kv_heads);
  const struct part at = {entry->q_batch, head, entry->q_first + row};
  const int additive = mask_is_additive(problem->mask.type);
  const int64_t shaw_head = problem->shaw.heads == 1 ? 0 : head;
  const int64_t begin = problem_mask_begin(problem, batch);
  for (int64_t j = begin; additive && j < entry->kv_len; j++)
    workspace->bias[j - begin] = bias_of(trial, batch, head, row, j);
  for (int64_t i = 0; i < problem->terms.count; i++)
    for (int64_t j = 0; j < entry->kv_len; j++)
      workspace->terms[i][j] = term_number(trial, (int)i, batch, head, row, j);
  const struct contract_row contract = {
      .q = tensor_row(&trial->q, at.batch, at.head, at.row),
      .k = tensor_row(&trial->k, entry->kv_batch, kv_head, entry->kv_first),
      .v = tensor_row(&trial->v, entry->kv_batch, kv_head, entry->kv_first),
      .k_stride = problem->k_strides.row,
      .v_stride = problem->v_strides.row,
      .qk_dim = problem->qk_dim,
      .v_dim = problem->v_dim,
      .positions = entry->kv_len,
      .scale = scale_of_row(trial, batch, head, row),
      .terms = (const float *const *)workspace->terms,
      .term_count = (int)problem->terms.count,
      .leaky = problem->activation.kind == FOVEA_SCORE_ACTIVATION_LEAKY_RELU,
      .slope = problem->activation.leaky_slope,
      .softcap = problem->softcap,
      .bias = additive ? workspace->bias : NULL,
      .bias_begin = begin,
      .sink = problem->sink == FOVEA_SINK_NONE   ? NULL
              : problem->sink == FOVEA_SINK_ZERO ? &zero
                                                 : trial->sinks.data + head,
      .sees = contract_sees,
      .rules = &rules,
      .shaw_keys = problem->shaw.kind & FOVEA_SHAW_KEYS ? tensor_row(&trial->shaw_keys, 0, shaw_head, 0) : NULL,
      .shaw_values =
          problem->shaw.kind & FOVEA_SHAW_VALUES ? tensor_row(&trial->shaw_values, 0, shaw_head, 0) : NULL,
      .shaw_distance = problem->shaw.distance,
      .own = row + entry->offset,
      .normaliser = (enum contract_normaliser)problem->normaliser.kind,
      .divisor = (enum contract_divisor)problem->normaliser.divisor,
      .divisor_value = problem->normaliser.divisor_value,
      .sigmoid_bias = problem->normaliser.sigmoid_bias,
  };
  float lse = *tensor_row(&trial->lse, at.batch, at.head, at.row); /* stays, where there is none */
  const struct mode_vectors vectors = vectors_of_head(trial, kv_head);
  mode_contract_row(problem, &contract, &vectors, workspace->out, &lse);
  for (int64_t d = 0; d < problem->v_dim; d++)
    workspace->out[d] = rounded_number(problem->o_type, workspace->out[d]);
  assert_row(trial, "against the contract", at, workspace->out, &lse);
  if (trial->column_sums.batch > 0 && workspace->columns)
    add_columns(trial, &contract, batch, head, row, entry->rows, workspace->columns);
  if (problem->entropy) assert_entropy(trial, at, contract_row_entropy(&contract));
  if (problem->top.k > 0) {
    int32_t *keys = malloc((size_t)problem->top.k * sizeof *keys);
    float *scores = malloc((size_t)problem->top.k * sizeof *scores);
    assert_true(keys != NULL && scores != NULL);
    contract_row_top(&contract, problem->top.k, keys, scores);
    assert_top(trial, at, keys, scores);
    free(keys);
    free(scores);
  }
  if (problem->max_logits)
    workspace->max_logits[head] = larger(workspace->max_logits[head], contract_row_max(&contract));
  const struct score_part part = problem_score_part(problem);
  const int64_t kept_head = head - part.first_head, kept_row = row - part.first_row;
  if (trial->scores.batch == 0 || kept_head < 0 || kept_head >= part.heads || kept_row < 0) return;
  if (kept_row >= part.rows && (part.by_entry || problem->cu_seqlens_q == NULL)) return;
  const fovea_score_output output = problem->scores.kind;
  for (int64_t j = 0; j < problem->kv_len; j++)
    workspace->scores[j] = output == FOVEA_SCORES_WEIGHTS ? 0.0f : -INFINITY;
  if (output == FOVEA_SCORES_WEIGHTS)
    contract_row_weights(&contract, workspace->scores);
  else
    contract_row_scores(&contract, (enum contract_scores)(output - FOVEA_SCORES_RAW), workspace->scores);
  const struct part kept = {part.by_entry ? batch : entry->q_batch, kept_head,
                            part.by_entry ? kept_row : entry->q_first + kept_row};
  assert_scores(trial, "against the contract", kept, workspace->scores + part.first_key);
}

void assert_contract(const struct trial *trial, int64_t budget) {
  const fovea_problem *problem = &trial->problem;
  const int64_t keys = problem->kv_len;
  float *numbers =
      malloc((size_t)(problem->v_dim + (2 + problem->terms.count) * keys + problem->heads) * sizeof(float));
  assert_non_null(numbers);
  float *columns = calloc((size_t)(18 * keys + 1), sizeof *columns);
  assert_non_null(columns);
  struct workspace workspace = {.bias = numbers + problem->v_dim,
                                .out = numbers,
                                .scores = numbers + problem->v_dim + keys,
                                .max_logits = numbers + problem->v_dim + (2 + problem->terms.count) * keys};
  for (int64_t i = 0; i < problem->terms.count; i++) workspace.terms[i] = workspace.scores + (i + 1) * keys;
  struct generator generator = {(uint64_t)(problem->kv_len * 31 + problem->q_len)};
  for (int64_t b = 0; b < problem->batch; b++) {
    const struct entry entry = problem_entry(problem, b);
    const int64_t rows = problem->heads * entry.rows;
    const int64_t row_cost = entry.kv_len * (problem->qk_dim + problem->v_dim + 4) + 64;
    const int64_t wanted = budget / problem->batch / row_cost + 2;
    const int64_t skip = rows <= wanted ? 1 : rows / wanted;
    for (int64_t h = 0; h < problem->heads; h++) workspace.max_logits[h] = -INFINITY;
    workspace.columns = skip == 1 ? columns : NULL;
    for (int64_t h = 0; h < problem->heads && rows == 0 && trial->column_sums.batch > 0; h++) {
      memset(columns, 0, (size_t)problem->kv_len * sizeof *columns);
      assert_columns(trial, b, h, columns);
    }
    for (int64_t r = 0; r < rows; r += skip) {
      const int64_t pick = r == 0 || skip == 1 ? r : r + generator_below(&generator, skip);
      if (pick < rows) assert_contract_row(trial, b, pick / entry.rows, pick % entry.rows, &workspace);
    }
    if (problem->max_logits && skip == 1) assert_max_logits(trial, b, workspace.max_logits);
    if (rows > 0 && skip > 1) assert_contract_row(trial, b, problem->heads - 1, entry.rows - 1, &workspace);
  }
  free(columns);
  free(numbers);
}

static void list_isas(const char **names, int with_pairs, int with_other_names) {
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  int count = 0;
  for (int i = 0; fovea_isa_at(i, &report) == FOVEA_OK; i++) {
    if (!report.usable || (!with_pairs && report.type != FOVEA_F32)) continue;
    if (with_other_names || !report.meant) names[count++] = report.name;
  }
  names[count] = NULL;
  assert_true(count > 0);
}

const char *const *usable_isas(void) {
  static const char *names[ISA_COUNT + 1];
  list_isas(names, 1, 0);
  return names;
}

const char *const *usable_names(void) {
  static const char *names[ISA_COUNT + 1];
  list_isas(names, 1, 1);
  return names;
}

const char *set_of(const char *isa) {
  static char set[32];
  snprintf(set, sizeof set, "%.*s", (int)strcspn(isa, "/"), isa);
  return set;
}

const char *const *whole_isas(void) {
  static const char *names[ISA_COUNT + 1];
  list_isas(names, 0, 0);
  return names;
}

static const fovea_kernels *table_named(const char *name, fovea_type type) {
  const fovea_kernels *table;
  assert_int_equal(fovea_dispatch_wanted(name, type, &table, NULL), FOVEA_OK);
  return table;
}

/* Whether the table of name i acts like one before, or, if it has pairs, like one without. */
static int acts_like_another(const char *const *names, int i, const fovea_problem *problem) {
  const fovea_kernels *table = table_named(names[i], problem->q_type);
  for (int j = 0; names[j] != NULL; j++) {
    const fovea_kernels *other = table_named(names[j], problem->q_type);
    const int plainer = table->pair_type != FOVEA_F32 && other->pair_type == FOVEA_F32;
    const int dearer = table->pair_type == FOVEA_F32 && other->pair_type != FOVEA_F32;
    if (j != i && (plainer || (j < i && !dearer)) && tables_run_alike(table, other, problem)) return 1;
  }
  return 0;
}

/* Whether portable C is left out: it computes one in five of the problems that take it long, where it is not alone.
 * All tests together would else spend a quarter of their time there. */
static int is_left_out(const char *isa, const fovea_problem *problem) {
  const double long_work = USUAL_OR_LONG(2e5, 4e6); /* multiply-adds: some milliseconds, or more if emulated */
  static int long_problems = 0;
  const double rows = (double)problem->batch * (double)problem->heads * (double)problem->q_len;
  const double work = rows * (double)problem->kv_len * (double)(problem->qk_dim + problem->v_dim);
  return strcmp(isa, "scalar") == 0 && work > long_work && long_problems++ % 5 != 0;
}

/* Each type and pair of modes has a list of its own, so that a list stays while tests ask for others. */
enum { LISTS = FOVEA_TYPES * MODE_PAIRS };

static const char *const *list_different(const char *names[LISTS][ISA_COUNT + 1], const char *const *all,
                                         const fovea_problem *problem) {
  fovea_problem plain;
  fovea_problem_init(&plain, 1, 1, 1, 1, 1, 1, 1);
  if (problem == NULL) problem = &plain;
  const char **different =
      names[((int)problem->q_type * 3 + (int)problem->modes.score) * 3 + (int)problem->modes.value];
  int count = 0;
  for (int i = 0; all[i] != NULL; i++)
    if (!acts_like_another(all, i, problem) && (count == 0 || !is_left_out(all[i], problem)))
      different[count++] = all[i];
  different[count] = NULL;
  return different;
}

const char *const *usable_isas_for(const fovea_problem *problem) {
  static const char *names[LISTS][ISA_COUNT + 1];
  return list_different(names, usable_isas(), problem);
}

const char *const *whole_isas_for(const fovea_problem *problem) {
  static const char *names[LISTS][ISA_COUNT + 1];
  return list_different(names, whole_isas(), problem);
}
