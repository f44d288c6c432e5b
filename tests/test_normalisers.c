/* Normalisers other than softmax: the contract's bits on every instruction set, whichever code computes a row, and
 * the formulas in double. */
#include "contract.h"
#include "support/caches.h"
#include "support/check.h"
#include "support/cpus.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/outputs.h"
#include "support/problems.h"
#include "support/trial.h"

#include <fovea/state.h>
#include <math.h>
#include <string.h>

enum { NORMALISERS = 3, DIVISORS = 4 };

static void check(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = usable_isas_for(problem);
  struct trial trial = trial_create(problem, seed);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    assert_contract(&trial, USUAL_OR_LONG(3000, 250000));
    assert_true(trial_gaps_untouched(&trial));
  }
  trial_destroy(&trial);
}

/* Tiles, decoding, parts of keys, rows that see nothing; every rule. */
static void test_lengths_and_rules(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{1, 1},  {9, 40},   {50, 300}, {3, 4500}, {1, 9000},
                                       {40, 0}, {40, 129}, {0, 5},    {130, 130}};
  int number = 0;
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
    for (int rule = (int)i % USUAL_OR_LONG(4, 1); rule < rule_count; rule += USUAL_OR_LONG(4, 1), number++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 2, 4, rule % 2 ? 2 : 4, lengths[i][0], lengths[i][1], 20, 12);
      fovea_problem_resolve(&problem, NULL);
      problem_apply(&problem, &rule_list[rule]);
      problem_set_normaliser(&problem, number);
      problem.scores.kind = (fovea_score_output)(number / 12 % 5);
      problem.softcap = number % 5 == 0 ? 4.0 : 0.0;
      check(&problem, (uint64_t)number);
    }
}

/* Every mask with every divisor: the number of keys that a row sees is exact. */
static void test_masks(void **state) {
  (void)state;
  for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++)
    for (int number = 0; number < NORMALISERS * DIVISORS; number++) {
      static const int64_t rows[] = {37, 1, 4};
      fovea_problem problem;
      fovea_problem_init(&problem, 2, 3, 1, rows[number % 3], 300, 20, 12);
      fovea_problem_resolve(&problem, NULL);
      problem.mask.type = (fovea_mask_type)type;
      problem.mask.strides = fovea_mask_layout(problem.mask.type, 2, 3, problem.q_len, 300);
      problem.causal = number % 2;
      problem_set_normaliser(&problem, number);
      problem.scores.kind = (fovea_score_output)(number % 5);
      problem.softcap = number % 4 == 0 ? 30.0 : 0.0;
      check(&problem, (uint64_t)(number + type));
    }
}

/* All features, layouts, types, lengths and packings. */
static void test_random_problems(void **state) {
  (void)state;
  struct generator generator = {77};
  for (int i = 0; i < USUAL_OR_LONG(20, 100); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 1500000);
    problem_random_features(&listed.problem, &generator);
    problem_random_layout(&listed.problem, &generator);
    listed.problem.sink = FOVEA_SINK_NONE;
    problem_set_normaliser(&listed.problem, i);
    if (i % 4 < 2)
      cpus_use_one();
    else
      cpus_use_all();
    check(&listed.problem, (uint64_t)i);
  }
  cpus_use_all();
}

/* So few rows and so many keys that the keys are split into parts, whose sums and numbers of keys are added up. */
static void test_parts(void **state) {
  (void)state;
  for (int number = 0; number < NORMALISERS * DIVISORS; number += USUAL_OR_LONG(7, 1))
    for (int rows = 1; rows <= 20; rows += 19) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, rows, rows > 1 ? 9000 : 30000, 40, 24);
      fovea_problem_resolve(&problem, NULL);
      problem_set_normaliser(&problem, number);
      problem.causal = 1;
      if (number % 2) {
        problem.mask.type = FOVEA_MASK_BOOL;
        problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, 1, 2, rows, problem.kv_len);
      }
      if (number % 4 == 0) problem.scores.kind = FOVEA_SCORES_WEIGHTS;
      fovea_plan *plan;
      assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
      /* Twenty rows may be several tiles, which are then enough for the CPUs. */
      if (rows == 1 && cpus_allowed() > 1) assert_int_equal(fovea_plan_phases(plan), 2);
      fovea_plan_destroy(plan);
      check(&problem, (uint64_t)number);
    }
}

