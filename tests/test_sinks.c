/* Attention sinks: for each head one more key, with value zero, merged last. */
#include "support/check.h"
#include "support/problems.h"
#include "support/trial.h"

#include <float.h>
#include <math.h>

static const struct part start = {0, 0, 0};

static fovea_problem problem_with(int sink, int64_t q_len, int64_t kv_len) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 6, 2, q_len, kv_len, 12, 10);
  problem.sink = (fovea_sink)sink;
  return problem;
}

/* On every instruction set, against the contract. */
static void check(struct trial *trial) {
  const char *const *isas = usable_isas_for(&trial->problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(trial, isas[isa], NULL);
    assert_contract(trial, USUAL_OR_LONG(10000, 1000000));
  }
}

static void test_lengths_and_rules(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{1, 1}, {9, 40}, {50, 300}, {3, 4500}, {40, 0}, {0, 5}, {130, 130}};
  for (int i = 0; i < 7; i++)
    for (int rule = i % 3; rule < rule_count; rule += 3)
      for (int sink = FOVEA_SINK_PER_HEAD; sink <= FOVEA_SINK_ZERO; sink++) {
        fovea_problem problem = problem_with(sink, lengths[i][0], lengths[i][1]);
        problem_apply(&problem, &rule_list[rule]);
        problem.o_type = (fovea_type)(rule % 3);
        struct trial trial = trial_create(&problem, (uint64_t)rule);
        check(&trial);
        trial_destroy(&trial);
      }
}

static void compare(const fovea_problem *one, const fovea_problem *other, const float *sinks) {
  const char *const *isas = usable_isas_for(one);
  struct trial first = trial_create(one, 1), second = trial_create(other, 1);
  for (int h = 0; h < 6; h++) first.sinks.data[h] = second.sinks.data[h] = sinks[h];
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&first, isas[isa], NULL);
    trial_run(&second, isas[isa], NULL);
    assert_same_outputs(&first, &second);
  }
  trial_destroy(&first);
  trial_destroy(&second);
}

/* Sinks of zero, of either sign, are softmax-1. Sinks of -Inf are no sinks. */
static void test_same_meanings(void **state) {
  (void)state;
  static const float zeros[6] = {0.0f, -0.0f, 0.0f, 0.0f, -0.0f, 0.0f};
  static const float none[6] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
  for (int rule = 0; rule < rule_count; rule++) {
    fovea_problem per_head = problem_with(FOVEA_SINK_PER_HEAD, 45, 140), other = per_head;
    problem_apply(&per_head, &rule_list[rule]);
    problem_apply(&other, &rule_list[rule]);
    other.sink = FOVEA_SINK_ZERO;
    compare(&per_head, &other, zeros);
    other.sink = FOVEA_SINK_NONE;
    compare(&per_head, &other, none);
  }
}

/* A head's sink belongs to that head only. NaN and +Inf make its rows NaN, also rows that see nothing. A huge sink
 * leaves no weight to the keys, and a sink far below all scores takes none. */
static void test_special_sinks(void **state) {
  (void)state;
  static const float values[] = {NAN,   INFINITY, -INFINITY, FLT_MAX, -FLT_MAX,  2.4e38f, -2.4e38f,
                                 200.f, -200.f,   0.0f,      -0.0f,   0x1p-149f, -1e-40f};
  const char *const *isas = usable_isas_for(NULL);
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
    for (int64_t head = 0; head < 6; head += 5) {
      fovea_problem problem = problem_with(FOVEA_SINK_PER_HEAD, 30, 140);
      problem.causal = 1;
      problem.offset = -4; /* some rows see nothing */
      struct trial clean = trial_create(&problem, 2), changed = trial_create(&problem, 2);
      changed.sinks.data[head] = values[i];
      for (int isa = 0; isas[isa] != NULL; isa++) {
        trial_run(&clean, isas[isa], NULL);
        trial_run(&changed, isas[isa], NULL);
        assert_contract(&changed, INT64_MAX / 2);
        for (int64_t h = 0; h < 6; h++) {
          const struct part rows = {0, h, 0};
          if (h != head) assert_same_part(&changed, rows, &clean, rows, 2, 1, 30);
        }
        const int nan = i < 2 || values[i] * 0x1.715476p+0f == INFINITY;
        assert_int_equal(bits_of(tensor_row(&changed.o, 1, head, 0)[9]) == 0x7fc00000, nan);
        assert_int_equal(bits_of(*tensor_row(&changed.lse, 1, head, 0)) == 0x7fc00000, nan);
      }
      trial_destroy(&clean);
      trial_destroy(&changed);
    }
}

