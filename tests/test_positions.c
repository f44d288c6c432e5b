/* Position terms: the bits of the contract, and of an additive mask that holds the same numbers. */
#include "support/caches.h"
#include "support/check.h"
#include "support/modes.h"
#include "support/other_ways.h"
#include "support/positions.h"
#include "support/problems.h"
#include "support/reference.h"
#include "support/refusals.h"

#include <math.h>

/* A term of each kind, and some of their variants. Grids have at least `cells` cells. */
enum { TERM_KINDS = 11 };
static fovea_position_term term_of(int kind, int64_t heads, int64_t cells) {
  fovea_position_term term = {.batch = 0};
  switch (kind) {
  case 0:
    return fovea_term_alibi(0);
  case 1:
    return fovea_term_alibi(1);
  case 2: /* slopes per batch element and head, backwards */
    term = fovea_term_alibi(0);
    term.batch = -heads - 1;
    return term;
  case 3:
    return fovea_term_relative(7, 3);
  case 4: /* one table for all heads, stored backwards */
    term = fovea_term_relative(300, 0);
    term.head = 0;
    term.place = -1;
    return term;
  case 5: /* places before heads, a table per batch element */
    term = fovea_term_relative(0, 200);
    term.head = 1;
    term.place = heads;
    term.batch = 201 * heads;
    return term;
  case 6:
    return fovea_term_t5(heads, 32, 128, 1);
  case 7:
    return fovea_term_t5(heads, 20, 60, 0);
  case 8:
    return fovea_term_grid(heads, 1, (cells + 6) / 7, 7);
  case 9: /* heads before places */
    term = fovea_term_grid(heads, 2, 5, (cells + 9) / 10);
    term.place = 1;
    term.head = 3 * 9 * (2 * ((cells + 9) / 10) - 1);
    return term;
  default:
    return fovea_term_grid(heads, (cells + 14) / 15, 3, 5);
  }
}

static fovea_problem problem_of(int64_t heads, int64_t kv_heads, int64_t q_len, int64_t kv_len) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, heads, kv_heads, q_len, kv_len, 20, 12);
  fovea_problem_resolve(&problem, NULL);
  return problem;
}

/* Every instruction set against the contract. */
static void check_made(struct trial *made) {
  const char *const *isas = usable_isas_for(&made->problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(made, isas[isa], NULL);
    assert_contract(made, USUAL_OR_LONG(3000, 300000));
    assert_true(trial_gaps_untouched(made));
  }
}

static void check(const fovea_problem *problem, uint64_t seed) {
  struct trial made = trial_create(problem, seed);
  check_made(&made);
  trial_destroy(&made);
}

/* Tiles, decoding, parts of keys, rows that see nothing, groups of heads; every rule. */
static void test_lengths_and_rules(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{1, 1},  {9, 40},   {50, 300}, {3, 4500},  {1, 9000},
                                       {40, 0}, {40, 129}, {0, 5},    {130, 130}, {49, 49}};
  static const int64_t heads[][2] = {{3, 3}, {4, 2}, {2, 2}, {7, 1}};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
    for (int rule = (int)i % USUAL_OR_LONG(7, 3); rule < rule_count; rule += USUAL_OR_LONG(7, 3))
      for (int kind = (int)i + rule; kind < (int)i + rule + 2; kind++) {
        const int64_t *shape = heads[(rule + kind) % 4];
        fovea_problem problem = problem_of(shape[0], shape[1], lengths[i][0], lengths[i][1]);
        problem_apply(&problem, &rule_list[rule]);
        if (kind % TERM_KINDS >= 8 && lengths[i][0] <= lengths[i][1]) problem.offset = FOVEA_OFFSET_BOTTOM_RIGHT;
        if (kind % TERM_KINDS >= 8 && lengths[i][0] > lengths[i][1])
          continue; /* rows would be outside of the grid */
        const fovea_position_term term = term_of(kind % TERM_KINDS, shape[0], lengths[i][1] + 3);
        fovea_problem_set_terms(&problem, &term, 1);
        problem.scores.kind = (fovea_score_output)((rule + kind) % 5);
        check(&problem, (uint64_t)rule);
      }
}