/* Any number of threads, and any order of tasks. */
static void test_threads(void **state) {
  (void)state;
  for (int number = 0; number < NORMALISERS * DIVISORS; number += USUAL_OR_LONG(7, 1)) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 4, 2, number % 2 ? 3 : 100, number % 2 ? 9000 : 500, 24, 40);
    fovea_problem_resolve(&problem, NULL);
    problem_set_normaliser(&problem, number);
    problem.scores.kind = FOVEA_SCORES_WEIGHTS;
    struct trial one = trial_create(&problem, 3), other = trial_sharing_inputs(&one);
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = 1;
    trial_run(&one, NULL, &execution);
    for (int order = 0; order < TASK_ORDERS; order++) {
      struct executor executor = {(enum task_order)order, 0};
      execution.threads = 3;
      execution.parallel_for = threads_for;
      execution.parallel_context = &executor;
      trial_run(&other, NULL, &execution);
      assert_same_outputs(&other, &one);
    }
    trial_destroy(&other);
    trial_destroy(&one);
  }
}

/* A row alone has the bits that it has among others. */
static void test_prefill_and_decode(void **state) {
  (void)state;
  for (int number = 0; number < NORMALISERS * DIVISORS; number += USUAL_OR_LONG(7, 1)) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 4, 2, 60, 2500, 33, 17);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    problem_set_normaliser(&problem, number);
    struct trial whole = trial_create(&problem, 9);
    trial_run(&whole, NULL, NULL);
    for (int64_t row = 0; row < 60; row += 13) {
      fovea_problem step = problem;
      fovea_problem_init(&step, 1, 4, 2, 1, 2500, 33, 17);
      fovea_problem_resolve(&step, NULL);
      step.causal = 1;
      step.offset = 2500 - 60 + row;
      problem_set_normaliser(&step, number);
      const struct part q = {0, 0, row}, kv = {0, 0, 0};
      struct trial alone = trial_of_part(&step, &whole, q, kv);
      trial_run(&alone, NULL, NULL);
      assert_same_part(&alone, kv, &whole, q, 1, 4, 1);
      trial_destroy(&alone);
    }
    trial_destroy(&whole);
  }
}

static void test_caches(void **state) {
  (void)state;
  struct generator generator = {5};
  for (int number = 0; number < NORMALISERS * DIVISORS; number += USUAL_OR_LONG(7, 1)) {
    fovea_problem problem;
    fovea_problem_init(&problem, 2, 4, 2, 1 + 5 * number, 700, 40, 24);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    problem_set_normaliser(&problem, number);
    problem.scores.kind = FOVEA_SCORES_WEIGHTS;
    problem.k_type = problem.v_type = (fovea_type)(number % 3);
    struct trial expected = trial_create(&problem, 5), trial = trial_sharing_inputs(&expected);
    trial_run(&expected, "scalar", NULL);
    assert_contract(&expected, USUAL_OR_LONG(8000, 300000));
    for (int kind = 0; kind < CACHE_KINDS; kind++) {
      struct cache cache = cache_create(&trial, (enum cache_kind)kind, 0, NULL, &generator);
      for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
        trial_run_cached(&trial, *isa, cache.sequences, NULL);
        assert_same_outputs(&trial, &expected);
      }
      cache_destroy(&cache);
    }
    trial_destroy(&trial);
    trial_destroy(&expected);
  }
}

/* NaN and infinities in Q, K and V, subnormals and -0; keys with such scores count as visible, and hidden keys have
 * no part in anything. */
static void test_special_values(void **state) {
  (void)state;
  static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f, -0.0f, 0x1p-140f};
  for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
    for (int number = 0; number < NORMALISERS * DIVISORS; number += USUAL_OR_LONG(5, 1))
      for (int64_t rows = 1; rows < 80; rows += USUAL_OR_LONG(78, 39)) {
        fovea_problem problem;
        fovea_problem_init(&problem, 2, 2, 2, rows, 300, 20, 12);
        fovea_problem_resolve(&problem, NULL);
        problem.causal = 1;
        problem.offset = 140;
        problem_set_normaliser(&problem, number);
        problem.scores.kind = FOVEA_SCORES_WEIGHTS;
        problem.mask.type = number % 2 ? FOVEA_MASK_F32 : FOVEA_MASK_NONE;
        struct trial trial = trial_create(&problem, v);
        tensor_row(&trial.k, 0, 1, 135)[3] = values[v];
        tensor_row(&trial.v, 0, 0, 140)[3] = values[v];
        tensor_row(&trial.v, 1, 1, 170)[5] = values[v];
        for (int64_t d = 0; d < 20; d++) tensor_row(&trial.q, 1, 0, 0)[d] = values[v];
        const char *const *isas = usable_isas_for(&problem);
        for (int isa = 0; isas[isa] != NULL; isa++) {
          trial_run(&trial, isas[isa], NULL);
          assert_contract(&trial, USUAL_OR_LONG(12000, INT64_MAX / 2));
        }
        trial_destroy(&trial);
      }
}

