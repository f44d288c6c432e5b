/* Sequences with holes: keys that no segment holds do not exist. Every problem has the bits of contiguous tensors
 * with a mask, whatever these hold there, over caches of every kind, on every instruction set. */
#include "support/check.h"
#include "support/cpus.h"
#include "support/error_says.h"
#include "support/holes.h"
#include "support/scenes.h"

#include <fovea/state.h>
#include <math.h>
#include <string.h>

static int has_panels(enum cache_kind kind) {
  return kind == CACHE_PANELS || kind == CACHE_CUT_LAYOUTS || kind == CACHE_PAGED_PANELS ||
         kind == CACHE_RING_PANELS;
}

/* Two trials with the same inputs: one with holes, one with a mask. */
struct pair {
  struct trial holed, masked;
  struct holes holes;
};

static void pair_create(struct pair *pair, const fovea_problem *problem, const struct rule_table *rules,
                        uint64_t seed, enum hole_kind kind, int panels, struct generator *generator) {
  struct generator same = *generator;
  memset(pair, 0, sizeof *pair);
  pair->holed = trial_create(problem, seed);
  pair->holed.rules = rules;
  holes_draw(&pair->holes, problem, kind, panels, generator);
  pair->masked = trial_with_mask_of(&pair->holed, seed, &pair->holes);
  struct generator again = same;
  scene_spoil(&pair->holed, &same);
  scene_spoil(&pair->masked, &again);
  if (seed % 2 == 0) {
    holes_spoil(&pair->holes, &pair->holed);
    holes_spoil(&pair->holes, &pair->masked);
  }
  trial_run(&pair->masked, "scalar", NULL);
  pair->holed.problem.cache.holes = 1;
}

static void pair_destroy(struct pair *pair) {
  trial_destroy(&pair->holed);
  trial_destroy(&pair->masked);
  holes_free(&pair->holes);
}

/* Caches of a kind. */
static void check_kind(struct pair *pair, enum cache_kind kind, struct generator *generator) {
  struct cache cache = cache_create(&pair->holed, kind, 0, NULL, generator);
  cache_punch(&cache, &pair->holed, &pair->holes);
  for (const char *const *isa = usable_isas_for(&pair->holed.problem); *isa != NULL; isa++) {
    trial_run_cached(&pair->holed, *isa, cache.sequences, NULL);
    assert_same_outputs(&pair->holed, &pair->masked);
    assert_true(trial_gaps_untouched(&pair->holed));
  }
  cache_destroy(&cache);
}

/* All kinds of caches, or some two of them. */
static void check_problem(const fovea_problem *problem, const struct rule_table *rules, uint64_t seed, int all,
                          struct generator *generator) {
  for (int panels = 0; panels < 2; panels++) {
    struct pair pair;
    const int skipped = (int)generator_below(generator, CACHE_KINDS);
    pair_create(&pair, problem, rules, seed, (enum hole_kind)(generator_below(generator, HOLE_KINDS)), panels,
                generator);
    for (int i = 0, checked = 0; i < CACHE_KINDS && (all || checked == 0); i++) {
      const enum cache_kind kind = (enum cache_kind)((i + skipped) % CACHE_KINDS);
      if (has_panels(kind) != panels) continue;
      check_kind(&pair, kind, generator);
      checked++;
    }
    pair_destroy(&pair);
  }
}

static int is_accepted(const fovea_problem *problem) {
  fovea_plan *plan;
  const fovea_status status = fovea_plan_create(problem, NULL, &plan, NULL);
  fovea_plan_destroy(plan);
  return status == FOVEA_OK;
}

