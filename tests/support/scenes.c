#include "scenes.h"

#include "check.h"
#include "modes.h"

#include <math.h>
#include <string.h>

/* The rows and keys that all batch elements of a problem have, as a pattern counts them. */
struct range {
  int64_t first_row, rows, keys;
  int by_row;
};

static struct range range_of(const fovea_problem *problem, struct generator *generator) {
  int64_t first = INT64_MAX, end = 0, most = 1, keys = 1;
  for (int64_t b = 0; b < problem->batch; b++) {
    const struct entry entry = problem_entry(problem, b);
    if (entry.q_len > most) most = entry.q_len;
    if (entry.kv_len > keys) keys = entry.kv_len;
    if (entry.offset < first) first = entry.offset;
    if (entry.offset + entry.q_len > end) end = entry.offset + entry.q_len;
  }
  keys += generator_below(generator, 3) ? 0 : generator_below(generator, 200);
  if (first < 0 || generator_below(generator, 3) == 0)
    return (struct range){0, most + generator_below(generator, 40), keys, 1};
  const int64_t earlier = generator_below(generator, first + 1);
  return (struct range){first - earlier, end - first + earlier + (end == first), keys, 0};
}

static fovea_pattern *create_pattern(const struct range *range, const fovea_rule *const *rules, int64_t heads) {
  fovea_pattern *pattern;
  fovea_error error;
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, NULL, range->rows, range->keys);
  options.rules = rules;
  options.heads = heads;
  options.first_row = range->first_row;
  options.by_row = range->by_row;
  if (fovea_pattern_create(&options, &pattern, &error) != FOVEA_OK) fail_msg("%s", error.text);
  return pattern;
}

/* The pattern of some batch elements: one rule, or one for each kv head or query head. */
static void add_pattern(struct scene *scene, struct generator *generator, const struct range *range, int64_t first,
                        int64_t entries) {
  const fovea_problem *problem = &scene->listed.problem;
  const int64_t counts[] = {1, problem->kv_heads, problem->heads}, heads = counts[generator_below(generator, 3)];
  const int depth = heads > 4 ? 0 : (int)generator_below(generator, 3);
  const fovea_rule *rules[TABLE_HEADS];
  for (int64_t h = 0; h < heads; h++)
    rules[h] = rule_random_joined(&scene->made, generator, depth, range->first_row, range->rows, range->keys);
  scene->own[first] = create_pattern(range, rules, heads);
  for (int64_t b = first; b < first + entries; b++) {
    scene->patterns[b] = scene->own[first];
    for (int64_t h = 0; h < problem->heads; h++)
      scene->rules.of[b][h] = rules[heads == problem->heads ? h : heads == 1 ? 0 : h * heads / problem->heads];
  }
}

void scene_add_patterns(struct scene *scene, struct generator *generator) {
  fovea_problem *problem = &scene->listed.problem;
  const struct range range = range_of(problem, generator);
  scene->rules.by_row = range.by_row;
  if (generator_below(generator, 2)) {
    add_pattern(scene, generator, &range, 0, problem->batch);
    problem->pattern = scene->own[0];
    return;
  }
  for (int64_t b = 0; b < problem->batch; b++)
    if (generator_below(generator, 4)) add_pattern(scene, generator, &range, b, 1);
  problem->patterns = scene->patterns;
}

void scene_set_mask_begins(struct scene *scene, struct generator *generator) {
  fovea_problem *problem = &scene->listed.problem;
  if (problem->mask.type == FOVEA_MASK_NONE || generator_below(generator, 2)) return;
  problem->mask.begin = 0;
  problem->mask.keys =
      generator_below(generator, 2) ? FOVEA_UNLIMITED : generator_below(generator, problem->kv_len);
  for (int64_t b = 0; b < problem->batch; b++)
    scene->mask_begins[b] = generator_below(generator, problem_entry(problem, b).kv_len + 1);
  problem->mask.begins = scene->mask_begins;
  problem->mask.strides = fovea_mask_layout(problem->mask.type, problem->batch, problem->heads,
                                            problem_mask_rows(problem), problem_mask_keys(problem));
}

void scene_end(struct scene *scene) {
  for (int b = 0; b < LISTED_ENTRIES; b++) fovea_pattern_destroy(scene->own[b]);
  rules_free(&scene->made);
}

/* ---- Combinations */

static int one_in(struct generator *generator, int64_t n) {
  return generator_below(generator, n) == 0;
}

/* Cells for all positions, in rows of `width`. */
static fovea_position_term random_grid(struct generator *generator, const fovea_problem *problem) {
  int64_t cells = problem->kv_len + 1;
  for (int64_t b = 0; b < problem->batch; b++) {
    const struct entry entry = problem_entry(problem, b);
    if (entry.offset + entry.q_len > cells) cells = entry.offset + entry.q_len;
  }
  const int64_t width = 1 + generator_below(generator, 30), height = 1 + generator_below(generator, 9);
  const int64_t layer = width * height;
  return fovea_term_grid(problem->heads, (cells + layer - 1) / layer, height, width);
}

static fovea_position_term random_term(struct generator *generator, const fovea_problem *problem) {
  const int64_t heads = problem->heads;
  fovea_position_term term;
  switch (generator_below(generator, 5)) {
  case 0:
    return fovea_term_alibi((int)generator_below(generator, 2));
  case 1: /* for each batch element and head, backwards */
    term = fovea_term_alibi((int)generator_below(generator, 2));
    term.batch = -heads;
    return term;
  case 2:
    term = fovea_term_relative(generator_below(generator, 300), generator_below(generator, 60));
    if (generator_below(generator, 2)) term.head = 0;
    return term;
  case 3:
    return fovea_term_t5(heads, 32, 40 + generator_below(generator, 200), (int)generator_below(generator, 2));
  default:
    return random_grid(generator, problem);
  }
}