/* All scores of a row are -Inf, by an additive mask of the least finite number: such keys are visible and count. */
static void test_seen_without_weight(void **state) {
  (void)state;
  for (int number = 0; number < NORMALISERS * DIVISORS; number += USUAL_OR_LONG(7, 1))
    for (int64_t rows = 1; rows < 40; rows += 38) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, rows, 260, 3, 5);
      fovea_problem_resolve(&problem, NULL);
      problem_set_normaliser(&problem, number);
      problem.scores.kind = FOVEA_SCORES_WEIGHTS;
      problem.scale = 1.0;
      struct trial trial = trial_create(&problem, 4);
      for (int64_t j = 3; j < 260; j++) tensor_row(&trial.k, 0, 0, j)[0] = -INFINITY;
      for (int64_t i = 0; i < rows; i++) tensor_row(&trial.q, 0, 0, i)[0] = 1.0f;
      tensor_row(&trial.v, 0, 0, 200)[1] = INFINITY; /* in a block without a state */
      const char *const *isas = usable_isas_for(&problem);
      for (int isa = 0; isas[isa] != NULL; isa++) {
        trial_run(&trial, isas[isa], NULL);
        assert_contract(&trial, USUAL_OR_LONG(12000, INT64_MAX / 2));
        assert_true(isfinite(tensor_row(&trial.o, 0, 0, 0)[1]));
      }
      trial_destroy(&trial);
    }
}

/* Weights that are tiny: a reciprocal of their sum would be infinite. */
static void test_small_sums(void **state) {
  (void)state;
  for (int number = 0; number < NORMALISERS * DIVISORS; number += USUAL_OR_LONG(7, 1))
    for (int64_t rows = 1; rows < 40; rows += 38) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 2, rows, 150, 8, 5);
      fovea_problem_resolve(&problem, NULL);
      problem_set_normaliser(&problem, number);
      problem.scores.kind = FOVEA_SCORES_WEIGHTS;
      problem.scale = 1e-21;
      if (problem.normaliser.kind == FOVEA_NORMALISER_RELU) problem.scale = 1e-40;
      if (problem.normaliser.kind == FOVEA_NORMALISER_SIGMOID) problem.normaliser.sigmoid_bias = -97.0;
      if (problem.normaliser.divisor == FOVEA_DIVISOR_CONSTANT) problem.normaliser.divisor_value = 0x1p-126;
      check(&problem, 2);
      struct trial trial = trial_create(&problem, 2);
      trial_run(&trial, NULL, NULL);
      for (int64_t i = 0; i < rows && problem.normaliser.divisor == FOVEA_DIVISOR_SUM; i++) {
        double sum = 0.0;
        for (int64_t j = 0; j < 150; j++) sum += (double)tensor_row(&trial.scores, 0, 0, i)[j];
        assert_true(fabs(sum - 1.0) < 1e-5);
      }
      trial_destroy(&trial);
    }
}

/* Errors of the sigmoid in units in the last place. */
static void test_sigmoid(void **state) {
  (void)state;
  double worst = 0.0;
  float before = 0.5f;
  for (uint32_t bits = bits_of(0x1p-30f); bits < bits_of(120.0f); bits += USUAL_OR_LONG(65537, 1021))
    for (uint32_t sign = 0; sign < 2; sign++) {
      const float x = from_bits(bits | sign << 31), y = contract_weight_sigmoid(x);
      const double exact = 1.0 / (1.0 + exp(-(double)x));
      int exponent;
      frexp(exact, &exponent);
      const double unit = ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
      worst = fmax(worst, fabs((double)y - exact) / unit);
      assert_true(y <= 1.0f && y >= 0.0f);
      if (sign == 0) assert_true(y >= before - 0x1p-23f), before = y;
    }
  assert_true(worst > 0.5 && worst < 1.6);
  assert_true(contract_weight_sigmoid(0.0f) == 0.5f && contract_weight_sigmoid(-0.0f) == 0.5f);
  assert_true(contract_weight_sigmoid(INFINITY) == 1.0f && contract_weight_sigmoid(3e38f) == 1.0f);
  assert_true(contract_weight_sigmoid(-INFINITY) == 0.0f && contract_weight_sigmoid(-3e38f) == 0.0f);
}

