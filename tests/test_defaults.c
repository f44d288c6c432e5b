/* Defaults belong to the sizes that a struct has when it is used: sizes that are changed after an initialiser give
 * the bits of an initialiser with these sizes. What is set keeps its meaning, a stride of 0 and a scale of 0 as
 * well. */
#include "support/check.h"
#include "support/error_says.h"

#include <fovea/cache.h>
#include <fovea/fovea.h>
#include <fovea/rotary.h>
#include <fovea/state.h>
#include <fovea/terms.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, ROWS = 5, KEYS = 9, DIM = 12, V_DIM = 6, TOP = 2 };
enum { ALL = BATCH * HEADS * KEYS * KEYS * DIM };

static float q[ALL], k[ALL], v[ALL];
static unsigned char mask[BATCH * HEADS * ROWS * KEYS];

struct outputs {
  float o[BATCH * HEADS * ROWS * V_DIM], lse[BATCH * HEADS * ROWS], scores[BATCH * HEADS * ROWS * KEYS];
  int64_t top_keys[BATCH * HEADS * ROWS * TOP];
};

static int make_numbers(void **state) {
  (void)state;
  for (int i = 0; i < ALL; i++) {
    q[i] = (float)(i * 37 % 101 - 50) / 25;
    k[i] = (float)(i * 53 % 89 - 44) / 25;
    v[i] = (float)(i * 29 % 71 - 35) / 25;
  }
  for (int i = 0; i < BATCH * HEADS * ROWS * KEYS; i++) mask[i] = i % 7 != 3;
  return 0;
}

