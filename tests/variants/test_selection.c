/* Selected keys: lists of every instruction set against the clause in plain C, for sizes, layouts, types, rules,
 * ties and special values; rows alone and in chunks; threads; attention over the lists; refusals. */
#include "nn/contract_nn.h"
#include "places.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/pattern.h>
#include <fovea/sparse_attention.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shape {
  int64_t batch, heads, q_len, kv_len, dim, top_k;
  enum place place;
  fovea_type q_type, k_type;
  int causal, with_lens, with_offsets;
  int coarse; /* numbers are few, so that many scores are equal */
};

struct trial_of_lists {
  struct shape shape;
  struct tensor q, k, weights;
  int64_t lens[8], offsets[8];
  int64_t *keys;
  struct guarded memory;
  fovea_nn_selection selection;
};

static void make_coarse(struct tensor *t) {
  for (int64_t b = 0; b < t->batch; b++)
    for (int64_t h = 0; h < t->heads; h++)
      for (int64_t i = 0; i < t->rows; i++)
        for (int64_t d = 0; d < t->dim; d++) tensor_row(t, b, h, i)[d] = rintf(tensor_row(t, b, h, i)[d] * 1.2f);
  tensor_store(t);
}

static struct trial_of_lists make(const struct shape *s, uint64_t seed) {
  struct trial_of_lists t = {.shape = *s};
  fovea_strides q, k, weights;
  t.q = place(s->place, s->q_type, s->batch, s->heads, s->q_len, s->dim, seed, &q);
  t.k = place(s->place, s->k_type, s->batch, 1, s->kv_len, s->dim, seed + 1, &k);
  t.weights = place(s->place, FOVEA_F32, s->batch, 1, s->q_len, s->heads, seed + 2, &weights);
  if (s->coarse) {
    make_coarse(&t.q);
    make_coarse(&t.k);
    make_coarse(&t.weights);
  }
  t.memory = guarded_create((size_t)(s->batch * s->q_len * s->top_k) * sizeof *t.keys, GUARD_AT_END);
  t.keys = (int64_t *)(void *)t.memory.data;
  fovea_nn_selection_init(&t.selection, s->batch, s->heads, s->q_len, s->kv_len, s->dim, s->top_k,
                          tensor_pointer(&t.q), tensor_pointer(&t.k), tensor_pointer(&t.weights), t.keys);
  k.head = weights.head = 0;
  t.selection.q_strides = q;
  t.selection.k_strides = k;
  t.selection.weight_strides = weights;
  t.selection.q_type = s->q_type;
  t.selection.k_type = s->k_type;
  t.selection.causal = s->causal;
  for (int64_t b = 0; b < s->batch; b++) {
    t.lens[b] = s->kv_len * (b + 1) / (s->batch + 1);
    t.offsets[b] = 7 * b - 5;
  }
  return t;
}

static void destroy(struct trial_of_lists *t) {
  tensor_destroy(&t->q);
  tensor_destroy(&t->k);
  tensor_destroy(&t->weights);
  guarded_destroy(&t->memory);
}

static int64_t end_of(const struct trial_of_lists *t, int64_t b, int64_t row) {
  const struct shape *s = &t->shape;
  const int64_t length = s->with_lens ? t->lens[b] : s->kv_len;
  const int64_t own = row + (s->with_offsets ? t->offsets[b] : length - s->q_len);
  return s->causal && own + 1 < length ? own + 1 : length;
}

static int is_before(float a, float b) {
  if (isnan(a) || isnan(b)) return isnan(a) && !isnan(b);
  return a > b;
}

static void expect_row(const struct trial_of_lists *t, int64_t b, int64_t row, float *scores, int64_t *keys) {
  const struct shape *s = &t->shape;
  const int64_t end = end_of(t, b, row);
  for (int64_t j = 0; j < end; j++) {
    scores[j] = 0;
    for (int64_t h = 0; h < s->heads; h++) {
      const float r = contract_nn_dot(tensor_row(&t->q, b, h, row), tensor_row(&t->k, b, 0, j), s->dim);
      scores[j] = fmaf(tensor_row(&t->weights, b, 0, row)[h], contract_nn_relu(r), scores[j]);
    }
  }
  for (int64_t i = 0; i < s->top_k; i++) {
    int64_t best = -1;
    for (int64_t j = 0; j < end; j++) {
      if (scores[j] == -INFINITY) continue;
      if (best < 0 || is_before(scores[j], scores[best])) best = j;
    }
    keys[i] = best;
    if (best >= 0) scores[best] = -INFINITY; /* it is taken */
  }
}

