/* Masks whose first element belongs to a later key than the first. They give the bits of the contract, and of the
 * mask with all keys that says the same. No byte before the first element is read. */
#include "support/caches.h"
#include "support/check.h"
#include "support/cpus.h"
#include "support/execution.h"
#include "support/problems.h"
#include "support/trial.h"

#include <fovea/state.h>
#include <string.h>

#include <math.h>

#define CONTRACT_BUDGET USUAL_OR_LONG(2500, 40000)
enum { TYPES = FOVEA_MASK_BF16 };

static void add_mask(fovea_problem *problem, int type) {
  problem->mask.type = (fovea_mask_type)type;
  problem->mask.strides = fovea_mask_layout(problem->mask.type, problem->batch, problem->heads,
                                            problem_mask_rows(problem), problem_mask_keys(problem));
}

/* The same trial, whose mask has an element for every key: elements before the first are 0. */
static struct trial trial_with_whole_mask(const struct trial *trial) {
  fovea_problem whole = trial->problem;
  whole.mask.begin = 0;
  whole.mask.begins = NULL;
  whole.mask.keys = FOVEA_UNLIMITED;
  add_mask(&whole, (int)trial->problem.mask.type);
  struct trial other = trial_create(&whole, 0);
  tensor_copy_part(&other.q, &trial->q, 0, 0, 0);
  tensor_copy_part(&other.k, &trial->k, 0, 0, 0);
  tensor_copy_part(&other.v, &trial->v, 0, 0, 0);
  memcpy(other.sinks.data, trial->sinks.data, (size_t)whole.heads * sizeof(float));
  for (int64_t b = 0; b < whole.batch; b++) {
    const int64_t begin = problem_mask_begin(&trial->problem, b), keys = problem_mask_keys(&trial->problem);
    for (int64_t h = 0; h < whole.heads; h++)
      for (int64_t i = 0; i < other.mask.rows; i++)
        for (int64_t j = 0; j < other.mask.keys; j++)
          mask_set(&other.mask, b, h, i, j,
                   j < begin           ? 0.0f
                   : j - begin >= keys ? -INFINITY
                                       : mask_get(&trial->mask, b, h, i, j - begin));
  }
  return other;
}

/* On every instruction set, with the mask right after an inaccessible page, and right before one; if there is no
 * time for both, problems of many keys only after it, where a byte before the first element would be read. */
static void check_problem(const fovea_problem *problem, uint64_t seed) {
  const char *const *isas = whole_isas_for(problem);
  const int first = USUAL_OR_LONG(problem->kv_len > 10000, 0) ? GUARD_AT_START : GUARD_AT_END;
  for (int edge = first; edge <= GUARD_AT_START; edge++) {
    struct trial trial = trial_create_at(problem, seed, (enum guarded_edge)edge);
    struct trial whole = trial_with_whole_mask(&trial);
    guarded_make_read_only(&trial.mask.memory);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&trial, isas[isa], NULL);
      trial_run(&whole, isas[isa], NULL);
      assert_same_outputs(&trial, &whole);
      if (edge == first) assert_contract(&trial, CONTRACT_BUDGET / (isa + 1));
    }
    trial_destroy(&whole);
    trial_destroy(&trial);
  }
}

/* Starts of blocks; places within blocks, pieces and bytes; beyond all visible keys, and after the last key. */
static const int64_t places[] = {0,   1,   3,   8,   15,  16,  37,  40,  64,  100,
                                 127, 128, 129, 136, 200, 255, 256, 257, 290, 300};
enum { PLACES = sizeof places / sizeof places[0], KEYS = 300 };

/* Prefill and decoding, all types, with rules of every kind. */
static void test_places(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 3, 40, 150};
  int number = 0;
  for (int type = FOVEA_MASK_BOOL; type <= TYPES; type++)
    for (int place = 0; place < PLACES; place++)
      for (int i = 0; i < 4; i++, number++) {
        if (USUAL_OR_LONG(number % 3 != 0, 0)) continue;
        fovea_problem problem;
        fovea_problem_init(&problem, 1, 2, 1, rows[i], KEYS, 8, 6);
        fovea_problem_resolve(&problem, NULL);
        problem_apply(&problem, &rule_list[number % rule_count]);
        problem.mask.begin = places[place];
        problem.sink = (fovea_sink)(number % 3);
        if (number % 4 == 1) problem.softcap = 3.0;
        if (number % 5 == 2) problem.mask.keys = (KEYS - places[place]) * 2 / 3;
        add_mask(&problem, type);
        if (number % 3 == 1) problem.mask.strides.head = 0;
        if (number % 7 == 3) problem.mask.strides.row = 0;
        check_problem(&problem, (uint64_t)number);
      }
}