/* Whatever a problem may have: patterns, terms, scales, masks, modes, outputs, padding, types. */
static void test_combinations(void **state) {
  (void)state;
  static struct scene scene;
  int checked = 0;
  const int count = USUAL_OR_LONG(60, 1000);
  for (int i = 0; i < count; i++) {
    struct generator generator = {(uint64_t)i};
    scene_combine(&scene, &generator, USUAL_OR_LONG(INT64_C(50000), INT64_C(1000000)));
    if (i % 2 == 0)
      cpus_use_one();
    else
      cpus_use_all();
    if (scene.listed.problem.cu_seqlens_kv == NULL && is_accepted(&scene.listed.problem)) {
      check_problem(&scene.listed.problem, &scene.rules, (uint64_t)i, 0, &generator);
      checked++;
    }
    scene_end(&scene);
  }
  cpus_use_all();
  assert_true(checked * 4 >= count);
}

/* Few rows, which are decoded, and tiles of rows: of every kind of hole, over all kinds of caches. */
static void test_kinds(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 4, 17, 70}, dims[] = {1, 16, 40, 129};
  struct generator generator = {2};
  for (int i = 0; i < USUAL_OR_LONG(12, 96); i++) {
    fovea_problem problem;
    const int64_t count = rows[i % 4];
    fovea_problem_init(&problem, 1 + i % 2, 4, i % 3 == 0 ? 4 : 2, count, 300 + count,
                       dims[generator_below(&generator, 4)], dims[i / 4 % 4]);
    problem.causal = i % 5 != 0;
    problem.k_type = (fovea_type)(i % 3);
    problem.v_type = (fovea_type)(i / 3 % 3);
    if (i % 4 == 1) problem.window_left = 200;
    check_problem(&problem, NULL, (uint64_t)i, 1, &generator);
  }
}

/* Query heads of a kv head that see different intervals of keys by a pattern. */
static void test_heads_of_a_pattern(void **state) {
  (void)state;
  const fovea_rule windows[] = {fovea_rule_window(1, 0), fovea_rule_window(200, 0)};
  const fovea_rule *const rules[] = {&windows[0], &windows[1]};
  struct generator generator = {5};
  for (int i = 0; i < HOLE_KINDS; i++) {
    fovea_problem problem;
    fovea_pattern_options options;
    fovea_pattern *pattern;
    const int64_t count = i % 2 ? 2 : 20;
    fovea_pattern_options_init(&options, NULL, 300, 300);
    options.rules = rules;
    options.heads = 2;
    assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
    fovea_problem_init(&problem, 1, 2, 1, count, 300, 8, 8);
    problem.pattern = pattern;
    check_problem(&problem, NULL, (uint64_t)i, 1, &generator);
    fovea_pattern_destroy(pattern);
  }
}

/* Holes that are longer than a span, in problems whose keys are split into parts and in others. */
static void test_long_holes(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 3, 40};
  static const enum hole_kind kinds[] = {HOLES_BLOCKS, HOLES_WINDOW, HOLES_AT_START, HOLES_BUT_ONE, HOLES_FEW_KEYS};
  struct generator generator = {3};
  for (int i = 0; i < USUAL_OR_LONG(15, 60); i++) {
    fovea_problem problem;
    struct pair pair;
    fovea_problem_init(&problem, 1, 2, 1, rows[i % 3], 4000 + generator_below(&generator, 6000), 8, 12);
    problem.causal = i % 2;
    if (i % 4 == 3) problem.top.k = 5;
    if (i % 4 == 2) problem.column_sums.wanted = problem.entropy = problem.max_logits = 1;
    if (i % 5 == 4) problem.scores.kind = FOVEA_SCORES_WEIGHTS;
    pair_create(&pair, &problem, NULL, (uint64_t)i, kinds[i / 3 % 5], 0, &generator);
    check_kind(&pair, i % 2 ? CACHE_PAGED : CACHE_CUT, &generator);
    pair_destroy(&pair);
  }
}

