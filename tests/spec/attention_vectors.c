/* Vectors of attention in exact mode, and of other normalisers. Sizes lie on both sides of pieces, blocks and spans. */
#include "attention_problem.h"

#include <math.h>

static const float ordinary_sink = 0.75f, no_sink = -INFINITY, nan_sink = NAN, infinite_sink = INFINITY,
                   zero_sink = 0;

/* ---- What is planted ------------------------------------------------------------------------------------------ */

/* Keys whose scores are NaN, +Inf and -Inf; q is 1 everywhere, so that each row has the same scores. With causal rows
 * of 4 dims, row i sees the keys up to i: -Inf alone, then an ordinary key, ... */
static void plant_scores(struct numbers *n, const struct attention *p) {
  static const float scores[] = {-INFINITY, -INFINITY, 0.5f, -INFINITY, 1.5f, NAN, INFINITY};
  for (int64_t i = 0; i < p->rows * p->qk_dim; i++) n->q[i] = 1;
  for (int64_t j = 0; j < p->keys && j < 7; j++) n->k[j * p->qk_dim] = scores[j];
}

/* NaN and infinities in values: of a visible key of weight 0, of a key with a score of -Inf, and of hidden keys. */
static void plant_values(struct numbers *n, const struct attention *p) {
  for (int64_t i = 0; i < p->rows * p->qk_dim; i++) n->q[i] = 1;
  for (int64_t d = 0; d < p->qk_dim; d++) {
    n->k[1 * p->qk_dim + d] = -1000; /* weight 0 */
    n->k[3 * p->qk_dim + d] = -INFINITY;
  }
  n->v[0 * p->v_dim + 0] = INFINITY;
  n->v[1 * p->v_dim + 1] = INFINITY;
  n->v[3 * p->v_dim + 2] = INFINITY;
  n->v[4 * p->v_dim + 3] = -INFINITY;
  n->v[5 * p->v_dim + 4] = NAN;
}

/* Numbers whose products are subnormal, values that are subnormal, and zeros of both signs. */
static void plant_small(struct numbers *n, const struct attention *p) {
  for (int64_t i = 0; i < p->rows * p->qk_dim; i++) n->q[i] *= 0x1p-62f;
  for (int64_t i = 0; i < p->keys * p->qk_dim; i++) n->k[i] *= 0x1p-70f;
  for (int64_t i = 0; i < p->keys * p->v_dim; i++) n->v[i] *= 0x1p-130f;
  for (int64_t j = 0; j < p->keys; j++) n->v[j * p->v_dim] = -0.0f;
}

/* Equal scores, one heavy key, and values half way between two numbers of 16 bits. */
static void plant_ties(struct numbers *n, const struct attention *p) {
  for (int64_t i = 0; i < p->keys * p->qk_dim; i++) n->k[i] = 0;
  for (int64_t j = 0; j < p->keys; j++) {
    const float unit = p->type == FOVEA_F32 && p->o_type == FOVEA_BF16 ? 0x1p-8f : 0x1p-11f;
    n->v[j * p->v_dim] = 1 + unit;
    n->v[j * p->v_dim + 1] = 1 + 3 * unit;
    n->v[j * p->v_dim + 2] = p->o_type == FOVEA_BF16 ? 0x1.fffffep+127f : 65520;
    n->v[j * p->v_dim + 3] = -0x1p-26f;
    n->v[j * p->v_dim + 4] = 0x1.ffcp-15f;
  }
}

/* Scores that repeat, of both zeros, -Inf and NaN: top keys by position. */
static void plant_repeats(struct numbers *n, const struct attention *p) {
  static const float scores[] = {1, 0, -0.0f, 1, -INFINITY, 2, 2, -3, 0, 1};
  for (int64_t i = 0; i < p->rows * p->qk_dim; i++) n->q[i] = 1;
  for (int64_t j = 0; j < p->keys; j++) n->k[j * p->qk_dim] = scores[j % 10];
  if (p->keys > 12) n->k[12 * p->qk_dim] = NAN;
}

