#include "answer.h"

#include "contract.h"
#include "modes/contract_modes.h"
#include "support/check.h"
#include "support/masks.h"
#include "support/patterns.h"
#include "support/rules.h"
#include "support/types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A problem with its tensors as f32, in the same order, and memory for one row: its biases, terms, output, scores;
 * and for the column sums of a head. */
struct question {
  const selftest_data *data;
  float *q, *k, *v, *bias, *out, *scores, *sixteen;
  float *terms[FOVEA_POSITION_TERMS_LIMIT];
  struct mask mask;
};

/* The rules that contract_row() passes to sees(). */
struct row_rules {
  const struct question *question;
  struct entry entry;
  int64_t batch, head, row;
};

static float bias_of(const struct row_rules *rules, int64_t key) {
  const struct mask *mask = &rules->question->mask;
  if (mask->type == FOVEA_MASK_NONE) return 0.0f;
  const int64_t keys = rules->question->data->problem.mask.keys;
  if (keys != FOVEA_UNLIMITED && key >= keys) return -INFINITY;
  return mask_get(mask, rules->batch, rules->head, rules->row, key);
}

static int64_t place_of(const fovea_position_term *term, int64_t own, int64_t key) {
  const int64_t extent[3] = {term->depth, term->height, term->width};
  switch (term->kind) {
  case FOVEA_POSITION_RELATIVE:
    return contract_relative_place(key - own, term->before, term->after);
  case FOVEA_POSITION_T5:
    return contract_bucket(key - own, term->buckets, term->max_distance, term->bidirectional);
  case FOVEA_POSITION_GRID:
    return contract_grid_place(extent, own, key);
  default:
    return 0;
  }
}

static float term_of(const struct row_rules *rules, int i, int64_t key) {
  const selftest_data *data = rules->question->data;
  const fovea_position_term *term = &data->problem.terms.list[i];
  const int64_t own = rules->row + rules->entry.offset, place = place_of(term, own, key);
  const float number =
      data->extras.terms[i][rules->batch * term->batch + rules->head * term->head + place * term->place];
  if (term->kind >= FOVEA_POSITION_RELATIVE) return number;
  return contract_alibi(number, key - own, term->kind == FOVEA_POSITION_ALIBI_SYMMETRIC);
}

static int pattern_sees(const struct row_rules *rules, int64_t key) {
  const selftest_data *data = rules->question->data;
  const selftest_features *features = &data->description->features;
  const fovea_rule *rule = features->rule;
  if (features->rules != NULL) rule = features->rules[rules->head / (data->problem.heads / features->rule_heads)];
  return rule == NULL || rule_sees(rule, features->by_row ? rules->row : rules->row + rules->entry.offset, key);
}

static int sees(const void *context, int64_t key) {
  const struct row_rules *rules = context;
  const fovea_problem *problem = &rules->question->data->problem;
  for (int i = 0; i < (int)problem->terms.count; i++)
    if (term_of(rules, i, key) == -INFINITY) return 0;
  return row_sees(problem, &rules->entry, rules->row, key) && pattern_sees(rules, key) &&
         bias_of(rules, key) != -INFINITY;
}

static int64_t at(const fovea_strides *strides, int64_t batch, int64_t head, int64_t row) {
  return batch * strides->batch + head * strides->head + row * strides->row;
}

static void store_output(const selftest_data *data, int64_t index, float number) {
  const fovea_type type = data->problem.o_type;
  if (type == FOVEA_F32)
    ((float *)data->o)[index] = number;
  else
    ((uint16_t *)data->o)[index] = rounded(type, number);
}

