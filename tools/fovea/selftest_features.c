/* Features of the self test's problems: patterns, position terms, scales, normalisers, outputs beside O and LSE. */
#include "selftest_numbers.h"
#include "selftest_problems.h"

#include <stdlib.h>

/* Numbers of their own: the numbers of other tensors begin at other places (selftest_data.c,
 * selftest_part_run.c). */
enum { NUMBERS_OF_HEAD_SCALES = 32, NUMBERS_OF_ROW_SCALES, NUMBERS_OF_TERMS };
enum { NUMBERS_OF_SHAW_KEYS = 40, NUMBERS_OF_SHAW_VALUES };
enum { NUMBERS_OF_KEY_CENTRE = 44, NUMBERS_OF_KEY_SCALE, NUMBERS_OF_VALUE_SCALE };

void selftest_describe_features(const selftest_features *from, fovea_problem *problem) {
  if (from->term_count > 0) fovea_problem_set_terms(problem, from->terms, from->term_count);
  problem->scales = from->scales;
  problem->normaliser.kind = from->normaliser;
  problem->normaliser.divisor = from->divisor;
  problem->normaliser.divisor_value = from->divisor_value;
  problem->normaliser.sigmoid_bias = from->sigmoid_bias;
  problem->max_logits = from->max_logits;
  problem->entropy = from->entropy;
  problem->column_sums.wanted = from->column_sums;
  problem->top.k = from->top_k;
  problem->activation.kind = from->leaky ? FOVEA_SCORE_ACTIVATION_LEAKY_RELU : FOVEA_SCORE_ACTIVATION_NONE;
  problem->activation.leaky_slope = from->leaky_slope;
  problem->shaw.kind = from->shaw;
  problem->shaw.distance = from->shaw_distance;
  problem->modes.score = from->score_mode;
  problem->modes.value = from->value_mode;
  problem->channels.key_centre = from->key_centre;
  problem->channels.key_scale = from->key_scale;
  problem->channels.value_scale = from->value_scale;
  if (from->shaw_of_heads) problem->shaw.heads = problem->heads;
  if (from->column_rows) problem->column_sums.rows = *from->column_rows;
  if (!from->score_part) return;
  problem->scores.heads = from->score_part[0];
  problem->scores.rows = from->score_part[1];
  problem->scores.keys = from->score_part[2];
  const int64_t rows = from->score_part[1].end - from->score_part[1].begin,
                keys = from->score_part[2].end - from->score_part[2].begin,
                heads = from->score_part[0].end - from->score_part[0].begin;
  problem->scores.strides = (fovea_strides){heads * rows * keys, rows * keys, keys};
}

static int64_t places_of(const fovea_position_term *term) {
  switch (term->kind) {
  case FOVEA_POSITION_RELATIVE:
    return term->before + 1 + term->after;
  case FOVEA_POSITION_T5:
    return term->buckets;
  case FOVEA_POSITION_GRID:
    return (2 * term->depth - 1) * (2 * term->height - 1) * (2 * term->width - 1);
  default:
    return 1;
  }
}

/* Numbers of all batch elements, heads and places; strides that are 0 only leave some of them unused. */
static bool make_terms(selftest_data *data) {
  const selftest_features *features = &data->description->features;
  for (int i = 0; i < (int)features->term_count; i++) {
    const int64_t count = data->problem.batch * data->problem.heads * places_of(&features->terms[i]);
    float *numbers = calloc((size_t)count, sizeof *numbers);
    if (!numbers) return false;
    selftest_fill_mixed(numbers, FOVEA_F32, NUMBERS_OF_TERMS + i, count,
                        features->term_gain > 0 ? features->term_gain : 1, 0);
    data->extras.terms[i] = numbers;
    data->extras.term_pointers[i] = numbers;
  }
  return true;
}

/* Doubles in [gain, 3 gain), exact, with 24 random bits. */
static double *make_scales(int64_t count, int which, double gain) {
  double *scales = calloc((size_t)count, sizeof *scales);
  float *numbers = calloc((size_t)count, sizeof *numbers);
  if (numbers) selftest_fill_uniform(numbers, FOVEA_F32, which, count);
  for (int64_t i = 0; scales && numbers && i < count; i++) scales[i] = gain * (2.0 + 0.5 * (double)numbers[i]);
  free(numbers);
  return scales;
}

