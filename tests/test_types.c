/* Half precision: f16 and bf16 inputs give the bits of the same numbers in f32, and outputs are rounded once. */
#include "arch/formats.h"
#include "support/check.h"
#include "support/problems.h"
#include "support/trial.h"

#include <math.h>
#include <stdlib.h>

static const struct part start = {0, 0, 0};

/* Runs the same numbers in f32. */
static struct trial run_as_f32(const struct trial *trial, const char *isa) {
  fovea_problem problem = trial->problem;
  problem.q_type = problem.k_type = problem.v_type = problem.o_type = FOVEA_F32;
  struct trial plain = trial_of_part(&problem, trial, start, start);
  trial_run(&plain, isa, NULL);
  return plain;
}

/* On every instruction set, against f32 and the contract. */
static void check_numbers(struct trial *trial) {
  const char *const *isas = usable_isas_for(&trial->problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    struct trial plain = run_as_f32(trial, isas[isa]);
    trial_run(trial, isas[isa], NULL);
    assert_same_outputs(trial, &plain);
    assert_true(trial_gaps_untouched(trial));
    assert_contract(trial, USUAL_OR_LONG(10000, 50000));
    trial_destroy(&plain);
  }
}

static void set_types(fovea_problem *problem, int q, int k, int v, int o) {
  problem->q_type = (fovea_type)q;
  problem->k_type = (fovea_type)k;
  problem->v_type = (fovea_type)v;
  problem->o_type = (fovea_type)o;
}

/* Formats with a scale in each block, by the bytes that others document: ggml's q8_0 has 34 for 32 elements of 8
 * bits and an f16, q4_0 has 18. */
static void test_blocks(void **state) {
  (void)state;
  assert_int_equal(fovea_bytes_of_blocks(8, 32, 16, 64), 68);
  assert_int_equal(fovea_bytes_of_blocks(8, 32, 16, -32), -34);
  assert_int_equal(fovea_bytes_of_blocks(4, 32, 16, 4096), 2304);
  assert_int_equal(fovea_elements_of_blocks(8, 32, 16, 68), 64);
  assert_int_equal(fovea_elements_of_blocks(4, 32, 16, -18), -32);
  for (int type = 0; type < FOVEA_TYPES; type++) {
    assert_int_equal(fovea_type_block((fovea_type)type), 1);
    assert_int_equal(fovea_type_scale_bits((fovea_type)type), 0);
    assert_int_equal(fovea_bytes((fovea_type)type, 5), 5 * fovea_type_bits((fovea_type)type) / 8);
    assert_int_equal(fovea_elements((fovea_type)type, fovea_bytes((fovea_type)type, 5)), 5);
  }
}

static void test_every_mix(void **state) {
  (void)state;
  static const int64_t sizes[][4] = {/* q_len, kv_len, qk_dim, v_dim */
                                     {1, 1, 1, 1},      {3, 140, 17, 33}, {40, 37, 64, 64},
                                     {70, 200, 20, 72}, {5, 300, 129, 5}, {130, 130, 32, 16}};
  for (int size = 0; size < USUAL_OR_LONG(3, 6); size++)
    for (int mix = 0; mix < 81; mix += USUAL_OR_LONG(2, 1)) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, sizes[size][0], sizes[size][1], sizes[size][2], sizes[size][3]);
      fovea_problem_resolve(&problem, NULL);
      set_types(&problem, mix % 3, mix / 3 % 3, mix / 9 % 3, mix / 27);
      problem.causal = mix % 2;
      problem_say_offset(&problem);
      struct trial trial = trial_create(&problem, (uint64_t)mix);
      check_numbers(&trial);
      trial_destroy(&trial);
    }
}

