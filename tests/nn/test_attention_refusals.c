/* Features of layers of attention that are refused: caches and outputs stay as they were. */
#include "featured_layer.h"

#include "support/check.h"
#include "support/error_says.h"

#include <string.h>

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
  assert_string_equal(error.text, "blocks[1].self.terms is NULL");
  assert_memory_equal(cache.k, before.k, sizeof before.k);
  assert_memory_equal(cache.v, before.v, sizeof before.v);
  assert_memory_equal(y, untouched, sizeof y);
  s.layers[1].attention.terms = terms;
  assert_int_equal(fovea_nn_encoder_run(&s.encoder, &call, NULL, &error), FOVEA_OK);
  assert_memory_not_equal(cache.k, before.k, sizeof before.k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_combinations),
      cmocka_unit_test(test_stack_refused),
  };
  return cmocka_run_group_tests(tests, make_numbers, release_numbers);
}
