/* Patterns wherever rows and keys may lie: batches of any kind, caches, masks, states, parts of keys, threads. Each
 * has the bits of a mask tensor of the same meaning. */
#include "support/caches.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/modes.h"
#include "support/scenes.h"
#include "support/trial.h"

#include <fovea/state.h>
#include <stdlib.h>
#include <string.h>

static void scene_begin(struct scene *scene, struct generator *generator, uint64_t seed) {
  memset(scene, 0, sizeof *scene);
  problem_random(&scene->listed, generator, USUAL_OR_LONG(INT64_C(100000), INT64_C(1000000)));
  fovea_problem *problem = &scene->listed.problem;
  problem_random_features(problem, generator);
  if (seed % 2) problem->mask.type = (fovea_mask_type)(seed / 2 % 6); /* every type */
  if (problem->mask.type == FOVEA_MASK_NONE) {
    problem->mask.begin = 0;
    problem->mask.keys = FOVEA_UNLIMITED;
  } else {
    problem->mask.strides = fovea_mask_layout(problem->mask.type, problem->batch, problem->heads,
                                              problem_mask_rows(problem), problem_mask_keys(problem));
  }
  scene_set_mask_begins(scene, generator);
  /* A key before the mask's first has no bias; a mask of all keys adds 0 to it, which -0 shows in scores. */
  if (problem->mask.type != FOVEA_MASK_NONE) problem->scores.kind = FOVEA_SCORES_NONE;
  if (generator_below(generator, 4) == 0) problem->keys.begin = generator_below(generator, problem->kv_len + 1);
  if (generator_below(generator, 4) == 0)
    problem->keys.end = problem->keys.begin + generator_below(generator, problem->kv_len - problem->keys.begin + 1);
  scene_add_patterns(scene, generator);
  problem_random_modes(problem, generator, 4);
}

/* Every kind of cache, each on one instruction set. */
static void check_caches(struct trial *patterned, const struct trial *masked, struct generator *generator) {
  const char *const *isas = usable_isas();
  int count = 0;
  while (isas[count] != NULL) count++;
  for (int kind = 0; kind < CACHE_KINDS; kind++) {
    struct cache cache = cache_create(patterned, (enum cache_kind)kind, 0, NULL, generator);
    trial_run_cached(patterned, isas[generator_below(generator, count)], cache.sequences, NULL);
    assert_same_outputs(patterned, masked);
    cache_destroy(&cache);
  }
}

static void check_threads(struct trial *patterned, const struct trial *masked) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 3;
  execution.parallel_for = threads_for;
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {.order = (enum task_order)order};
    execution.parallel_context = &executor;
    trial_run(patterned, NULL, &execution);
    assert_same_outputs(patterned, masked);
  }
}

static void test_any_place(void **state) {
  (void)state;
  static struct scene scene;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(12, 120); seed++) {
    struct generator generator = {seed};
    scene_begin(&scene, &generator, seed);
    struct trial patterned = trial_create(&scene.listed.problem, seed);
    struct trial masked = masked_trial(&patterned, seed, &scene.rules);
    const char *const *isas = usable_isas_for(&scene.listed.problem);
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = 1;
    trial_run(&masked, NULL, &execution);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&patterned, isas[isa], &execution);
      assert_same_outputs(&patterned, &masked);
      assert_true(trial_gaps_untouched(&patterned));
    }
    check_threads(&patterned, &masked);
    if (scene.listed.problem.cu_seqlens_kv == NULL) check_caches(&patterned, &masked, &generator);
    trial_destroy(&masked);
    trial_destroy(&patterned);
    scene_end(&scene);
  }
}

/* ---- Few rows and many keys */

/* A problem of few rows that has parts of keys, with a pattern of random rules for it. */
static void few_rows(struct scene *scene, struct generator *generator, int64_t keys) {
  memset(scene, 0, sizeof *scene);
  fovea_problem *problem = &scene->listed.problem;
  fovea_problem_init(problem, 1, 1 + generator_below(generator, 4), 1, 1 + generator_below(generator, 4), keys, 64,
                     48);
  problem->causal = (int)generator_below(generator, 2);
  if (generator_below(generator, 3) == 0) {
    problem->mask.type = (fovea_mask_type)(1 + generator_below(generator, 5));
    problem->mask.strides =
        fovea_mask_layout(problem->mask.type, 1, problem->heads, problem->q_len, problem->kv_len);
  }
  scene_add_patterns(scene, generator);
}