static int64_t *expect(const struct trial_of_lists *t) {
  const struct shape *s = &t->shape;
  int64_t *keys = malloc((size_t)(s->batch * s->q_len * s->top_k + 1) * sizeof *keys);
  float *scores = malloc((size_t)(s->kv_len + 1) * sizeof *scores);
  assert_true(keys && scores);
  for (int64_t b = 0; b < s->batch; b++)
    for (int64_t i = 0; i < s->q_len; i++) expect_row(t, b, i, scores, keys + (b * s->q_len + i) * s->top_k);
  free(scores);
  return keys;
}

/* The default offsets, if one is negative and must be said. */
static const int64_t *said_offsets(const struct trial_of_lists *t, int64_t offsets[3]) {
  const struct shape *s = &t->shape;
  int negative = 0;
  assert_true(s->batch <= 3);
  for (int64_t b = 0; b < s->batch; b++) {
    offsets[b] = (s->with_lens ? t->lens[b] : s->kv_len) - s->q_len;
    negative |= offsets[b] < 0;
  }
  return s->causal && negative ? offsets : NULL;
}

static void run(struct trial_of_lists *t, const char *isa, const fovea_execution *execution) {
  fovea_error error = {0};
  int64_t offsets[3];
  memset(t->keys, 0x55, (size_t)(t->shape.batch * t->shape.q_len * t->shape.top_k) * sizeof *t->keys);
  fovea_execution on_set = *on_isa(isa);
  if (execution) on_set = *execution;
  on_set.isa = isa;
  t->selection.kv_lens = t->shape.with_lens ? t->lens : NULL;
  t->selection.offsets = t->shape.with_offsets ? t->offsets : said_offsets(t, offsets);
  if (fovea_nn_select(&t->selection, &on_set, &error)) fail_msg("%s", error.text);
}

static void assert_lists(const struct trial_of_lists *t, const int64_t *expected) {
  const int64_t count = t->shape.batch * t->shape.q_len * t->shape.top_k;
  for (int64_t i = 0; i < count; i++)
    if (t->keys[i] != expected[i])
      fail_msg("row %d place %d: key %d, not %d", (int)(i / t->shape.top_k), (int)(i % t->shape.top_k),
               (int)t->keys[i], (int)expected[i]);
}

static void assert_shape(const struct shape *s, uint64_t seed) {
  struct trial_of_lists t = make(s, seed);
  int64_t *expected = expect(&t);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    run(&t, *isa, NULL);
    assert_lists(&t, expected);
  }
  free(expected);
  destroy(&t);
}

static void test_sizes(void **state) {
  static const struct shape shapes[] = {
      {1, 1, 1, 1, 1, 1, IN_ORDER, FOVEA_F32, FOVEA_F32, 0, 0, 0, 0},
      {1, 2, 3, 0, 4, 5, IN_ORDER, FOVEA_F32, FOVEA_F32, 1, 0, 0, 0},
      {2, 4, 70, 70, 16, 8, IN_ORDER, FOVEA_F32, FOVEA_F32, 1, 0, 0, 0},
      {1, 64, 5, 200, 33, 20, WITH_GAPS, FOVEA_BF16, FOVEA_F16, 1, 0, 0, 0},
      {3, 130, 3, 90, 8, 100, ROWS_FIRST, FOVEA_F32, FOVEA_F32, 0, 1, 0, 0},
      {2, 3, 20, 300, 140, 64, IN_ORDER, FOVEA_F32, FOVEA_BF16, 1, 1, 1, 0},
      {1, 2, 40, 700, 4, 30, IN_ORDER, FOVEA_F32, FOVEA_F32, 0, 0, 0, 1},
      {1, 1, 2, 5000, 2, 900, IN_ORDER, FOVEA_F32, FOVEA_F32, 0, 0, 0, 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) assert_shape(&shapes[i], 20 * i + 3);
}

static void test_random_sizes(void **state) {
  struct generator g = {71};
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(8, 150); i++) {
    struct shape s = {.batch = 1 + generator_below(&g, 3), .heads = 1 + generator_below(&g, 9)};
    s.q_len = generator_below(&g, 40);
    s.kv_len = generator_below(&g, 200);
    s.dim = 1 + generator_below(&g, 40);
    s.top_k = 1 + generator_below(&g, 60);
    s.place = (enum place)generator_below(&g, PLACES);
    s.q_type = (fovea_type)generator_below(&g, 3);
    s.k_type = (fovea_type)generator_below(&g, 3);
    s.causal = (int)generator_below(&g, 2);
    s.with_lens = (int)generator_below(&g, 2);
    s.with_offsets = s.causal && generator_below(&g, 2);
    s.coarse = (int)generator_below(&g, 2);
    assert_shape(&s, 500 + (uint64_t)i);
  }
}

