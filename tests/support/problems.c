#include "problems.h"

#include "rules.h"

#define NONE   FOVEA_UNLIMITED
#define CORNER FOVEA_OFFSET_BOTTOM_RIGHT

const struct rule rule_list[] = {
    {"full", 0, NONE, NONE, 0, 0, 0, CORNER},
    {"causal", 1, NONE, NONE, 0, 0, 0, CORNER},
    {"causal top-left", 1, NONE, NONE, 0, 0, 0, 0},
    {"causal, first rows empty", 1, NONE, NONE, 0, 0, 0, -5},
    {"causal, offset 77", 1, NONE, NONE, 0, 0, 0, 77},
    {"own key only", 0, 0, 0, 0, 0, 0, CORNER},
    {"own key and one before", 1, 1, NONE, 0, 0, 0, 0},
    {"window 16 to each side", 0, 16, 16, 0, 0, 0, CORNER},
    {"window 100 left, causal", 1, 100, NONE, 0, 0, 0, CORNER},
    {"window 127 left, 1 right", 0, 127, 1, 0, 0, 0, 3},
    {"window unlimited left, 10 right", 0, NONE, 10, 0, 0, 0, CORNER},
    {"window 10 left, unlimited right", 0, 10, NONE, 0, 0, 0, CORNER},
    {"window beyond any length", 0, INT64_MAX, INT64_MAX, 0, 0, 0, CORNER},
    {"window left of all keys at first", 0, 3, 3, 0, 0, 0, -20},
    {"chunks of 1", 0, NONE, NONE, 1, 0, 0, CORNER},
    {"chunks of 4", 0, NONE, NONE, 4, 0, 0, CORNER},
    {"chunks of 16, 16 left", 0, NONE, NONE, 16, 16, 0, CORNER},
    {"chunks of 64, 256 left", 0, NONE, NONE, 64, 256, 0, CORNER},
    {"chunks of 7, 3 left, 2 right", 0, NONE, NONE, 7, 3, 2, -11},
    {"chunks of 5, all left", 0, NONE, NONE, 5, NONE, 0, CORNER},
    {"chunks of 130, all right", 0, NONE, NONE, 130, 0, NONE, CORNER},
    {"chunks of 64, 5 left, causal", 1, NONE, NONE, 64, 5, 0, CORNER},
    {"chunks of 32 with a window", 0, 20, 9, 32, 8, 40, 13},
    {"chunk beyond any length", 0, NONE, NONE, INT64_C(1) << 40, 0, 0, 0},
};
const int rule_count = (int)(sizeof rule_list / sizeof rule_list[0]);

void problem_apply(fovea_problem *problem, const struct rule *rule) {
  problem->causal = rule->causal;
  problem->window_left = rule->window_left;
  problem->window_right = rule->window_right;
  problem->chunks.size = rule->chunk_size;
  problem->chunks.left = rule->chunk_left;
  problem->chunks.right = rule->chunk_right;
  problem->offset = rule->offset;
  problem_say_offset(problem);
}

void problem_say_offset(fovea_problem *problem) {
  if (problem->offset == CORNER && problem->q_len > problem->kv_len)
    problem->offset = problem->kv_len - problem->q_len;
}

void problem_say_offsets(fovea_problem *problem, int64_t *offsets) {
  int negative = 0;
  if (problem->offsets != NULL || problem->offset != FOVEA_OFFSET_BOTTOM_RIGHT) return;
  for (int64_t b = 0; b < problem->batch; b++) {
    offsets[b] = problem_entry(problem, b).offset;
    negative |= offsets[b] < 0;
  }
  if (negative) problem->offsets = offsets;
}

static int one_in(struct generator *generator, int64_t n) {
  return generator_below(generator, n) == 0;
}

/* From 1 to limit. Small values are as likely as large ones, and many are next to a power of two. */
static int64_t random_length(struct generator *generator, int64_t limit) {
  int64_t power = 1;
  while (power * 2 <= limit && !one_in(generator, 5)) power *= 2;
  if (one_in(generator, 2))
    power += generator_below(generator, 5) - 2;
  else
    power = 1 + generator_below(generator, power);
  return power < 1 ? 1 : power > limit ? limit : power;
}

static int64_t random_dim(struct generator *generator) {
  static const int64_t dims[] = {1,  2,  3,  8,  15, 16,  17,  20,  31,  32,  33,  40,  48,  59,  63,  64,  65,
                                 72, 80, 95, 96, 97, 111, 112, 127, 128, 129, 160, 192, 224, 255, 256, 257, 300};
  return dims[generator_below(generator, (int64_t)(sizeof dims / sizeof dims[0]))];
}