/* By term = by a mask tensor of the same numbers. */
static void check_as_mask(fovea_problem problem, uint64_t seed) {
  const char *const *isas = usable_isas_for(&problem);
  fovea_problem masked = problem;
  masked.terms.list = NULL;
  masked.terms.count = 0;
  masked.mask.type = FOVEA_MASK_F32;
  masked.mask.strides = fovea_mask_layout(FOVEA_MASK_F32, 2, problem.heads, problem.q_len, problem.kv_len);
  struct trial by_term = trial_create(&problem, seed), by_mask = trial_create(&masked, seed);
  for (int64_t b = 0; b < 2; b++)
    for (int64_t h = 0; h < problem.heads; h++)
      for (int64_t i = 0; i < problem.q_len; i++)
        for (int64_t j = 0; j < problem.kv_len; j++)
          mask_set(&by_mask.mask, b, h, i, j, term_number(&by_term, 0, b, h, i, j));
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&by_term, isas[isa], NULL);
    trial_run(&by_mask, isas[isa], NULL);
    assert_same_outputs(&by_term, &by_mask);
  }
  trial_destroy(&by_term);
  trial_destroy(&by_mask);
}

static void test_as_mask(void **state) {
  (void)state;
  for (int kind = 0; kind < TERM_KINDS; kind++)
    for (int64_t rows = 1; rows <= USUAL_OR_LONG(60, 150); rows += USUAL_OR_LONG(59, 149 / 3)) {
      fovea_problem problem = problem_of(4, kind % 2 ? 4 : 2, rows, 310);
      const fovea_position_term term = term_of(kind, 4, 310);
      problem.causal = kind % 3 > 0;
      problem.softcap = kind % 4 == 1 ? 20.0 : 0.0;
      problem.scores.kind = (fovea_score_output)(kind % 5);
      fovea_problem_set_terms(&problem, &term, 1);
      check_as_mask(problem, (uint64_t)kind);
    }
}

/* Several terms, in their order, with all else that acts on scores. */
static void test_together(void **state) {
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(10, 60); i++) {
    fovea_problem problem = problem_of(4, i % 3 ? 2 : 4, i % 4 ? 30 + i : 1 + i % 3, 200 + 30 * i);
    fovea_position_term terms[FOVEA_POSITION_TERMS_LIMIT];
    for (int j = 0; j < 4; j++) terms[j] = term_of((i + 3 * j) % TERM_KINDS, 4, problem.kv_len);
    fovea_problem_set_terms(&problem, terms, 1 + i % 4);
    problem.causal = i % 2;
    problem.softcap = i % 3 ? 0.0 : 15.0;
    problem.sink = (fovea_sink)(i % 3);
    problem.mask.type = (fovea_mask_type)(i % 6);
    problem.mask.strides =
        fovea_mask_layout(problem.mask.type, 2, 4, problem_mask_rows(&problem), problem_mask_keys(&problem));
    problem.scores.kind = (fovea_score_output)(i % 5);
    problem.scales = (fovea_scales)(i % 4);
    problem.q_type = problem.k_type = (fovea_type)(i / 2 % 3);
    problem.v_type = problem.o_type = (fovea_type)(i / 3 % 3);
    check(&problem, (uint64_t)i);
  }
}

