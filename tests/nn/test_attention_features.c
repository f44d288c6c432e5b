/* What attention knows, a layer of attention knows: position terms, scales, Shaw's vectors, sinks, patterns, modes,
 * outputs. A layer has the bits of its steps by public calls, at once and through a cache; a stack of layers, of
 * layers. What is refused leaves caches and outputs as they were. */
#include "support/check.h"
#include "support/error_says.h"

#include <fovea/cache.h>
#include <fovea/encoder.h>
#include <fovea/nn.h>
#include <fovea/pattern.h>
#include <fovea/terms.h>

#include <stdio.h>
#include <string.h>

enum { BATCH = 2, ROWS = 7, KEYS = 12, HEADS = 4, KV_HEADS = 2, DIM = 8, WIDTH = HEADS * DIM, ROOM = 32 };
enum { CACHE = 2 * BATCH * KV_HEADS * ROOM * DIM, TOP = 3, SHAW = 5, BUCKETS = 8, LAYERS = 2 };

static float weights[4][WIDTH * WIDTH], x[BATCH * KEYS * WIDTH];
static float slopes[BATCH * HEADS], table[HEADS * BUCKETS], shaw_keys[(2 * SHAW + 1) * DIM],
    shaw_values[(2 * SHAW + 1) * DIM], sinks[HEADS], vectors[KV_HEADS * DIM];
static double head_scales[HEADS], row_scales[BATCH * KEYS];
static const float *const terms[] = {slopes, table};
static const fovea_position_term kinds[] = {
    {FOVEA_POSITION_ALIBI, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {FOVEA_POSITION_T5, 0, BUCKETS, 1, 0, 0, BUCKETS, 20, 0, 0, 0, 0},
};
static fovea_pattern *pattern;

/* All outputs of a call. */
struct outputs {
  float y[BATCH * KEYS * WIDTH], scores[BATCH * HEADS * KEYS * KEYS], lse[BATCH * HEADS * KEYS];
  float max_logits[BATCH * HEADS], entropy[BATCH * HEADS * KEYS], column_sums[BATCH * HEADS * KEYS];
  float top_scores[BATCH * HEADS * KEYS * TOP];
  int32_t top_keys[BATCH * HEADS * KEYS * TOP];
};

/* What a feature sets: in the problem, and in the tensors of attention. */
struct feature {
  const char *name;
  void (*set)(fovea_problem *problem, fovea_tensors *tensors, struct outputs *outputs);
};

static void alibi(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)o;
  fovea_problem_set_terms(p, kinds, 1);
  t->terms = terms;
}

static void t5(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)o;
  fovea_problem_set_terms(p, kinds + 1, 1);
  t->terms = terms + 1;
}

static void both_terms(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  alibi(p, t, o);
  p->terms.count = 2;
  p->softcap = 3;
}

static void scales_of_heads(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)o;
  p->scales = FOVEA_SCALES_PER_HEAD;
  t->head_scales = head_scales;
}

static void scales_of_both(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  scales_of_heads(p, t, o);
  p->scales = FOVEA_SCALES_BOTH;
  t->row_scales = row_scales;
}

static void shaw(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)o;
  p->shaw.kind = FOVEA_SHAW_BOTH;
  p->shaw.distance = SHAW;
  t->shaw.keys = shaw_keys;
  t->shaw.values = shaw_values;
}

static void a_sink(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)o;
  p->sink = FOVEA_SINK_PER_HEAD;
  t->sink = sinks;
}

static void a_pattern(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)t, (void)o;
  p->pattern = pattern;
}

static void normaliser(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)t, (void)o;
  p->normaliser.kind = FOVEA_NORMALISER_SIGMOID;
  p->normaliser.sigmoid_bias = -2;
  p->normaliser.divisor = FOVEA_DIVISOR_KEYS;
  p->activation.kind = FOVEA_SCORE_ACTIVATION_LEAKY_RELU;
  p->activation.leaky_slope = 0.25;
}

static void bf16_mode(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)t, (void)o;
  p->modes.score = p->modes.value = FOVEA_MODE_BF16;
}

