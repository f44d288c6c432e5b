/* Tile sizes do not change results: tables built from the same bodies with other sizes than the tuned ones give the
 * same bits. */
#include "arch/kernels.h"
#include "arch/registry.h"
#include "src/plan/check_problem.h"
#include "src/plan/make.h"
#include "support/check.h"
#include "support/cpus.h"
#include "support/execution.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/scenes.h"
#include "support/trial.h"

#include <string.h>

/* The tables of support/tiles/, one for each instruction set that serves every problem. */
#define DECLARE_VARIANTS(name, architecture, needs, prefers, type, lacks)                                          \
  FOVEA_GENERAL_##type(extern const fovea_kernels fovea_kernels_##name##_other;)
#define VARIANT_OF(name) {#name, &fovea_kernels_##name##_other},
#define VARIANTS(name, architecture, needs, prefers, type, lacks)                                                  \
  FOVEA_GENERAL_##type(FOVEA_FOR_##architecture(VARIANT_OF(name)))
FOVEA_INSTRUCTION_SETS(DECLARE_VARIANTS)

static const struct variant {
  const char *isa; /* runs where this one does */
  const fovea_kernels *kernels;
} variants[] = {FOVEA_INSTRUCTION_SETS(VARIANTS)};

static void run_on(struct trial *trial, const fovea_kernels *kernels) {
  fovea_plan *plan;
  fovea_error error;
  const fovea_tensors tensors = trial_tensors(trial);
  trial_clear(trial);
  fovea_checked checked = {.kernels = kernels};
  assert_int_equal(fovea_validate_problem(&trial->problem, checked.reaches, &checked.features, &error), FOVEA_OK);
  assert_int_equal(fovea_plan_build(&trial->problem, &checked, &on_isa(NULL)->allocator, &plan, &error), FOVEA_OK);
  assert_string_equal(fovea_plan_isa(plan), kernels->name);
  assert_int_equal(fovea_plan_run(plan, &tensors, NULL, &error), FOVEA_OK);
  trial_load(trial);
  trial->isa = kernels->name;
  fovea_plan_destroy(plan);
}

static void check_problem(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = usable_isas();
  struct trial expected = trial_create(problem, seed), actual = trial_sharing_inputs(&expected);
  trial_run(&expected, isas[0], NULL);
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
    for (int isa = 0; isas[isa] != NULL; isa++) {
      if (strcmp(isas[isa], variants[i].isa) != 0) continue;
      run_on(&actual, variants[i].kernels);
      assert_same_outputs(&actual, &expected);
    }
  trial_destroy(&actual);
  trial_destroy(&expected);
}

static void test_rules(void **state) {
  (void)state;
  for (int rule = 0; rule < rule_count; rule++)
    for (int64_t group = 1; group <= 3; group++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, group, 1, USUAL_OR_LONG(70, 250), USUAL_OR_LONG(200, 600), 24, 20);
      fovea_problem_resolve(&problem, NULL);
      problem_apply(&problem, &rule_list[rule]);
      check_problem(&problem, (uint64_t)rule);
    }
}

static void test_lengths(void **state) {
  (void)state;
  for (int64_t length = 1; length <= USUAL_OR_LONG(60, 200); length += 1 + length / 50) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, length, 40, 9, 11);
    fovea_problem_resolve(&problem, NULL);
    check_problem(&problem, 1);
    fovea_problem_init(&problem, 1, 1, 1, 37, length, 130, 5);
    fovea_problem_resolve(&problem, NULL);
    check_problem(&problem, 2);
    fovea_problem_init(&problem, 1, 1, 1, 20, 140, length, length);
    fovea_problem_resolve(&problem, NULL);
    check_problem(&problem, 3);
  }
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 50, 9001, 16, 16);
  fovea_problem_resolve(&problem, NULL);
  check_problem(&problem, 4);
}