/* States over a range of the keys. */
static void test_states(void **state) {
  (void)state;
  static float numbers[2][40000];
  struct generator generator = {4};
  for (int i = 0; i < USUAL_OR_LONG(6, 30); i++) {
    fovea_problem problem;
    struct pair pair;
    fovea_error error;
    const int64_t begin = generator_below(&generator, 2500), keys = 5000;
    fovea_problem_init(&problem, 1, 2, 1, i % 2 ? 2 : 30, keys, 8, 4);
    problem.causal = i % 3 == 0;
    pair_create(&pair, &problem, NULL, (uint64_t)i, (enum hole_kind)(i % HOLE_KINDS), 0, &generator);
    struct cache cache = cache_create(&pair.holed, CACHE_CUT, 0, NULL, &generator);
    cache_punch(&cache, &pair.holed, &pair.holes);
    for (int holed = 0; holed < 2; holed++) {
      struct trial *trial = holed ? &pair.holed : &pair.masked;
      fovea_problem part = trial->problem;
      fovea_tensors tensors = trial_tensors(trial);
      fovea_state made;
      part.cache.segmented = holed;
      part.state = 1;
      part.keys.begin = begin;
      part.keys.end = begin + 2500;
      assert_true(fovea_state_numbers(part.v_dim, begin, begin + 2500) * 60 <= 40000);
      fovea_state_init(&made, 1, 2, part.q_len, part.v_dim, begin, begin + 2500, numbers[holed]);
      tensors.o = NULL;
      tensors.lse = NULL;
      tensors.state = &made;
      if (holed) tensors.k = tensors.v = NULL, tensors.cache.sequences = cache.sequences;
      memset(numbers[holed], 0, sizeof numbers[holed]);
      if (fovea_attend(&part, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    }
    assert_memory_equal(numbers[0], numbers[1], sizeof numbers[0]);
    cache_destroy(&cache);
    pair_destroy(&pair);
  }
}

/* ---- What is refused ----------------------------------------------------------------------------------------- */

enum { ROWS = 40, DIM = 4 };

static float k[ROWS * DIM], v[ROWS * DIM], q[DIM], o[DIM];

static fovea_segment stretch(int64_t first, int64_t end) {
  fovea_segment segment;
  fovea_segment_init(&segment, first, end - first, DIM, DIM, FOVEA_F32, k + first * DIM, v + first * DIM);
  return segment;
}

static fovea_status attend(const fovea_sequence *sequence, int holes, int64_t begin, int64_t end,
                           fovea_error *error) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_problem_init(&problem, 1, 1, 1, 1, end, DIM, DIM);
  problem.cache.segmented = 1;
  problem.cache.holes = holes;
  problem.kv_begins = &begin;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, NULL);
  tensors.cache.sequences = sequence;
  return fovea_attend(&problem, &tensors, NULL, error);
}

static void assert_text(const fovea_error *error, const char *words) {
  assert_error_says(error, words);
}

static void test_refusals(void **state) {
  (void)state;
  fovea_segment segments[] = {stretch(2, 5), stretch(20, 30)};
  const fovea_sequence sequence = fovea_sequence_of(segments, 2);
  fovea_error error;
  assert_int_equal(attend(&sequence, 0, 2, 30, &error), FOVEA_ERROR_ARGUMENT);
  assert_text(&error, "segments[1] begins at position 20; the one before ends before 5: set holes");
  assert_int_equal(attend(&sequence, 0, 20, 30, &error), FOVEA_OK); /* nobody asks for the hole */
  assert_int_equal(attend(&sequence, 0, 4, 5, &error), FOVEA_OK);
  assert_int_equal(attend(&sequence, 0, 0, 5, &error), FOVEA_ERROR_ARGUMENT);
  assert_text(&error, "cache.sequences[0]: set kv_begins[0] of the problem to 2");
  assert_int_equal(attend(&sequence, 1, 0, 30, &error), FOVEA_OK);
  assert_int_equal(attend(&sequence, 1, 0, 10, &error), FOVEA_OK);
  assert_int_equal(attend(&sequence, 1, 0, 31, &error), FOVEA_ERROR_ARGUMENT);
  assert_text(&error, "cache.sequences[0]: holds positions 2 to 29; positions 0 to 30 are wanted");
  assert_int_equal(attend(&sequence, 2, 0, 30, &error), FOVEA_ERROR_ARGUMENT);
  assert_text(&error, "cache.holes is 2; it must be 0 or 1");
  segments[0] = stretch(2, 21);
  assert_int_equal(attend(&sequence, 1, 0, 30, &error), FOVEA_ERROR_ARGUMENT);
  assert_text(&error, "segments[1] begins at position 20; the one before ends before 21: segments ascend");

  fovea_problem problem;
  fovea_plan *plan;
  fovea_problem_init(&problem, 1, 1, 1, 1, 30, DIM, DIM);
  problem.cache.holes = 1;
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, &error), FOVEA_ERROR_UNUSED);
  assert_text(&error, "cache.holes is 1 and would not be used: cache.segmented is 0");
}

