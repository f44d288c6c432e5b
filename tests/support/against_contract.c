#include "assert_rows.h"
#include "check.h"
#include "contract.h"
#include "modes.h"
#include "patterns.h"
#include "positions.h"
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    int64_t *keys = malloc((size_t)problem->top.k * sizeof *keys);
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