/* Rows that see nothing give zeros, and the sink as LSE; so do padded rows. */
static void test_rows_that_see_nothing(void **state) {
  (void)state;
  static const int64_t q_lens[] = {30, 12}, kv_lens[] = {0, 70};
  const char *const *isas = usable_isas_for(NULL);
  for (int variant = 0; variant < 4; variant++) {
    fovea_problem problem = problem_with(FOVEA_SINK_PER_HEAD, 30, variant == 3 ? 0 : 140);
    if (variant == 0) problem.q_lens = q_lens;
    if (variant == 1) problem.kv_lens = kv_lens;
    if (variant == 2) problem.causal = 1, problem.offset = -15;
    struct trial trial = trial_create(&problem, 3);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&trial, isas[isa], NULL);
      assert_contract(&trial, INT64_MAX / 2);
      for (int64_t h = 0; h < 6; h++) {
        const int64_t entry = variant == 0 ? 1 : 0, row = variant == 0 ? 29 : 3;
        const float expected = 0x1.62e43p-1f * (trial.sinks.data[h] * 0x1.715476p+0f);
        assert_int_equal(bits_of(*tensor_row(&trial.lse, entry, h, row)), bits_of(expected));
        for (int64_t d = 0; d < 10; d++) assert_int_equal(bits_of(tensor_row(&trial.o, entry, h, row)[d]), 0);
      }
    }
    trial_destroy(&trial);
  }
}

/* Softmax-1 over one key of score 0 gives half of its value. */
static void test_half(void **state) {
  (void)state;
  fovea_problem problem = problem_with(FOVEA_SINK_ZERO, 5, 1);
  problem.scale = 0.0;
  struct trial trial = trial_create(&problem, 4);
  const char *const *isas = usable_isas_for(&problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    for (int64_t d = 0; d < 10; d++)
      assert_int_equal(bits_of(tensor_row(&trial.o, 1, 5, 4)[d]), bits_of(tensor_row(&trial.v, 1, 1, 0)[d] / 2.0f));
    assert_int_equal(bits_of(*tensor_row(&trial.lse, 1, 5, 4)), bits_of(0x1.62e43p-1f));
  }
  trial_destroy(&trial);
}

/* Each head of a batch, run alone with its own sink, gives the same. */
static void test_heads_alone(void **state) {
  (void)state;
  const fovea_problem problem = problem_with(FOVEA_SINK_PER_HEAD, 33, 150);
  struct trial whole = trial_create(&problem, 5);
  const char *const *isas = usable_isas_for(&problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&whole, isas[isa], NULL);
    for (int64_t h = 0; h < 6; h++) {
      fovea_problem single;
      fovea_problem_init(&single, 1, 1, 1, 33, 150, 12, 10);
      single.sink = FOVEA_SINK_PER_HEAD;
      const struct part q = {1, h, 0}, kv = {1, h / 3, 0};
      struct trial alone = trial_of_part(&single, &whole, q, kv);
      trial_run(&alone, isas[isa], NULL);
      assert_same_part(&alone, start, &whole, q, 1, 1, 33);
      trial_destroy(&alone);
    }
  }
  trial_destroy(&whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lengths_and_rules),
      cmocka_unit_test(test_same_meanings),
      cmocka_unit_test(test_special_sinks),
      cmocka_unit_test(test_rows_that_see_nothing),
      cmocka_unit_test(test_half),
      cmocka_unit_test(test_heads_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