/* Numbers that are NaN or infinite act as numbers of a mask; what they hide is not visible, whatever it holds. */
static void test_special_values(void **state) {
  (void)state;
  static const float specials[] = {-INFINITY, NAN, INFINITY, -0.0f, 0x1p-140f, 3e38f, -3e38f};
  for (int kind = 0; kind < TERM_KINDS; kind++)
    for (int special = USUAL_OR_LONG(kind % 2, 0); special < 7; special += USUAL_OR_LONG(2, 1))
      for (int64_t rows = 1; rows <= 60; rows += 59) {
        fovea_problem problem = problem_of(2, kind % 2 ? 1 : 2, rows, 140);
        const fovea_position_term term = term_of(kind, 2, 140);
        fovea_problem_set_terms(&problem, &term, 1);
        problem.scores.kind = (fovea_score_output)(special % 5);
        struct trial made = trial_create(&problem, (uint64_t)special);
        struct tensor *numbers = &made.terms[0];
        for (int64_t place = 0; place < numbers->rows; place += 2)
          *tensor_row(numbers, 0, place % 2, place) = specials[special];
        tensor_row(&made.v, 0, 0, 70)[5] = NAN;
        tensor_row(&made.v, 1, 0, 71)[2] = INFINITY;
        tensor_row(&made.k, 1, 0, 30)[1] = NAN;
        check_made(&made);
        trial_destroy(&made);
      }
}

/* What one term hides stays hidden, whatever a later term, the scores or the mask add to it. */
static void test_hidden_stays_hidden(void **state) {
  (void)state;
  static const float specials[] = {NAN, INFINITY, -INFINITY, -0.0f, 3e38f};
  const fovea_position_term terms[] = {fovea_term_relative(7, 3), fovea_term_relative(7, 3)};
  for (int masked = 0; masked < 2; masked++)
    for (int special = 0; special < 5; special++)
      for (int64_t rows = 1; rows <= 60; rows += 59) {
        fovea_problem problem = problem_of(2, 1 + special % 2, rows, 140);
        fovea_problem_set_terms(&problem, terms, 2 - masked);
        if (masked) problem.mask.type = FOVEA_MASK_F32;
        problem.mask.strides = fovea_mask_layout(problem.mask.type, 2, 2, rows, 140);
        problem.scores.kind = (fovea_score_output)(special % 5);
        struct trial made = trial_create(&problem, (uint64_t)special);
        for (int64_t head = 0; head < 2; head++)
          for (int64_t place = 1; place < made.terms[0].rows; place += 3) {
            *tensor_row(&made.terms[0], 0, head, place) = -INFINITY;
            if (!masked) *tensor_row(&made.terms[1], 0, head, place) = specials[special];
          }
        for (int64_t i = 0; i < rows; i++)
          for (int64_t j = 0; masked && j < 140; j++)
            if (term_hides(&made, 0, 1, i, j)) mask_set(&made.mask, 0, 1, i, j, specials[special]);
        tensor_row(&made.k, 1, 0, 30)[1] = NAN;
        tensor_row(&made.v, 0, 0, 70)[5] = NAN;
        check_made(&made);
        trial_destroy(&made);
      }
}

/* Distances beyond 2^24, which f32 does not hold. */
static void test_far(void **state) {
  (void)state;
  for (int i = 0; i < 8; i++) {
    fovea_problem problem = problem_of(2, 2, i % 2 ? 2 : 40, 200);
    const fovea_position_term term = term_of(i % 4 < 2 ? 0 : i % 4 == 2 ? 1 : 6, 2, 0);
    problem.offset = (i % 4 < 2 ? -1 : 1) * ((INT64_C(1) << (25 + i)) + 1);
    fovea_problem_set_terms(&problem, &term, 1);
    struct trial made = trial_create(&problem, (uint64_t)i);
    for (int64_t h = 0; h < 2; h++) *tensor_row(&made.terms[0], 0, h, 0) *= 0x1p-22f;
    check_made(&made);
    trial_destroy(&made);
  }
}