/* One element for all keys from the first on. */
static void test_key_stride_0(void **state) {
  (void)state;
  for (int type = FOVEA_MASK_BOOL; type <= TYPES; type++)
    for (int place = 0; place < PLACES; place += USUAL_OR_LONG(3, 1))
      for (int few = 0; few <= 1; few++) {
        fovea_problem problem;
        fovea_problem_init(&problem, 2, 2, 2, few ? 2 : 50, KEYS, 8, 6);
        fovea_problem_resolve(&problem, NULL);
        problem.causal = place % 2;
        problem.mask.begin = places[place];
        add_mask(&problem, type);
        problem.mask.strides = fovea_mask_layout(problem.mask.type, 2, 2, problem.q_len, 1);
        check_problem(&problem, (uint64_t)(place * 9)); /* half of the elements are visible */
      }
}

/* Each batch element has its own first key: padded, and packed. */
static void test_entries(void **state) {
  (void)state;
  static const int64_t kv_lens[] = {300, 37, 0, 200}, q_lens[] = {7, 30, 12, 0};
  static const int32_t cu_q[] = {1, 8, 38, 50, 50}, cu_kv[] = {3, 303, 340, 340, 540};
  static const int64_t begins[][4] = {{0, 0, 0, 0}, {130, 5, 0, 128}, {300, 37, 0, 200}, {77, 36, 0, 190}};
  for (int type = FOVEA_MASK_BOOL; type <= TYPES; type++)
    for (int packed = 0; packed <= 2; packed++)
      for (int i = 0; i < 4; i++) {
        fovea_problem problem;
        fovea_problem_init(&problem, 4, 2, 1, packed ? 50 : 30, packed == 2 ? 540 : 300, 8, 6);
        fovea_problem_resolve(&problem, NULL);
        if (packed) problem.cu_seqlens_q = cu_q;
        if (packed == 2) problem.cu_seqlens_kv = cu_kv;
        if (packed != 2) problem.kv_lens = kv_lens;
        if (!packed) problem.q_lens = q_lens;
        problem.causal = i % 2;
        problem.mask.begins = begins[i];
        if (i == 3) problem.mask.keys = 60;
        add_mask(&problem, type);
        check_problem(&problem, (uint64_t)(packed + i));
      }
}

/* One first key for all batch elements, after the last key of some. */
static void test_short_entries(void **state) {
  (void)state;
  static const int64_t kv_lens[] = {300, 37, 0};
  for (int type = FOVEA_MASK_BOOL; type <= TYPES; type++)
    for (int64_t begin = 30; begin <= 300; begin += 45) {
      fovea_problem problem;
      fovea_problem_init(&problem, 3, 2, 1, 20, 300, 8, 6);
      fovea_problem_resolve(&problem, NULL);
      problem.kv_lens = kv_lens;
      problem.mask.begin = begin;
      if (begin % 2 == 0) problem.mask.keys = (300 - begin) / 2;
      add_mask(&problem, type);
      check_problem(&problem, (uint64_t)begin);
    }
}

/* Padded rows have no mask: it ends with the last row that sees a key. */
static void test_padded_rows(void **state) {
  (void)state;
  static const int64_t q_lens[] = {5};
  const char *const *isas = whole_isas_for(NULL);
  for (int type = FOVEA_MASK_BOOL; type <= TYPES; type++)
    for (int64_t begin = 0; begin <= 130; begin += 65) {
      fovea_problem padded, few;
      fovea_problem_init(&padded, 1, 1, 1, 20, 200, 8, 6);
      fovea_problem_resolve(&padded, NULL);
      padded.mask.begin = begin;
      padded.offset = 195;
      few = padded;
      padded.q_lens = q_lens;
      add_mask(&padded, type);
      few.q_len = 5;
      add_mask(&few, type);
      struct trial actual = trial_create(&padded, 0), with_mask = trial_create(&few, 0);
      fovea_tensors tensors = trial_tensors(&actual);
      tensors.mask = with_mask.mask.data; /* of 5 rows, before an inaccessible page */
      for (int isa = 0; isas[isa] != NULL; isa++) {
        assert_int_equal(fovea_attend(&padded, &tensors, on_isa(isas[isa]), NULL), FOVEA_OK);
      }
      trial_destroy(&with_mask);
      trial_destroy(&actual);
    }
}