static void random_lengths(struct generator *generator, int64_t entries, int64_t limit, int64_t *lengths) {
  for (int64_t b = 0; b < entries; b++) lengths[b] = generator_below(generator, limit + 1);
}

/* Cumulative lengths, sometimes with rows that belong to no sequence before the first, and maybe after the last. */
static void random_cumulative(struct generator *generator, int64_t entries, int64_t limit, int32_t *cumulative) {
  int64_t at = one_in(generator, 3) ? generator_below(generator, limit / 4 + 1) : 0;
  for (int64_t b = 0; b <= entries; b++) {
    cumulative[b] = (int32_t)at;
    at += generator_below(generator, limit - at + 1);
  }
}

static void random_entries(struct listed_problem *listed, struct generator *generator) {
  fovea_problem *problem = &listed->problem;
  const int64_t entries = problem->batch;
  if (one_in(generator, 4)) {
    random_cumulative(generator, entries, problem->q_len, listed->cu_seqlens_q);
    problem->cu_seqlens_q = listed->cu_seqlens_q;
  } else if (one_in(generator, 4)) {
    random_lengths(generator, entries, problem->q_len, listed->q_lens);
    problem->q_lens = listed->q_lens;
  }
  if (one_in(generator, 4)) {
    random_cumulative(generator, entries, problem->kv_len, listed->cu_seqlens_kv);
    problem->cu_seqlens_kv = listed->cu_seqlens_kv;
  } else if (one_in(generator, 4)) {
    random_lengths(generator, entries, problem->kv_len, listed->kv_lens);
    problem->kv_lens = listed->kv_lens;
  }
  if (one_in(generator, 5)) {
    for (int64_t b = 0; b < entries; b++)
      listed->offsets[b] = generator_below(generator, 2 * problem->kv_len + 2) - problem->kv_len;
    problem->offsets = listed->offsets;
    problem->offset = FOVEA_OFFSET_BOTTOM_RIGHT;
  }
  if (one_in(generator, 5)) {
    for (int64_t b = 0; b < entries; b++)
      listed->kv_begins[b] = generator_below(generator, problem_entry(problem, b).kv_len + 1);
    problem->kv_begins = listed->kv_begins;
  }
  problem_say_offsets(problem, listed->offsets);
}

void problem_random(struct listed_problem *listed, struct generator *generator, int64_t budget) {
  const int64_t batch = 1 + generator_below(generator, LISTED_ENTRIES);
  const int64_t kv_heads = 1 + generator_below(generator, 3), group = 1 + generator_below(generator, 4);
  const int64_t qk_dim = random_dim(generator);
  const int64_t v_dim = one_in(generator, 2) ? qk_dim : random_dim(generator);
  int64_t q_len = random_length(generator, 300), kv_len = random_length(generator, 5000);
  while (batch * kv_heads * group * q_len * kv_len * (qk_dim + v_dim) > budget && (q_len > 1 || kv_len > 1)) {
    if (kv_len > 2 * q_len || q_len == 1)
      kv_len = (kv_len + 1) / 2;
    else
      q_len = (q_len + 1) / 2;
  }
  fovea_problem_init(&listed->problem, batch, kv_heads * group, kv_heads, q_len, kv_len, qk_dim, v_dim);
  fovea_problem_resolve(&listed->problem, NULL);
  problem_apply(&listed->problem, &rule_list[generator_below(generator, rule_count)]);
  if (one_in(generator, 8)) listed->problem.scale = 4.0 * (double)generator_uniform(generator);
  random_entries(listed, generator);
}

/* Half of the time one of the kinds, else the first. */
static int random_kind(struct generator *generator, int kinds) {
  return one_in(generator, 2) ? 0 : (int)generator_below(generator, kinds);
}

static void random_mask(fovea_problem *problem, struct generator *generator) {
  problem->mask.type = (fovea_mask_type)random_kind(generator, 6);
  if (problem->mask.type == FOVEA_MASK_NONE) return;
  if (one_in(generator, 3)) problem->mask.begin = generator_below(generator, problem->kv_len + 1);
  if (one_in(generator, 3))
    problem->mask.keys = generator_below(generator, problem->kv_len - problem->mask.begin + 1);
  const int64_t padding = one_in(generator, 3) ? generator_below(generator, 50) : 0;
  fovea_mask_strides *strides = &problem->mask.strides;
  *strides = fovea_mask_layout(problem->mask.type, problem->batch, problem->heads, problem_mask_rows(problem),
                               problem_mask_keys(problem) + padding);
  if (one_in(generator, 3)) strides->batch = 0;
  if (one_in(generator, 3)) strides->head = 0;
  if (one_in(generator, 4)) strides->row = 0;
  strides->key = !one_in(generator, 6);
}