/* Lengths of batch elements, packed batches, masks that begin later, caches. */
static void test_entries(void **state) {
  (void)state;
  struct generator generator = {5};
  for (int i = 0; i < USUAL_OR_LONG(14, 300); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 600000);
    if (i % 2) problem_random_features(&listed.problem, &generator);
    problem_random_layout(&listed.problem, &generator);
    fovea_position_term terms[2];
    for (int j = 0; j < 2; j++) terms[j] = term_of((int)generator_below(&generator, 8), listed.problem.heads, 0);
    fovea_problem_set_terms(&listed.problem, terms, 1 + i % 2);
    listed.problem.scales = (fovea_scales)(i % 3 ? 0 : generator_below(&generator, 4));
    if (listed.problem.scales & FOVEA_SCALES_PER_HEAD)
      listed.problem.scale = 1.0 / sqrt((double)listed.problem.qk_dim);
    problem_random_modes(&listed.problem, &generator, 4);
    check(&listed.problem, (uint64_t)i);
  }
}

static void test_caches(void **state) {
  (void)state;
  struct generator generator = {6};
  for (int kind = 0; kind < TERM_KINDS; kind++)
    for (int64_t rows = 1; rows <= 33; rows += 16) {
      fovea_problem problem = problem_of(4, 2, rows, 290);
      const fovea_position_term term = term_of(kind, 4, 290);
      problem.causal = 1;
      problem.scales = (fovea_scales)(kind % 4);
      fovea_problem_set_terms(&problem, &term, 1);
      struct trial expected = trial_create(&problem, (uint64_t)kind), made = trial_sharing_inputs(&expected);
      trial_run(&expected, "scalar", NULL);
      for (int cached = kind % 2; cached < CACHE_KINDS; cached += 2) {
        struct cache cache = cache_create(&made, (enum cache_kind)cached, 0, NULL, &generator);
        for (const char *const *isa = usable_isas_for(&problem); *isa != NULL; isa++) {
          trial_run_cached(&made, *isa, cache.sequences, NULL);
          assert_same_outputs(&made, &expected);
        }
        cache_destroy(&cache);
      }
      trial_destroy(&made);
      trial_destroy(&expected);
    }
}

/* A row has the same bits in a prefill and alone. */
static void test_decode(void **state) {
  (void)state;
  for (int kind = 0; kind < TERM_KINDS; kind++) {
    fovea_problem problem = problem_of(2, 1, 90, 90), single = problem_of(2, 1, 1, 90);
    const fovea_position_term term = term_of(kind, 2, 90);
    fovea_problem_set_terms(&problem, &term, 1);
    fovea_problem_set_terms(&single, &term, 1);
    problem.causal = single.causal = 1;
    struct trial whole = trial_create(&problem, 3);
    trial_run(&whole, NULL, NULL);
    for (int64_t i = 0; i < 90; i += 13) {
      const struct part q = {0, 0, i}, kv = {0, 0, 0};
      single.offset = i;
      struct trial row = trial_of_part(&single, &whole, q, kv);
      for (int j = 0; j < 1; j++) tensor_copy_part(&row.terms[j], &whole.terms[j], 0, 0, 0);
      trial_run(&row, NULL, NULL);
      assert_same_part(&row, kv, &whole, q, 2, 2, 1);
      trial_destroy(&row);
    }
    trial_destroy(&whole);
  }
}

/* States of ranges of keys that are cut at spans merge to the bits of one run. */
static void test_states(void **state) {
  (void)state;
  for (int kind = 0; kind < TERM_KINDS; kind++) {
    fovea_problem problem = problem_of(2, 2, 30, 5000);
    const fovea_position_term term = term_of(kind, 2, 5000);
    fovea_problem_set_terms(&problem, &term, 1);
    assert_same_by_states(&problem, 2048, 2);
  }
}

static void test_threads(void **state) {
  (void)state;
  fovea_problem problem = problem_of(4, 2, 300, 700);
  fovea_position_term terms[2] = {term_of(6, 4, 700), term_of(8, 4, 700)};
  fovea_problem_set_terms(&problem, terms, 2);
  assert_same_by_threads(&problem, 1);
}

