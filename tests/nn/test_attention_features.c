/* What attention knows, a layer of attention knows: position terms, scales, Shaw's vectors, sinks, patterns, modes,
 * outputs. A layer has the bits of its steps by public calls, at once and through a cache; a stack of layers, of
 * layers. */
#include "featured_layer.h"

#include "support/check.h"

#include <string.h>

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

static void run(const struct layer *l, const fovea_problem *problem, const fovea_nn_attention_tensors *tensors,
                const char *name) {
  fovea_error error;
  if (fovea_nn_attention_run(&l->attention, problem, tensors, NULL, &error) != FOVEA_OK)
    fail_msg("%s: %s", name, error.text);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_features),
      cmocka_unit_test(test_features_in_caches),
      cmocka_unit_test(test_encoder),
  };
  return cmocka_run_group_tests(tests, make_numbers, release_numbers);
}
