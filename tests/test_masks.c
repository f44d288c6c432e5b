/* Masks give the bits of rules that say the same, and of the contract. What they hide changes no bit. */
#include "support/check.h"
#include "support/cpus.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const struct part start = {0, 0, 0};

#define CONTRACT_BUDGET USUAL_OR_LONG(20000, 150000)

/* Adds a mask of that type for the whole problem, with its own strides. */
static void add_mask(fovea_problem *problem, int type) {
  problem->mask.type = (fovea_mask_type)type;
  problem->mask.strides = fovea_mask_layout(problem->mask.type, problem->batch, problem->heads,
                                            problem_mask_rows(problem), problem_mask_keys(problem));
}

/* On every instruction set: the first against the contract, the others against the contract and the first, every
 * row. */
static void check_problem(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = whole_isas_for(problem);
  struct trial first = trial_create(problem, seed), other = trial_sharing_inputs(&first);
  trial_run(&first, isas[0], NULL);
  assert_contract(&first, CONTRACT_BUDGET);
  for (int isa = 1; isas[isa] != NULL; isa++) {
    trial_run(&other, isas[isa], NULL);
    assert_contract(&other, CONTRACT_BUDGET / 4);
    assert_same_outputs(&other, &first);
  }
  trial_destroy(&other);
  trial_destroy(&first);
}

/* ---- Rules as parameters and as masks ------------------------------------------------------------------------ */

/* Writes what another problem's rules hide into the mask. */
static void mask_by_rules(struct trial *trial, const fovea_problem *rules) {
  for (int64_t b = 0; b < trial->mask.batch; b++) {
    const struct entry entry = problem_entry(rules, b);
    for (int64_t h = 0; h < trial->mask.heads; h++)
      for (int64_t i = 0; i < trial->mask.rows; i++)
        for (int64_t j = 0; j < trial->mask.keys; j++)
          mask_set(&trial->mask, b, h, i, j, row_sees(rules, &entry, i, j) ? 0.0f : -INFINITY);
  }
}

/* Compares a problem with `plain`, which lacks its rules and has a mask of each type instead. */
static void check_rules_as_masks(const fovea_problem *problem, const fovea_problem *plain, uint64_t seed) {
  const char *const *isas = whole_isas_for(problem);
  struct trial expected = trial_create(problem, seed);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&expected, isas[isa], NULL);
    for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++) {
      fovea_problem masked = *plain;
      add_mask(&masked, type);
      struct trial actual = trial_create(&masked, seed);
      mask_by_rules(&actual, problem);
      trial_run(&actual, isas[isa], NULL);
      assert_same_outputs(&actual, &expected);
      trial_destroy(&actual);
    }
  }
  trial_destroy(&expected);
}

static void take_rules_away(fovea_problem *problem) {
  static const struct rule none = {"none", 0, FOVEA_UNLIMITED, FOVEA_UNLIMITED, 0, 0, 0, 0};
  problem_apply(problem, &none);
  problem->offsets = NULL;
}

static void test_rules_as_masks(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{60, 170}, {150, 150}, {100, 40}, {1, 300}};
  for (int rule = 0; rule < rule_count; rule++)
    for (int i = rule % 2; i < 4; i += 2) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, lengths[i][0], lengths[i][1], 8, 8);
      fovea_problem_resolve(&problem, NULL);
      problem_apply(&problem, &rule_list[rule]);
      problem.sink = (fovea_sink)(rule % 3);
      if (rule % 5 == 0) problem.softcap = 2.0;
      if (rule % 4 == 1) problem_set_modes(&problem, 1 + rule / 4 % (MODE_PAIRS - 1));
      fovea_problem plain = problem;
      take_rules_away(&plain);
      check_rules_as_masks(&problem, &plain, (uint64_t)rule);
    }
}

/* Lengths and offsets of batch elements, packed or not. In every other problem only the lengths become a mask, and
 * the other rules stay parameters. */