/* Everything whose layout has a default. */
static void attend(fovea_problem *problem, struct outputs *outputs) {
  fovea_tensors tensors;
  fovea_error error;
  memset(outputs, 0x5a, sizeof *outputs);
  problem->mask.type = FOVEA_MASK_BOOL;
  problem->scores.kind = FOVEA_SCORES_WEIGHTS;
  problem->top.k = TOP;
  fovea_tensors_init(&tensors, q, k, v, outputs->o, outputs->lse);
  tensors.mask = mask;
  tensors.scores = outputs->scores;
  tensors.top.keys = outputs->top_keys;
  if (fovea_attend(problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

static fovea_problem whole_problem(void) {
  fovea_problem p;
  fovea_problem_init(&p, BATCH, HEADS, KV_HEADS, ROWS, KEYS, DIM, V_DIM);
  return p;
}

static void test_problem_sizes(void **state) {
  (void)state;
  static struct outputs expected, given;
  fovea_problem p = whole_problem();
  attend(&p, &expected);
  for (int size = 0; size < 8; size++) {
    fovea_problem_init(&p, size == 0 ? 1 : BATCH, size == 1 ? 2 : HEADS, size == 2 ? 1 : KV_HEADS,
                       size == 3 ? 1 : ROWS, size == 4 ? 4 : KEYS, size == 5 ? 3 : DIM, size == 6 ? 2 : V_DIM);
    if (size == 7) fovea_problem_init(&p, 0, 0, 0, 0, 0, 0, 0);
    p.batch = BATCH, p.heads = HEADS, p.kv_heads = KV_HEADS, p.q_len = ROWS, p.kv_len = KEYS;
    p.qk_dim = DIM, p.v_dim = V_DIM;
    attend(&p, &given);
    if (memcmp(&given, &expected, sizeof given) != 0) fail_msg("size %d: other bits", size);
  }
}

/* An axis that is set stays, and the others are as in contiguous tensors. */
static void test_one_axis(void **state) {
  (void)state;
  static struct outputs expected, given;
  fovea_problem p = whole_problem(), other;
  const int64_t heads = 2 * KEYS * DIM;
  p.k_strides = (fovea_strides){KV_HEADS * KEYS * DIM, heads, DIM};
  attend(&p, &expected);
  other = whole_problem();
  other.k_strides.head = heads;
  attend(&other, &given);
  assert_memory_equal(&given, &expected, sizeof given);
}

/* Strides of 0 repeat, also if all are 0; only one vector of K and of V exists then. */
static void test_zeros(void **state) {
  (void)state;
  static struct outputs given;
  static const float one_k[DIM] = {1, -2, 3};
  static const float one_v[V_DIM] = {5, 6, 7, 8, 9, 10};
  fovea_problem p;
  fovea_tensors tensors;
  fovea_problem_init(&p, BATCH, HEADS, KV_HEADS, ROWS, KEYS, DIM, V_DIM);
  p.q_strides = p.k_strides = p.v_strides = (fovea_strides){0, 0, 0};
  fovea_tensors_init(&tensors, one_k, one_k, one_v, given.o, NULL);
  assert_int_equal(fovea_attend(&p, &tensors, NULL, NULL), FOVEA_OK);
  for (int i = 0; i < BATCH * HEADS * ROWS * V_DIM; i++) assert_true(given.o[i] == one_v[i % V_DIM]);

  p = whole_problem(); /* one element of a mask for all, as fovea_mask_layout() says */
  p.mask.type = FOVEA_MASK_BOOL;
  p.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, 1, 1, 1, 1);
  const unsigned char seen = 0;
  fovea_tensors_init(&tensors, q, k, v, given.o, NULL);
  tensors.mask = &seen;
  assert_int_equal(fovea_attend(&p, &tensors, NULL, NULL), FOVEA_OK);
  for (int i = 0; i < BATCH * HEADS * ROWS * V_DIM; i++) assert_true(given.o[i] == 0);

  p = whole_problem(); /* a scale of 0 is the mean of the values */
  p.scale = 0;
  fovea_problem_init(&p, 1, 1, 1, 1, 4, DIM, 1);
  p.scale = 0;
  fovea_tensors_init(&tensors, q, k, (const float[]){1, 2, 3, 6}, given.o, NULL);
  assert_int_equal(fovea_attend(&p, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(given.o[0] == 3);
}

static void test_scale(void **state) {
  (void)state;
  static float o[BATCH * HEADS * ROWS * V_DIM];
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem p = whole_problem();
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  p.scale *= 0.5; /* a default is no number to compute with */
  assert_int_equal(fovea_attend(&p, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text,
                      "scale is 8.988466e307; scale * log2(e) must not be beyond 3.4e38. The default is "
                      "no number to compute with: call fovea_problem_resolve() first");
  p.scale *= 4;
  assert_int_equal(fovea_attend(&p, &tensors, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "scale is inf; it must be finite. The default is no number to compute with: call "
                                  "fovea_problem_resolve() first");
}

static void test_resolve(void **state) {
  (void)state;
  fovea_error error;
  fovea_problem p;
  fovea_problem_init(&p, 1, 1, 1, 1, 1, 1, 1);
  p.batch = BATCH, p.heads = HEADS, p.kv_heads = KV_HEADS, p.q_len = ROWS, p.kv_len = KEYS;
  p.qk_dim = DIM, p.v_dim = V_DIM;
  p.v_strides.row = 100;
  assert_int_equal(fovea_problem_resolve(&p, &error), FOVEA_OK);
  assert_true(p.scale == 1 / sqrt((double)DIM));
  assert_int_equal(p.q_strides.batch, HEADS * ROWS * DIM);
  assert_int_equal(p.k_strides.head, KEYS * DIM);
  assert_int_equal(p.v_strides.batch, KV_HEADS * KEYS * V_DIM);
  assert_int_equal(p.v_strides.row, 100);
  assert_int_equal(p.o_strides.row, V_DIM);
  assert_int_equal(p.lse_strides.head, ROWS);
  assert_int_equal(p.mask.strides.batch, HEADS * ROWS * KEYS);
  assert_int_equal(p.mask.strides.key, 1);
  assert_int_equal(p.scores.strides.row, KEYS);
  assert_true(p.top.strides.row == FOVEA_CONTIGUOUS); /* there are none without top_k */
  assert_int_equal(fovea_problem_resolve(NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "problem is NULL");
  p.struct_size = 3;
  assert_int_equal(fovea_problem_resolve(&p, &error), FOVEA_ERROR_ARGUMENT);
}

/* ---- Other structs ---- */

/* A term's table follows from its distances. */
static void test_relative_term(void **state) {
  (void)state;
  static float expected[BATCH * HEADS * ROWS * V_DIM], given[BATCH * HEADS * ROWS * V_DIM];
  const float *const tables[] = {q};
  for (int late = 0; late < 2; late++) {
    fovea_problem p = whole_problem();
    fovea_tensors tensors;
    fovea_position_term term = fovea_term_relative(late ? 1 : 3, late ? 0 : 2);
    term.before = 3, term.after = 2;
    fovea_problem_set_terms(&p, &term, 1);
    if (!late) term.head = 6;
    fovea_tensors_init(&tensors, q, k, v, late ? given : expected, NULL);
    tensors.terms = tables;
    assert_int_equal(fovea_attend(&p, &tensors, NULL, NULL), FOVEA_OK);
  }
  assert_memory_equal(given, expected, sizeof given);
}

static void test_rotation(void **state) {
  (void)state;
  static float expected[BATCH * HEADS * ROWS * DIM], given[BATCH * HEADS * ROWS * DIM], tables[2][ROWS * DIM / 2];
  fovea_rotary rotary;
  fovea_rotation rotation;
  for (int i = 0; i < ROWS * DIM / 2; i++) tables[0][i] = (float)i / 32, tables[1][i] = 1 - (float)i / 64;
  for (int with_tables = 0; with_tables < 2; with_tables++) {
    for (int late = 0; late < 2; late++) {
      fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, late ? 2 : DIM);
      rotary.dims = DIM;
      if (with_tables) rotary.cosines = tables[0], rotary.sines = tables[1], rotary.table_rows = ROWS;
      fovea_rotation_init(&rotation, BATCH, late ? 1 : HEADS, late ? 1 : ROWS, late ? 2 : DIM, q,
                          late ? given : expected);
      rotation.heads = HEADS, rotation.rows = ROWS, rotation.dim = DIM;
      assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
    }
    assert_memory_equal(given, expected, sizeof given);
  }
}

static void test_hadamard(void **state) {
  (void)state;
  static float expected[BATCH * HEADS * ROWS * 8], given[BATCH * HEADS * ROWS * 8];
  fovea_hadamard hadamard;
  for (int late = 0; late < 2; late++) {
    fovea_hadamard_init(&hadamard, BATCH, late ? 1 : HEADS, late ? 1 : ROWS, late ? 4 : 8, 4, q,
                        late ? given : expected);
    hadamard.heads = HEADS, hadamard.rows = ROWS, hadamard.dim = 8;
    assert_int_equal(fovea_hadamard_apply(&hadamard, NULL, NULL), FOVEA_OK);
  }
  assert_memory_equal(given, expected, sizeof given);
}

static void test_new_rows(void **state) {
  (void)state;
  static float expected[2][BATCH * KV_HEADS * 16 * DIM], given[2][BATCH * KV_HEADS * 16 * DIM];
  for (int late = 0; late < 2; late++) {
    fovea_segment segments[BATCH];
    fovea_sequence sequences[BATCH];
    fovea_pages pages;
    fovea_new_rows rows;
    fovea_pages_init(&pages, BATCH, 16, KV_HEADS, DIM, V_DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
    pages.k = late ? given[0] : expected[0];
    pages.v = late ? given[1] : expected[1];
    for (int b = 0; b < BATCH; b++) {
      assert_int_equal(fovea_cache_contiguous(&pages, b, &segments[b], NULL), FOVEA_OK);
      sequences[b] = fovea_sequence_of(&segments[b], 1);
    }
    fovea_new_rows_init(&rows, BATCH, late ? 1 : KV_HEADS, late ? 1 : ROWS, late ? 3 : DIM, late ? 1 : V_DIM, k, v,
                        sequences);
    rows.kv_heads = KV_HEADS, rows.rows = ROWS, rows.qk_dim = DIM, rows.v_dim = V_DIM;
    assert_int_equal(fovea_append(&rows, NULL, NULL, NULL), FOVEA_OK);
  }
  assert_memory_equal(given, expected, sizeof given);
}

static void test_state(void **state) {
  (void)state;
  static float expected[BATCH * HEADS * ROWS * (V_DIM + 2)], given[BATCH * HEADS * ROWS * (V_DIM + 2)];
  for (int late = 0; late < 2; late++) {
    fovea_state of;
    fovea_tensors tensors;
    fovea_problem p = whole_problem();
    p.state = 1;
    fovea_state_init(&of, BATCH, late ? 1 : HEADS, late ? 1 : ROWS, late ? 1 : V_DIM, 0, late ? 1 : KEYS,
                     late ? given : expected);
    of.heads = HEADS, of.rows = ROWS, of.dim = V_DIM, of.keys.end = KEYS;
    fovea_tensors_init(&tensors, q, k, v, NULL, NULL);
    tensors.state = &of;
    assert_int_equal(fovea_attend(&p, &tensors, NULL, NULL), FOVEA_OK);
  }
  assert_memory_equal(given, expected, sizeof given);
}

/* Scratch is compared with all rows of a state whose strides are not set. */
static void test_state_and_scratch(void **state) {
  (void)state;
  enum { NUMBERS = BATCH * HEADS * ROWS * (V_DIM + 2), BYTES = 1 << 20 };
  _Alignas(FOVEA_SCRATCH_ALIGNMENT) static unsigned char memory[BYTES];
  fovea_state of;
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_error error;
  fovea_problem p = whole_problem();
  p.state = 1;
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = memory + 64 * 32;
  execution.scratch_size = BYTES - 64 * 32;
  float *const last = (float *)(void *)(memory + 64 * 32 + 4); /* the last numbers lie in scratch */
  fovea_state_init(&of, BATCH, HEADS, ROWS, V_DIM, 0, KEYS, last - NUMBERS + 2);
  fovea_tensors_init(&tensors, q, k, v, NULL, NULL);
  tensors.state = &of;
  assert_int_equal(fovea_attend(&p, &tensors, &execution, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "scratch: state");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_problem_sizes),
      cmocka_unit_test(test_one_axis),
      cmocka_unit_test(test_zeros),
      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_resolve),
      cmocka_unit_test(test_relative_term),
      cmocka_unit_test(test_rotation),
      cmocka_unit_test(test_hadamard),
      cmocka_unit_test(test_new_rows),
      cmocka_unit_test(test_state),
      cmocka_unit_test(test_state_and_scratch),
  };
  return cmocka_run_group_tests(tests, make_numbers, NULL);
}