/* The formulas of the papers in double: ALiBi, T5's logarithm, Swin's two axes. */
static double formula(int kind, const float *numbers, int64_t heads, int64_t h, int64_t i, int64_t j) {
  const double d = (double)(j - i), distance = fabs(d);
  if (kind == 0) return (double)numbers[h] * d;
  if (kind == 1) return (double)numbers[h] * -distance;
  if (kind == 6) {
    double bucket = distance < 8.0 ? distance : 8.0 + floor(log(distance / 8.0) / log(128.0 / 8.0) * 8.0 + 1e-9);
    if (bucket > 15.0) bucket = 15.0;
    return (double)numbers[((int64_t)bucket + (d > 0.0 ? 16 : 0)) * heads + h];
  }
  const int64_t rows = (60 + 6) / 7;
  return (double)numbers[((i / 7 - j / 7 + rows - 1) * 13 + i % 7 - j % 7 + 6) * heads + h];
}

static void test_formula(void **state) {
  (void)state;
  static const int kinds[] = {0, 1, 6, 8};
  for (int n = 0; n < 4; n++) {
    fovea_problem problem = problem_of(2, 2, 60, 60);
    const fovea_position_term term = term_of(kinds[n], 2, 60);
    fovea_problem_set_terms(&problem, &term, 1);
    struct trial made = trial_create(&problem, 4);
    trial_run(&made, NULL, NULL);
    for (int64_t h = 0; h < 2; h++)
      for (int64_t i = 0; i < 60; i++) {
        double sum = 0.0, o = 0.0;
        for (int64_t j = 0; j < 60; j++) {
          double s = formula(kinds[n], made.terms[0].data, 2, h, i, j);
          for (int64_t d = 0; d < 20; d++)
            s += (double)tensor_row(&made.q, 0, h, i)[d] * (double)tensor_row(&made.k, 0, h, j)[d] * problem.scale;
          sum += exp(s);
          o += exp(s) * (double)tensor_row(&made.v, 0, h, j)[3];
        }
        if (!(fabs((double)tensor_row(&made.o, 0, h, i)[3] - o / sum) < 1e-5) ||
            !(fabs((double)*tensor_row(&made.lse, 0, h, i) - log(sum)) < 1e-5))
          fail_msg("kind %d, head %d, row %d: not the formula", kinds[n], (int)h, (int)i);
      }
    assert_accuracy(&made, 16.0, 10000000);
    trial_destroy(&made);
  }
}

static fovea_position_term refused_term;