static void test_lengths_as_masks(void **state) {
  (void)state;
  struct generator generator = {505};
  for (int i = 0; i < USUAL_OR_LONG(25, 150); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 300000);
    problem_random_modes(&listed.problem, &generator, 4);
    fovea_problem plain = listed.problem;
    plain.q_lens = plain.kv_lens = plain.kv_begins = NULL;
    if (i % 2 == 0) {
      take_rules_away(&plain);
    } else if (plain.offsets == NULL && plain.offset == FOVEA_OFFSET_BOTTOM_RIGHT) {
      for (int64_t b = 0; b < plain.batch; b++) listed.offsets[b] = problem_entry(&listed.problem, b).offset;
      plain.offsets = listed.offsets;
    }
    check_rules_as_masks(&listed.problem, &plain, (uint64_t)i);
  }
}

/* Keys beyond the mask count as keys beyond a length. */
static void test_short_masks(void **state) {
  (void)state;
  const char *const *isas = whole_isas_for(NULL);
  for (int64_t keys = 0; keys <= 150; keys += keys < 20 ? 1 : 13)
    for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 2, 18, 150, 8, 8);
      fovea_problem_resolve(&problem, NULL);
      problem.offset = 130;
      problem.causal = (int)(keys % 2);
      fovea_problem shorter = problem;
      shorter.kv_lens = &keys;
      problem.mask.keys = keys;
      add_mask(&problem, type);
      struct trial actual = trial_create(&problem, 2), expected = trial_create(&shorter, 2);
      mask_fill_random(&actual.mask, 2, MASK_ALL);
      for (int64_t i = 0; i < 18; i++)
        for (int64_t j = 0; j < keys; j++)
          mask_set(&actual.mask, 0, 0, i, j, 0.0f), mask_set(&actual.mask, 0, 1, i, j, 0.0f);
      for (int isa = 0; isas[isa] != NULL; isa++) {
        trial_run(&actual, isas[isa], NULL);
        trial_run(&expected, isas[isa], NULL);
        assert_same_outputs(&actual, &expected);
      }
      trial_destroy(&actual);
      trial_destroy(&expected);
    }
}

/* ---- Any mask ------------------------------------------------------------------------------------------------ */

/* Every pattern of every type, within pieces, tiles, blocks and spans and across their borders. */
static void test_patterns(void **state) {
  (void)state;
  static const int64_t lengths[][2] = {{1, 17}, {7, 130}, {65, 64}, {140, 270}, {300, 500}, {2, 4200}, {33, 2100}};
  const int count = (int)(sizeof lengths / sizeof lengths[0]);
  for (int pattern = 0; pattern < MASK_PATTERNS; pattern++)
    for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++)
      for (int i = 0; i < USUAL_OR_LONG(4, count); i++) {
        fovea_problem problem;
        fovea_problem_init(&problem, 1, 2, 1, lengths[i][0], lengths[i][1], 12, 10);
        fovea_problem_resolve(&problem, NULL);
        problem.causal = pattern % 2;
        problem_say_offset(&problem);
        add_mask(&problem, type);
        if (i % 2 == 0) problem.mask.strides.head = 0;
        if (i % 3 == 0)
          cpus_use_one();
        else
          cpus_use_all();
        check_problem(&problem, (uint64_t)pattern); /* the seed chooses the pattern */
      }
  cpus_use_all();
}

/* Each batch element has keys in its own choice of spans only, and most of its rows see them. The tree passes over
 * the other spans. */
static void test_spans_left_out(void **state) {
  (void)state;
  enum { SPAN = 2048 };
  const int spans = USUAL_OR_LONG(5, 10), choices = USUAL_OR_LONG(15, 60);
  for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type += 2) {
    fovea_problem problem;
    fovea_problem_init(&problem, choices, 1, 1, 3, spans * SPAN + 4, 2, 2);
    fovea_problem_resolve(&problem, NULL);
    problem.k_strides.batch = problem.v_strides.batch = 0;
    add_mask(&problem, type);
    struct trial trial = trial_create(&problem, 6);
    struct generator generator = {(uint64_t)type};
    mask_fill_random(&trial.mask, 0, MASK_NONE);
    for (int64_t b = 0; b < choices; b++) {
      const int64_t choice = b < 8 ? b : generator_below(&generator, 2 << spans);
      for (int64_t key = 3; key < problem.kv_len; key += 700)
        for (int64_t i = 0; i < 3; i++)
          if (choice >> key / SPAN & 1 && generator_below(&generator, 4) > 0)
            mask_set(&trial.mask, b, 0, i, key, 0.0f);
    }
    const char *const *isas = whole_isas_for(&problem);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&trial, isas[isa], NULL);
      assert_contract(&trial, INT64_C(1) << 40);
    }
    trial_destroy(&trial);
  }
}