/* A table of vectors, or nothing if it is not wanted. */
static bool make_vectors(const fovea_problem *problem, fovea_shaw which, int64_t dim, int numbers, float **table) {
  const int64_t count = problem->shaw.heads * (2 * problem->shaw.distance + 1) * dim;
  if (!(problem->shaw.kind & which)) return true;
  *table = calloc((size_t)count, sizeof **table);
  if (*table) selftest_fill_mixed(*table, FOVEA_F32, numbers, count, 1, 0);
  return *table != NULL;
}

static bool make_shaw(selftest_data *data) {
  const fovea_problem *p = &data->problem;
  selftest_extras *extras = &data->extras;
  return make_vectors(p, FOVEA_SHAW_KEYS, p->qk_dim, NUMBERS_OF_SHAW_KEYS, &extras->shaw_keys) &&
         make_vectors(p, FOVEA_SHAW_VALUES, p->v_dim, NUMBERS_OF_SHAW_VALUES, &extras->shaw_values);
}

/* Channel numbers of int8 mode, or nothing if they are not wanted. */
static bool make_fixed(const fovea_problem *problem, fovea_channels vectors, int64_t dim, int numbers,
                       float **table) {
  const int64_t count = (vectors == FOVEA_CHANNELS_PER_HEAD ? problem->kv_heads : 1) * dim;
  if (vectors == FOVEA_CHANNELS_NONE) return true;
  *table = calloc((size_t)count, sizeof **table);
  if (*table) selftest_fill_uniform(*table, FOVEA_F32, numbers, count);
  return *table != NULL;
}

static bool make_all_fixed(selftest_data *data) {
  const fovea_problem *p = &data->problem;
  selftest_extras *extras = &data->extras;
  return make_fixed(p, p->channels.key_centre, p->qk_dim, NUMBERS_OF_KEY_CENTRE, &extras->key_centre) &&
         make_fixed(p, p->channels.key_scale, p->qk_dim, NUMBERS_OF_KEY_SCALE, &extras->key_scale) &&
         make_fixed(p, p->channels.value_scale, p->v_dim, NUMBERS_OF_VALUE_SCALE, &extras->value_scale);
}

/* Filled with a number that is no result. */
static float *make_output(int64_t count) {
  float *numbers = calloc((size_t)count, sizeof *numbers);
  if (!numbers) return NULL;
  for (int64_t i = 0; i < count; i++) numbers[i] = -0x1.5p+99f;
  return numbers;
}

static void count_outputs(selftest_data *data) {
  const fovea_problem *p = &data->problem;
  const int64_t heads = p->batch * p->heads, rows = (p->cu_seqlens_q ? 1 : p->batch) * p->heads * p->q_len;
  int64_t keys = p->cu_seqlens_kv ? 0 : p->kv_len;
  for (int64_t b = 0; p->cu_seqlens_kv && b < p->batch; b++) {
    const int64_t length = p->cu_seqlens_kv[b + 1] - p->cu_seqlens_kv[b];
    if (length > keys) keys = length;
  }
  data->extras.max_logit_count = p->max_logits ? heads : 0;
  data->extras.entropy_count = p->entropy ? rows : 0;
  data->extras.top_count = rows * p->top.k;
  data->extras.column_count = p->column_sums.wanted ? heads * keys : 0;
}

static bool make_outputs(selftest_data *data) {
  selftest_extras *extras = &data->extras;
  count_outputs(data);
  if (extras->max_logit_count > 0) extras->max_logits = make_output(extras->max_logit_count);
  if (extras->entropy_count > 0) extras->entropy = make_output(extras->entropy_count);
  if (extras->column_count > 0) extras->column_sums = make_output(extras->column_count);
  if (extras->top_count > 0) {
    extras->top_scores = make_output(extras->top_count);
    extras->top_keys = calloc((size_t)extras->top_count, sizeof *extras->top_keys);
    for (int64_t i = 0; extras->top_keys && i < extras->top_count; i++) extras->top_keys[i] = -99;
  }
  return !extras->max_logits == !extras->max_logit_count && !extras->entropy == !extras->entropy_count &&
         !extras->column_sums == !extras->column_count && !extras->top_scores == !extras->top_count &&
         !extras->top_keys == !extras->top_count;
}