/* The kernels' sigmoid at many numbers: q = x and k = 1 of one dim. */
static void test_sigmoid_bits(void **state) {
  (void)state;
  enum { NUMBERS = 4000 };
  static float q[NUMBERS], k[16], v[16], o[NUMBERS], weights[NUMBERS * 16];
  for (int i = 0; i < 16; i++) k[i] = v[i] = 1.0f;
  const char *const *isas = usable_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (uint32_t part = 0; part < USUAL_OR_LONG(2, 8); part++) {
      for (uint32_t i = 0; i < NUMBERS; i++) q[i] = from_bits((i * 20 + part) * 53687u);
      for (int64_t rows = 1; rows <= NUMBERS; rows += NUMBERS - 1) {
        fovea_problem problem;
        fovea_tensors tensors;
        fovea_problem_init(&problem, 1, 1, 1, rows, 16, 1, 1);
        fovea_problem_resolve(&problem, NULL);
        problem.normaliser.kind = FOVEA_NORMALISER_SIGMOID;
        problem.scores.kind = FOVEA_SCORES_WEIGHTS;
        fovea_tensors_init(&tensors, q + (rows == 1 ? 100 + part : 0), k, v, o, NULL);
        tensors.scores = weights;
        assert_int_equal(fovea_attend(&problem, &tensors, on_isa(isas[isa]), NULL), FOVEA_OK);
        for (int64_t i = 0; i < rows; i++) {
          const float x = ((const float *)tensors.q)[i], y = contract_weight_sigmoid(x);
          if (isnan(x) ? !isnan(weights[i * 16]) : bits_of(weights[i * 16]) != bits_of(y))
            fail_msg("%s: sigmoid(%a) is %a, not %a", isas[isa], (double)x, (double)weights[i * 16], (double)y);
        }
      }
    }
}

/* A weight and its derivative, by the formulas. */
static double weight_of(const fovea_problem *problem, double s, double *slope) {
  const double positive = s > 0.0 ? s : 0.0, y = 1.0 / (1.0 + exp(-(s + problem->normaliser.sigmoid_bias)));
  *slope = problem->normaliser.kind == FOVEA_NORMALISER_RELU ? 1.0 : 2.0 * positive + 1e-6;
  if (problem->normaliser.kind == FOVEA_NORMALISER_SIGMOID) *slope = y;
  if (problem->normaliser.kind == FOVEA_NORMALISER_SIGMOID) return y;
  return problem->normaliser.kind == FOVEA_NORMALISER_RELU ? positive : positive * positive;
}

static void check_row_in_double(const struct trial *trial, int64_t head, int64_t row) {
  const fovea_problem *problem = &trial->problem;
  double o[64] = {0.0}, error[64] = {0.0}, sum = 0.0, sum_error = 0.0;
  int64_t seen = 0;
  for (int64_t j = 0; j < problem->kv_len; j++) {
    if (!trial_sees(trial, 0, head, row, j)) continue;
    const float *q = tensor_row(&trial->q, 0, head, row), *k = tensor_row(&trial->k, 0, head, j);
    const float *v = tensor_row(&trial->v, 0, head, j);
    double s = 0.0, size = 2.0, slope;
    for (int64_t d = 0; d < problem->qk_dim; d++) {
      s += (double)q[d] * (double)k[d] * problem->scale;
      size += fabs((double)q[d] * (double)k[d] * problem->scale);
    }
    const double weight = weight_of(problem, s, &slope), wrong = 16 * 0x1p-24 * size * (weight + slope);
    seen++;
    sum += weight;
    sum_error += wrong;
    for (int64_t d = 0; d < problem->v_dim; d++) {
      o[d] += weight * (double)v[d];
      error[d] += wrong * fabs((double)v[d]);
    }
  }
  const int by_sum = problem->normaliser.divisor == FOVEA_DIVISOR_SUM;
  const double divisor = by_sum                                                  ? sum
                         : problem->normaliser.divisor == FOVEA_DIVISOR_KEYS     ? (double)seen
                         : problem->normaliser.divisor == FOVEA_DIVISOR_CONSTANT ? problem->normaliser.divisor_value
                                                                                 : 1.0;
  for (int64_t d = 0; d < problem->v_dim && divisor > 0.0; d++) {
    const double exact = o[d] / divisor, got = (double)tensor_row(&trial->o, 0, head, row)[d];
    const double bound = error[d] / divisor + (by_sum ? fabs(exact) * sum_error / sum : 0.0);
    if (!(fabs(got - exact) <= bound + 1e-7 * fabs(exact))) fail_msg("%g, not %g, bound %g", got, exact, bound);
  }
}