/* Position terms and scales, whose numbers are laid out by tiles. */
static void test_terms(void **state) {
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(12, 60); i++) {
    const int64_t heads = 1 + i % 7, rows = i % 4 ? 10 + 3 * i : 1 + i % 3;
    fovea_problem problem;
    fovea_problem_init(&problem, 2, heads, 1, rows, rows + 40 + 5 * i, 20, 12);
    fovea_problem_resolve(&problem, NULL);
    const fovea_position_term terms[] = {fovea_term_alibi(i % 2), fovea_term_t5(heads, 32, 90, 1),
                                         fovea_term_relative(20, 9),
                                         fovea_term_grid(heads, 1 + i % 2, 12 + i, 7 + i % 8)};
    fovea_problem_set_terms(&problem, terms + i % 4, 1 + i % 2 * (i % 4 < 3));
    problem.causal = i % 3 == 0;
    problem.scales = (fovea_scales)(i % 5 < 4 ? i % 5 : 0);
    check_problem(&problem, (uint64_t)i);
  }
}

/* Shaw's tables, whose numbers are laid out by tiles, too. */
static void test_shaw(void **state) {
  (void)state;
  static const int64_t distances[] = {1, 7, 16, 60, 200};
  for (int i = 0; i < USUAL_OR_LONG(12, 60); i++) {
    const int64_t heads = 1 + i % 7, rows = i % 4 ? 10 + 3 * i : 1 + i % 3;
    fovea_problem problem;
    fovea_problem_init(&problem, 2, heads, 1, rows, rows + 40 + 5 * i, 20, 12);
    fovea_problem_resolve(&problem, NULL);
    problem.shaw.kind = (fovea_shaw)(1 + i % 3);
    problem.shaw.distance = distances[i % 5];
    problem.shaw.heads = i % 2 ? heads : 1;
    problem.causal = i % 3 == 0;
    problem.offset = i % 4 ? FOVEA_OFFSET_BOTTOM_RIGHT : i;
    check_problem(&problem, (uint64_t)i);
  }
}

static void test_random_problems(void **state) {
  (void)state;
  struct generator generator = {99};
  for (int i = 0; i < USUAL_OR_LONG(80, 600); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 1500000);
    if (i % 3 > 0) problem_random_features(&listed.problem, &generator);
    problem_random_normaliser(&listed.problem, &generator);
    problem_random_layout(&listed.problem, &generator);
    if (listed.problem.normaliser.kind == FOVEA_NORMALISER_SOFTMAX) { /* only the softmax has these outputs */
      listed.problem.max_logits = i % 2;
      listed.problem.entropy = i % 7 < 3;
      listed.problem.column_sums.wanted = i % 6 < 2;
      if (i % 5 > 2) listed.problem.top.k = i;
    }
    problem_random_modes(&listed.problem, &generator, 4);
    if (i % 4 < 2)
      cpus_use_one();
    else
      cpus_use_all();
    check_problem(&listed.problem, (uint64_t)i);
  }
  cpus_use_all();
}

/* Patterns, terms, scales, normalisers and outputs together. Problems that the library refuses are left out. */
static void test_combinations(void **state) {
  (void)state;
  static struct scene scene;
  for (int i = 0; i < USUAL_OR_LONG(60, 800); i++) {
    struct generator generator = {(uint64_t)i + 5000};
    fovea_plan *plan;
    scene_combine(&scene, &generator, USUAL_OR_LONG(50000, 800000));
    if (i % 4 < 2)
      cpus_use_one();
    else
      cpus_use_all();
    if (fovea_plan_create(&scene.listed.problem, NULL, &plan, NULL) == FOVEA_OK)
      check_problem(&scene.listed.problem, (uint64_t)i);
    fovea_plan_destroy(plan);
    scene_end(&scene);
  }
  cpus_use_all();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules), cmocka_unit_test(test_lengths),         cmocka_unit_test(test_terms),
      cmocka_unit_test(test_shaw),  cmocka_unit_test(test_random_problems), cmocka_unit_test(test_combinations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