void problem_random_features(fovea_problem *problem, struct generator *generator) {
  static const double caps[] = {30.0, 50.0, 1.0, 0.01, 5000.0};
  fovea_type *const types[] = {&problem->q_type, &problem->k_type, &problem->v_type, &problem->o_type};
  const int mixed = one_in(generator, 2);
  for (int i = 0; i < 4; i++) *types[i] = (fovea_type)(mixed ? random_kind(generator, 3) : 0);
  random_mask(problem, generator);
  if (one_in(generator, 4)) problem->softcap = caps[generator_below(generator, 5)];
  problem->sink = (fovea_sink)random_kind(generator, 3);
  const int64_t scores = problem->batch * problem->heads * problem->q_len * problem->kv_len;
  if (scores < 4000000 && one_in(generator, 3))
    problem->scores.kind = (fovea_score_output)(1 + random_kind(generator, 4));
  if (one_in(generator, 5)) problem_set_leaky(problem, (double)generator_below(generator, 5) * 0.2);
}

void problem_set_leaky(fovea_problem *problem, double slope) {
  problem->activation.kind = FOVEA_SCORE_ACTIVATION_LEAKY_RELU;
  problem->activation.leaky_slope = slope;
}

void problem_set_normaliser(fovea_problem *problem, int number) {
  problem->normaliser.kind = (fovea_normaliser)(FOVEA_NORMALISER_RELU + number % 3);
  problem->normaliser.divisor = (fovea_divisor)(number / 3 % 4);
  problem->normaliser.divisor_value = problem->normaliser.divisor == FOVEA_DIVISOR_CONSTANT ? 37.3 : 0.0;
  problem->normaliser.sigmoid_bias =
      problem->normaliser.kind == FOVEA_NORMALISER_SIGMOID ? -0.7 * (number % 4) : 0.0;
}

void problem_random_normaliser(fovea_problem *problem, struct generator *generator) {
  if (!one_in(generator, 3)) return;
  problem_set_normaliser(problem, (int)generator_below(generator, 12));
  problem->sink = FOVEA_SINK_NONE;
}

static fovea_strides random_strides(struct generator *generator, int64_t batch, int64_t heads, int64_t rows,
                                    int64_t dim) {
  int64_t lengths[3] = {batch, heads, rows}, strides[3] = {0};
  int64_t stride = dim + generator_below(generator, 4);
  if (one_in(generator, 3)) stride = (stride + 255) / 256 * 256; /* rows a kilobyte apart share cache sets */
  const int64_t first = generator_below(generator, 3), direction = 1 + generator_below(generator, 2);
  for (int64_t step = 0; step < 3; step++) {
    const int64_t axis = (first + step * direction) % 3;
    strides[axis] = one_in(generator, 4) ? -stride : stride;
    stride *= lengths[axis] > 0 ? lengths[axis] : 1;
    stride += generator_below(generator, 3);
  }
  return (fovea_strides){strides[0], strides[1], strides[2]};
}

/* An axis along which the mask is repeated counts as one of extent 1. */
static void random_mask_strides(fovea_problem *problem, struct generator *generator) {
  fovea_mask_strides *strides = &problem->mask.strides;
  const int64_t keys = strides->key == 0 ? 1 : problem_mask_keys(problem);
  const int64_t unit = problem->mask.type == FOVEA_MASK_BITS ? 8 : 1; /* rows of bits begin at whole bytes */
  const fovea_strides random =
      random_strides(generator, strides->batch == 0 ? 1 : problem->batch, strides->head == 0 ? 1 : problem->heads,
                     strides->row == 0 ? 1 : problem_mask_rows(problem), (keys + unit - 1) / unit);
  if (strides->batch != 0) strides->batch = random.batch * unit;
  if (strides->head != 0) strides->head = random.head * unit;
  if (strides->row != 0) strides->row = random.row * unit;
}

void problem_random_layout(fovea_problem *problem, struct generator *generator) {
  const int64_t batch = problem->batch, heads = problem->heads, kv_heads = problem->kv_heads;
  problem->q_strides = random_strides(generator, batch, heads, problem->q_len, problem->qk_dim);
  problem->k_strides = random_strides(generator, batch, kv_heads, problem->kv_len, problem->qk_dim);
  problem->v_strides = random_strides(generator, batch, kv_heads, problem->kv_len, problem->v_dim);
  problem->o_strides = random_strides(generator, batch, heads, problem->q_len, problem->v_dim);
  problem->lse_strides = random_strides(generator, batch, heads, problem->q_len, 1);
  problem->scores.strides = random_strides(generator, batch, heads, problem->q_len, problem_score_keys(problem));
  if (problem->mask.type != FOVEA_MASK_NONE) random_mask_strides(problem, generator);
}