/* Any dimension, and so any alignment of pointers and any partial vector, with rows at any distance. */
static void test_every_dim(void **state) {
  (void)state;
  for (int64_t dim = 1; dim <= USUAL_OR_LONG(40, 140); dim++)
    for (int type = FOVEA_F16; type <= FOVEA_BF16; type++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 1, 1, dim % 7 + 1, 21, dim, 141 - dim);
      fovea_problem_resolve(&problem, NULL);
      set_types(&problem, type, type, type, type);
      if (dim % 2 == 0) problem.q_strides.row += dim % 5;
      if (dim % 3 == 0) problem.k_strides.row += 3, problem.v_strides.row += dim % 4;
      if (dim % 5 == 0) problem.o_strides.row += 1 + dim % 3;
      struct trial trial = trial_create(&problem, (uint64_t)dim);
      check_numbers(&trial);
      trial_destroy(&trial);
    }
}

static void test_layouts(void **state) {
  (void)state;
  struct generator generator = {88};
  for (int i = 0; i < USUAL_OR_LONG(40, 250); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, 500000);
    fovea_problem *problem = &listed.problem;
    problem->cu_seqlens_q = NULL; /* every row is written */
    problem_say_offsets(problem, listed.offsets);
    set_types(problem, 1 + i % 2, 1 + i % 2, 1 + i / 2 % 2, i % 3);
    if (i % 4 == 0) {
      problem->q_strides = fovea_strides_rows_before_heads(problem->q_len, problem->heads, problem->qk_dim);
      problem->k_strides = fovea_strides_rows_before_heads(problem->kv_len, problem->kv_heads, problem->qk_dim);
      problem->v_strides = fovea_strides_rows_before_heads(problem->kv_len, problem->kv_heads, problem->v_dim);
      problem->o_strides = fovea_strides_rows_before_heads(problem->q_len, problem->heads, problem->v_dim);
    } else {
      problem_random_layout(problem, &generator);
    }
    struct trial trial = trial_create(problem, (uint64_t)i);
    check_numbers(&trial);
    trial_destroy(&trial);
  }
}

/* ---- Numbers that are special -------------------------------------------------------------------------------- */

/* Writes random 16-bit patterns, limited to the bits of `mask`, into every `rarity`-th number. */
static void sprinkle(struct tensor *tensor, struct generator *generator, int64_t rarity, uint16_t mask) {
  for (int64_t h = 0; h < tensor->heads; h++)
    for (int64_t i = 0; i < tensor->rows; i++)
      for (int64_t d = 0; d < tensor->dim; d++) {
        if (generator_below(generator, rarity) != 0) continue;
        const uint16_t half = (uint16_t)(generator_bits(generator) & mask);
        numbers_load(tensor->type, &half, tensor_row(tensor, 0, h, i) + d, 1);
      }
}

/* Subnormals (masks without exponent bits), or any bits: infinities, and NaNs with any payload. */
static void check_special(fovea_type type, uint16_t mask, int which, int64_t rarity, double scale) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 2, 37, 150, 33, 20);
  fovea_problem_resolve(&problem, NULL);
  problem.q_type = problem.k_type = problem.v_type = type;
  problem.o_type = which == 2 ? type : FOVEA_F32;
  problem.scale = scale;
  problem.causal = which % 2;
  struct trial trial = trial_create(&problem, 5);
  struct generator generator = {mask + (uint64_t)which};
  struct tensor *const inputs[] = {&trial.q, &trial.k, &trial.v};
  sprinkle(inputs[which], &generator, rarity, mask);
  check_numbers(&trial);
  trial_destroy(&trial);
}

static void test_special_values(void **state) {
  (void)state;
  for (int which = 0; which < 3; which++)
    for (int64_t rarity = 1; rarity <= 1000; rarity *= 10) {
      check_special(FOVEA_F16, 0x83ff, which, rarity, 1e5);
      check_special(FOVEA_BF16, 0x807f, which, rarity, 1e38);
      check_special(FOVEA_F16, 0xffff, which, rarity, 0.1);
      check_special(FOVEA_BF16, 0xffff, which, rarity, 0.1);
    }
}