bool selftest_prepare_extras(selftest_data *data) {
  const fovea_problem *p = &data->problem;
  if ((p->scales & FOVEA_SCALES_PER_HEAD) != 0) {
    data->extras.head_scales = make_scales(p->heads, NUMBERS_OF_HEAD_SCALES, 0.125);
    if (!data->extras.head_scales) return false;
  }
  if ((p->scales & FOVEA_SCALES_PER_ROW) != 0) {
    data->extras.row_scales = make_scales(p->batch * p->q_len, NUMBERS_OF_ROW_SCALES, 0.5);
    if (!data->extras.row_scales) return false;
  }
  return make_terms(data) && make_shaw(data) && make_all_fixed(data) && make_outputs(data);
}

void selftest_release_extras(selftest_data *data) {
  selftest_extras *extras = &data->extras;
  for (int i = 0; i < FOVEA_POSITION_TERMS_LIMIT; i++) free(extras->terms[i]);
  free(extras->head_scales);
  free(extras->row_scales);
  free(extras->shaw_keys);
  free(extras->shaw_values);
  free(extras->key_centre);
  free(extras->key_scale);
  free(extras->value_scale);
  free(extras->max_logits);
  free(extras->entropy);
  free(extras->column_sums);
  free(extras->top_scores);
  free(extras->top_keys);
}

void selftest_set_extras(selftest_data *data, fovea_tensors *tensors) {
  const selftest_extras *extras = &data->extras;
  if (data->problem.terms.count > 0) tensors->terms = extras->term_pointers;
  tensors->head_scales = extras->head_scales;
  tensors->row_scales = extras->row_scales;
  tensors->shaw.keys = extras->shaw_keys;
  tensors->shaw.values = extras->shaw_values;
  tensors->channels.key_centre = extras->key_centre;
  tensors->channels.key_scale = extras->key_scale;
  tensors->channels.value_scale = extras->value_scale;
  tensors->max_logits = extras->max_logits;
  tensors->entropy = extras->entropy;
  tensors->column_sums = extras->column_sums;
  tensors->top.keys = extras->top_keys;
  tensors->top.scores = extras->top_scores;
}

static uint64_t absorb_keys(uint64_t digest, const int64_t *keys, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const int32_t key = selftest_word_of(keys[i]);
    digest = selftest_absorb(digest, &key, 1);
  }
  return digest;
}

uint64_t selftest_absorb_extras(uint64_t digest, const selftest_data *data) {
  const selftest_extras *extras = &data->extras;
  digest = selftest_absorb(digest, extras->max_logits, extras->max_logit_count);
  digest = selftest_absorb(digest, extras->entropy, extras->entropy_count);
  digest = absorb_keys(digest, extras->top_keys, extras->top_count);
  digest = selftest_absorb(digest, extras->top_scores, extras->top_count);
  return selftest_absorb(digest, extras->column_sums, extras->column_count);
}

fovea_status selftest_make_pattern(const selftest_data *data, fovea_pattern **pattern, fovea_error *error) {
  const selftest_features *features = &data->description->features;
  const fovea_problem *p = &data->problem;
  fovea_pattern_options options;
  *pattern = NULL;
  if (!features->rule && !features->rules) return FOVEA_OK;
  /* The last position that a pattern needs is the last key's, or the last row's after an offset. */
  const int64_t offset = p->offset == FOVEA_OFFSET_BOTTOM_RIGHT ? 0 : p->offset, rows = p->q_len + offset;
  fovea_pattern_options_init(&options, features->rule, rows > p->kv_len ? rows : p->kv_len, p->kv_len);
  options.rules = features->rules;
  options.heads = features->rule_heads;
  options.by_row = features->by_row;
  return fovea_pattern_create(&options, pattern, error);
}
