/* The channel numbers of int8 mode, which a caller fixes beforehand: what they mean, the bits of the contract on
 * every instruction set, and one answer, whatever the way. Codes that are stored with a centre are in
 * formats/test_int8_rows.c; random problems of other tests have channel numbers, too. */
#include "support/check.h"
#include "support/cpus.h"
#include "support/modes.h"
#include "support/other_ways.h"
#include "support/problems.h"
#include "support/trial.h"

#include <float.h>
#include <fovea/state.h>
#include <math.h>
#include <stdlib.h>

static fovea_problem problem_of(int modes, int64_t q_len, int64_t kv_len, int64_t qk_dim, int64_t v_dim) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, q_len, kv_len, qk_dim, v_dim);
  fovea_problem_resolve(&problem, NULL);
  problem_set_modes(&problem, modes);
  return problem;
}

/* Every choice of vectors has a number from 0 to 26. */
enum { CHOICES = 27 };

static void set_vectors(fovea_problem *problem, int choice) {
  problem_remove_vectors(problem);
  if (problem->modes.score == FOVEA_MODE_INT8) problem->channels.key_centre = (fovea_channels)(choice % 3);
  if (problem->modes.score == FOVEA_MODE_INT8) problem->channels.key_scale = (fovea_channels)(choice / 3 % 3);
  if (problem->modes.value == FOVEA_MODE_INT8) problem->channels.value_scale = (fovea_channels)(choice / 9);
}

static void check_trial(struct trial *first) {
  const char *sets[MODE_SETS];
  const int count = mode_sets_for(&first->problem, sets);
  struct trial other = trial_sharing_inputs(first);
  trial_run(first, sets[0], NULL);
  assert_contract(first, 10000);
  for (int i = 1; i < count; i++) {
    trial_run(&other, sets[i], NULL);
    assert_same_outputs(&other, first);
  }
  trial_destroy(&other);
}

static void check(const fovea_problem *problem, uint64_t seed) {
  struct trial trial = trial_create(problem, seed);
  check_trial(&trial);
  trial_destroy(&trial);
}

/* ---- Bits ---------------------------------------------------------------------------------------------------- */

/* Each choice, in each pair of modes that has int8, with what goes with it. */
static void test_choices(void **state) {
  (void)state;
  static const int modes[] = {INT8_BOTH, INT8_SCORES, INT8_VALUES, 5, 7};
  const fovea_position_term term = fovea_term_alibi(0);
  for (int choice = 1; choice < CHOICES; choice++)
    for (int i = choice % 2; i < 5; i += 2) {
      const int64_t dim = choice % 4 == 3 ? 150 : 1 + 5 * (choice % 7);
      fovea_problem problem = problem_of(modes[i], choice % 2 ? 37 : 2, 140 + 31 * (choice % 5), dim, 1 + choice);
      set_vectors(&problem, choice);
      problem.sink = (fovea_sink)(choice % 3);
      problem.scales = (fovea_scales)(choice / 2 % 4);
      if (problem.scales & FOVEA_SCALES_PER_HEAD) problem.scale = 1.0 / sqrt((double)dim);
      if (choice % 5 == 0) fovea_problem_set_terms(&problem, &term, 1);
      if (choice % 5 == 1) problem.window_left = 60;
      if (!problem.channels.key_centre && choice % 2) problem.softcap = 10;
      problem.q_type = problem.k_type = problem.v_type = (fovea_type)(i % 3);
      problem.causal = choice % 4 == 0;
      check(&problem, (uint64_t)choice);
    }
}

/* The centre's product has pieces of 128 dims. */
static void test_every_dim(void **state) {
  (void)state;
  for (int64_t dim = 1; dim <= USUAL_OR_LONG(40, 300); dim += dim < 35 ? 1 : 31) {
    fovea_problem problem = problem_of(INT8_BOTH, dim % 2 ? 3 : 20, 50, dim, dim);
    set_vectors(&problem, 13);
    check(&problem, (uint64_t)dim);
  }
}

