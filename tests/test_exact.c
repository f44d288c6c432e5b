/* Results that are known exactly, and equalities that the definition of attention implies. */
#include "support/check.h"
#include "support/problems.h"
#include "support/trial.h"

#include <math.h>
#include <string.h>

static const struct part start = {0, 0, 0};

/* The instruction set that the checks below run on. */
static const char *isa;

static void on_every_isa(void (*check)(void)) {
  const char *const *isas = whole_isas_for(NULL);
  for (int i = 0; isas[i] != NULL; i++) {
    isa = isas[i];
    check();
  }
}

/* A row that sees one key gets its value, bit for bit, except that -0 becomes +0. */
static void check_one_seen_key(void) {
  for (int64_t keys = 1; keys <= 400; keys += 57)
    for (int64_t dim = 1; dim <= 130; dim += 43) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, keys, keys, dim, dim);
      problem.window_left = problem.window_right = 0;
      problem.scale = 5.0;
      struct trial trial = trial_create(&problem, 1);
      tensor_row(&trial.v, 0, 0, keys / 2)[0] = -0.0f;
      tensor_row(&trial.v, 0, 0, 0)[dim - 1] = 0x1p-149f;
      tensor_row(&trial.v, 0, 0, keys - 1)[0] = 3e38f;
      trial_run(&trial, isa, NULL);
      for (int64_t h = 0; h < 2; h++)
        for (int64_t i = 0; i < keys; i++)
          for (int64_t d = 0; d < dim; d++) {
            const float v = tensor_row(&trial.v, 0, 0, i)[d];
            assert_int_equal(bits_of(tensor_row(&trial.o, 0, h, i)[d]), bits_of(v == 0.0f ? 0.0f : v));
          }
      trial_destroy(&trial);
    }
}

static void test_one_seen_key(void **state) {
  (void)state;
  on_every_isa(check_one_seen_key);
}

/* With equal scores, each of n keys has weight exactly 1/n if n is a power of two: whole numbers have an exact
 * mean. */
static void check_exact_means(void) {
  for (int64_t keys = 1; keys <= 8192; keys *= 2) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, 3, keys, 20, 5);
    problem.k_strides.row = 0;
    struct trial trial = trial_create(&problem, 2);
    double sum = 0.0;
    for (int64_t j = 0; j < keys; j++) {
      const float value = (float)(j * 37 % 101 - 50);
      for (int64_t d = 0; d < 5; d++) tensor_row(&trial.v, 0, 0, j)[d] = value;
      sum += (double)value;
    }
    trial_run(&trial, isa, NULL);
    for (int64_t i = 0; i < 3; i++)
      for (int64_t d = 0; d < 5; d++)
        assert_int_equal(bits_of(tensor_row(&trial.o, 0, 0, i)[d]), bits_of((float)(sum / (double)keys) + 0.0f));
    trial_destroy(&trial);
  }
}

static void test_exact_means(void **state) {
  (void)state;
  on_every_isa(check_exact_means);
}

/* Rows that see nothing get zeros and -Inf, whatever K and V hold. */
static void check_rows_that_see_nothing(void) {
  static const int64_t kv_lens[] = {0, 30}, q_lens[] = {9, 4};
  for (int variant = 0; variant < 5; variant++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 2, 2, 1, 9, variant == 0 ? 0 : 30, 8, 12);
    if (variant == 1) problem.kv_lens = kv_lens;
    if (variant == 2) problem.q_lens = q_lens;
    if (variant == 3) problem.causal = 1, problem.offset = -6;
    if (variant == 4) problem.window_left = problem.window_right = 1, problem.offset = 25;
    struct trial trial = trial_create(&problem, 3);
    tensor_fill_constant(&trial.k, NAN);
    tensor_fill_constant(&trial.v, INFINITY);
    trial_run(&trial, isa, NULL);
    int64_t empty_rows = 0;
    for (int64_t b = 0; b < 2; b++)
      for (int64_t i = 0; i < 9; i++) {
        const struct entry entry = problem_entry(&problem, b);
        int64_t seen = 0;
        for (int64_t j = 0; j < problem.kv_len; j++) seen += row_sees(&problem, &entry, i, j);
        if (seen > 0) continue;
        empty_rows++;
        for (int64_t d = 0; d < 12; d++) assert_int_equal(bits_of(tensor_row(&trial.o, b, 1, i)[d]), 0);
        assert_int_equal(bits_of(*tensor_row(&trial.lse, b, 1, i)), bits_of(-INFINITY));
      }
    assert_true(empty_rows > 0);
    trial_destroy(&trial);
  }
}

static void test_rows_that_see_nothing(void **state) {
  (void)state;
  on_every_isa(check_rows_that_see_nothing);
}

