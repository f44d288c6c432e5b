/* Every kernel that this CPU can run against tests/contract.c, by memcmp: each size, each rule, and random problems
 * in random layouts. */
#include "support/check.h"
#include "support/cpus.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

#define CONTRACT_BUDGET USUAL_OR_LONG(30000, 400000)

/* Compares the first kernel's outputs with the contract, for as many rows as the budget allows. Compares the others
 * with the contract, and every row with the first kernel's. */
static void check_problem(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = usable_isas_for(problem);
  struct trial first = trial_create(problem, seed), other = trial_sharing_inputs(&first);
  trial_run(&first, isas[0], NULL);
  assert_contract(&first, CONTRACT_BUDGET);
  for (int i = 1; isas[i] != NULL; i++) {
    trial_run(&other, isas[i], NULL);
    assert_contract(&other, CONTRACT_BUDGET / 4);
    assert_same_outputs(&other, &first);
  }
  trial_destroy(&other);
  trial_destroy(&first);
}

static void test_every_dim(void **state) {
  (void)state;
  for (int64_t dim = 1; dim <= USUAL_OR_LONG(70, 300); dim += dim < 140 ? 1 : 13) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, 5, 37, dim, 3);
    fovea_problem_resolve(&problem, NULL);
    check_problem(&problem, 1);
    fovea_problem_init(&problem, 1, 2, 1, 35, 19, 3, dim);
    fovea_problem_resolve(&problem, NULL);
    check_problem(&problem, 2);
  }
}

static void test_every_q_len(void **state) {
  (void)state;
  for (int64_t q_len = 0; q_len <= USUAL_OR_LONG(70, 270); q_len += q_len < 140 ? 1 : 11)
    for (int64_t group = 1; group <= 4; group += 3) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, group, 1, q_len, 33, 16, 16);
      fovea_problem_resolve(&problem, NULL);
      problem.causal = (int)(q_len % 2);
      problem_say_offset(&problem);
      check_problem(&problem, 3);
    }
}

static void test_every_kv_len(void **state) {
  (void)state;
  for (int64_t kv_len = 0; kv_len <= USUAL_OR_LONG(300, 5000); kv_len += kv_len < 300 ? 1 : 271) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, 1 + kv_len % 7, kv_len, 8, 8);
    fovea_problem_resolve(&problem, NULL);
    check_problem(&problem, 4);
    problem.causal = 1;
    problem.q_len = 20;
    problem_say_offset(&problem);
    check_problem(&problem, 5);
  }
}

/* Lengths around the borders of blocks and spans, where the order of merging shows. */
static void test_span_borders(void **state) {
  (void)state;
  static const int64_t lengths[] = {2047, 2048, 2049, 4095, 4096, 4097, 6145, 8193, 12300, 16385, 70001};
  const int count = (int)(sizeof lengths / sizeof lengths[0]);
  for (int i = 0; i < USUAL_OR_LONG(5, count); i++)
    for (int64_t q_len = 1; q_len <= 40; q_len += 39) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, q_len, lengths[i], 16, 8);
      fovea_problem_resolve(&problem, NULL);
      check_problem(&problem, 6);
      problem.window_left = 2100; /* skips whole spans */
      problem.offset = lengths[i] / 2;
      check_problem(&problem, 7);
    }
}

static void test_every_rule(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{1, 1}, {1, 300}, {40, 40}, {150, 150}, {70, 400}, {200, 60}, {600, 700}};
  const int count = (int)(sizeof lengths / sizeof lengths[0]);
  for (int rule = 0; rule < rule_count; rule++)
    for (int i = 0; i < USUAL_OR_LONG(5, count); i++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, lengths[i][0], lengths[i][1], 24, 17);
      fovea_problem_resolve(&problem, NULL);
      problem_apply(&problem, &rule_list[rule]);
      check_problem(&problem, (uint64_t)rule);
    }
}

/* Tasks of several row tiles, with rows of K and V at multiples of a kilobyte: blocks are copied to scratch. */
static void test_copied_blocks(void **state) {
  (void)state;
  for (int causal = 0; causal <= 1; causal++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 8, 8, USUAL_OR_LONG(270, 520), 300, 32, 32);
    fovea_problem_resolve(&problem, NULL);
    problem.q_strides = problem.o_strides = fovea_strides_rows_before_heads(problem.q_len, 8, 32);
    problem.k_strides = problem.v_strides = fovea_strides_rows_before_heads(problem.kv_len, 8, 32);
    problem.causal = causal;
    problem_say_offset(&problem);
    check_problem(&problem, 8);
  }
}

static void test_random_problems(void **state) {
  (void)state;
  struct generator generator = {2026};
  for (int i = 0; i < USUAL_OR_LONG(150, 1500); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 3000000);
    if (i % 3 > 0) problem_random_features(&listed.problem, &generator);
    if (i % 2 == 1) problem_random_layout(&listed.problem, &generator);
    problem_random_modes(&listed.problem, &generator, 4);
    if (i % 4 < 2)
      cpus_use_one();
    else
      cpus_use_all();
    check_problem(&listed.problem, (uint64_t)i);
  }
  cpus_use_all();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_dim),     cmocka_unit_test(test_every_q_len),
      cmocka_unit_test(test_every_kv_len),  cmocka_unit_test(test_span_borders),
      cmocka_unit_test(test_every_rule),    cmocka_unit_test(test_random_problems),
      cmocka_unit_test(test_copied_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