static void test_in_double(void **state) {
  (void)state;
  for (int number = 0; number < NORMALISERS * DIVISORS; number++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2, 2, 40, 600, 32, 24);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    problem.window_left = 333;
    problem_set_normaliser(&problem, number);
    struct trial trial = trial_create(&problem, 8);
    trial_run(&trial, NULL, NULL);
    for (int64_t row = 0; row < 40; row++) check_row_in_double(&trial, row % 2, row);
    trial_destroy(&trial);
  }
}

/* Keys, values and a state, in spans and in one part, with the contract's numbers. */
static void test_states(void **state) {
  (void)state;
  enum { KEYS = 3 * FOVEA_SPAN_KEYS - 70, DIM = 7, NODES = 3 * (DIM + 2) };
  static float parts[2][NODES * 2], merged[NODES * 2], once[NODES * 2];
  for (int number = 0; number < NORMALISERS * DIVISORS; number++) {
    fovea_problem problem;
    fovea_state from[2] = {{0}}, to = {0}, all = {0};
    fovea_error error;
    fovea_problem_init(&problem, 1, 2, 1, 1, KEYS, 9, DIM);
    fovea_problem_resolve(&problem, NULL);
    problem_set_normaliser(&problem, number);
    if (problem.normaliser.divisor == FOVEA_DIVISOR_KEYS) continue;
    struct trial whole = trial_create(&problem, 6), finished = trial_sharing_inputs(&whole);
    trial_run(&whole, NULL, NULL);
    fovea_tensors tensors = trial_tensors(&whole);
    tensors.o = NULL;
    for (int part = 0; part < 3; part++) {
      fovea_problem range = problem;
      range.state = 1;
      range.keys.begin = part == 1 ? 2 * FOVEA_SPAN_KEYS : 0;
      range.keys.end = part == 0 ? 2 * FOVEA_SPAN_KEYS : KEYS;
      fovea_state *into = part == 2 ? &all : &from[part];
      fovea_state_init(into, 1, 2, 1, DIM, range.keys.begin, range.keys.end, part == 2 ? once : parts[part]);
      tensors.state = into;
      if (fovea_attend(&range, &tensors, NULL, &error)) fail_msg("%s", error.text);
    }
    fovea_state_init(&to, 1, 2, 1, DIM, 0, KEYS, merged);
    assert_int_equal(fovea_state_merge(&from[0], &from[1], &to, NULL, NULL), FOVEA_OK);
    assert_memory_equal(merged, once, 2 * sizeof(float) * (size_t)fovea_state_numbers(DIM, 0, KEYS));
    assert_true(once[DIM] == 0.0f); /* m */
    tensors = trial_tensors(&finished);
    tensors.state = &to;
    trial_clear(&finished);
    if (fovea_state_finish(&problem, &tensors, NULL, &error)) fail_msg("%s", error.text);
    assert_same_outputs(&finished, &whole);
    trial_destroy(&finished);
    trial_destroy(&whole);
  }
}

