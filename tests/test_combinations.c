/* Any combination of what a problem may have: patterns, position terms, scales, masks, normalisers, outputs, types,
 * packed and padded batches, groups of heads, caches. All outputs have the bits of the contract. */
#include "support/caches.h"
#include "support/check.h"
#include "support/cpus.h"
#include "support/executors.h"
#include "support/scenes.h"

#include <math.h>
#include <string.h>

/* Whether the library makes a plan. Settings that exclude each other are refused. */
static int is_accepted(const fovea_problem *problem) {
  fovea_plan *plan;
  fovea_error error;
  const fovea_status status = fovea_plan_create(problem, NULL, &plan, &error);
  fovea_plan_destroy(plan);
  if (status == FOVEA_OK) return 1;
  const int excluded = status == FOVEA_ERROR_ARGUMENT && strcmp(error.field, "normaliser.divisor") == 0;
  const int scaled = status == FOVEA_ERROR_ARGUMENT && strcmp(error.field, "scale") == 0;
  if (status != FOVEA_ERROR_UNUSED && !excluded && !scaled) fail_msg("status %d: %s", (int)status, error.text);
  return 0;
}

/* Every instruction set: the best against the contract, too, and another one. */
static void check_isas(struct trial *trial, struct trial *expected, uint64_t seed) {
  const char *const *isas = usable_isas();
  int count = 0;
  while (isas[count] != NULL) count++;
  const int other = (int)(seed % (uint64_t)count);
  trial_run(expected, isas[0], NULL);
  assert_contract(expected, USUAL_OR_LONG(20000, 200000));
  assert_true(trial_gaps_untouched(expected));
  for (int isa = 1; isa < count; isa++) {
    trial_run(trial, isas[isa], NULL);
    if (isa == other) assert_contract(trial, USUAL_OR_LONG(20000, 200000));
    assert_same_outputs(trial, expected);
    assert_true(trial_gaps_untouched(trial));
  }
}

static void check_threads(struct trial *trial, const struct trial *expected, enum task_order order) {
  struct executor executor = {.order = order};
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 3;
  execution.parallel_for = threads_for;
  execution.parallel_context = &executor;
  trial_run(trial, NULL, &execution);
  assert_same_outputs(trial, expected);
}

/* Two kinds of caches, on any instruction sets. */
static void check_caches(struct trial *trial, const struct trial *expected, struct generator *generator,
                         uint64_t seed) {
  const char *const *isas = usable_isas();
  int count = 0;
  while (isas[count] != NULL) count++;
  for (uint64_t i = 0; i < 2; i++) {
    const enum cache_kind kind = (enum cache_kind)((seed + i * 5) % CACHE_KINDS);
    struct cache cache = cache_create(trial, kind, 0, NULL, generator);
    trial_run_cached(trial, isas[generator_below(generator, count)], cache.sequences, NULL);
    assert_same_outputs(trial, expected);
    cache_destroy(&cache);
  }
}

static void check(const struct scene *scene, struct generator *generator, uint64_t seed) {
  const fovea_problem *problem = &scene->listed.problem;
  struct trial expected = trial_create(problem, seed);
  expected.rules = &scene->rules;
  scene_spoil(&expected, generator);
  struct trial trial = trial_sharing_inputs(&expected);
  check_isas(&trial, &expected, seed);
  check_threads(&trial, &expected, (enum task_order)(seed % TASK_ORDERS));
  if (problem->cu_seqlens_kv == NULL) check_caches(&trial, &expected, generator, seed);
  trial_destroy(&trial);
  trial_destroy(&expected);
}

static void test_combinations(void **state) {
  (void)state;
  static struct scene scene;
  const int count = USUAL_OR_LONG(80, 2000);
  int accepted = 0;
  fovea_allow_amx(NULL); /* modes: for runs that name no instruction set, if there is AMX */
  for (int i = 0; i < count; i++) {
    const uint64_t seed = (uint64_t)i;
    struct generator generator = {seed};
    scene_combine(&scene, &generator, USUAL_OR_LONG(INT64_C(50000), INT64_C(1500000)));
    if (i % 4 < 2)
      cpus_use_one();
    else
      cpus_use_all();
    if (is_accepted(&scene.listed.problem)) {
      check(&scene, &generator, seed);
      accepted++;
    }
    scene_end(&scene);
  }
  cpus_use_all();
  print_message("%d of %d problems accepted\n", accepted, count);
  assert_true(accepted * 3 >= count);
}

/* What random problems have found. Tiles, a tile of one row, decoding. */
static void check_rows(fovea_problem (*make)(int64_t rows, int64_t keys), void (*fill)(struct trial *trial)) {
  static const int64_t lengths[][2] = {{70, 150}, {1, 3}, {1, 700}, {4, 300}, {3, 4500}};
  const char *const *isas = usable_isas();
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    const fovea_problem problem = make(lengths[i][0], lengths[i][1]);
    struct trial trial = trial_create(&problem, i);
    if (fill != NULL) fill(&trial);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&trial, isas[isa], NULL);
      assert_contract(&trial, 300000);
    }
    trial_destroy(&trial);
  }
}

/* No row has a weight, and some values are NaN. */
static fovea_problem problem_without_weights(int64_t rows, int64_t keys) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, rows, keys, 8, 24);
  problem.normaliser.kind = FOVEA_NORMALISER_RELU;
  problem.normaliser.divisor = FOVEA_DIVISOR_SUM;
  return problem;
}

static void make_scores_negative(struct trial *trial) {
  tensor_fill_constant(&trial->q, 1.0f);
  tensor_fill_constant(&trial->k, -1.0f);
  tensor_row(&trial->v, 0, 1, 2)[7] = NAN;
  tensor_row(&trial->v, 0, 0, 1)[23] = INFINITY;
}

static void test_sums_of_zero(void **state) {
  (void)state;
  check_rows(problem_without_weights, make_scores_negative);
}

/* Weights of some rows and heads only, without the softmax. */
static fovea_problem problem_of_score_part(int64_t rows, int64_t keys) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, rows, keys, 8, 24);
  problem.normaliser.kind = FOVEA_NORMALISER_SIGMOID;
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  problem.scores.heads = (fovea_range){1, 3};
  problem.scores.rows = (fovea_range){rows / 2, rows};
  problem.scores.strides = (fovea_strides){2 * (rows - rows / 2) * keys, (rows - rows / 2) * keys, keys};
  return problem;
}

static void test_score_parts(void **state) {
  (void)state;
  check_rows(problem_of_score_part, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_combinations),
      cmocka_unit_test(test_sums_of_zero),
      cmocka_unit_test(test_score_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