/* NaN first, -Inf never; keys that a row does not see change nothing. */
static void test_special_values(void **state) {
  const struct shape s = {1, 2, 6, 150, 3, 20, IN_ORDER, FOVEA_F32, FOVEA_F32, 1, 0, 1, 0};
  struct trial_of_lists t = make(&s, 8);
  (void)state;
  t.offsets[0] = 100;
  tensor_row(&t.k, 0, 0, 40)[1] = NAN;
  tensor_row(&t.k, 0, 0, 41)[0] = INFINITY;
  tensor_row(&t.k, 0, 0, 42)[0] = -INFINITY;
  tensor_row(&t.k, 0, 0, 90)[2] = NAN;
  tensor_row(&t.weights, 0, 0, 1)[0] = -INFINITY;
  tensor_row(&t.weights, 0, 0, 2)[1] = INFINITY;
  tensor_row(&t.weights, 0, 0, 3)[0] = NAN;
  for (int64_t j = 106; j < 150; j++) tensor_row(&t.k, 0, 0, j)[0] = NAN;
  int64_t *expected = expect(&t);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    run(&t, *isa, NULL);
    assert_lists(&t, expected);
  }
  assert_int_equal(t.keys[0], 40);
  free(expected);
  destroy(&t);
}

/* Rows of a prompt, alone and in chunks. */
static void test_chunks(void **state) {
  const struct shape s = {1, 4, 60, 60, 24, 10, IN_ORDER, FOVEA_F32, FOVEA_F32, 1, 0, 0, 0};
  struct trial_of_lists t = make(&s, 15);
  int64_t *expected = expect(&t);
  (void)state;
  for (int64_t chunk = 1; chunk < 60; chunk += 13) {
    for (int64_t first = 0; first < 60; first += chunk) {
      const int64_t rows = first + chunk < 60 ? chunk : 60 - first;
      fovea_nn_selection part = t.selection;
      part.q = tensor_row(&t.q, 0, 0, first);
      part.weights = tensor_row(&t.weights, 0, 0, first);
      part.q_len = rows;
      part.kv_len = first + rows;
      part.keys = t.keys + first * 10;
      assert_int_equal(fovea_nn_select(&part, NULL, NULL), FOVEA_OK);
    }
    assert_lists(&t, expected);
  }
  free(expected);
  destroy(&t);
}

static void test_threads(void **state) {
  const struct shape s = {2, 8, 90, USUAL_OR_LONG(200, 700), 32, 33, IN_ORDER, FOVEA_F32, FOVEA_F32, 1, 0, 0, 0};
  struct trial_of_lists t = make(&s, 16);
  int64_t *expected = expect(&t);
  fovea_execution execution;
  (void)state;
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) {
    run(&t, NULL, &execution);
    assert_lists(&t, expected);
  }
  execution.threads = 3;
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    run(&t, NULL, &execution);
    assert_lists(&t, expected);
  }
  execution.parallel_for = NULL;
  execution.parallel_context = NULL;
  struct guarded scratch = guarded_create(
      measured(fovea_nn_selection_scratch_size(&t.selection, with_threads(3), measured_size(), NULL)),
      GUARD_AT_END);
  execution.scratch = scratch.data;
  execution.scratch_size = scratch.size;
  run(&t, NULL, &execution);
  assert_lists(&t, expected);
  execution.scratch_size -= 64;
  assert_int_equal(fovea_nn_select(&t.selection, &execution, NULL), FOVEA_ERROR_SPACE);
  guarded_destroy(&scratch);
  free(expected);
  destroy(&t);
}