static void test_refusals(void **state) {
  (void)state;
  fovea_problem problem = problem_of(2, 2, 5, 7);
  const fovea_position_term good = fovea_term_alibi(0);
  fovea_problem_set_terms(&problem, &good, 1);
  trial = trial_create(&problem, 1);
#define TERM(change, status, ...)                                                                                  \
  refused_term = good;                                                                                             \
  refused_term.change;                                                                                             \
  REFUSED(call.problem.terms.list = &refused_term, status, __VA_ARGS__)
#define TERM_OF(term, change, status, ...)                                                                         \
  refused_term = term;                                                                                             \
  refused_term.change;                                                                                             \
  REFUSED(call.problem.terms.list = &refused_term, status, __VA_ARGS__)
  TERM(kind = (fovea_position_kind)0, FOVEA_ERROR_ARGUMENT, "terms.list[0].kind is 0", "1 to 5");
  TERM(kind = (fovea_position_kind)6, FOVEA_ERROR_ARGUMENT, "terms.list[0].kind is 6");
  TERM(before = 3, FOVEA_ERROR_UNUSED, "terms.list[0].before is 3", "kind is 1");
  TERM(place = 1, FOVEA_ERROR_UNUSED, "terms.list[0].place is 1");
  TERM(width = 1, FOVEA_ERROR_UNUSED, "terms.list[0].width is 1");
  TERM(batch = INT64_MAX, FOVEA_ERROR_ARGUMENT, "terms.list[0].batch");
  TERM_OF(fovea_term_relative(1, 1), before = -1, FOVEA_ERROR_ARGUMENT, "terms.list[0].before is -1");
  TERM_OF(fovea_term_relative(1, 1), buckets = 3, FOVEA_ERROR_UNUSED, "terms.list[0].buckets is 3");
  TERM_OF(fovea_term_t5(2, 32, 128, 1), buckets = 3, FOVEA_ERROR_ARGUMENT, "terms.list[0].buckets is 3");
  TERM_OF(fovea_term_t5(2, 32, 128, 1), bidirectional = 2, FOVEA_ERROR_ARGUMENT,
          "terms.list[0].bidirectional is 2");
  TERM_OF(fovea_term_t5(2, 32, 128, 1), max_distance = 8, FOVEA_ERROR_ARGUMENT, "terms.list[0].max_distance is 8");
  TERM_OF(fovea_term_t5(2, 300, 400, 0), buckets = 300, FOVEA_ERROR_ARGUMENT, "terms.list[0].buckets is 300",
          "128");
  TERM_OF(fovea_term_grid(2, 1, 2, 3), height = 0, FOVEA_ERROR_ARGUMENT, "terms.list[0].height is 0");
  TERM_OF(fovea_term_grid(2, 1, 2, 3), batch = 0, FOVEA_ERROR_ARGUMENT, "terms.list[0] has 6 cells",
          "keys up to 6");
  refused_term = fovea_term_grid(2, 1, 1, 7);
  REFUSED((call.problem.terms.list = &refused_term, call.problem.offset = 3), FOVEA_ERROR_ARGUMENT,
          "terms.list[0] has 7 cells", "at 3 to 7");
  REFUSED((call.problem.terms.list = &refused_term, call.problem.offset = -1), FOVEA_ERROR_ARGUMENT,
          "terms.list[0]: at -1 to 3");
  REFUSED(call.problem.terms.list = NULL, FOVEA_ERROR_ARGUMENT, "terms.list is NULL", "terms.count is 1");
  REFUSED(call.problem.terms.count = 5, FOVEA_ERROR_ARGUMENT, "terms.count is 5");
  REFUSED(call.problem.terms.count = -1, FOVEA_ERROR_ARGUMENT, "terms.count is -1");
  REFUSED(call.problem.terms.count = 0, FOVEA_ERROR_UNUSED, "terms.list is not NULL");
  REFUSED(call.problem.terms.size = 8, FOVEA_ERROR_ARGUMENT, "terms.size is 8", "fovea_problem_set_terms()");
  REFUSED(call.problem.terms.size = 8000, FOVEA_ERROR_ARGUMENT, "terms.size is 8000");
  REFUSED((call.problem.terms.count = 0, call.problem.terms.list = NULL), FOVEA_ERROR_UNUSED, "terms is not NULL",
          "the problem has no terms");
  REFUSED(call.tensors.terms = NULL, FOVEA_ERROR_ARGUMENT, "terms is NULL");
  static const float *lists[1];
  REFUSED(call.tensors.terms = lists, FOVEA_ERROR_ARGUMENT, "terms[0] is NULL");
  lists[0] = (const float *)(const void *)((const char *)trial.terms[0].data + 1);
  REFUSED(call.tensors.terms = lists, FOVEA_ERROR_ARGUMENT, "terms[0]");
  lists[0] = trial.o.data;
  REFUSED(call.tensors.terms = lists, FOVEA_ERROR_ARGUMENT, "o shares memory with terms[0]");
  lists[0] = trial.lse.data;
  REFUSED(call.tensors.terms = lists, FOVEA_ERROR_ARGUMENT, "lse shares memory with terms[0]");
  trial_destroy(&trial);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lengths_and_rules),
      cmocka_unit_test(test_as_mask),
      cmocka_unit_test(test_together),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_hidden_stays_hidden),
      cmocka_unit_test(test_far),
      cmocka_unit_test(test_entries),
      cmocka_unit_test(test_caches),
      cmocka_unit_test(test_decode),
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_formula),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
