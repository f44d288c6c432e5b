/* NaN, infinities, zeros and subnormals, as docs/numerics.md describes them, on every kernel. */
#include "support/check.h"
#include "support/cpus.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

static const uint32_t quiet_nan = 0x7fc00000;

/* A problem of one head; each test here changes it in one place. */
enum { ROWS = 40, KEYS = 300, DIM = 20 };

static struct trial plain_trial(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
  return trial_create(&problem, 1);
}

static float *q_of(struct trial *trial, int64_t row) {
  return tensor_row(&trial->q, 0, 0, row);
}
static float *k_of(struct trial *trial, int64_t key) {
  return tensor_row(&trial->k, 0, 0, key);
}
static float *v_of(struct trial *trial, int64_t key) {
  return tensor_row(&trial->v, 0, 0, key);
}
static uint32_t o_bits(const struct trial *trial, int64_t row, int64_t d) {
  return bits_of(tensor_row(&trial->o, 0, 0, row)[d]);
}
static uint32_t lse_bits(const struct trial *trial, int64_t row) {
  return bits_of(*tensor_row(&trial->lse, 0, 0, row));
}

static void assert_row_is_nan(const struct trial *trial, int64_t row) {
  for (int64_t d = 0; d < trial->o.dim; d++) assert_int_equal(o_bits(trial, row, d), quiet_nan);
  assert_int_equal(lse_bits(trial, row), quiet_nan);
}

/* Runs a changed trial and the unchanged one on every instruction set, compares the changed one with the contract,
 * and passes both to `check`. Destroys both. */
typedef void (*comparison)(const struct trial *changed, const struct trial *clean);

static void run_changed(struct trial *changed, comparison check) {
  const char *const *isas = usable_isas_for(&changed->problem);
  struct trial clean = plain_trial();
  for (int i = 0; isas[i] != NULL; i++) {
    trial_run(changed, isas[i], NULL);
    assert_contract(changed, USUAL_OR_LONG(30000, INT64_C(1) << 30));
    trial_run(&clean, isas[i], NULL);
    if (check != NULL) check(changed, &clean);
  }
  trial_destroy(changed);
  trial_destroy(&clean);
}

static void only_row_7_is_nan(const struct trial *changed, const struct trial *clean) {
  const struct part first = {0, 0, 0}, after = {0, 0, 8};
  assert_same_part(changed, first, clean, first, 1, 1, 7);
  assert_row_is_nan(changed, 7);
  assert_same_part(changed, after, clean, after, 1, 1, ROWS - 8);
}

/* Every NaN, quiet or signalling, of either sign, gives the one quiet NaN. */
static void test_nan_in_q(void **state) {
  (void)state;
  static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff, 0x7fd12345};
  for (int i = 0; i < 5; i++)
    for (int d = 0; d < DIM; d += 19) {
      struct trial trial = plain_trial();
      q_of(&trial, 7)[d] = from_bits(nans[i]);
      run_changed(&trial, only_row_7_is_nan);
    }
}

static void test_infinity_in_q(void **state) {
  (void)state;
  struct trial trial = plain_trial();
  for (int d = 0; d < DIM; d++) q_of(&trial, 7)[d] = d % 2 ? INFINITY : 0.25f; /* some key has a score of +Inf */
  run_changed(&trial, only_row_7_is_nan);
}

static void all_rows_are_nan(const struct trial *changed, const struct trial *clean) {
  (void)clean;
  for (int64_t i = 0; i < ROWS; i++) assert_row_is_nan(changed, i);
}

static void test_nan_in_seen_k(void **state) {
  (void)state;
  for (int64_t key = 0; key < KEYS; key += 74) {
    struct trial trial = plain_trial();
    k_of(&trial, key)[3] = from_bits(0xff800123);
    run_changed(&trial, all_rows_are_nan);
  }
}

/* A score of +Inf is an error. It must not look like certainty. */
static void test_score_plus_infinity(void **state) {
  (void)state;
  for (int64_t key = 0; key < KEYS; key += 74) {
    struct trial trial = plain_trial();
    for (int64_t i = 0; i < ROWS; i++) q_of(&trial, i)[5] = 1.0f;
    k_of(&trial, key)[5] = INFINITY;
    run_changed(&trial, all_rows_are_nan);
  }
}

/* Finite numbers whose product or score is too large give +Inf, too. */
static void test_score_overflow(void **state) {
  (void)state;
  struct trial trial = plain_trial();
  for (int64_t i = 0; i < ROWS; i++) q_of(&trial, i)[5] = 1e25f;
  k_of(&trial, 100)[5] = 1e25f;
  run_changed(&trial, NULL);
}

/* Makes the score of one key -Inf for every row. The last dimension of Q is 1. */
static void make_minus_infinite(struct trial *trial, int64_t key) {
  k_of(trial, key)[DIM - 1] = -INFINITY;
}

static struct trial trial_with_ones(void) {
  struct trial trial = plain_trial();
  for (int64_t i = 0; i < ROWS; i++) q_of(&trial, i)[DIM - 1] = 1.0f;
  return trial;
}

