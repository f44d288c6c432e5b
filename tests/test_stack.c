/* Every call stays below FOVEA_STACK_SIZE, whatever it computes: random problems with anything that a problem may
 * have, tasks of as many tiles as there are, deep patterns; in every mode, on every instruction set and with AMX,
 * from tensors and from caches, by every entry point. Quantised caches are in formats/test_stack_formats.c, row-wise
 * calls and fovea_nn where their floating-point environments are tested (support/everywhere.h). */
#include "support/caches.h"
#include "support/check.h"
#include "support/modes.h"
#include "support/painted.h"
#include "support/scenes.h"
#include "support/stack_calls.h"

#include <stdio.h>
#include <string.h>

/* ---- The measurement ----------------------------------------------------------------------------------------- */

static void use_little(void *context) {
  volatile unsigned char bytes[1] = {0};
  (void)bytes[0];
  (void)context;
}

static void use_much(void *context) {
  volatile unsigned char bytes[70 * 1024];
  volatile size_t at = 0; /* of an array whose only index is known, clang keeps one byte */
  bytes[at] = 0;
  (void)bytes[at];
  (void)context;
}

static void test_measurement(void **state) {
  (void)state;
  if (!STACKS_ARE_MEASURED) skip();
  assert_true(painted_bytes(use_little, NULL) < 1024);
  const size_t much = painted_bytes(use_much, NULL);
  assert_true(much >= 70 * 1024 && much < 71 * 1024);
}

/* ---- Problems ------------------------------------------------------------------------------------------------ */

static void check_trial(const char *name, struct trial *trial) {
  const char *names[MODE_SETS];
  const fovea_tensors tensors = trial_tensors(trial);
  const int count = mode_sets_for(&trial->problem, names);
  for (int i = 0; i < count; i++) assert_small_stacks(name, &trial->problem, &tensors, names[i]);
}

/* The same keys and values in a cache. */
static void check_cache(const char *name, const struct trial *trial, enum cache_kind kind,
                        struct generator *generator) {
  const char *names[MODE_SETS];
  struct cache cache = cache_create(trial, kind, 0, NULL, generator);
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  problem.cache.segmented = 1;
  tensors.k = tensors.v = NULL;
  tensors.cache.sequences = cache.sequences;
  const int count = mode_sets_for(&problem, names);
  for (int i = 0; i < count; i++) assert_small_stacks(name, &problem, &tensors, names[i]);
  cache_destroy(&cache);
}

static void check_problem(const char *name, const fovea_problem *problem) {
  struct generator generator = {3};
  struct trial trial = trial_create(problem, 1);
  check_trial(name, &trial);
  check_cache(name, &trial, CACHE_CUT, &generator);
  check_cache(name, &trial, CACHE_PANELS, &generator);
  trial_destroy(&trial);
}

/* One row, few rows, and more tiles than a task has, of every type and mode. */
static void test_modes(void **state) {
  static const int64_t rows[] = {1, 3, 70, 1100};
  static const fovea_type types[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
  (void)state;
  for (int modes = 0; modes < MODE_PAIRS; modes++) {
    for (int type = 0; type < 3; type++) {
      for (int i = 0; i < 4; i++) {
        char name[128];
        fovea_problem problem;
        fovea_problem_init(&problem, 1, 2, 1, rows[i], 150, 136, 40);
        problem.q_type = problem.k_type = problem.v_type = types[type];
        problem.causal = 1;
        problem_say_offset(&problem);
        problem.softcap = 3.0;
        problem.sink = FOVEA_SINK_PER_HEAD;
        problem.mask.type = FOVEA_MASK_BITS;
        problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BITS, 1, 2, rows[i], 150);
        problem_set_modes(&problem, modes);
        snprintf(name, sizeof name, "%d rows, type %d, modes %d", (int)rows[i], type, modes);
        check_problem(name, &problem);
      }
    }
  }
}

static int is_accepted(const fovea_problem *problem) {
  fovea_plan *plan;
  const fovea_status status = fovea_plan_create(problem, NULL, &plan, NULL);
  fovea_plan_destroy(plan);
  return status == FOVEA_OK;
}

static void test_combinations(void **state) {
  static struct scene scene;
  (void)state;
  int accepted = 0;
  const int count = USUAL_OR_LONG(100, 3000);
  for (int i = 0; i < count; i++) {
    struct generator generator = {(uint64_t)i};
    scene_combine(&scene, &generator, 20000);
    if (is_accepted(&scene.listed.problem)) {
      char name[32];
      snprintf(name, sizeof name, "combination %d", i);
      struct trial trial = trial_create(&scene.listed.problem, 1);
      scene_spoil(&trial, &generator);
      check_trial(name, &trial);
      if (scene.listed.problem.cu_seqlens_kv == NULL)
        check_cache(name, &trial, (enum cache_kind)(i % CACHE_KINDS), &generator);
      trial_destroy(&trial);
      accepted++;
    }
    scene_end(&scene);
  }
  assert_true(accepted * 3 >= count);
}

/* ---- Patterns ------------------------------------------------------------------------------------------------ */

enum { DEPTH = 31 }; /* the most joined rules on the way to a rule */

static struct {
  fovea_pattern_options options;
  fovea_pattern *pattern;
  fovea_status status;
  fovea_error error;
} creation;

static void create_pattern(void *context) {
  (void)context;
  creation.status = fovea_pattern_create(&creation.options, &creation.pattern, &creation.error);
}

/* Rules within rules, as deep as they may be. */
static void test_deep_pattern(void **state) {
  static const int64_t positions[] = {1, 40, 90};
  fovea_rule rules[DEPTH + 1], global = fovea_rule_global(positions, 3), window = fovea_rule_window(30, 2);
  (void)state;
  rules[0] = window;
  for (int i = 1; i <= DEPTH; i++)
    rules[i] = i % 3 == 0   ? fovea_rule_or(&rules[i - 1], &global)
               : i % 3 == 1 ? fovea_rule_not(&rules[i - 1])
                            : fovea_rule_and(&window, &rules[i - 1]);
  fovea_pattern_options_init(&creation.options, &rules[DEPTH], 100, 150);
  create_pattern(NULL);
  if (creation.status != FOVEA_OK) fail_msg("%s", creation.error.text);
  fovea_pattern_destroy(creation.pattern);
  assert_small_stack("a deep pattern", create_pattern, NULL);
  assert_int_equal(creation.status, FOVEA_OK);
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, 100, 150, 16, 16);
  problem.offset = 0; /* the pattern's rows */
  problem.pattern = creation.pattern;
  check_problem("a deep pattern", &problem);
  fovea_pattern_destroy(creation.pattern);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_measurement),
      cmocka_unit_test(test_modes),
      cmocka_unit_test(test_combinations),
      cmocka_unit_test(test_deep_pattern),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