/* Nearly all weight on one key. */
static void plant_peak(struct numbers *n, const struct attention *p) {
  for (int64_t d = 0; d < p->qk_dim; d++) n->q[d] = n->k[d] = 3;
}

/* ---- Problems --------------------------------------------------------------------------------------------------- */

/* Products, blocks, spans. */
static const struct attention sizes[] = {
    {"one_key", "3.1 3.2 3.3 3.6", 2, 1, 2, 3, .outputs = OUTPUT_WEIGHTS},
    {"dims_3", "3.1", 2, 5, 3, 2, .outputs = OUTPUT_SCORES},
    {"dims_127", "3.1", 1, 3, 127, 1, .gain = 0.3f},
    {"dims_128", "3.1", 1, 3, 128, 1, .gain = 0.3f},
    {"dims_129", "3.1", 1, 3, 129, 1, .gain = 0.3f},
    {"dims_389", "3.1", 1, 3, 389, 2, .gain = 0.3f, .outputs = OUTPUT_SCORES},
    {"scale", "3.2", 2, 6, 4, 2, .scale = 0.3},
    {"rows_of_17", "3.3 2", 17, 17, 4, 3, .causal = 1},
    {"block", "3.3", 2, 128, 4, 3, .outputs = OUTPUT_MAX},
    {"two_blocks", "3.3 3.4", 3, 130, 4, 3, .causal = 1, .offset = 127},
    {"span", "3.4", 1, 2048, 2, 1, FOVEA_F16, FOVEA_F32, .gain = 4},
    {"two_spans", "3.4", 2, 2049, 2, 1, FOVEA_F16, FOVEA_F32, .causal = 1, .offset = 2047},
    {"tree", "3.4", 2, 6921, 2, 1, FOVEA_BF16, FOVEA_F32, .gain = 4},
    {"hidden_span", "2 3.3 3.4", 3, 4300, 1, 1, FOVEA_F16, FOVEA_F32, .gain = 4, .mask = MASK_BLOCKS},
    {"state", "3.4", 2, 8300, 1, 1, FOVEA_BF16, FOVEA_F32, .gain = 4, .first_span = 1, .end_span = 4},
};

/* Visible keys. */
static const struct attention rules[] = {
    {"causal_rows_before_keys", "2", 4, 3, 2, 2, .causal = 1, .offset = -2},
    {"window", "2", 6, 150, 3, 2, .window = 1, .window_left = 5, .window_right = FOVEA_UNLIMITED, .offset = 10},
    {"window_both", "2", 6, 20, 3, 2, .window = 1, .window_left = 2, .window_right = 1, .offset = 9},
    {"window_across_blocks", "2 3.3", 5, 140, 3, 2, .window = 1, .window_left = 20, .window_right = 0,
     .offset = 134},
    {"chunks", "2", 7, 19, 3, 2, .chunk_size = 4, .chunk_left = 3, .chunk_right = 1, .offset = 5},
    {"chunks_before_keys", "2", 6, 9, 3, 2, .chunk_size = 4, .chunk_left = 0, .chunk_right = FOVEA_UNLIMITED,
     .offset = -3},
    {"range_of_keys", "2", 2, 150, 3, 2, .keys_begin = 100, .keys_end = 135},
    {"mask", "2", 6, 40, 3, 2, .mask = MASK_HOLES},
    {"mask_and_causal", "2", 6, 40, 3, 2, .mask = MASK_HOLES, .causal = 1, .offset = 33},
    {"mask_begin", "2", 4, 30, 3, 2, .mask = MASK_ADDITIVE, .mask_begin = 11},
    {"mask_added", "2 3.2", 4, 140, 3, 2, .mask = MASK_ADDITIVE},
    {"mask_added_f16", "2 3.2", 4, 20, 3, 2, FOVEA_F16, FOVEA_F16, .mask = MASK_ADDITIVE},
};