/* A poisoned key or value changes no bit of rows that do not see it. */
static void check_poison(const struct rule *rule, float poison) {
  enum { ROWS = 90, KEYS = 150 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, ROWS, KEYS, 20, 20);
  problem_apply(&problem, rule);
  struct trial clean = trial_create(&problem, 4);
  trial_run(&clean, isa, NULL);
  const struct entry entry = problem_entry(&problem, 0);
  for (int64_t key = 0; key < KEYS; key += USUAL_OR_LONG(61, key % 2 == 0 ? 29 : 34))
    for (int in_k = 0; in_k <= 1; in_k++) {
      struct trial poisoned = trial_of_part(&problem, &clean, start, start);
      for (int64_t d = 0; d < 20; d++) tensor_row(in_k ? &poisoned.k : &poisoned.v, 0, 0, key)[d] = poison;
      trial_run(&poisoned, isa, NULL);
      for (int64_t i = 0; i < ROWS; i++) {
        const struct part row = {0, 0, i};
        if (!row_sees(&problem, &entry, i, key)) assert_same_part(&poisoned, row, &clean, row, 1, 2, 1);
      }
      assert_contract(&poisoned, USUAL_OR_LONG(30000, 1000000));
      trial_destroy(&poisoned);
    }
  trial_destroy(&clean);
}

static void check_poisons(void) {
  static const float poisons[] = {NAN, INFINITY, -INFINITY, 3e38f};
  for (int rule = 0; rule < rule_count; rule++)
    for (int i = rule % 2; i < 4; i += USUAL_OR_LONG(2, 1)) check_poison(&rule_list[rule], poisons[i]);
}

static void test_unseen_poison(void **state) {
  (void)state;
  on_every_isa(check_poisons);
}

/* Keys beyond the length of a batch element may be any garbage: they change no bit. */
static void check_padding_is_not_seen(void) {
  static const int64_t kv_lens[] = {77};
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 2, 40, 77, 16, 16);
  struct trial exact = trial_create(&problem, 5);
  trial_run(&exact, isa, NULL);
  fovea_problem_init(&problem, 1, 2, 2, 40, 300, 16, 16);
  problem.kv_lens = kv_lens;
  problem.offset = 37;
  struct trial padded = trial_create(&problem, 5);
  for (int64_t h = 0; h < 2; h++)
    for (int64_t j = 0; j < 300; j++)
      for (int64_t d = 0; d < 16; d++) {
        tensor_row(&padded.k, 0, h, j)[d] = j < 77 ? tensor_row(&exact.k, 0, h, j)[d] : j % 2 ? NAN : INFINITY;
        tensor_row(&padded.v, 0, h, j)[d] = j < 77 ? tensor_row(&exact.v, 0, h, j)[d] : j % 3 ? NAN : -INFINITY;
      }
  memcpy(padded.q.data, exact.q.data, exact.q.memory.size);
  trial_run(&padded, isa, NULL);
  assert_same_outputs(&padded, &exact);
  trial_destroy(&exact);
  trial_destroy(&padded);
}

static void test_padding_is_not_seen(void **state) {
  (void)state;
  on_every_isa(check_padding_is_not_seen);
}

/* Reversing heads and batches (by negative strides) reverses the results. */
static void check_permutations(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 3, 4, 2, 37, 210, 16, 16);
  struct trial straight = trial_create(&problem, 6);
  trial_run(&straight, isa, NULL);
  struct trial reversed = trial_create(&problem, 6);
  for (int64_t b = 0; b < 3; b++)
    for (int64_t h = 0; h < 4; h++)
      for (int64_t i = 0; i < 37; i++)
        memcpy(tensor_row(&reversed.q, 2 - b, 3 - h, i), tensor_row(&straight.q, b, h, i), 16 * sizeof(float));
  for (int64_t b = 0; b < 3; b++)
    for (int64_t h = 0; h < 2; h++)
      for (int64_t j = 0; j < 210; j++) {
        memcpy(tensor_row(&reversed.k, 2 - b, 1 - h, j), tensor_row(&straight.k, b, h, j), 16 * sizeof(float));
        memcpy(tensor_row(&reversed.v, 2 - b, 1 - h, j), tensor_row(&straight.v, b, h, j), 16 * sizeof(float));
      }
  trial_run(&reversed, isa, NULL);
  for (int64_t b = 0; b < 3; b++)
    for (int64_t h = 0; h < 4; h++) {
      const struct part there = {2 - b, 3 - h, 0}, here = {b, h, 0};
      assert_same_part(&reversed, there, &straight, here, 1, 1, 37);
    }
  trial_destroy(&straight);
  trial_destroy(&reversed);
}