/* Keys split into parts, which are merged in a second phase. */
static void test_parts(void **state) {
  (void)state;
  static const int64_t begins[] = {2048, 2049, 4095, 5000, 128 * 17 + 3, 12345, 12800};
  for (int type = FOVEA_MASK_BOOL; type <= TYPES; type++)
    for (int i = type % 2; i < 7; i += USUAL_OR_LONG(6, 2)) {
      fovea_problem problem;
      fovea_plan *plan;
      fovea_problem_init(&problem, 1, 2, 1, 1 + 20 * (i % 2), 12800, 64, 64);
      fovea_problem_resolve(&problem, NULL);
      problem.mask.begin = begins[i];
      add_mask(&problem, type);
      assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
      /* Portable C has such small tiles that the many rows of every other problem make enough tasks. */
      const int split = i % 2 == 0 || strcmp(fovea_plan_isa(plan), "scalar") != 0;
      assert_true(fovea_plan_phases(plan) == (split ? 2 : 1) || fovea_default_threads() == 1);
      fovea_plan_destroy(plan);
      check_problem(&problem, (uint64_t)i * 9); /* half of the keys are visible */
    }
}

/* The states of two ranges, merged and finished, give the bits of one run. */
static void test_states(void **state) {
  (void)state;
  enum { ROWS = 3, DIM = 6, ALL = 5000, CUT = FOVEA_SPAN_KEYS, NUMBERS = 2 * ROWS * 3 * (DIM + 2) };
  static float left_numbers[NUMBERS], right_numbers[NUMBERS], numbers[NUMBERS];
  static const int64_t begins[] = {100, 2047, 2048, 2050, 4500};
  for (int type = FOVEA_MASK_BOOL; type <= TYPES; type++)
    for (int i = 0; i < 5; i++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1, 2, 2, ROWS, ALL, DIM, DIM);
      fovea_problem_resolve(&problem, NULL);
      problem.mask.begin = begins[i];
      add_mask(&problem, type);
      struct trial expected = trial_create(&problem, 0), actual = trial_sharing_inputs(&expected);
      trial_run(&expected, NULL, NULL);
      fovea_state left, right, merged;
      fovea_state_init(&left, 1, 2, ROWS, DIM, 0, CUT, left_numbers);
      fovea_state_init(&right, 1, 2, ROWS, DIM, CUT, ALL, right_numbers);
      fovea_state_init(&merged, 1, 2, ROWS, DIM, 0, ALL, numbers);
      fovea_tensors tensors = trial_tensors(&actual);
      void *const o = tensors.o;
      float *const lse = tensors.lse;
      problem.state = 1;
      problem.keys.end = CUT;
      tensors.o = tensors.lse = NULL;
      tensors.state = &left;
      assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
      problem.keys.begin = CUT;
      problem.keys.end = FOVEA_UNLIMITED;
      tensors.state = &right;
      assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
      assert_int_equal(fovea_state_merge(&left, &right, &merged, NULL, NULL), FOVEA_OK);
      tensors.state = &merged;
      tensors.o = o;
      tensors.lse = lse;
      problem.state = 0;
      problem.keys.begin = 0;
      assert_int_equal(fovea_state_finish(&problem, &tensors, NULL, NULL), FOVEA_OK);
      trial_load(&actual);
      assert_same_outputs(&actual, &expected);
      trial_destroy(&actual);
      trial_destroy(&expected);
    }
}

/* ---- Rings --------------------------------------------------------------------------------------------------- */

/* A stream of chunks over a ring, with a mask for the ring's keys only, against one causal call with a window and
 * the whole mask. The mask's first byte lies after an inaccessible page. */
