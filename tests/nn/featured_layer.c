#include "featured_layer.h"

#include "support/check.h"

#include <string.h>

static float x[BATCH * KEYS * WIDTH];
float weights[4][WIDTH * WIDTH];
float slopes[BATCH * HEADS], table[HEADS * BUCKETS], shaw_keys[(2 * SHAW + 1) * DIM],
    shaw_values[(2 * SHAW + 1) * DIM], sinks[HEADS], vectors[KV_HEADS * DIM];
double head_scales[HEADS], row_scales[BATCH * KEYS];
const float *const terms[2] = {slopes, table};
const fovea_position_term kinds[2] = {
    {FOVEA_POSITION_ALIBI, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {FOVEA_POSITION_T5, 0, BUCKETS, 1, 0, 0, BUCKETS, 20, 0, 0, 0, 0},
};
fovea_pattern *pattern;

static void fill(float *numbers, int64_t count, int step, float size) {
  for (int64_t i = 0; i < count; i++) numbers[i] = (float)((i * step) % 61 - 30) / 32 * size;
}

int make_numbers(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) fill(weights[i], WIDTH * WIDTH, 7 + 2 * i, 0.25f);
  fill(x, BATCH * KEYS * WIDTH, 17, 2);
  fill(shaw_keys, (2 * SHAW + 1) * DIM, 23, 0.5f);
  fill(shaw_values, (2 * SHAW + 1) * DIM, 29, 0.5f);
  fill(table, HEADS * BUCKETS, 31, 1);
  fill(sinks, HEADS, 37, 1);
  for (int i = 0; i < BATCH * HEADS; i++) slopes[i] = 0.5f / (float)(1 + i);
  for (int i = 0; i < KV_HEADS * DIM; i++) vectors[i] = 0.5f + (float)(i % 3) / 4;
  for (int i = 0; i < HEADS; i++) head_scales[i] = 0.25 + i / 8.0;
  for (int i = 0; i < BATCH * KEYS; i++) row_scales[i] = 1 + i / 16.0;
  const fovea_rule rule = fovea_rule_every(3, 0, 2);
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, &rule, KEYS, KEYS);
  return fovea_pattern_create(&options, &pattern, NULL) == FOVEA_OK ? 0 : -1;
}

int release_numbers(void **state) {
  (void)state;
  fovea_pattern_destroy(pattern);
  return 0;
}

void make_layer(struct layer *l) {
  fovea_nn_linear_init(&l->query, WIDTH, HEADS * DIM, weights[0]);
  fovea_nn_linear_init(&l->key, WIDTH, KV_HEADS * DIM, weights[1]);
  fovea_nn_linear_init(&l->value, WIDTH, KV_HEADS * DIM, weights[2]);
  fovea_nn_linear_init(&l->output, HEADS * DIM, WIDTH, weights[3]);
  fovea_nn_attention_init(&l->attention, &l->query, &l->key, &l->value, &l->output);
}

void make_cache(struct cache *c) {
  fovea_pages pages;
  memset(c, 0, sizeof *c);
  fovea_pages_init(&pages, BATCH, ROOM, KV_HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.layers = LAYERS;
  pages.k = c->k;
  pages.v = c->v;
  for (int b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &c->segments[b], NULL), FOVEA_OK);
    c->sequences[b] = fovea_sequence_of(&c->segments[b], 1);
  }
}

fovea_problem problem_of(int64_t rows, int64_t keys, int segmented) {
  fovea_problem p;
  fovea_problem_init(&p, BATCH, HEADS, KV_HEADS, rows, keys, DIM, DIM);
  p.causal = 1;
  p.cache.segmented = segmented;
  return p;
}

void take_rows(int64_t first, int64_t rows, float *to) {
  for (int64_t b = 0; b < BATCH; b++)
    memcpy(to + b * rows * WIDTH, x + (b * KEYS + first) * WIDTH, (size_t)(rows * WIDTH) * sizeof(float));
}

void multiply(const fovea_nn_linear *linear, int64_t rows, const float *from, float *to) {
  fovea_nn_linear_rows call;
  fovea_nn_linear_rows_init(&call, linear, rows, from, to);
  assert_int_equal(fovea_nn_linear_run(linear, &call, NULL, NULL), FOVEA_OK);
}

static void attend(const fovea_problem *problem, const fovea_tensors *tensors) {
  fovea_error error;
  if (fovea_attend(problem, tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

void compute(const struct layer *l, fovea_problem problem, const fovea_tensors *given, struct cache *cache,
             int64_t first, const float *from, float *y) {
  static float q[BATCH * KEYS * HEADS * DIM], k[BATCH * KEYS * KV_HEADS * DIM], v[BATCH * KEYS * KV_HEADS * DIM];
  static float o[BATCH * KEYS * HEADS * DIM];
  const int64_t rows = problem.q_len, all = BATCH * rows;
  fovea_tensors tensors = *given;
  multiply(&l->query, all, from, q);
  multiply(&l->key, all, from, k);
  multiply(&l->value, all, from, v);
  problem.q_strides = problem.o_strides = fovea_strides_rows_before_heads(rows, HEADS, DIM);
  tensors.q = q;
  tensors.o = o;
  if (cache) {
    fovea_new_rows new_rows;
    fovea_new_rows_init(&new_rows, BATCH, KV_HEADS, rows, DIM, DIM, k, v, cache->sequences);
    new_rows.k_strides = new_rows.v_strides = fovea_strides_rows_before_heads(rows, KV_HEADS, DIM);
    new_rows.first_position = first;
    assert_int_equal(fovea_append(&new_rows, NULL, NULL, NULL), FOVEA_OK);
    tensors.cache.sequences = cache->sequences;
  } else {
    problem.k_strides = problem.v_strides = fovea_strides_rows_before_heads(rows, KV_HEADS, DIM);
    tensors.k = k;
    tensors.v = v;
  }
  attend(&problem, &tensors);
  multiply(&l->output, all, o, y);
}

void make_stack(struct stack *s) {
  fovea_nn_linear_init(&s->up, WIDTH, WIDTH, weights[1]);
  fovea_nn_linear_init(&s->down, WIDTH, WIDTH, weights[2]);
  fovea_nn_norm_init(&s->norm, FOVEA_NN_LAYER_NORM, WIDTH);
  for (int i = 0; i < LAYERS; i++) {
    make_layer(&s->layers[i]);
    s->layers[i].query.weights = weights[i + 1];
    fovea_nn_block_init(&s->blocks[i], &s->layers[i].attention, &s->norm, &s->up, &s->down, &s->norm);
  }
  fovea_nn_encoder_init(&s->encoder, s->blocks, LAYERS);
}