/* Steps 2, 5 and 7 to 12, one at a time and together. */
static const struct attention features[] = {
    {"softcap", "3.2 6", 3, 20, 4, 2, .softcap = 1.5, .outputs = OUTPUT_SCORES},
    {"leaky", "3.2", 3, 20, 4, 2, .leaky = 1, .slope = 0.2, .outputs = OUTPUT_SCORES},
    {"leaky_slope_0", "3.2 7", 6, 6, 4, 2, .leaky = 1, .causal = 1, .plant = plant_scores},
    {"scales_of_rows", "3.2", 5, 9, 4, 2, .head_scale = 0.3, .row_scales = 1},
    {"alibi", "3.2", 3, 20, 4, 2, .alibi = 1, .causal = 1, .offset = 17},
    {"alibi_symmetric", "3.2", 3, 20, 4, 2, .alibi = 2, .offset = 8},
    {"relative", "3.2", 3, 20, 4, 2, .relative = 1, .offset = 8},
    {"t5_one_direction", "3.2", 3, 70, 4, 2, .t5 = 1, .offset = 60},
    {"t5_both_directions", "3.2", 3, 70, 4, 2, .t5 = 2, .offset = 30},
    {"grid", "3.2", 5, 24, 4, 2, .grid = 1, .offset = 10},
    {"terms_and_mask", "3.2", 3, 24, 4, 2, .alibi = 1, .relative = 1, .t5 = 2, .grid = 1, .mask = MASK_ADDITIVE,
     .softcap = 3, .offset = 10, .outputs = OUTPUT_SCORES | OUTPUT_WEIGHTS},
    {"shaw_keys", "3.1", 3, 20, 5, 2, .shaw_keys = 1, .shaw_distance = 3, .offset = 8, .outputs = OUTPUT_SCORES},
    {"shaw_values", "3.3", 3, 140, 3, 2, .shaw_values = 1, .shaw_distance = 3, .offset = 126, .mask = MASK_HOLES},
    {"shaw_both", "3.1 3.3", 4, 12, 3, 2, .shaw_keys = 1, .shaw_values = 1, .shaw_distance = 2, .causal = 1,
     .offset = 8},
    {"sink", "3.5", 3, 20, 4, 2, .sink = &ordinary_sink, .outputs = OUTPUT_WEIGHTS | OUTPUT_MAX | OUTPUT_ENTROPY},
    {"sink_alone", "3.5", 2, 3, 4, 2, .sink = &ordinary_sink, .causal = 1, .offset = -1, .outputs = OUTPUT_ENTROPY},
    {"sink_zero", "3.5", 2, 20, 4, 2, .sink = &zero_sink},
    {"sink_minus_infinity", "7", 2, 3, 4, 2, .sink = &no_sink, .causal = 1, .offset = -1},
    {"sink_infinite", "7", 2, 3, 4, 2, .sink = &infinite_sink, .causal = 1, .offset = -1},
    {"sink_nan", "7", 2, 3, 4, 2, .sink = &nan_sink, .causal = 1, .offset = -1},
    {"outputs", "3.7 3.8 3.9 3.10 3.11 3.12", 6, 140, 4, 2, .causal = 1, .offset = 134,
     .outputs = OUTPUT_WEIGHTS | OUTPUT_SCORES | OUTPUT_TOP | OUTPUT_ENTROPY | OUTPUT_COLUMNS | OUTPUT_MAX},
    {"column_sums", "3.12", 150, 3, 2, 1, .causal = 1, .offset = -2, .outputs = OUTPUT_COLUMNS},
    {"top_keys", "3.10", 2, 14, 2, 1, .causal = 1, .offset = 11, .plant = plant_repeats,
     .outputs = OUTPUT_TOP | OUTPUT_MAX},
    {"entropy_of_a_peak", "3.11", 2, 300, 4, 1, .gain = 1, .plant = plant_peak, .outputs = OUTPUT_ENTROPY},
    {"entropy_of_one_key", "3.11", 3, 3, 4, 1, .causal = 1, .offset = -1, .outputs = OUTPUT_ENTROPY},
};