/* A span's state is finished once, whatever its keys are split into, and before it is a caller's state. */
static void test_spans(void **state) {
  (void)state;
  const int64_t keys[] = {2000, 5000, USUAL_OR_LONG(2030, 20000)}; /* 2,000: parts are single blocks */
  static const int choices[] = {13, 10, 9, 1, 4};
  cpus_use_all();
  for (int i = 0; i < USUAL_OR_LONG(5, 10); i++) {
    fovea_problem problem = problem_of(i % 4 == 3 ? INT8_SCORES : INT8_BOTH, 3 + i % 2, keys[i % 3], 96, 90);
    set_vectors(&problem, choices[i % 5]);
    problem.sink = (fovea_sink)(i / 2 % 3);
    problem.k_type = problem.v_type = (fovea_type)(i % 2 ? FOVEA_BF16 : FOVEA_F32);
    assert_same_by_threads(&problem, (uint64_t)i);
    assert_same_by_states(&problem, keys[i % 3] > 2048 ? 2048 : 0, (uint64_t)i);
    assert_same_by_states(&problem, keys[i % 3] / 4096 * 4096, (uint64_t)i);
    check(&problem, (uint64_t)i);
  }
}

/* A row of Q alone has the bits that it has in a tile. */
static void test_rows_alone(void **state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    fovea_problem problem = problem_of(INT8_BOTH, 40, 300, 64, 32), single;
    set_vectors(&problem, 13);
    problem.kv_heads = 1 + i % 2;
    problem.q_type = (fovea_type)(i % 3);
    struct trial whole = trial_create(&problem, (uint64_t)i);
    trial_run(&whole, NULL, NULL);
    single = problem;
    single.q_len = 1;
    for (int64_t row = 0; row < 40; row += 13) {
      const struct part at = {0, 0, row}, start = {0, 0, 0};
      struct trial alone = trial_of_part(&single, &whole, at, start);
      trial_run(&alone, NULL, NULL);
      assert_same_part(&alone, start, &whole, at, 1, problem.heads, 1);
      trial_destroy(&alone);
    }
    trial_destroy(&whole);
  }
}

/* ---- Meaning ------------------------------------------------------------------------------------------------- */

enum { KEYS = 600, ROWS = 40, DIM = 32 };

/* Some channels of K and V are large, and K has a large mean. */
static void make_channels(struct trial *trial) {
  for (int64_t h = 0; h < 2; h++)
    for (int64_t j = 0; j < KEYS; j++)
      for (int64_t d = 0; d < DIM; d++) {
        float *k = tensor_row(&trial->k, 0, h, j) + d, *v = tensor_row(&trial->v, 0, h, j) + d;
        *k = (*k + 3) * (d % 7 == 0 ? 4 : 0.25f);
        *v *= d % 5 == 0 ? 20 : 1;
      }
}

/* What the caller does: vectors, and K and V that are divided by them. */
static void divide(struct trial *trial) {
  for (int64_t h = 0; h < 2; h++)
    for (int64_t d = 0; d < DIM; d++) {
      const float ck = d % 7 == 0 ? 3 : 0.3f, cv = d % 5 == 0 ? 21 : 1.1f;
      if (trial->problem.channels.key_scale) tensor_row(&trial->key_scale, 0, h, 0)[d] = ck;
      if (trial->problem.channels.value_scale) tensor_row(&trial->value_scale, 0, h, 0)[d] = cv;
      if (trial->problem.channels.key_centre) {
        float *centre = tensor_row(&trial->key_centre, 0, h, 0) + d;
        *centre = 3 * (d % 7 == 0 ? 4 : 0.25f);
        if (trial->problem.channels.key_scale) *centre /= ck;
      }
      for (int64_t j = 0; j < KEYS; j++) {
        if (trial->problem.channels.key_scale) tensor_row(&trial->k, 0, h, j)[d] /= ck;
        if (trial->problem.channels.value_scale) tensor_row(&trial->v, 0, h, j)[d] /= cv;
      }
    }
}