/* Writes a row of scores: also for keys that the batch element does not have, if others have them. */
static void answer_scores(const struct row_rules *rules, const struct contract_row *contract) {
  const selftest_data *data = rules->question->data;
  const fovea_problem *problem = &data->problem;
  const struct score_part part = problem_score_part(problem);
  const int weights = problem->scores.kind == FOVEA_SCORES_WEIGHTS, is_part = data->score_count > 0;
  const int64_t head = rules->head - part.first_head, row = rules->row - part.first_row;
  if (is_part && (head < 0 || head >= part.heads || row < 0 || row >= part.rows)) return;
  float *scores = rules->question->scores;
  for (int64_t j = contract->positions; j < problem_score_keys(problem); j++)
    scores[j] = weights ? 0.0f : -INFINITY;
  if (weights)
    contract_row_weights(contract, scores);
  else
    contract_row_scores(contract, (enum contract_scores)(problem->scores.kind - FOVEA_SCORES_RAW), scores);
  const int64_t first =
      is_part ? ((rules->batch * part.heads + head) * part.rows + row) * part.keys
              : at(&problem->scores.strides, rules->entry.q_batch, rules->head, rules->entry.q_first + rules->row);
  memcpy(data->scores + first, scores + part.first_key, (size_t)part.keys * sizeof *scores);
}

/* NaN if one of them is. */
static float larger(float a, float b) {
  return isnan(a) || a > b ? a : b;
}

static void answer_columns(const struct row_rules *rules, const struct contract_row *contract) {
  const selftest_data *data = rules->question->data;
  const fovea_problem *problem = &data->problem;
  const int64_t keys = problem_score_keys(problem);
  const int64_t end =
      problem->column_sums.rows.end == FOVEA_UNLIMITED ? problem->q_len : problem->column_sums.rows.end;
  float *weights = rules->question->scores;
  memset(weights, 0, (size_t)keys * sizeof *weights);
  if (rules->row >= problem->column_sums.rows.begin && rules->row < end) contract_row_weights(contract, weights);
  contract_add_columns(weights, keys, rules->row, rules->row == rules->entry.rows - 1, rules->question->sixteen,
                       data->extras.column_sums + (rules->batch * problem->heads + rules->head) * keys);
}

/* Outputs beside O, LSE and scores. */
static void answer_extras(const struct row_rules *rules, const struct contract_row *contract) {
  const selftest_data *data = rules->question->data;
  const fovea_problem *problem = &data->problem;
  const selftest_extras *extras = &data->extras;
  const int64_t row =
      at(&problem->lse_strides, rules->entry.q_batch, rules->head, rules->entry.q_first + rules->row);
  float *most = extras->max_logits + rules->batch * problem->heads + rules->head;
  if (problem->max_logits) *most = larger(*most, contract_row_max(contract));
  if (problem->entropy) extras->entropy[row] = contract_row_entropy(contract);
  if (problem->top.k > 0)
    contract_row_top(contract, problem->top.k, extras->top_keys + row * problem->top.k,
                     extras->top_scores + row * problem->top.k);
  if (problem->column_sums.wanted) answer_columns(rules, contract);
}

static double scale_of(const struct row_rules *rules) {
  const selftest_data *data = rules->question->data;
  const fovea_problem *problem = &data->problem;
  const int64_t row = rules->entry.q_batch * problem->q_len + rules->entry.q_first + rules->row;
  const double scale =
      problem->scales & FOVEA_SCALES_PER_HEAD ? data->extras.head_scales[rules->head] : problem->scale;
  return problem->scales & FOVEA_SCALES_PER_ROW ? scale * data->extras.row_scales[row] : scale;
}

/* The table of the row's head, or NULL. */
static const float *shaw_of(const struct row_rules *rules, const float *table, int64_t dim) {
  const fovea_problem *problem = &rules->question->data->problem;
  const int64_t head = problem->shaw.heads == 1 ? 0 : rules->head;
  return table == NULL ? NULL : table + head * (2 * problem->shaw.distance + 1) * dim;
}