/* A mask that is repeated along any axes, against one that has the repetitions written out. */
static void test_repeated_masks(void **state) {
  (void)state;
  const char *const *isas = whole_isas_for(NULL);
  struct generator generator = {17};
  for (int axes = 0; axes < 16; axes++)
    for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++) {
      fovea_problem written;
      fovea_problem_init(&written, 3, 4, 2, 21, 150, 8, 8);
      fovea_problem_resolve(&written, NULL);
      written.mask.keys = axes % 3 == 0 ? 77 : 150;
      add_mask(&written, type);
      fovea_problem repeated = written;
      fovea_mask_strides *strides = &repeated.mask.strides;
      if (axes & 1) strides->batch = 0;
      if (axes & 2) strides->head = 0;
      if (axes & 4) strides->row = 0;
      if (axes & 8) strides->key = 0;
      problem_random_layout(&repeated, &generator);
      struct trial actual = trial_create(&repeated, (uint64_t)axes);
      struct trial expected = trial_of_part(&written, &actual, start, start);
      for (int isa = 0; isas[isa] != NULL; isa++) {
        trial_run(&actual, isas[isa], NULL);
        trial_run(&expected, isas[isa], NULL);
        assert_same_outputs(&actual, &expected);
      }
      assert_contract(&expected, CONTRACT_BUDGET);
      trial_destroy(&actual);
      trial_destroy(&expected);
    }
}

/* Any byte except 0 makes a key visible. */
static void test_bytes(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 16, 256, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  add_mask(&problem, FOVEA_MASK_BOOL);
  struct trial trial = trial_create(&problem, 1);
  for (int i = 0; i < 16 * 256; i++) trial.mask.data[i] = (unsigned char)(i % 256 + i / 256);
  const char *const *isas = whole_isas_for(&problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    assert_contract(&trial, INT64_MAX / 2);
  }
  trial_destroy(&trial);
}

/* A plan is made before the mask is known. Each run has its own mask. */
static void test_one_plan_many_masks(void **state) {
  (void)state;
  for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2, 1, 130, 200, 8, 8);
    fovea_problem_resolve(&problem, NULL);
    fovea_counts without, with;
    fovea_plan *plan;
    assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
    assert_int_equal(fovea_plan_counts(plan, &without), FOVEA_OK);
    fovea_plan_destroy(plan);
    add_mask(&problem, type);
    assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
    assert_int_equal(fovea_plan_counts(plan, &with), FOVEA_OK);
    assert_int_equal(with.pairs_visible, without.pairs_visible);
    struct trial trial = trial_create(&problem, 3);
    const fovea_tensors tensors = trial_tensors(&trial);
    for (int pattern = 0; pattern < MASK_PATTERNS; pattern++) {
      mask_fill_random(&trial.mask, (uint64_t)type, (enum mask_pattern)pattern);
      trial_clear(&trial);
      assert_int_equal(fovea_plan_run(plan, &tensors, NULL, NULL), FOVEA_OK);
      assert_contract(&trial, CONTRACT_BUDGET);
    }
    trial_destroy(&trial);
    fovea_plan_destroy(plan);
  }
}

/* ---- What is added ------------------------------------------------------------------------------------------- */

static const float biases[] = {0.0f,     -0.0f,    1.0f,   -1.0f,     88.0f,     -88.0f,    1000.0f, -1000.0f,
                               3e4f,     -6e4f,    1e-5f,  -0x1p-24f, 0x1p-133f, 0x1p-149f, FLT_MAX, -FLT_MAX,
                               -2.4e38f, -2.3e38f, -1e38f, INFINITY,  NAN,       -INFINITY};