static void check_ring(int type, int64_t chunk, fovea_key_layout layout) {
  enum { LENGTH = 500, WINDOW = 90, CAPACITY = 128, DIM = 16, HEADS = 2 };
  fovea_problem whole;
  fovea_problem_init(&whole, 1, HEADS, 1, LENGTH, LENGTH, DIM, DIM);
  fovea_problem_resolve(&whole, NULL);
  whole.causal = 1;
  whole.window_left = WINDOW;
  add_mask(&whole, type);
  struct trial expected = trial_create(&whole, 0);
  trial_run(&expected, NULL, NULL);
  static float keys[CAPACITY * DIM], values[CAPACITY * DIM];
  fovea_pages pages;
  fovea_pages_init(&pages, 1, CAPACITY, 1, DIM, DIM, FOVEA_F32, layout);
  pages.k = keys, pages.v = values;
  for (int64_t first = 0; first < LENGTH; first += chunk) {
    const int64_t rows = first + chunk > LENGTH ? LENGTH - first : chunk, end = first + rows;
    const int64_t begin = end > CAPACITY ? end - CAPACITY : 0;
    fovea_segment segments[FOVEA_RING_SEGMENTS];
    fovea_sequence sequence;
    fovea_new_rows new_rows;
    assert_int_equal(fovea_cache_ring(&pages, 0, begin, end, segments, &sequence, NULL), FOVEA_OK);
    fovea_new_rows_init(&new_rows, 1, 1, rows, DIM, DIM, tensor_row(&expected.k, 0, 0, first),
                        tensor_row(&expected.v, 0, 0, first), &sequence);
    new_rows.first_position = first;
    assert_int_equal(fovea_append(&new_rows, NULL, NULL, NULL), FOVEA_OK);

    fovea_problem problem;
    fovea_problem_init(&problem, 1, HEADS, 1, rows, end, DIM, DIM);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    problem.window_left = WINDOW;
    problem.cache.segmented = 1;
    problem.kv_begins = problem.mask.begins = &begin;
    add_mask(&problem, type);
    struct trial step = trial_create_at(&problem, 0, GUARD_AT_START);
    for (int64_t h = 0; h < HEADS; h++)
      for (int64_t i = 0; i < rows; i++) {
        memcpy(tensor_row(&step.q, 0, h, i), tensor_row(&expected.q, 0, h, first + i), DIM * sizeof(float));
        for (int64_t j = begin; j < end; j++)
          mask_set(&step.mask, 0, h, i, j - begin, mask_get(&expected.mask, 0, h, first + i, j));
      }
    fovea_tensors tensors = trial_tensors(&step);
    fovea_error error = {.text = ""};
    tensors.k = tensors.v = NULL;
    tensors.cache.sequences = &sequence;
    if (fovea_attend(&problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    assert_same_part(&step, (struct part){0, 0, 0}, &expected, (struct part){0, 0, first}, 1, HEADS, rows);
    trial_destroy(&step);
  }
  trial_destroy(&expected);
}

static void test_rings(void **state) {
  (void)state;
  for (int type = FOVEA_MASK_BOOL; type <= TYPES; type++)
    for (int64_t chunk = 1; chunk <= 37; chunk += USUAL_OR_LONG(18, 9)) {
      check_ring(type, chunk, FOVEA_KEYS_IN_ROWS);
      check_ring(type, chunk, FOVEA_KEYS_IN_PANELS);
    }
}

/* ---- What strides of rows can say ---------------------------------------------------------------------------- */

/* Row i of the mask is the row before, shifted by `shift`: one row of relative distances (ALiBi), or the relative
 * scores of Transformer-XL, T rows of 2 T - 1 distances. Compared with the mask written out. */
static void check_shifted(int64_t rows, int64_t keys, int64_t stored_rows, int causal) {
  const int64_t distances = rows + keys - 1, row = stored_rows == 1 ? -1 : distances - 1;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, rows, keys, 8, 6);
  fovea_problem_resolve(&problem, NULL);
  problem.causal = causal;
  problem_say_offset(&problem);
  add_mask(&problem, FOVEA_MASK_F32);
  struct trial expected = trial_create(&problem, 0), actual = trial_sharing_inputs(&expected);
  const size_t count = (size_t)(2 * stored_rows * distances);
  struct guarded memory = guarded_create(count * sizeof(float), rows % 2 ? GUARD_AT_END : GUARD_AT_START);
  float *stored = (void *)memory.data;
  for (size_t i = 0; i < count; i++) stored[i] = -(float)(i % 61) / 16;
  for (int64_t h = 0; h < 2; h++)
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < keys; j++) {
        const int64_t from = stored_rows == 1 ? 0 : i, distance = j - i; /* from 1 - rows to keys - 1 */
        mask_set(&expected.mask, 0, h, i, j, stored[(h * stored_rows + from) * distances + distance + rows - 1]);
      }
  guarded_make_read_only(&memory);
  actual.problem.mask.strides = (fovea_mask_strides){0, stored_rows * distances, row, 1};
  const char *const *isas = whole_isas_for(&actual.problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&expected, isas[isa], NULL);
    actual.mask.data = (unsigned char *)(stored + rows - 1);
    trial_run(&actual, isas[isa], NULL);
    assert_same_outputs(&actual, &expected);
  }
  actual.mask.data = NULL;
  guarded_destroy(&memory);
  trial_destroy(&actual);
  trial_destroy(&expected);
}

static void test_shifted_rows(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 2, 17, 64, 130, 200};
  for (int i = 0; i < 6; i++)
    for (int causal = 0; causal <= 1; causal++) {
      check_shifted(lengths[i], lengths[i], 1, causal);     /* ALiBi: row stride -1 */
      check_shifted(lengths[i], lengths[5 - i], 1, causal); /* rows and keys of different lengths, too */
      check_shifted(lengths[i], lengths[i], lengths[i] + (i == 0), causal); /* Transformer-XL: 2 T - 2 */
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_padded_rows), cmocka_unit_test(test_places),        cmocka_unit_test(test_key_stride_0),
      cmocka_unit_test(test_entries),     cmocka_unit_test(test_short_entries), cmocka_unit_test(test_parts),
      cmocka_unit_test(test_states),      cmocka_unit_test(test_rings),         cmocka_unit_test(test_shifted_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