#define REFUSED(status, text, ...)                                                                                 \
  do {                                                                                                             \
    problem = good;                                                                                                \
    tensors = all;                                                                                                 \
    __VA_ARGS__;                                                                                                   \
    assert_attend_refused(&problem, &tensors, status, text);                                                       \
  } while (0)

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem, good;
  fovea_problem_init(&good, 1, 2, 2, 5, 7, 4, 4);
  fovea_problem_resolve(&good, NULL);
  problem_set_normaliser(&good, 2);
  struct trial trial = trial_create(&good, 1);
  fovea_tensors tensors = trial_tensors(&trial), all = tensors;
  assert_int_equal(fovea_attend(&good, &all, NULL, NULL), FOVEA_OK);
  REFUSED(FOVEA_ERROR_ARGUMENT, "normaliser.kind is 4", problem.normaliser.kind = (fovea_normaliser)4);
  REFUSED(FOVEA_ERROR_ARGUMENT, "normaliser.divisor is 4", problem.normaliser.divisor = (fovea_divisor)4);
  REFUSED(FOVEA_ERROR_ARGUMENT, "normaliser.sigmoid_bias is inf",
          problem.normaliser.sigmoid_bias = (double)INFINITY);
  REFUSED(FOVEA_ERROR_ARGUMENT, "normaliser.sigmoid_bias is 1.000000e39", problem.normaliser.sigmoid_bias = 1e39);
  REFUSED(FOVEA_ERROR_ARGUMENT, "normaliser.sigmoid_bias is nan", problem.normaliser.sigmoid_bias = (double)NAN);
  static const double values[] = {0.0, -1.0, 1e39, 1e-39};
  for (int i = 0; i < 4; i++)
    REFUSED(FOVEA_ERROR_ARGUMENT, "normaliser.divisor_value is ",
            (problem.normaliser.divisor = FOVEA_DIVISOR_CONSTANT, problem.normaliser.divisor_value = values[i]));
  REFUSED(FOVEA_ERROR_UNUSED,
          "normaliser.divisor_value is 2.000000 and would not be used: normaliser.divisor is not "
          "FOVEA_DIVISOR_CONSTANT",
          problem.normaliser.divisor_value = 2.0);
  REFUSED(FOVEA_ERROR_UNUSED, "normaliser.sigmoid_bias is -1.400000 and would not be used: normaliser.kind is not",
          problem.normaliser.kind = FOVEA_NORMALISER_RELU);
  REFUSED(FOVEA_ERROR_UNUSED, "normaliser.sigmoid_bias is -1.400000 and would not be used",
          problem.normaliser.kind = 0);
  REFUSED(FOVEA_ERROR_UNUSED,
          "normaliser.divisor is 2 and would not be used: normaliser.kind is FOVEA_NORMALISER_SOFTMAX",
          (problem.normaliser.kind = 0, problem.normaliser.divisor = FOVEA_DIVISOR_KEYS));
  REFUSED(FOVEA_ERROR_UNUSED, "sink is 2 and would not be used: normaliser", problem.sink = FOVEA_SINK_ZERO);
  REFUSED(FOVEA_ERROR_UNUSED, "sink is 1 and would not be used: normaliser", problem.sink = FOVEA_SINK_PER_HEAD);
  REFUSED(FOVEA_ERROR_UNUSED, "lse is not NULL and would not be used: normaliser", tensors.lse = trial.lse.data);
  REFUSED(FOVEA_ERROR_UNUSED, "normaliser.divisor is 2 and would not be used: state is 1",
          (problem.state = 1, problem.normaliser.divisor = FOVEA_DIVISOR_KEYS));
  trial_destroy(&trial);
}

/* What the calls for states refuse. */
static void test_states_refused(void **state) {
  (void)state;
  static float numbers[2 * 5 * 6], lse[10];
  fovea_problem problem;
  fovea_state from;
  fovea_error error;
  fovea_problem_init(&problem, 1, 2, 2, 5, 7, 4, 4);
  fovea_problem_resolve(&problem, NULL);
  problem_set_normaliser(&problem, 2);
  struct trial trial = trial_create(&problem, 1);
  fovea_tensors tensors = trial_tensors(&trial);
  fovea_state_init(&from, 1, 2, 5, 4, 0, 7, numbers);
  tensors.state = &from;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, &error), FOVEA_OK);
  tensors.lse = lse;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "lse is not NULL");
  assert_int_equal(fovea_state_from_output(&problem, &tensors, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "normaliser.kind: states are made of the softmax's outputs only");
  tensors.lse = NULL;
  problem.normaliser.divisor = FOVEA_DIVISOR_KEYS;
  assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, &error), FOVEA_ERROR_UNUSED);
  assert_error_says(&error, "normaliser.divisor: a state does not count keys");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lengths_and_rules),
      cmocka_unit_test(test_masks),
      cmocka_unit_test(test_random_problems),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_prefill_and_decode),
      cmocka_unit_test(test_caches),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_seen_without_weight),
      cmocka_unit_test(test_small_sums),
      cmocka_unit_test(test_sigmoid),
      cmocka_unit_test(test_sigmoid_bits),
      cmocka_unit_test(test_in_double),
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_states_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