static struct contract_row contract_of(const struct row_rules *rules) {
  static const float zero = 0.0f;
  const struct question *question = rules->question;
  const selftest_data *data = question->data;
  const fovea_problem *problem = &data->problem;
  const struct entry *entry = &rules->entry;
  const int64_t head = rules->head, kv_head = head / (problem->heads / problem->kv_heads);
  return (struct contract_row){
      .q = question->q + at(&problem->q_strides, entry->q_batch, head, entry->q_first + rules->row),
      .k = question->k + at(&problem->k_strides, entry->kv_batch, kv_head, entry->kv_first),
      .v = question->v + at(&problem->v_strides, entry->kv_batch, kv_head, entry->kv_first),
      .k_stride = problem->k_strides.row,
      .v_stride = problem->v_strides.row,
      .qk_dim = problem->qk_dim,
      .v_dim = problem->v_dim,
      .positions = entry->kv_len,
      .scale = scale_of(rules),
      .softcap = problem->softcap,
      .terms = (const float *const *)question->terms,
      .term_count = (int)problem->terms.count,
      .bias = mask_is_additive(problem->mask.type) ? question->bias : NULL,
      .sink = problem->sink == FOVEA_SINK_PER_HEAD ? data->sinks + head
              : problem->sink == FOVEA_SINK_ZERO   ? &zero
                                                   : NULL,
      .sees = sees,
      .rules = rules,
      .normaliser = (enum contract_normaliser)problem->normaliser.kind,
      .divisor = (enum contract_divisor)problem->normaliser.divisor,
      .divisor_value = problem->normaliser.divisor_value,
      .sigmoid_bias = problem->normaliser.sigmoid_bias,
      .leaky = problem->activation.kind == FOVEA_SCORE_ACTIVATION_LEAKY_RELU,
      .slope = problem->activation.leaky_slope,
      .shaw_keys = shaw_of(rules, data->extras.shaw_keys, problem->qk_dim),
      .shaw_values = shaw_of(rules, data->extras.shaw_values, problem->v_dim),
      .shaw_distance = problem->shaw.distance,
      .own = rules->row + entry->offset,
  };
}

/* The vector of the row's kv head, or NULL. */
static const float *vector_of(const struct row_rules *rules, const float *vectors, fovea_channels kind,
                              int64_t dim) {
  const fovea_problem *problem = &rules->question->data->problem;
  const int64_t kv_head = rules->head / (problem->heads / problem->kv_heads);
  return kind == FOVEA_CHANNELS_PER_HEAD ? vectors + kv_head * dim : vectors;
}

/* A row of a problem with modes. The mask is the last of the terms. */
static void answer_mode(const struct row_rules *rules, const struct contract_row *contract, float *out,
                        float *lse) {
  const selftest_data *data = rules->question->data;
  const fovea_problem *problem = &data->problem;
  const float *terms[FOVEA_POSITION_TERMS_LIMIT + 1];
  int count = 0;
  for (; count < contract->term_count; count++) terms[count] = contract->terms[count];
  if (contract->bias != NULL) terms[count++] = contract->bias;
  const struct contract_mode_row row = {
      .scores = (enum contract_mode)problem->modes.score,
      .values = (enum contract_mode)problem->modes.value,
      .q = contract->q,
      .k = contract->k,
      .v = contract->v,
      .k_stride = contract->k_stride,
      .v_stride = contract->v_stride,
      .qk_dim = contract->qk_dim,
      .v_dim = contract->v_dim,
      .positions = contract->positions,
      .scale = contract->scale,
      .softcap = contract->softcap,
      .terms = terms,
      .term_count = count,
      .sink = contract->sink,
      .sees = contract->sees,
      .rules = contract->rules,
      .key_centre = vector_of(rules, data->extras.key_centre, problem->channels.key_centre, problem->qk_dim),
      .key_scale = vector_of(rules, data->extras.key_scale, problem->channels.key_scale, problem->qk_dim),
      .value_scale = vector_of(rules, data->extras.value_scale, problem->channels.value_scale, problem->v_dim),
  };
  contract_mode_row(&row, out, lse);
}