enum { BIASES = sizeof biases / sizeof biases[0] };

/* One value in `rarity` is one of the first `kinds` biases. */
static void test_added_values(void **state) {
  (void)state;
  const char *const *isas = whole_isas_for(NULL);
  struct generator generator = {91};
  for (int type = FOVEA_MASK_F32; type <= FOVEA_MASK_BF16; type++)
    for (int64_t rarity = 1; rarity <= 3000; rarity *= 7)
      for (int kinds = 4; kinds <= BIASES; kinds += 3) {
        fovea_problem problem;
        fovea_problem_init(&problem, 1, 2, 1, 40, 300, 8, 6);
        fovea_problem_resolve(&problem, NULL);
        if (kinds % 2 == 0) problem.softcap = 5.0;
        add_mask(&problem, type);
        struct trial trial = trial_create(&problem, 0);
        for (int64_t h = 0; h < 2; h++)
          for (int64_t i = 0; i < 40; i++)
            for (int64_t j = 0; j < 300; j++)
              if (generator_below(&generator, rarity) == 0)
                mask_set(&trial.mask, 0, h, i, j, biases[generator_below(&generator, kinds)]);
        for (int isa = 0; isas[isa] != NULL; isa++) {
          trial_run(&trial, isas[isa], NULL);
          assert_contract(&trial, USUAL_OR_LONG(30000, 300000));
        }
        trial_destroy(&trial);
      }
}

/* Adding 0 adds nothing. */
static void test_adding_zero(void **state) {
  (void)state;
  const char *const *isas = whole_isas_for(NULL);
  for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++)
    for (int negative = 0; negative <= 1; negative++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, 50, 150, 16, 16);
      fovea_problem_resolve(&problem, NULL);
      struct trial expected = trial_create(&problem, 4);
      add_mask(&problem, type);
      struct trial actual = trial_create(&problem, 4);
      for (int64_t h = 0; h < 2; h++)
        for (int64_t i = 0; i < 50; i++)
          for (int64_t j = 0; j < 150; j++) mask_set(&actual.mask, 0, h, i, j, negative ? -0.0f : 0.0f);
      for (int isa = 0; isas[isa] != NULL; isa++) {
        trial_run(&expected, isas[isa], NULL);
        trial_run(&actual, isas[isa], NULL);
        assert_same_outputs(&actual, &expected);
      }
      trial_destroy(&expected);
      trial_destroy(&actual);
    }
}

/* ---- What is hidden ------------------------------------------------------------------------------------------ */

enum { ROWS = 70, KEYS = 150, DIM = 12 };

/* A poisoned key or value changes no bit of rows whose mask hides it. */
static void check_poison(int type, enum mask_pattern pattern, float poison, const char *isa) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, ROWS, KEYS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  problem.v_type = (fovea_type)(pattern % 3);
  add_mask(&problem, type);
  struct trial clean = trial_create(&problem, 5);
  mask_fill_random(&clean.mask, 5, pattern);
  trial_run(&clean, isa, NULL);
  for (int64_t key = 3; key < KEYS; key += USUAL_OR_LONG(91, 21)) {
    struct trial poisoned = trial_of_part(&problem, &clean, start, start);
    const int in_k = key % 2 == 0;
    for (int64_t d = 0; d < DIM; d++) tensor_row(in_k ? &poisoned.k : &poisoned.v, 0, 0, key)[d] = poison;
    trial_run(&poisoned, isa, NULL);
    for (int64_t h = 0; h < 2; h++)
      for (int64_t i = 0; i < ROWS; i++) {
        const struct part row = {0, h, i};
        if (!trial_sees(&poisoned, 0, h, i, key)) assert_same_part(&poisoned, row, &clean, row, 1, 1, 1);
      }
    assert_contract(&poisoned, USUAL_OR_LONG(10000, 300000));
    trial_destroy(&poisoned);
  }
  trial_destroy(&clean);
}