/* The largest differences of outputs and LSE. */
static void assert_near(const struct trial *actual, const struct trial *exact, float most, float most_lse) {
  for (int64_t h = 0; h < actual->problem.heads; h++)
    for (int64_t i = 0; i < ROWS; i++) {
      const float lse = *tensor_row(&actual->lse, 0, h, i) - *tensor_row(&exact->lse, 0, h, i);
      if (!(fabsf(lse) < most_lse)) fail_msg("LSE of head %d, row %d is off by %g", (int)h, (int)i, (double)lse);
      for (int64_t d = 0; d < DIM; d++) {
        const float o = tensor_row(&actual->o, 0, h, i)[d] - tensor_row(&exact->o, 0, h, i)[d];
        if (!(fabsf(o) < most * (d % 5 == 0 ? 20 : 1))) fail_msg("o[%d] is off by %g", (int)d, (double)o);
      }
    }
}

/* All of them leave what is computed as it is: outputs, LSE, and the weight of a sink. */
static void test_meaning(void **state) {
  (void)state;
  for (int choice = 0; choice < 8; choice++) {
    fovea_problem problem = problem_of(INT8_BOTH, ROWS, KEYS, DIM, DIM);
    problem.sink = FOVEA_SINK_PER_HEAD;
    problem.causal = choice % 2;
    fovea_problem plain = problem;
    problem.channels.key_centre = choice & 1 ? FOVEA_CHANNELS_PER_HEAD : FOVEA_CHANNELS_NONE;
    problem.channels.key_scale = choice & 2 ? FOVEA_CHANNELS_PER_HEAD : FOVEA_CHANNELS_NONE;
    problem.channels.value_scale = choice & 4 ? FOVEA_CHANNELS_PER_HEAD : FOVEA_CHANNELS_NONE;
    plain.modes.score = plain.modes.value = FOVEA_MODE_EXACT;
    struct trial exact = trial_create(&plain, 1), trial = trial_create(&problem, 1);
    make_channels(&exact);
    make_channels(&trial);
    for (int64_t h = 0; h < problem.heads; h++) exact.sinks.data[h] = trial.sinks.data[h] = 2.0f;
    divide(&trial);
    trial_run(&exact, NULL, NULL);
    trial_run(&trial, NULL, NULL);
    assert_near(&trial, &exact, choice & 1 ? 0.04f : 0.08f, choice & 1 ? 0.04f : 0.2f);
    trial_destroy(&trial);
    trial_destroy(&exact);
  }
}

/* A state with channel numbers means what others mean: it merges with a state of exact mode over the keys that
 * follow. */