static void int8_mode(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  (void)o;
  p->modes.score = p->modes.value = FOVEA_MODE_INT8;
  p->channels.key_centre = p->channels.key_scale = p->channels.value_scale = FOVEA_CHANNELS_PER_HEAD;
  t->channels.key_centre = t->channels.key_scale = t->channels.value_scale = vectors;
}

static void all_outputs(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  alibi(p, t, o);
  p->scores.kind = FOVEA_SCORES_BIASED;
  p->max_logits = p->entropy = p->column_sums.wanted = 1;
  p->column_sums.rows.begin = 1;
  p->top.k = TOP;
  t->lse = o->lse;
  t->scores = o->scores;
  t->max_logits = o->max_logits;
  t->entropy = o->entropy;
  t->column_sums = o->column_sums;
  t->top.keys = o->top_keys;
  t->top.scores = o->top_scores;
}

static void part_of_scores(fovea_problem *p, fovea_tensors *t, struct outputs *o) {
  p->scores.kind = FOVEA_SCORES_WEIGHTS;
  p->scores.heads = (fovea_range){1, 3};
  p->scores.rows = (fovea_range){2, 5};
  p->scores.keys = (fovea_range){0, 6};
  p->scores.strides = (fovea_strides){2 * 3 * 6, 3 * 6, 6};
  t->scores = o->scores;
}

static const struct feature features[] = {
    {"alibi", alibi},
    {"t5", t5},
    {"two terms and a softcap", both_terms},
    {"scales per head", scales_of_heads},
    {"scales per head and row", scales_of_both},
    {"shaw", shaw},
    {"sink", a_sink},
    {"pattern", a_pattern},
    {"normaliser and activation", normaliser},
    {"bf16 mode", bf16_mode},
    {"int8 mode with vectors", int8_mode},
    {"all outputs", all_outputs},
    {"part of the scores", part_of_scores},
};

/* ---- A layer, and its steps by hand ---- */

struct layer {
  fovea_nn_linear query, key, value, output;
  fovea_nn_attention attention;
};

static void make_layer(struct layer *l) {
  fovea_nn_linear_init(&l->query, WIDTH, HEADS * DIM, weights[0]);
  fovea_nn_linear_init(&l->key, WIDTH, KV_HEADS * DIM, weights[1]);
  fovea_nn_linear_init(&l->value, WIDTH, KV_HEADS * DIM, weights[2]);
  fovea_nn_linear_init(&l->output, HEADS * DIM, WIDTH, weights[3]);
  fovea_nn_attention_init(&l->attention, &l->query, &l->key, &l->value, &l->output);
}

/* Gives a layer what attention takes. */
static void give(const fovea_tensors *from, fovea_nn_attention *a, fovea_nn_attention_tensors *t) {
  a->terms = from->terms;
  a->head_scales = from->head_scales;
  a->shaw.keys = from->shaw.keys;
  a->shaw.values = from->shaw.values;
  a->channels.key_centre = from->channels.key_centre;
  a->channels.key_scale = from->channels.key_scale;
  a->channels.value_scale = from->channels.value_scale;
  t->row_scales = from->row_scales;
  t->mask = from->mask;
  t->sink = from->sink;
  t->lse = from->lse;
  t->scores = from->scores;
  t->max_logits = from->max_logits;
  t->entropy = from->entropy;
  t->column_sums = from->column_sums;
  t->top.keys = from->top.keys;
  t->top.scores = from->top.scores;
}

static void multiply(const fovea_nn_linear *linear, int64_t rows, const float *from, float *to) {
  fovea_nn_linear_rows call;
  fovea_nn_linear_rows_init(&call, linear, rows, from, to);
  assert_int_equal(fovea_nn_linear_run(linear, &call, NULL, NULL), FOVEA_OK);
}

/* Caches of all entries, in two layers. */
struct cache {
  float k[CACHE], v[CACHE];
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
};