static void test_hidden_poison(void **state) {
  (void)state;
  static const float poisons[] = {NAN, INFINITY, -INFINITY};
  const char *const *isas = whole_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int type = FOVEA_MASK_BOOL; type <= FOVEA_MASK_BF16; type++)
      for (int pattern = 0; pattern < MASK_PATTERNS; pattern++)
        check_poison(type, (enum mask_pattern)pattern, poisons[(type + pattern) % 3], isas[isa]);
}

static uint32_t o_bits(const struct trial *trial, int64_t row, int64_t d) {
  return bits_of(tensor_row(&trial->o, 0, 0, row)[d]);
}

/* The value of one key is NaN. If the mask adds -Inf, the NaN does not show. If it adds the least finite number,
 * the key is visible with weight 0, but 0 * NaN is NaN. If all keys of a block are such, the block has no state,
 * and its values are not read. */
static void check_least(int type, float least) {
  const char *const *isas = whole_isas_for(NULL);
  for (int whole_block = 0; whole_block <= 1; whole_block++)
    for (int hidden = 0; hidden <= 1; hidden++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, ROWS, 2 * KEYS, DIM, DIM);
      fovea_problem_resolve(&problem, NULL);
      add_mask(&problem, type);
      struct trial trial = trial_create(&problem, 0);
      mask_fill_random(&trial.mask, 0, MASK_ALL);
      for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 128; j < (whole_block ? 256 : 129); j++)
          mask_set(&trial.mask, 0, 0, i, j, hidden ? -INFINITY : least);
      tensor_row(&trial.v, 0, 0, 128)[3] = NAN;
      const int no_state = isinf(least * 0x1.715476p+0f) && whole_block;
      for (int isa = 0; isas[isa] != NULL; isa++) {
        trial_run(&trial, isas[isa], NULL);
        for (int64_t i = 0; i < ROWS; i++) {
          assert_int_equal(o_bits(&trial, i, 3) == 0x7fc00000, !hidden && !no_state);
          assert_int_not_equal(o_bits(&trial, i, 4), 0x7fc00000);
        }
        assert_contract(&trial, USUAL_OR_LONG(100000, 1000000));
      }
      trial_destroy(&trial);
    }
}

static void test_least_seen(void **state) {
  (void)state;
  check_least(FOVEA_MASK_F32, -FLT_MAX);
  check_least(FOVEA_MASK_F32, -2e38f);
  check_least(FOVEA_MASK_F16, -65504.0f);
  check_least(FOVEA_MASK_BF16, from_bits(0xff7f0000));
}

/* Rows whose keys all have the least number see keys of weight 0. They give zeros and -Inf, like rows that see no
 * key. */
static void test_all_least(void **state) {
  (void)state;
  const char *const *isas = whole_isas_for(NULL);
  for (int sink = FOVEA_SINK_NONE; sink <= FOVEA_SINK_ZERO; sink++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
    fovea_problem_resolve(&problem, NULL);
    problem.sink = (fovea_sink)sink;
    add_mask(&problem, FOVEA_MASK_F32);
    struct trial trial = trial_create(&problem, 1);
    for (int64_t i = 0; i < ROWS; i++)
      for (int64_t j = 0; j < KEYS; j++)
        mask_set(&trial.mask, 0, 0, i, j, i % 2 == 0 ? -FLT_MAX : i % 3 == 0 ? -INFINITY : 0.0f);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&trial, isas[isa], NULL);
      assert_contract(&trial, INT64_MAX / 2);
      for (int64_t i = 0; i < ROWS; i += 2)
        for (int64_t d = 0; d < DIM; d++) assert_int_equal(o_bits(&trial, i, d), 0);
    }
    trial_destroy(&trial);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules_as_masks), cmocka_unit_test(test_lengths_as_masks),
      cmocka_unit_test(test_short_masks),    cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_repeated_masks), cmocka_unit_test(test_bytes),
      cmocka_unit_test(test_added_values),   cmocka_unit_test(test_adding_zero),
      cmocka_unit_test(test_hidden_poison),  cmocka_unit_test(test_least_seen),
      cmocka_unit_test(test_all_least),      cmocka_unit_test(test_one_plan_many_masks),
      cmocka_unit_test(test_spans_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