/* A row that sees no key that exists has 0, and a LSE of -Inf. */
static void test_only_holes(void **state) {
  (void)state;
  fovea_segment segments[] = {stretch(0, 3), stretch(30, 40)};
  const fovea_sequence sequence = fovea_sequence_of(segments, 2);
  fovea_problem problem;
  fovea_tensors tensors;
  float lse = 0;
  const float zeros[DIM] = {0};
  fovea_problem_init(&problem, 1, 1, 1, 1, 40, DIM, DIM);
  problem.cache.segmented = problem.cache.holes = 1;
  problem.window_left = 5;
  problem.window_right = 3;
  problem.offset = 20;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, &lse);
  tensors.cache.sequences = &sequence;
  memset(o, 1, sizeof o);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  assert_memory_equal(o, zeros, sizeof o);
  assert_true(isinf(lse) && lse < 0);
}

/* Rows are written to and copied from a sequence with holes, if all of them exist. */
static void test_rows_beside_holes(void **state) {
  (void)state;
  static float new_k[ROWS * DIM], new_v[ROWS * DIM], other_k[ROWS * DIM], other_v[ROWS * DIM];
  fovea_segment segments[] = {stretch(2, 5), stretch(20, 30), stretch(30, 40)}, whole;
  const fovea_sequence sequence = fovea_sequence_of(segments, 3);
  fovea_new_rows rows;
  fovea_error error;
  for (int i = 0; i < ROWS * DIM; i++) new_k[i] = (float)i, new_v[i] = (float)-i;
  fovea_new_rows_init(&rows, 1, 1, 8, DIM, DIM, new_k, new_v, &sequence);
  rows.first_position = 26;
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_OK);
  assert_memory_equal(k + 26 * DIM, new_k, 8 * DIM * sizeof(float));
  rows.first_position = 19;
  assert_int_equal(fovea_append(&rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_text(&error,
              "segments[1] begins at position 20; the one before ends before 5; positions 19 to 26 are wanted");
  fovea_segment_init(&whole, 0, ROWS, DIM, DIM, FOVEA_F32, other_k, other_v);
  const fovea_sequence to = fovea_sequence_of(&whole, 1);
  assert_int_equal(fovea_sequence_copy(&sequence, &to, 1, 1, DIM, DIM, 26, 34, NULL, &error), FOVEA_OK);
  assert_memory_equal(other_v + 26 * DIM, new_v, 8 * DIM * sizeof(float));
  assert_int_equal(fovea_sequence_copy(&sequence, &to, 1, 1, DIM, DIM, 3, 34, NULL, &error), FOVEA_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_combinations),      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_long_holes),        cmocka_unit_test(test_states),
      cmocka_unit_test(test_refusals),          cmocka_unit_test(test_only_holes),
      cmocka_unit_test(test_rows_beside_holes), cmocka_unit_test(test_heads_of_a_pattern),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