static void test_permutations(void **state) {
  (void)state;
  on_every_isa(check_permutations);
}

/* A causal row is full attention of that row over the keys up to its own. */
static void check_causal_prefix(void) {
  const int64_t length = USUAL_OR_LONG(150, 520);
  fovea_problem problem, prefix;
  fovea_problem_init(&problem, 1, 2, 1, length, length, 16, 16);
  problem.causal = 1;
  struct trial whole = trial_create(&problem, 7);
  trial_run(&whole, isa, NULL);
  for (int64_t i = 0; i < length; i += 13) {
    fovea_problem_init(&prefix, 1, 2, 1, 1, i + 1, 16, 16);
    const struct part row = {0, 0, i};
    struct trial alone = trial_of_part(&prefix, &whole, row, start);
    trial_run(&alone, isa, NULL);
    assert_same_part(&alone, start, &whole, row, 1, 2, 1);
    trial_destroy(&alone);
  }
  trial_destroy(&whole);
}

static void test_causal_prefix(void **state) {
  (void)state;
  on_every_isa(check_causal_prefix);
}

/* Rules that hide nothing, and different ways to say the same. */
static void check_same_meaning(const struct rule *rule, const struct rule *other) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, 70, 170, 16, 16);
  problem_apply(&problem, rule);
  struct trial first = trial_create(&problem, 8);
  trial_run(&first, isa, NULL);
  problem_apply(&problem, other);
  struct trial second = trial_create(&problem, 8);
  trial_run(&second, isa, NULL);
  assert_same_outputs(&second, &first);
  trial_destroy(&first);
  trial_destroy(&second);
}

static void check_same_meanings(void) {
  const int64_t any = FOVEA_UNLIMITED, corner = FOVEA_OFFSET_BOTTOM_RIGHT;
  const struct rule full = {"", 0, any, any, 0, 0, 0, corner}, causal = {"", 1, any, any, 0, 0, 0, corner};
  const struct rule same_as_full[] = {{"", 0, 170, 170, 0, 0, 0, corner},
                                      {"", 0, any, any, 0, 0, 0, 3},
                                      {"", 0, any, any, 170, 0, 0, corner},
                                      {"", 0, any, any, 1, any, any, corner},
                                      {"", 1, any, any, 0, 0, 0, 170}};
  for (int i = 0; i < 5; i++) check_same_meaning(&full, &same_as_full[i]);
  const struct rule same_as_causal[] = {{"", 0, any, 0, 0, 0, 0, 100},
                                        {"", 1, 1000, any, 0, 0, 0, corner},
                                        {"", 1, any, 50, 0, 0, 0, corner},
                                        {"", 0, any, any, 1, any, 0, corner},
                                        {"", 1, any, any, 64, any, 5, corner}};
  for (int i = 0; i < 5; i++) check_same_meaning(&causal, &same_as_causal[i]);
}

static void test_same_meanings(void **state) {
  (void)state;
  on_every_isa(check_same_meanings);
}

/* Grouped heads equal heads whose keys and values are repeated. */
static void check_grouped_heads(void) {
  fovea_problem grouped, repeated;
  fovea_problem_init(&grouped, 2, 6, 2, 33, 190, 16, 16);
  fovea_problem_init(&repeated, 2, 6, 6, 33, 190, 16, 16);
  grouped.causal = repeated.causal = 1;
  struct trial few = trial_create(&grouped, 9), many = trial_create(&repeated, 9);
  for (int64_t b = 0; b < 2; b++)
    for (int64_t h = 0; h < 6; h++)
      for (int64_t j = 0; j < 190; j++) {
        memcpy(tensor_row(&many.k, b, h, j), tensor_row(&few.k, b, h / 3, j), 16 * sizeof(float));
        memcpy(tensor_row(&many.v, b, h, j), tensor_row(&few.v, b, h / 3, j), 16 * sizeof(float));
      }
  trial_run(&few, isa, NULL);
  trial_run(&many, isa, NULL);
  assert_same_outputs(&many, &few);
  trial_destroy(&few);
  trial_destroy(&many);
}

static void test_grouped_heads(void **state) {
  (void)state;
  on_every_isa(check_grouped_heads);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_seen_key),          cmocka_unit_test(test_exact_means),
      cmocka_unit_test(test_rows_that_see_nothing), cmocka_unit_test(test_unseen_poison),
      cmocka_unit_test(test_padding_is_not_seen),   cmocka_unit_test(test_permutations),
      cmocka_unit_test(test_causal_prefix),         cmocka_unit_test(test_same_meanings),
      cmocka_unit_test(test_grouped_heads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