static void test_states_of_other_modes(void **state) {
  (void)state;
  enum { CUT = 200 };
  fovea_problem plain = problem_of(0, ROWS, KEYS, DIM, DIM), problem = problem_of(INT8_BOTH, ROWS, KEYS, DIM, DIM);
  problem.channels.key_centre = problem.channels.key_scale = problem.channels.value_scale = FOVEA_CHANNELS_PER_HEAD;
  struct trial exact = trial_create(&plain, 2), trial = trial_create(&problem, 2);
  make_channels(&exact);
  make_channels(&trial);
  divide(&trial);
  trial_run(&exact, NULL, NULL);
  struct trial merged = trial_sharing_inputs(&exact);
  fovea_state states[3];
  for (int i = 0; i < 3; i++) {
    float *numbers = malloc(sizeof(float) * 4 * ROWS * (DIM + 2) * 2);
    assert_non_null(numbers);
    const int64_t begin = i == 1 ? CUT : 0, end = i == 0 ? CUT : KEYS;
    fovea_state_init(&states[i], 1, 4, ROWS, DIM, begin, end, numbers);
    if (i == 2) continue;
    fovea_problem part = i ? plain : problem;
    fovea_tensors tensors = trial_tensors(i ? &exact : &trial);
    part.keys.begin = begin;
    part.keys.end = end;
    part.state = 1;
    tensors.o = NULL;
    tensors.lse = NULL;
    tensors.state = &states[i];
    assert_int_equal(fovea_attend(&part, &tensors, NULL, NULL), FOVEA_OK);
  }
  fovea_tensors tensors = trial_tensors(&merged);
  tensors.state = &states[2];
  assert_int_equal(fovea_state_merge(&states[0], &states[1], &states[2], NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_state_finish(&plain, &tensors, NULL, NULL), FOVEA_OK);
  trial_load(&merged);
  assert_near(&merged, &exact, 0.02f, 0.03f);
  for (int i = 0; i < 3; i++) free(states[i].numbers);
  trial_destroy(&merged);
  trial_destroy(&trial);
  trial_destroy(&exact);
}

/* ---- Special numbers ----------------------------------------------------------------------------------------- */

/* A trial whose vectors have a number in one place, and whose first rows see no key. */
static struct trial spoilt_trial(int modes, int which, int64_t kv_len, float number) {
  fovea_problem problem = problem_of(modes, 40, kv_len, 20, 20);
  set_vectors(&problem, 13);
  problem.causal = 1;
  problem.offset = kv_len - 44;
  if (kv_len == 20) problem.offset = -20;
  struct trial trial = trial_create(&problem, 3);
  struct tensor *const tables[] = {&trial.key_centre, &trial.key_scale, &trial.value_scale};
  if (tables[which]->batch > 0) tensor_row(tables[which], 0, 1, 0)[7] = number;
  return trial;
}

static void test_special_numbers(void **state) {
  (void)state;
  static const float numbers[] = {NAN, INFINITY, -INFINITY, FLT_MAX, 0x1p-149f, -0.0f};
  static const int modes[] = {INT8_BOTH, INT8_SCORES, 5};
  for (int i = 0; i < 6; i++)
    for (int which = 0; which < 3; which++)
      for (int m = 0; m < 3; m++)
        for (int64_t kv_len = 20; kv_len < 5000; kv_len += m == 0 && (i + which) % 3 == 0 ? 2180 : 4980) {
          struct trial trial = spoilt_trial(modes[m], which, kv_len, numbers[i]);
          check_trial(&trial);
          const float unseen = *tensor_row(&trial.lse, 0, 3, 0);
          if (kv_len == 20) assert_true(unseen == -INFINITY && tensor_row(&trial.o, 0, 3, 0)[7] == 0);
          trial_destroy(&trial);
        }
}

/* The sum of products with the centre leaves f32, while sums of products of codes do not: the row is NaN. */
static void test_far_centres(void **state) {
  (void)state;
  static const float sizes[] = {0x1p127f, -0x1p127f, 0x1p120f};
  for (int i = 0; i < 12; i++) {
    fovea_problem problem = problem_of(i % 2 ? INT8_BOTH : INT8_SCORES, 5, i % 4 < 2 ? 100 : 4500, 20, 20);
    problem.channels.key_centre = FOVEA_CHANNELS_SHARED;
    problem.sink = (fovea_sink)(i % 3);
    struct trial trial = trial_create(&problem, 4);
    for (int64_t d = 0; d < 20; d++) {
      for (int64_t row = 0; row < 20; row++) tensor_row(&trial.q, 0, row / 5, row % 5)[d] = d % 2 ? 3.0f : -3.0f;
      trial.key_centre.data[d] = sizes[i / 4];
    }
    check_trial(&trial);
    assert_true(isnan(trial.lse.data[0]) == (i < 8));
    trial_destroy(&trial);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choices),         cmocka_unit_test(test_every_dim),
      cmocka_unit_test(test_spans),           cmocka_unit_test(test_rows_alone),
      cmocka_unit_test(test_meaning),         cmocka_unit_test(test_states_of_other_modes),
      cmocka_unit_test(test_special_numbers), cmocka_unit_test(test_far_centres),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