static void test_parts(void **state) {
  (void)state;
  static const int64_t lengths[] = {1700, 2049, 4200, 9001, 17000};
  static struct scene scene;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(5, 40); seed++) {
    struct generator generator = {seed};
    few_rows(&scene, &generator, lengths[seed % USUAL_OR_LONG(3, 5)]);
    struct trial patterned = trial_create(&scene.listed.problem, seed);
    struct trial masked = masked_trial(&patterned, seed, &scene.rules);
    const char *const *isas = usable_isas_for(&scene.listed.problem);
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = 1;
    trial_run(&masked, NULL, &execution);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&patterned, isas[isa], &execution);
      assert_same_outputs(&patterned, &masked);
    }
    check_threads(&patterned, &masked);
    trial_destroy(&masked);
    trial_destroy(&patterned);
    scene_end(&scene);
  }
}

/* ---- States */

struct made {
  fovea_state state;
  float *numbers;
  size_t size;
};

static struct made made_create(const fovea_problem *problem, int64_t begin, int64_t end) {
  struct made made;
  const int64_t rows = problem->batch * problem->heads * problem->q_len;
  made.size = (size_t)(rows * fovea_state_numbers(problem->v_dim, begin, end)) * sizeof(float);
  made.numbers = malloc(made.size);
  assert_non_null(made.numbers);
  fovea_state_init(&made.state, problem->batch, problem->heads, problem->q_len, problem->v_dim, begin, end,
                   made.numbers);
  return made;
}

static struct made run_state(const struct trial *trial, int64_t begin, int64_t end) {
  struct made made = made_create(&trial->problem, begin, end);
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_error error;
  problem.state = 1;
  problem.keys.begin = begin;
  problem.keys.end = end;
  tensors.o = tensors.lse = NULL;
  tensors.sink = NULL;
  tensors.state = &made.state;
  if (fovea_attend(&problem, &tensors, on_isa(NULL), &error) != FOVEA_OK) fail_msg("%s", error.text);
  return made;
}

static void assert_same_states(const struct made *left, const struct made *right) {
  assert_int_equal(left->size, right->size);
  assert_memory_equal(left->numbers, right->numbers, left->size);
}

/* States of a pattern are equal to states of the mask; cut at the end of a span, merged and finished they are one
 * run. */
static void test_states(void **state) {
  (void)state;
  static struct scene scene;
  enum { CUT = 2048 };
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(4, 24); seed++) {
    struct generator generator = {seed};
    const int64_t keys = CUT + 1 + generator_below(&generator, 2500), at = generator_below(&generator, keys);
    few_rows(&scene, &generator, keys);
    struct trial patterned = trial_create(&scene.listed.problem, seed);
    struct trial masked = masked_trial(&patterned, seed, &scene.rules);
    trial_run(&masked, NULL, NULL);
    struct made left = run_state(&patterned, 0, CUT), right = run_state(&patterned, CUT, keys);
    struct made mask_left = run_state(&masked, 0, CUT), mask_right = run_state(&masked, CUT, keys);
    struct made part = run_state(&patterned, at, keys), mask_part = run_state(&masked, at, keys);
    assert_same_states(&left, &mask_left);
    assert_same_states(&right, &mask_right);
    assert_same_states(&part, &mask_part);
    struct made merged = made_create(&patterned.problem, 0, keys);
    assert_int_equal(fovea_state_merge(&left.state, &right.state, &merged.state, NULL, NULL), FOVEA_OK);
    fovea_tensors tensors = trial_tensors(&patterned);
    tensors.state = &merged.state;
    fovea_error error;
    trial_clear(&patterned);
    if (fovea_state_finish(&patterned.problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    trial_load(&patterned);
    assert_same_outputs(&patterned, &masked);
    struct made *const all[] = {&left, &right, &mask_left, &mask_right, &part, &mask_part, &merged};
    for (int i = 0; i < 7; i++) free(all[i]->numbers);
    trial_destroy(&masked);
    trial_destroy(&patterned);
    scene_end(&scene);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_place),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