static void make_cache(struct cache *c) {
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

static void attend(const fovea_problem *problem, const fovea_tensors *tensors) {
  fovea_error error;
  if (fovea_attend(problem, tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

/* The steps: rows of x at positions `first` on, through a cache if there is one. */
static void compute(const struct layer *l, fovea_problem problem, const fovea_tensors *given, struct cache *cache,
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

static fovea_problem problem_of(int64_t rows, int64_t keys, int segmented) {
  fovea_problem p;
  fovea_problem_init(&p, BATCH, HEADS, KV_HEADS, rows, keys, DIM, DIM);
  p.causal = 1;
  p.cache.segmented = segmented;
  return p;
}

static void run(const struct layer *l, const fovea_problem *problem, const fovea_nn_attention_tensors *tensors,
                const char *name) {
  fovea_error error;
  if (fovea_nn_attention_run(&l->attention, problem, tensors, NULL, &error) != FOVEA_OK)
    fail_msg("%s: %s", name, error.text);
}

/* Rows of x, entry by entry, from row `first` on. */
static void take_rows(int64_t first, int64_t rows, float *to) {
  for (int64_t b = 0; b < BATCH; b++)
    memcpy(to + b * rows * WIDTH, x + (b * KEYS + first) * WIDTH, (size_t)(rows * WIDTH) * sizeof(float));
}

static void check_feature(const struct feature *feature, int cached) {
  static struct outputs expected, given;
  static struct cache by_hand, by_layer;
  static float rows[BATCH * KEYS * WIDTH];
  struct layer l;
  make_cache(&by_hand);
  make_cache(&by_layer);
  for (int64_t first = 0; first < KEYS; first += ROWS) {
    const int64_t count = cached ? (KEYS - first < ROWS ? KEYS - first : ROWS) : ROWS;
    fovea_problem problem = problem_of(count, cached ? first + count : count, cached), same = problem;
    fovea_tensors tensors, outputs;
    fovea_nn_attention_tensors t;
    make_layer(&l);
    take_rows(first, count, rows);
    memset(&expected, 0x5a, sizeof expected);
    memset(&given, 0x5a, sizeof given);
    fovea_tensors_init(&tensors, NULL, NULL, NULL, NULL, NULL);
    feature->set(&problem, &tensors, &expected);
    compute(&l, problem, &tensors, cached ? &by_hand : NULL, first, rows, expected.y);
    fovea_tensors_init(&outputs, NULL, NULL, NULL, NULL, NULL);
    feature->set(&same, &outputs, &given);
    fovea_nn_attention_tensors_init(&t, rows, given.y);
    give(&outputs, &l.attention, &t);
    if (cached) t.cache.sequences = by_layer.sequences;
    if (cached) t.first_position = first;
    run(&l, &same, &t, feature->name);
    if (memcmp(&given, &expected, sizeof given) != 0) fail_msg("%s: other bits", feature->name);
    assert_memory_equal(by_layer.k, by_hand.k, sizeof by_hand.k);
    if (!cached) break;
  }
}

static void test_features(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) check_feature(&features[i], 0);
}

static void test_features_in_caches(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) check_feature(&features[i], 1);
}

/* ---- Stacks ---- */

struct stack {
  struct layer layers[LAYERS];
  fovea_nn_linear up, down;
  fovea_nn_norm norm;
  fovea_nn_block blocks[LAYERS];
  fovea_nn_encoder encoder;
};

static void make_stack(struct stack *s) {
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

static void add(int64_t count, const float *from, float *to) {
  fovea_nn_norm_rows rows;
  fovea_nn_norm norm;
  fovea_nn_norm_init(&norm, FOVEA_NN_LAYER_NORM, WIDTH);
  fovea_nn_norm_rows_init(&rows, &norm, count, to, to);
  rows.residual = from;
  assert_int_equal(fovea_nn_norm_run(&norm, &rows, NULL, NULL), FOVEA_OK);
}

/* An encoder of two layers, each with its own slopes. */
static void test_encoder(void **state) {
  (void)state;
  static float rows[BATCH * ROWS * WIDTH], hidden[BATCH * ROWS * WIDTH], o[BATCH * ROWS * WIDTH],
      up[BATCH * ROWS * WIDTH], y[BATCH * ROWS * WIDTH];
  static const float *const others[] = {slopes + HEADS};
  enum { ALL = BATCH * ROWS };
  struct stack s;
  fovea_problem problem = problem_of(ROWS, ROWS, 0);
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_rows call;
  fovea_error error;
  make_stack(&s);
  take_rows(0, ROWS, rows);
  fovea_problem_set_terms(&problem, kinds, 1);
  s.layers[0].attention.terms = terms;
  s.layers[1].attention.terms = others;
  memcpy(hidden, rows, sizeof hidden);
  for (int i = 0; i < LAYERS; i++) { /* x = norm(x + attention(x)), x = norm(x + down(up(x))) */
    fovea_tensors of_layer;
    fovea_tensors_init(&of_layer, NULL, NULL, NULL, NULL, NULL);
    of_layer.terms = s.layers[i].attention.terms;
    compute(&s.layers[i], problem, &of_layer, NULL, 0, hidden, o);
    add(ALL, hidden, o);
    multiply(&s.up, ALL, o, up);
    multiply(&s.down, ALL, up, hidden);
    add(ALL, o, hidden);
  }
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_nn_encoder_rows_init(&call, &self, NULL, y);
  call.x = rows;
  if (fovea_nn_encoder_run(&s.encoder, &call, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_memory_equal(y, hidden, sizeof y);

  float lse[BATCH * HEADS * ROWS];
  tensors.lse = lse;
  assert_int_equal(fovea_nn_encoder_run(&s.encoder, &call, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_string_equal(error.text,
                      "self.tensors.lse is set, and 2 layers would write it one after the other: run the layers by "
                      "fovea_nn_block_run(), each with its own");
}

/* A stack whose second layer lacks its numbers has changed no cache, not even the first layer's. */
static void test_stack_refused(void **state) {
  (void)state;
  static struct cache cache, before;
  static float rows[BATCH * ROWS * WIDTH], y[BATCH * ROWS * WIDTH], untouched[BATCH * ROWS * WIDTH];
  struct stack s;
  fovea_problem problem = problem_of(ROWS, ROWS, 1);
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_rows call;
  fovea_error error;
  make_stack(&s);
  make_cache(&cache);
  make_cache(&before);
  take_rows(0, ROWS, rows);
  fovea_problem_set_terms(&problem, kinds, 1);
  s.layers[0].attention.terms = terms;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.cache.sequences = cache.sequences;
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_nn_encoder_rows_init(&call, &self, NULL, y);
  call.x = rows;
  assert_int_equal(fovea_nn_encoder_run(&s.encoder, &call, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "terms is NULL");
  assert_memory_equal(cache.k, before.k, sizeof before.k);
  assert_memory_equal(cache.v, before.v, sizeof before.v);
  assert_memory_equal(y, untouched, sizeof y);
  s.layers[1].attention.terms = terms;
  assert_int_equal(fovea_nn_encoder_run(&s.encoder, &call, NULL, &error), FOVEA_OK);
  assert_memory_not_equal(cache.k, before.k, sizeof before.k);
}

/* ---- Refusals ---- */

/* A call over a cache that is refused: caches, y and scores stay. */
#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    struct layer l;                                                                                                \
    fovea_problem p = problem_of(ROWS, ROWS, 1);                                                                   \
    fovea_nn_attention_tensors t;                                                                                  \
    fovea_error error;                                                                                             \
    make_layer(&l);                                                                                                \
    make_cache(&cache);                                                                                            \
    make_cache(&before);                                                                                           \
    fovea_nn_attention_tensors_init(&t, rows, given.y);                                                            \
    t.cache.sequences = cache.sequences;                                                                           \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_attention_run(&l.attention, &p, &t, NULL, &error), status);                          \
    assert_error_says(&error, word);                                                                               \
    assert_memory_equal(cache.k, before.k, sizeof before.k);                                                       \
    assert_memory_equal(cache.v, before.v, sizeof before.v);                                                       \
    assert_memory_equal(&given, &untouched, sizeof given);                                                         \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static struct outputs given, untouched;
  static struct cache cache, before;
  static float rows[BATCH * ROWS * WIDTH];
  take_rows(0, ROWS, rows);
  memset(&given, 0x5a, sizeof given);
  memset(&untouched, 0x5a, sizeof untouched);
  REFUSED(fovea_problem_set_terms(&p, kinds, 1), FOVEA_ERROR_ARGUMENT, "terms");
  REFUSED(l.attention.terms = terms, FOVEA_ERROR_UNUSED, "terms");
  REFUSED(p.scales = FOVEA_SCALES_PER_HEAD, FOVEA_ERROR_ARGUMENT, "head_scales");
  REFUSED(l.attention.head_scales = head_scales, FOVEA_ERROR_UNUSED, "head_scales");
  REFUSED(p.scales = FOVEA_SCALES_PER_ROW, FOVEA_ERROR_ARGUMENT, "row_scales");
  REFUSED(t.row_scales = row_scales, FOVEA_ERROR_UNUSED, "row_scales");
  REFUSED((p.shaw.kind = FOVEA_SHAW_KEYS, p.shaw.distance = SHAW), FOVEA_ERROR_ARGUMENT, "shaw.keys");
  REFUSED((p.shaw.kind = FOVEA_SHAW_VALUES, p.shaw.distance = SHAW), FOVEA_ERROR_ARGUMENT, "shaw.values");
  REFUSED(l.attention.shaw.keys = shaw_keys, FOVEA_ERROR_UNUSED, "shaw.keys");
  REFUSED(p.sink = FOVEA_SINK_PER_HEAD, FOVEA_ERROR_ARGUMENT, "sink");
  REFUSED(t.sink = sinks, FOVEA_ERROR_UNUSED, "sink");
  REFUSED(p.mask.type = FOVEA_MASK_BOOL, FOVEA_ERROR_ARGUMENT, "mask");
  REFUSED(t.mask = rows, FOVEA_ERROR_UNUSED, "mask");
  REFUSED(p.channels.key_centre = FOVEA_CHANNELS_SHARED, FOVEA_ERROR_UNUSED, "key_centre");
  REFUSED((p.modes.score = FOVEA_MODE_INT8, p.channels.key_centre = FOVEA_CHANNELS_SHARED), FOVEA_ERROR_ARGUMENT,
          "key_centre");
  REFUSED(l.attention.channels.value_scale = vectors, FOVEA_ERROR_UNUSED, "value_scale");
  REFUSED(p.scores.kind = FOVEA_SCORES_RAW, FOVEA_ERROR_ARGUMENT, "scores");
  REFUSED(t.scores = given.scores, FOVEA_ERROR_UNUSED, "scores");
  REFUSED((p.scores.kind = FOVEA_SCORES_RAW, t.scores = cache.k), FOVEA_ERROR_ARGUMENT, "scores");
  REFUSED(p.max_logits = 1, FOVEA_ERROR_ARGUMENT, "max_logits");
  REFUSED((p.max_logits = 1, t.max_logits = given.y), FOVEA_ERROR_ARGUMENT, "max_logits shares memory with y");
  REFUSED(t.max_logits = given.max_logits, FOVEA_ERROR_UNUSED, "max_logits");
  REFUSED(p.entropy = 1, FOVEA_ERROR_ARGUMENT, "entropy");
  REFUSED((p.entropy = 1, t.entropy = rows), FOVEA_ERROR_ARGUMENT, "entropy shares memory with x");
  REFUSED(p.column_sums.wanted = 1, FOVEA_ERROR_ARGUMENT, "column_sums");
  REFUSED((p.column_sums.wanted = 1, t.column_sums = cache.v + 3), FOVEA_ERROR_ARGUMENT, "column_sums");
  REFUSED(p.top.k = TOP, FOVEA_ERROR_ARGUMENT, "top.keys");
  REFUSED((p.top.k = TOP, t.top.keys = given.top_keys, t.top.scores = (float *)(void *)given.top_keys),
          FOVEA_ERROR_ARGUMENT, "top.scores shares memory with top.keys");
  REFUSED((t.lse = weights[2]), FOVEA_ERROR_ARGUMENT, "lse shares memory with weights");
  REFUSED((p.normaliser.kind = FOVEA_NORMALISER_RELU, t.lse = given.lse), FOVEA_ERROR_UNUSED, "lse");
  REFUSED(p.state = 1, FOVEA_ERROR_UNUSED, "problem.state is set and would not be used");
  REFUSED(p.k_type = FOVEA_BF16, FOVEA_ERROR_UNUSED, "problem.k_type is set and would not be used");
  REFUSED(p.v_strides.head = 0, FOVEA_ERROR_UNUSED, "problem.v_strides is set and would not be used");
  REFUSED(t.cache.layer = LAYERS, FOVEA_ERROR_ARGUMENT, "cache.layer is");
  REFUSED(p.kv_len = ROOM + 1, FOVEA_ERROR_ARGUMENT, "cache.sequences[0]: position");
  REFUSED(t.cache.sequences = NULL, FOVEA_ERROR_ARGUMENT, "cache.sequences is NULL");
}

/* Averages and the key of a bias go with fewer features. */
static void test_combinations(void **state) {
  (void)state;
  static struct outputs given;
  static float rows[BATCH * ROWS * WIDTH];
  static const int64_t begins[BATCH] = {1};
  struct layer l;
  fovea_problem p = problem_of(ROWS, ROWS, 0);
  fovea_nn_attention_tensors t;
  fovea_error error;
  make_layer(&l);
  take_rows(0, ROWS, rows);
  fovea_nn_attention_tensors_init(&t, rows, given.y);
  l.attention.average_scores = 1;
  p.scores.kind = FOVEA_SCORES_WEIGHTS;
  p.scores.rows.begin = 1;
  t.scores = given.scores;
  assert_int_equal(fovea_nn_attention_run(&l.attention, &p, &t, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_string_equal(error.text, "problem.scores.rows is set and would not be used: average_scores is 1, and "
                                  "averages are of all heads, rows and keys");
  p.scores.rows.begin = 0;
  t.lse = given.scores + 5;
  assert_int_equal(fovea_nn_attention_run(&l.attention, &p, &t, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "scores shares memory with lse");

  p = problem_of(ROWS, ROWS, 0);
  make_layer(&l);
  fovea_nn_attention_tensors_init(&t, rows, given.y);
  l.attention.bias_key = l.attention.bias_value = vectors;
  fovea_problem_set_terms(&p, kinds, 1);
  l.attention.terms = terms;
  assert_int_equal(fovea_nn_attention_run(&l.attention, &p, &t, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_string_equal(error.text, "bias_key is given together with terms.list");
  fovea_problem_set_terms(&p, NULL, 0);
  p.terms.size = 0;
  l.attention.terms = NULL;
  p.pattern = pattern;
  assert_int_equal(fovea_nn_attention_run(&l.attention, &p, &t, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_string_equal(error.text, "bias_key is given together with pattern");
  p.pattern = NULL;
  p.kv_begins = begins; /* would hide the bias's key */
  assert_int_equal(fovea_nn_attention_run(&l.attention, &p, &t, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_string_equal(error.text, "bias_key is given together with kv_begins");
}

static void fill(float *numbers, int64_t count, int step, float size) {
  for (int64_t i = 0; i < count; i++) numbers[i] = (float)((i * step) % 61 - 30) / 32 * size;
}

static int make_numbers(void **state) {
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

static int release_numbers(void **state) {
  (void)state;
  fovea_pattern_destroy(pattern);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_features), cmocka_unit_test(test_features_in_caches),
      cmocka_unit_test(test_encoder),  cmocka_unit_test(test_stack_refused),
      cmocka_unit_test(test_refused),  cmocka_unit_test(test_combinations),
  };
  return cmocka_run_group_tests(tests, make_numbers, release_numbers);
}