/* A random number of that exponent, with 7 bits of mantissa and either sign, or 0. */
static float random_of_exponent(struct generator *generator, int exponent) {
  const float mantissa = 1.0f + (float)generator_below(generator, 128) / 128.0f;
  const int64_t kind = generator_below(generator, 5);
  const float number = kind == 0 ? 0.0f : ldexpf(kind % 2 == 0 ? mantissa : -mantissa, exponent);
  return rounded_number(FOVEA_BF16, number);
}

/* Products around the smallest normal number, and sums that cancel, scaled up so that each bit shows. */
static void check_tiny_products(int q_exponent, int k_exponent, int64_t dim, int only_one) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 20, 40, dim, 8);
  fovea_problem_resolve(&problem, NULL);
  set_types(&problem, FOVEA_BF16, FOVEA_BF16, FOVEA_BF16, FOVEA_F32);
  problem.scale = ldexp(1.0, -q_exponent - k_exponent < 126 ? -q_exponent - k_exponent : 126);
  struct trial trial = trial_create(&problem, 6);
  struct generator generator = {(uint64_t)(dim - 1000 * q_exponent)};
  for (int64_t i = 0; i < 20; i++)
    for (int64_t d = 0; d < dim; d++)
      trial.q.data[i * dim + d] = only_one && d != i % dim ? 0.0f : random_of_exponent(&generator, q_exponent);
  for (int64_t j = 0; j < 40; j++)
    for (int64_t d = 0; d < dim; d++)
      trial.k.data[j * dim + d] =
          random_of_exponent(&generator, k_exponent - (only_one ? 0 : (int)generator_below(&generator, 9)));
  check_numbers(&trial);
  trial_destroy(&trial);
}

static void test_tiny_products(void **state) {
  (void)state;
  for (int exponent = -133; exponent <= -125; exponent++) { /* subnormal, but not small after multiplication */
    check_tiny_products(exponent, 100, 33, 0);
    check_tiny_products(100, exponent, 34, 1);
  }
  for (int exponent = -40; exponent >= -75; exponent -= USUAL_OR_LONG(5, 1))
    for (int only_one = 0; only_one <= 1; only_one++) {
      check_tiny_products(exponent, exponent, 2 + exponent % 2, only_one);
      check_tiny_products(exponent, -49, 34, only_one);
      check_tiny_products(-10, 3 * exponent / 2 - 20, 33, only_one); /* K becomes subnormal in the end */
      check_tiny_products(3 * exponent / 2 - 20, -8, 16, only_one);
    }
}

/* Exponents far apart in one sum. */
static void test_wide_products(void **state) {
  (void)state;
  for (int type = FOVEA_F16; type <= FOVEA_BF16; type++)
    for (int spread = 2; spread <= 28; spread += USUAL_OR_LONG(13, 2)) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 1, 37, 150, 3 * spread + 40, 8);
      fovea_problem_resolve(&problem, NULL);
      set_types(&problem, type, type, type, FOVEA_F32);
      problem.scale = ldexp(1.0, 4 - spread);
      struct trial trial = trial_create(&problem, 8);
      struct generator generator = {(uint64_t)spread};
      struct tensor *const inputs[] = {&trial.q, &trial.k};
      for (int t = 0; t < 2; t++)
        for (int64_t h = 0; h < inputs[t]->heads; h++)
          for (int64_t i = 0; i < inputs[t]->rows; i++)
            for (int64_t d = 0; d < problem.qk_dim; d++)
              tensor_row(inputs[t], 0, h, i)[d] =
                  random_of_exponent(&generator, (int)generator_below(&generator, spread) - spread / 2);
      check_numbers(&trial);
      trial_destroy(&trial);
    }
}

/* ---- Rounding ------------------------------------------------------------------------------------------------ */

enum { PER_ROW = 128, PER_RUN = 512 * PER_ROW };

/* Values that pass through: every row sees one key, and gives its value. The rows are rows of one problem with a
 * window, or batch elements of one row and one key. */