/* Few rows and many keys, in parts for some threads: the lists of one. */
static void test_parts(void **state) {
  const struct shape shapes[] = {
      {1, 3, 1, USUAL_OR_LONG(4100, 9000), 16, 700, IN_ORDER, FOVEA_F32, FOVEA_F32, 1, 0, 0, 0},
      {2, 64, 3, USUAL_OR_LONG(4100, 6000), 2, 50, IN_ORDER, FOVEA_F32, FOVEA_BF16, 1, 1, 0, 1},
      {1, 64, 1, USUAL_OR_LONG(4100, 6000), 2, 2000, IN_ORDER, FOVEA_F32, FOVEA_F32, 0, 1, 0, 1},
  };
  (void)state;
  for (int i = 0; i < 3; i++) {
    struct trial_of_lists t = make(&shapes[i], 200 + (uint64_t)i);
    int64_t *expected = expect(&t);
    fovea_execution execution;
    fovea_execution_init(&execution);
    for (execution.threads = 1; execution.threads <= 9; execution.threads += 2) {
      run(&t, NULL, &execution);
      assert_lists(&t, expected);
    }
    execution.threads = 4;
    for (int order = 0; order < TASK_ORDERS; order++) {
      struct executor executor = {(enum task_order)order, 0};
      execution.parallel_for = threads_for;
      execution.parallel_context = &executor;
      run(&t, NULL, &execution);
      assert_lists(&t, expected);
    }
    execution.parallel_for = NULL;
    execution.parallel_context = NULL;
    struct guarded scratch = guarded_create(
        measured(fovea_nn_selection_scratch_size(&t.selection, with_threads(4), measured_size(), NULL)),
        GUARD_AT_END);
    execution.scratch = scratch.data;
    execution.scratch_size = scratch.size;
    run(&t, NULL, &execution);
    assert_lists(&t, expected);
    guarded_destroy(&scratch);
    free(expected);
    destroy(&t);
  }
}

/* Attention over the lists has the bits of a boolean mask that allows the same keys. */
static void test_attention(void **state) {
  enum { LENGTH = 150, K = 12, DIM = 16 };
  const struct shape s = {1, 4, LENGTH, LENGTH, 24, K, IN_ORDER, FOVEA_F32, FOVEA_F32, 1, 0, 0, 0};
  struct trial_of_lists t = make(&s, 17);
  fovea_strides strides;
  struct tensor x = place(IN_ORDER, FOVEA_F32, 1, 2, LENGTH, DIM, 1, &strides);
  struct tensor o = place(IN_ORDER, FOVEA_F32, 1, 2, LENGTH, DIM, 1, &strides),
                masked = place(IN_ORDER, FOVEA_F32, 1, 2, LENGTH, DIM, 2, &strides);
  unsigned char *mask = calloc(LENGTH * LENGTH, 1);
  fovea_pattern_options options;
  fovea_pattern *pattern;
  fovea_problem problem;
  fovea_tensors tensors;
  (void)state;
  assert_non_null(mask);
  run(&t, NULL, NULL);
  for (int64_t i = 0; i < LENGTH; i++)
    for (int64_t j = 0; j < K; j++)
      if (t.keys[i * K + j] >= 0) mask[i * LENGTH + t.keys[i * K + j]] = 1;
  const fovea_rule lists = fovea_rule_lists(0, LENGTH, K, t.keys);
  fovea_pattern_options_init(&options, &lists, LENGTH, LENGTH);
  assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
  fovea_problem_init(&problem, 1, 2, 2, LENGTH, LENGTH, DIM, DIM);
  problem.pattern = pattern;
  fovea_tensors_init(&tensors, x.data, x.data, x.data, o.data, NULL);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  problem.pattern = NULL;
  problem.mask.type = FOVEA_MASK_BOOL;
  problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, 1, 1, LENGTH, LENGTH);
  tensors.mask = mask;
  tensors.o = masked.data;
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  for (int64_t h = 0; h < 2; h++)
    for (int64_t i = 0; i < LENGTH; i++) assert_row(&o, 0, h, i, tensor_row(&masked, 0, h, i));
  fovea_pattern_destroy(pattern);
  free(mask);
  tensor_destroy(&x);
  tensor_destroy(&o);
  tensor_destroy(&masked);
  destroy(&t);
}