/* A score of -Inf has no weight: the bits are as without the key. */
static void test_score_minus_infinity(void **state) {
  (void)state;
  static const int64_t kv_lens[] = {KEYS - 3};
  const char *const *isas = usable_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    struct trial infinite = trial_with_ones(), shorter = trial_with_ones();
    for (int64_t key = KEYS - 3; key < KEYS; key++) make_minus_infinite(&infinite, key);
    shorter.problem.kv_lens = kv_lens;
    trial_run(&infinite, isas[isa], NULL);
    trial_run(&shorter, isas[isa], NULL);
    assert_same_outputs(&infinite, &shorter);
    trial_destroy(&infinite);
    trial_destroy(&shorter);
  }
}

/* If all 128 keys of a block score -Inf, the block is passed over, and its values are not read, NaN or not. */
static void test_block_of_minus_infinity(void **state) {
  (void)state;
  for (int64_t first = 0; first < KEYS; first += 128) {
    struct trial trial = trial_with_ones();
    for (int64_t key = first; key < first + 128 && key < KEYS; key++) {
      make_minus_infinite(&trial, key);
      v_of(&trial, key)[4] = NAN;
    }
    run_changed(&trial, NULL);
    trial = trial_with_ones();
    for (int64_t key = first; key < first + 127 && key < KEYS; key++) make_minus_infinite(&trial, key);
    if (first < 256) v_of(&trial, first)[4] = NAN; /* here the block has a state, so this NaN shows */
    run_changed(&trial, NULL);
  }
}

static void all_rows_are_empty(const struct trial *changed, const struct trial *clean) {
  (void)clean;
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t d = 0; d < DIM; d++) assert_int_equal(o_bits(changed, i, d), 0);
    assert_int_equal(lse_bits(changed, i), bits_of(-INFINITY));
  }
}

static void test_all_scores_minus_infinity(void **state) {
  (void)state;
  struct trial trial = trial_with_ones();
  for (int64_t key = 0; key < KEYS; key++) make_minus_infinite(&trial, key);
  tensor_fill_constant(&trial.v, NAN);
  run_changed(&trial, all_rows_are_empty);
}

/* A NaN among scores of -Inf gives NaN. */
static void test_nan_among_minus_infinity(void **state) {
  (void)state;
  struct trial trial = trial_with_ones();
  for (int64_t key = 0; key < KEYS; key++) make_minus_infinite(&trial, key);
  k_of(&trial, 200)[0] = NAN;
  run_changed(&trial, all_rows_are_nan);
}

static void only_column_6_differs(const struct trial *changed, const struct trial *clean) {
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t d = 0; d < DIM; d++)
      if (d != 6) assert_int_equal(o_bits(changed, i, d), o_bits(clean, i, d));
    assert_int_equal(lse_bits(changed, i), lse_bits(clean, i));
    const int finite = isfinite(tensor_row(&changed->o, 0, 0, i)[6]) != 0;
    assert_int_equal(finite, 0);
  }
}

static void test_special_v(void **state) {
  (void)state;
  static const float values[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++)
    for (int64_t key = 0; key < KEYS; key += 74) {
      struct trial trial = plain_trial();
      v_of(&trial, key)[6] = values[i];
      run_changed(&trial, only_column_6_differs);
    }
  struct trial trial = plain_trial();
  v_of(&trial, 10)[6] = INFINITY;
  v_of(&trial, 290)[6] = -INFINITY;
  run_changed(&trial, only_column_6_differs);
}

/* Zeros of either sign give +0. */
static void test_zeros(void **state) {
  (void)state;
  struct trial trial = plain_trial();
  for (int64_t key = 0; key < KEYS; key++) {
    v_of(&trial, key)[0] = -0.0f;
    v_of(&trial, key)[1] = key == 0 ? -0x1p-149f : 0.0f; /* rounds to zero from below */
  }
  run_changed(&trial, NULL);
  trial = plain_trial();
  tensor_fill_constant(&trial.k, -0.0f);
  run_changed(&trial, NULL);
}

static void test_subnormals(void **state) {
  (void)state;
  struct trial trial = plain_trial();
  for (int64_t i = 0; i < ROWS * DIM; i++) trial.q.data[i] *= 0x1p-140f;
  for (int64_t i = 0; i < KEYS * DIM; i++) trial.v.data[i] *= 0x1p-130f;
  run_changed(&trial, NULL);
  trial = plain_trial();
  for (int64_t i = 0; i < KEYS * DIM; i++) trial.k.data[i] *= 0x1p-75f;
  for (int64_t i = 0; i < ROWS * DIM; i++) trial.q.data[i] *= 0x1p-74f; /* products are subnormal */
  trial.problem.scale = 0x1p120;
  run_changed(&trial, NULL);
}