/* Grids are only for batch elements whose positions are no less than 0. */
static void add_terms(struct scene *scene, struct generator *generator) {
  fovea_problem *problem = &scene->listed.problem;
  const int64_t count = 1 + generator_below(generator, one_in(generator, 3) ? 4 : 1);
  int64_t least = 0;
  for (int64_t b = 0; b < problem->batch; b++) {
    const int64_t offset = problem_entry(problem, b).offset;
    if (offset < least) least = offset;
  }
  for (int64_t i = 0; i < count; i++) {
    scene->terms[i] = random_term(generator, problem);
    if (scene->terms[i].kind == FOVEA_POSITION_GRID && least < 0) scene->terms[i] = fovea_term_alibi(1);
  }
  fovea_problem_set_terms(problem, scene->terms, count);
}

static fovea_range random_range(struct generator *generator, int64_t length) {
  if (one_in(generator, 2)) return (fovea_range){0, FOVEA_UNLIMITED};
  const int64_t begin = generator_below(generator, length + 1);
  return (fovea_range){begin, begin + generator_below(generator, length - begin + 1)};
}

/* Only some heads, rows and keys, in contiguous strides. */
static void random_score_part(fovea_problem *problem, struct generator *generator) {
  problem->scores.heads = random_range(generator, problem->heads);
  problem->scores.rows = random_range(generator, problem->q_len);
  problem->scores.keys = random_range(generator, problem_score_keys(problem));
  const struct score_part part = problem_score_part(problem);
  problem->scores.strides = (fovea_strides){part.heads * part.rows * part.keys, part.rows * part.keys, part.keys};
}

static void add_outputs(fovea_problem *problem, struct generator *generator) {
  if (problem->scores.kind && one_in(generator, 2)) random_score_part(problem, generator);
  problem->max_logits = one_in(generator, 3);
  problem->entropy = one_in(generator, 3);
  problem->column_sums.wanted = one_in(generator, 3);
  if (problem->column_sums.wanted && one_in(generator, 2))
    problem->column_sums.rows = random_range(generator, problem->q_len);
  if (one_in(generator, 3)) problem->top.k = 1 + generator_below(generator, one_in(generator, 4) ? 300 : 20);
}

/* What a mode, or a normaliser other than the softmax, excludes. */
static void make_compatible(fovea_problem *problem) {
  if (problem_has_mode(problem)) problem_suit_modes(problem);
  if (problem->scales & FOVEA_SCALES_PER_HEAD) problem->scale = 1.0 / sqrt((double)problem->qk_dim);
  if (problem->terms.count > 0 && problem->normaliser.divisor == FOVEA_DIVISOR_KEYS)
    problem->normaliser.divisor = FOVEA_DIVISOR_SUM;
  if (problem->normaliser.kind == FOVEA_NORMALISER_SOFTMAX) return;
  problem->sink = FOVEA_SINK_NONE;
  problem->max_logits = problem->entropy = problem->column_sums.wanted = 0;
  problem->column_sums.rows = (fovea_range){0, FOVEA_UNLIMITED};
  problem->top.k = 0;
}

void scene_combine(struct scene *scene, struct generator *generator, int64_t budget) {
  memset(scene, 0, sizeof *scene);
  fovea_problem *problem = &scene->listed.problem;
  problem_random(&scene->listed, generator, budget);
  problem_random_features(problem, generator);
  scene_set_mask_begins(scene, generator);
  if (one_in(generator, 4)) problem->keys.begin = generator_below(generator, problem->kv_len + 1);
  if (one_in(generator, 4))
    problem->keys.end = problem->keys.begin + generator_below(generator, problem->kv_len - problem->keys.begin + 1);
  if (!one_in(generator, 3)) scene_add_patterns(scene, generator);
  if (!one_in(generator, 3)) add_terms(scene, generator);
  problem->scales = (fovea_scales)(one_in(generator, 2) ? 0 : generator_below(generator, 4));
  if (one_in(generator, 3)) problem_set_normaliser(problem, (int)generator_below(generator, 12));
  if (one_in(generator, 2)) problem_random_layout(problem, generator);
  add_outputs(problem, generator);
  const int compatible = !one_in(generator, 4);
  if (one_in(generator, 4)) {
    problem->modes.score = (fovea_mode)generator_below(generator, 3);
    problem->modes.value = (fovea_mode)generator_below(generator, 3);
  }
  if (compatible) make_compatible(problem);
}

/* A few numbers of a tensor become NaN, infinite or zeros of either sign. */
static void spoil(const struct tensor *tensor, struct generator *generator) {
  static const uint32_t special[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 0};
  if (tensor->batch * tensor->heads * tensor->rows * tensor->dim == 0) return;
  for (int64_t i = generator_below(generator, 5); i > 0; i--) {
    float *row = tensor_row(tensor, generator_below(generator, tensor->batch),
                            generator_below(generator, tensor->heads), generator_below(generator, tensor->rows));
    row[generator_below(generator, tensor->dim)] = from_bits(special[generator_below(generator, 5)]);
  }
}

void scene_spoil(struct trial *trial, struct generator *generator) {
  if (!one_in(generator, 4)) return;
  if (one_in(generator, 2)) spoil(&trial->q, generator);
  if (one_in(generator, 2)) spoil(&trial->k, generator);
  if (one_in(generator, 2)) spoil(&trial->v, generator);
  for (int64_t i = 0; i < trial->problem.terms.count; i++) spoil(&trial->terms[i], generator);
}