/* Writes all outputs of one row to the problem's own tensors. */
static void answer_row(const struct row_rules *rules) {
  const struct question *question = rules->question;
  const selftest_data *data = question->data;
  const fovea_problem *problem = &data->problem;
  const struct entry *entry = &rules->entry;
  const int64_t row = entry->q_first + rules->row;
  const int additive = mask_is_additive(problem->mask.type);
  for (int64_t j = 0; additive && j < entry->kv_len; j++) question->bias[j] = bias_of(rules, j);
  for (int i = 0; i < (int)problem->terms.count; i++)
    for (int64_t j = 0; j < entry->kv_len; j++) question->terms[i][j] = term_of(rules, i, j);
  const struct contract_row contract = contract_of(rules);
  float *lse = data->lse + at(&problem->lse_strides, entry->q_batch, rules->head, row);
  if (problem->modes.score == FOVEA_MODE_EXACT && problem->modes.value == FOVEA_MODE_EXACT)
    contract_row(&contract, question->out, lse);
  else
    answer_mode(rules, &contract, question->out, lse);
  const int64_t first = at(&problem->o_strides, entry->q_batch, rules->head, row);
  for (int64_t d = 0; d < problem->v_dim; d++) store_output(data, first + d, question->out[d]);
  if (data->scores != NULL) answer_scores(rules, &contract);
  answer_extras(rules, &contract);
}

static float *numbers_of(const void *tensor, fovea_type type, int64_t count) {
  float *numbers = malloc((size_t)count * sizeof *numbers);
  assert_non_null(numbers);
  if (type == FOVEA_F32)
    memcpy(numbers, tensor, (size_t)count * sizeof *numbers);
  else
    numbers_load(type, tensor, numbers, count);
  return numbers;
}

/* What a batch element without rows gives; rows add to it. */
static void clear_head(const struct row_rules *rules) {
  const selftest_data *data = rules->question->data;
  const fovea_problem *problem = &data->problem;
  const int64_t head = rules->batch * problem->heads + rules->head, keys = problem_score_keys(problem);
  if (problem->max_logits) data->extras.max_logits[head] = -INFINITY;
  if (problem->column_sums.wanted) memset(data->extras.column_sums + head * keys, 0, (size_t)keys * sizeof(float));
  memset(rules->question->sixteen, 0, (size_t)(16 * problem->kv_len) * sizeof(float));
}

static void answer_all(const struct question *question) {
  const fovea_problem *problem = &question->data->problem;
  for (int64_t batch = 0; batch < problem->batch; batch++) {
    struct row_rules rules = {.question = question, .entry = problem_entry(problem, batch), .batch = batch};
    for (rules.head = 0; rules.head < problem->heads; rules.head++) {
      clear_head(&rules);
      for (rules.row = 0; rules.row < rules.entry.rows; rules.row++) answer_row(&rules);
    }
  }
}

void answer_by_contract(selftest_data *data) {
  const fovea_problem *problem = &data->problem;
  const int64_t q_rows = problem_q_batches(problem) * problem->heads * problem->q_len;
  const int64_t kv_rows = problem_kv_batches(problem) * problem->kv_heads * problem->kv_len;
  const int64_t keys = problem->kv_len;
  struct question question = {
      .data = data,
      .q = numbers_of(data->q, problem->q_type, q_rows * problem->qk_dim),
      .k = numbers_of(data->k, problem->k_type, kv_rows * problem->qk_dim),
      .v = numbers_of(data->v, problem->v_type, kv_rows * problem->v_dim),
      .bias = malloc((size_t)((18 + FOVEA_POSITION_TERMS_LIMIT) * keys + problem->v_dim) * sizeof(float)),
      .mask = {.type = problem->mask.type, .strides = problem->mask.strides, .data = data->mask},
  };
  assert_non_null(question.bias);
  question.scores = question.bias + keys;
  question.sixteen = question.scores + keys;
  question.out = question.sixteen + 16 * keys;
  for (int i = 0; i < FOVEA_POSITION_TERMS_LIMIT; i++) question.terms[i] = question.out + problem->v_dim + i * keys;
  answer_all(&question);
  free(question.q);
  free(question.k);
  free(question.v);
  free(question.bias);
}