/* Weights around the limit below which exp2 gives 0, and far below it. */
static void test_far_apart_scores(void **state) {
  (void)state;
  for (int variant = 0; variant < 3; variant++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, 1, 3);
    problem.scale = variant == 0 ? 0x1.62e42fefa39efp-1 : variant == 1 ? 1.0 : -1e4;
    struct trial trial = trial_create(&problem, 2);
    for (int64_t i = 0; i < ROWS; i++) trial.q.data[i] = 1.0f + (float)i * 0x1p-12f;
    for (int64_t j = 0; j < KEYS; j++) trial.k.data[j] = j == 150 ? 0.0f : -125.0f - (float)(j % 40) / 16.0f;
    v_of(&trial, 150)[0] = 0.0f; /* only the smallest weights are left in this column */
    run_changed(&trial, NULL);
  }
}

static void test_scales(void **state) {
  (void)state;
  static const double scales[] = {0.0, -0.0, -1.0, 1e-40, 5e-324, 1e30, -3e37, 2e38, 0x1p-149};
  for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
    struct trial trial = plain_trial();
    trial.problem.scale = scales[i];
    run_changed(&trial, NULL);
  }
}

static float random_special(struct generator *generator, fovea_type type) {
  static const float specials[] = {NAN,       INFINITY, -INFINITY, 0.0f,   -0.0f,   FLT_MIN, -FLT_MIN,
                                   0x1p-149f, FLT_MAX,  -FLT_MAX,  1e-30f, -1e-42f, 1e19f,   -1e19f};
  const float special = specials[generator_below(generator, 14)];
  return type == FOVEA_F32 ? special : rounded_number(type, special);
}

/* Makes some numbers of Q, K and V special, one in `rarity`. */
static void make_special(struct trial *trial, struct generator *generator) {
  struct tensor *inputs[] = {&trial->q, &trial->k, &trial->v};
  for (int t = 0; t < 3; t++) {
    const int64_t count = (int64_t)(inputs[t]->memory.size / sizeof(float));
    const int64_t rarity = INT64_C(3) << (2 * generator_below(generator, 6));
    for (int64_t at = 0; at < count; at++)
      if (generator_below(generator, rarity) == 0) inputs[t]->data[at] = random_special(generator, inputs[t]->type);
  }
}

/* Makes some sinks, and some numbers of an additive mask, special. */
static void make_added_special(struct trial *trial, struct generator *generator) {
  struct mask *mask = &trial->mask;
  for (int64_t h = 0; h < trial->sinks.dim; h++)
    if (generator_below(generator, 10) == 0) trial->sinks.data[h] = random_special(generator, FOVEA_F32);
  if (mask->rows == 0 || mask->keys == 0) return;
  for (int64_t i = generator_below(generator, 40); i > 0; i--)
    mask_set(mask, generator_below(generator, mask->batch), generator_below(generator, mask->heads),
             generator_below(generator, mask->rows), generator_below(generator, mask->keys),
             random_special(generator, FOVEA_F32));
}

/* Random problems with special numbers, one in `rarity`. */
static void test_random_specials(void **state) {
  (void)state;
  struct generator generator = {31};
  for (int i = 0; i < USUAL_OR_LONG(60, 800); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 300000);
    if (i % 3 > 0) problem_random_features(&listed.problem, &generator);
    problem_random_modes(&listed.problem, &generator, 4);
    struct trial trial = trial_create(&listed.problem, (uint64_t)i);
    make_special(&trial, &generator);
    if (i % 2 == 1) make_added_special(&trial, &generator);
    if (i % 4 < 2)
      cpus_use_one();
    else
      cpus_use_all();
    const char *const *isas = usable_isas_for(&listed.problem);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&trial, isas[isa], NULL);
      assert_contract(&trial, USUAL_OR_LONG(30000, INT64_C(1) << 30));
    }
    trial_destroy(&trial);
  }
  cpus_use_all();
}

/* The rounding mode and, on x86, flushing and exception masks stay as the caller set them. */
static void test_floating_point_environment(void **state) {
  (void)state;
  const char *const *isas = usable_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    struct trial trial = plain_trial();
    const int rounding = fegetround();
#ifdef __SSE__
    const unsigned control = _mm_getcsr() & ~0x3fu; /* without the flags */
#endif
    trial_run(&trial, isas[isa], NULL);
    assert_int_equal(fegetround(), rounding);
#ifdef __SSE__
    assert_int_equal(_mm_getcsr() & ~0x3fu, control);
#endif
    trial_destroy(&trial);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nan_in_q),
      cmocka_unit_test(test_infinity_in_q),
      cmocka_unit_test(test_nan_in_seen_k),
      cmocka_unit_test(test_score_plus_infinity),
      cmocka_unit_test(test_score_overflow),
      cmocka_unit_test(test_score_minus_infinity),
      cmocka_unit_test(test_block_of_minus_infinity),
      cmocka_unit_test(test_all_scores_minus_infinity),
      cmocka_unit_test(test_nan_among_minus_infinity),
      cmocka_unit_test(test_special_v),
      cmocka_unit_test(test_zeros),
      cmocka_unit_test(test_subnormals),
      cmocka_unit_test(test_far_apart_scores),
      cmocka_unit_test(test_scales),
      cmocka_unit_test(test_random_specials),
      cmocka_unit_test(test_floating_point_environment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