#define REFUSES(change, status, text_part)                                                                         \
  do {                                                                                                             \
    fovea_nn_selection bad = t.selection;                                                                          \
    fovea_error error = {0};                                                                                       \
    fovea_execution e = *on_isa(NULL);                                                                             \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_select(&bad, &e, &error), status);                                                   \
    assert_error_says(&error, text_part);                                                                          \
    assert_int_equal(t.keys[0], 77);                                                                               \
  } while (0)

/* Batch elements without rows and lists are not counted one by one. */
static void test_no_rows(void **state) {
  fovea_nn_selection none;
  (void)state;
  fovea_nn_selection_init(&none, INT64_C(1) << 48, 1, 0, 4, 8, 3, NULL, NULL, NULL, NULL);
  assert_int_equal(fovea_nn_select(&none, NULL, NULL), FOVEA_OK);
}

static void test_refusals(void **state) {
  const struct shape s = {1, 2, 4, 9, 8, 3, IN_ORDER, FOVEA_F32, FOVEA_F32, 1, 0, 0, 0};
  struct trial_of_lists t = make(&s, 18);
  const int64_t one[1] = {0}, far[1] = {10}, few[1] = {3}, numbers[2] = {0, 0};
  (void)state;
  t.keys[0] = 77;
  REFUSES(bad.struct_size = 3, FOVEA_ERROR_ARGUMENT, "selection");
  REFUSES(bad.heads = 0, FOVEA_ERROR_ARGUMENT, "selection.heads is 0");
  REFUSES(bad.top_k = 5000, FOVEA_ERROR_ARGUMENT, "top_k is 5000");
  REFUSES(bad.k_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "k_type");
  REFUSES(bad.causal = 2, FOVEA_ERROR_ARGUMENT, "causal");
  REFUSES(bad.q = NULL, FOVEA_ERROR_ARGUMENT, "q is NULL");
  REFUSES(bad.k = NULL, FOVEA_ERROR_ARGUMENT, "k is NULL");
  REFUSES(bad.weights = NULL, FOVEA_ERROR_ARGUMENT, "weights is NULL");
  REFUSES(bad.keys = NULL, FOVEA_ERROR_ARGUMENT, "keys is NULL");
  REFUSES((bad.causal = 0, bad.offset = 3), FOVEA_ERROR_UNUSED, "offset is set");
  REFUSES((bad.offsets = one, bad.offset = 3), FOVEA_ERROR_UNUSED, "offset is set");
  REFUSES(bad.kv_lens = far, FOVEA_ERROR_ARGUMENT, "kv_lens");
  REFUSES(bad.kv_lens = few, FOVEA_ERROR_ARGUMENT,
          "offset is -1 by default, since batch element 0 has q length 4 and kv length 3");
  const int64_t *const odd = (const int64_t *)(const void *)((const char *)(const void *)numbers + 1);
  REFUSES(bad.kv_lens = odd, FOVEA_ERROR_ARGUMENT,
          "kv_lens is 1 bytes off an address that is a multiple of 8"); /* before its numbers are read */
  REFUSES(bad.offsets = odd, FOVEA_ERROR_ARGUMENT, "offsets is 1 bytes off an address that is a multiple of 8");
  REFUSES(bad.k_strides.head = 8, FOVEA_ERROR_UNUSED, "k_strides.head");
  REFUSES(bad.k = t.keys, FOVEA_ERROR_ARGUMENT, "keys shares memory with k");
  REFUSES(e.isa = "none", FOVEA_ERROR_ARGUMENT, "isa: none");
  assert_int_equal(fovea_nn_select(NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  destroy(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),  cmocka_unit_test(test_random_sizes), cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_chunks), cmocka_unit_test(test_threads),      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_parts),  cmocka_unit_test(test_no_rows),      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