static void check_passing(fovea_type from, fovea_type to, const float *values, int as_entries) {
  fovea_problem problem;
  if (as_entries)
    fovea_problem_init(&problem, PER_RUN / PER_ROW, 1, 1, 1, 1, 4, PER_ROW);
  else
    fovea_problem_init(&problem, 1, 1, 1, PER_RUN / PER_ROW, PER_RUN / PER_ROW, 4, PER_ROW);
  fovea_problem_resolve(&problem, NULL);
  problem.window_left = problem.window_right = 0;
  set_types(&problem, FOVEA_F32, FOVEA_F32, (int)from, (int)to);
  struct trial trial = trial_create(&problem, 7);
  memcpy(trial.v.data, values, PER_RUN * sizeof(float));
  const char *const *isas = usable_isas_for(&trial.problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    for (int i = 0; i < PER_RUN; i++)
      if (bits_of(trial.o.data[i]) != bits_of(rounded_number(to, values[i])))
        fail_msg("%s: %s %08x is written as %s %08x", isas[isa], type_name(from), (unsigned)bits_of(values[i]),
                 type_name(to), (unsigned)bits_of(trial.o.data[i]));
  }
  trial_destroy(&trial);
}

static void test_all_halves(void **state) {
  (void)state;
  static float values[PER_RUN];
  for (int from = FOVEA_F16; from <= FOVEA_BF16; from++) {
    for (int half = 0; half < PER_RUN; half++) {
      const uint16_t bits = (uint16_t)half;
      numbers_load((fovea_type)from, &bits, &values[half], 1);
    }
    for (int to = FOVEA_F32; to <= FOVEA_BF16; to++)
      for (int as_entries = 0; as_entries <= 1; as_entries++)
        check_passing((fovea_type)from, (fovea_type)to, values, as_entries);
  }
}

/* The f32 number half-way from a number of the type to the next one away from zero; for the largest number,
 * half-way to where the next would be. */
static uint32_t halfway(fovea_type type, uint16_t half) {
  const uint32_t low = widened(type, half);
  if (type == FOVEA_BF16) return low + 0x8000;
  if ((half & 0x7fff) >= 0x400) return low + 0x1000;
  return bits_of(from_bits(low) + copysignf(0x1p-25f, from_bits(low))); /* subnormal numbers are 2^-24 apart */
}

/* Right after a number of the type, right before, at and right after the middle, and right before the next number.
 */
static void test_between_halves(void **state) {
  (void)state;
  static float values[PER_RUN];
  for (int type = FOVEA_F16; type <= FOVEA_BF16; type++)
    for (int place = 0; place < 5; place++) {
      for (int half = 0; half < PER_RUN; half++) {
        const uint32_t low = widened((fovea_type)type, (uint16_t)half);
        const uint32_t middle = halfway((fovea_type)type, (uint16_t)half);
        const uint32_t next = widened((fovea_type)type, (uint16_t)(half + 1));
        const uint32_t candidates[] = {low + 1, middle - 1, middle, middle + 1, next - 1};
        values[half] = from_bits(candidates[place]);
      }
      check_passing(FOVEA_F32, (fovea_type)type, values, place % 2);
    }
}

static void test_any_f32(void **state) {
  (void)state;
  static float values[PER_RUN];
  for (int type = FOVEA_F16; type <= FOVEA_BF16; type++)
    for (uint32_t run = 0; run < USUAL_OR_LONG(1, 4); run++) {
      for (uint32_t i = 0; i < PER_RUN; i++) values[i] = from_bits(i << 16 ^ (i + run) * 0x9e3779b1u >> 7);
      check_passing(FOVEA_F32, (fovea_type)type, values, 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks),         cmocka_unit_test(test_every_mix),
      cmocka_unit_test(test_every_dim),      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_special_values), cmocka_unit_test(test_tiny_products),
      cmocka_unit_test(test_wide_products),  cmocka_unit_test(test_all_halves),
      cmocka_unit_test(test_between_halves), cmocka_unit_test(test_any_f32),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