/* Special values, and types. */
static const struct attention specials[] = {
    {"scores_not_finite", "7 3.3 3.6", 7, 7, 4, 2, .causal = 1, .plant = plant_scores,
     .outputs = OUTPUT_WEIGHTS | OUTPUT_SCORES | OUTPUT_TOP | OUTPUT_ENTROPY | OUTPUT_MAX},
    {"scores_not_finite_softcap", "7 6", 7, 7, 4, 2, .causal = 1, .softcap = 2, .plant = plant_scores,
     .outputs = OUTPUT_SCORES},
    {"values_not_finite", "7", 6, 6, 2, 6, .causal = 1, .plant = plant_values},
    {"subnormal", "1 3.6", 2, 20, 4, 3, .scale = 0x1p120, .plant = plant_small},
    {"f16", "1 3.6", 3, 20, 4, 3, FOVEA_F16, FOVEA_F16, .causal = 1, .offset = 17},
    {"bf16", "1 3.6", 3, 20, 4, 3, FOVEA_BF16, FOVEA_BF16, .causal = 1, .offset = 17},
    {"f16_rounded", "3.6", 1, 1, 2, 5, FOVEA_F32, FOVEA_F16, .plant = plant_ties},
    {"bf16_rounded", "3.6", 1, 1, 2, 5, FOVEA_F32, FOVEA_BF16, .plant = plant_ties},
};

/* Section 13. */
static const struct attention normalisers[] = {
    {"attention_relu", "13", 4, 140, 4, 2, .causal = 1, .offset = 136, .normaliser = CONTRACT_RELU,
     .divisor = CONTRACT_KEYS, .outputs = OUTPUT_WEIGHTS},
    {"attention_relu_over_sum", "13", 3, 20, 4, 2, .mask = MASK_ADDITIVE, .normaliser = CONTRACT_RELU,
     .divisor = CONTRACT_SUM, .softcap = 2},
    {"attention_relu_squared", "13", 3, 20, 4, 2, .normaliser = CONTRACT_RELU_SQUARED, .divisor = CONTRACT_VALUE,
     .divisor_value = 7.3},
    {"attention_relu_squared_small_sum", "13", 3, 20, 4, 2, .gain = 0x1p-40f, .normaliser = CONTRACT_RELU_SQUARED,
     .divisor = CONTRACT_SUM, .outputs = OUTPUT_WEIGHTS},
    {"attention_sigmoid", "13", 4, 2200, 2, 1, FOVEA_F16, FOVEA_F32, .normaliser = CONTRACT_SIGMOID,
     .divisor = CONTRACT_ONE, .sigmoid_bias = -3.5, .mask = MASK_BLOCKS},
    {"attention_sigmoid_over_keys", "13", 3, 20, 4, 2, .relative = 1, .offset = 8, .normaliser = CONTRACT_SIGMOID,
     .divisor = CONTRACT_KEYS, .sigmoid_bias = 0.1},
    {"attention_relu_not_finite", "13 7", 7, 7, 4, 2, .causal = 1, .plant = plant_scores,
     .normaliser = CONTRACT_RELU, .divisor = CONTRACT_SUM, .outputs = OUTPUT_WEIGHTS},
    {"attention_sigmoid_not_finite", "13 7", 7, 7, 4, 2, .causal = 1, .plant = plant_scores,
     .normaliser = CONTRACT_SIGMOID, .divisor = CONTRACT_KEYS},
};

#define WRITE_ALL(list)                                                                                            \
  for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++) write_attention_problem(&(list)[i])

void write_attention(void) {
  WRITE_ALL(sizes);
  WRITE_ALL(rules);
  WRITE_ALL(features);
  WRITE_ALL(specials);
  WRITE_ALL(normalisers);
}
