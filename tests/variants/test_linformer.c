/* Linformer: the bits of every instruction set against contract_sums.c and contract.c, for sizes, layouts, types,
 * sharing, lengths; threads; a bound from float64; other people's answers; refusals. */
#include "conformance/case.h"
#include "contract.h"
#include "contract_sums.h"
#include "places.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/latent_attention.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sharing { HEADWISE, PER_HEAD, KEYS_AND_VALUES };

struct shape {
  int64_t batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim, k, max_len;
  enum sharing sharing;
  enum place place;
  fovea_type types[5]; /* of Q, K, V, O, projections */
  int with_lens;
};

struct trial_of_sums {
  struct shape shape;
  struct tensor q, k, v, o, lse, e, f;
  int64_t lens[64];
  fovea_nn_linformer linformer;
  fovea_problem problem;
  fovea_tensors tensors;
  float *keys, *values; /* projected: [batch][kv head][k][dim] */
};

static struct trial_of_sums make(const struct shape *s, uint64_t seed) {
  struct trial_of_sums t = {.shape = *s};
  fovea_problem *p = &t.problem;
  fovea_strides projection;
  const int64_t heads = s->sharing == PER_HEAD ? s->kv_heads : 1;
  fovea_problem_init(p, s->batch, s->heads, s->kv_heads, s->q_len, s->kv_len, s->qk_dim, s->v_dim);
  fovea_problem_resolve(p, NULL);
  t.q = place(s->place, s->types[0], s->batch, s->heads, s->q_len, s->qk_dim, seed, &p->q_strides);
  t.k = place(s->place, s->types[1], s->batch, s->kv_heads, s->kv_len, s->qk_dim, seed + 1, &p->k_strides);
  t.v = place(s->place, s->types[2], s->batch, s->kv_heads, s->kv_len, s->v_dim, seed + 2, &p->v_strides);
  t.o = place(s->place, s->types[3], s->batch, s->heads, s->q_len, s->v_dim, seed, &p->o_strides);
  t.lse = place(s->place, FOVEA_F32, s->batch, s->heads, s->q_len, 1, seed, &p->lse_strides);
  t.e = place(s->place == ROWS_FIRST ? IN_ORDER : s->place, s->types[4], 1, heads, s->max_len, s->k, seed + 3,
              &projection);
  t.f = place(s->place == ROWS_FIRST ? IN_ORDER : s->place, s->types[4], 1, heads, s->max_len, s->k, seed + 4,
              &projection);
  p->q_type = s->types[0];
  p->k_type = s->types[1];
  p->v_type = s->types[2];
  p->o_type = s->types[3];
  for (int64_t b = 0; b < s->batch; b++) t.lens[b] = b % 3 == 1 ? 0 : s->kv_len * (b + 1) / s->batch;
  fovea_nn_linformer_init(&t.linformer, s->max_len, s->k, tensor_pointer(&t.e));
  if (s->sharing != KEYS_AND_VALUES) t.linformer.value_projection = tensor_pointer(&t.f);
  if (s->sharing == PER_HEAD) t.linformer.projection_head = projection.head;
  t.linformer.type = s->types[4];
  t.linformer.projection_row = projection.row;
  fovea_tensors_init(&t.tensors, tensor_pointer(&t.q), tensor_pointer(&t.k), tensor_pointer(&t.v),
                     tensor_pointer(&t.o), tensor_pointer(&t.lse));
  t.keys = malloc((size_t)(s->batch * s->kv_heads * s->k * s->qk_dim) * sizeof(float));
  t.values = malloc((size_t)(s->batch * s->kv_heads * s->k * s->v_dim) * sizeof(float));
  assert_true(t.keys && t.values);
  return t;
}

static void destroy(struct trial_of_sums *t) {
  tensor_destroy(&t->q);
  tensor_destroy(&t->k);
  tensor_destroy(&t->v);
  tensor_destroy(&t->o);
  tensor_destroy(&t->lse);
  tensor_destroy(&t->e);
  tensor_destroy(&t->f);
  free(t->keys);
  free(t->values);
}

static int64_t length_of(const struct trial_of_sums *t, int64_t b) {
  return t->shape.with_lens ? t->lens[b] : t->shape.kv_len;
}

/* E^T K or F^T V by the contract. */
static void expect_projected(const struct trial_of_sums *t, const struct tensor *weights, const struct tensor *rows,
                             float *to) {
  const struct shape *s = &t->shape;
  for (int64_t b = 0; b < s->batch; b++)
    for (int64_t h = 0; h < s->kv_heads; h++)
      for (int64_t j = 0; j < s->k; j++)
        for (int64_t d = 0; d < rows->dim; d++) {
          const int64_t length = length_of(t, b);
          const float *e = tensor_row(weights, 0, s->sharing == PER_HEAD ? h : 0, 0) + j;
          const float *x = length > 0 ? tensor_row(rows, b, h, 0) + d : NULL;
          to[((b * s->kv_heads + h) * s->k + j) * rows->dim + d] =
              contract_sum(e, weights->strides.row, x, rows->strides.row, length);
        }
}

static int sees_all(const void *rules, int64_t position) {
  (void)rules;
  (void)position;
  return 1;
}

static void assert_expected(struct trial_of_sums *t) {
  const struct shape *s = &t->shape;
  float *out = malloc((size_t)s->v_dim * sizeof *out), lse;
  assert_non_null(out);
  tensor_load(&t->o);
  for (int64_t b = 0; b < s->batch; b++)
    for (int64_t h = 0; h < s->heads; h++)
      for (int64_t i = 0; i < s->q_len; i++) {
        const int64_t head = b * s->kv_heads + h / (s->heads / s->kv_heads);
        const struct contract_row row = {.q = tensor_row(&t->q, b, h, i),
                                         .k = t->keys + head * s->k * s->qk_dim,
                                         .v = t->values + head * s->k * s->v_dim,
                                         .k_stride = s->qk_dim,
                                         .v_stride = s->v_dim,
                                         .qk_dim = s->qk_dim,
                                         .v_dim = s->v_dim,
                                         .positions = s->k,
                                         .scale = t->problem.scale,
                                         .sees = sees_all};
        contract_row(&row, out, &lse);
        assert_row(&t->o, b, h, i, out);
        assert_row(&t->lse, b, h, i, &lse);
      }
  assert_true(tensor_gaps_untouched(&t->o));
  free(out);
}

static void expect(struct trial_of_sums *t) {
  expect_projected(t, &t->e, &t->k, t->keys);
  expect_projected(t, t->shape.sharing == KEYS_AND_VALUES ? &t->e : &t->f, &t->v, t->values);
}

static void run(struct trial_of_sums *t, const char *isa, const fovea_execution *execution) {
  fovea_error error = {0};
  tensor_fill_untouched(&t->o);
  tensor_fill_untouched(&t->lse);
  fovea_execution on_set = *on_isa(isa);
  if (execution) on_set = *execution;
  on_set.isa = isa;
  t->problem.kv_lens = t->shape.with_lens ? t->lens : NULL;
  if (fovea_nn_linformer_run(&t->linformer, &t->problem, &t->tensors, &on_set, &error)) fail_msg("%s", error.text);
}

static void assert_shape(const struct shape *shape, uint64_t seed) {
  struct trial_of_sums t = make(shape, seed);
  expect(&t);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    run(&t, *isa, NULL);
    assert_expected(&t);
  }
  destroy(&t);
}

static void test_sizes(void **state) {
  static const struct shape shapes[] = {
      {1, 1, 1, 1, 1, 1, 1, 1, 1, HEADWISE, IN_ORDER, {FOVEA_F32}, 0},
      {2, 3, 3, 5, 0, 8, 8, 4, 7, HEADWISE, IN_ORDER, {FOVEA_F32}, 0},
      {1, 2, 2, 7, 127, 16, 24, 17, 130, PER_HEAD, IN_ORDER, {FOVEA_F32}, 0},
      {2, 4, 2, 3, 129, 33, 47, 23, 129, KEYS_AND_VALUES, WITH_GAPS, {FOVEA_F32}, 0},
      {1, 6, 1, 4, 300, 64, 80, 130, 512, HEADWISE, ROWS_FIRST, {FOVEA_F32}, 0},
      {5, 2, 2, 2, 260, 12, 20, 9, 300, PER_HEAD, WITH_GAPS, {FOVEA_F32}, 1},
      {1, 1, 1, 2, 2049, 5, 7, 6, 2049, HEADWISE, IN_ORDER, {FOVEA_F32}, 0},
      {3, 1, 1, 2, 13000, 4, 3, 7, 13001, HEADWISE, IN_ORDER, {FOVEA_F32}, 1},
      {2,
       2,
       1,
       3,
       140,
       20,
       21,
       10,
       140,
       HEADWISE,
       WITH_GAPS,
       {FOVEA_F16, FOVEA_BF16, FOVEA_F16, FOVEA_BF16, FOVEA_BF16},
       1},
      {1,
       2,
       2,
       3,
       140,
       65,
       8,
       19,
       150,
       PER_HEAD,
       ROWS_FIRST,
       {FOVEA_BF16, FOVEA_F16, FOVEA_F32, FOVEA_F16, FOVEA_F16},
       0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) assert_shape(&shapes[i], 100 * i + 1);
}

static void test_random_sizes(void **state) {
  struct generator g = {51};
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(8, 60); i++) {
    struct shape s = {.batch = 1 + generator_below(&g, 3), .kv_heads = 1 + generator_below(&g, 3)};
    s.heads = s.kv_heads * (1 + generator_below(&g, 2));
    s.q_len = generator_below(&g, 9);
    s.kv_len = generator_below(&g, 400);
    s.qk_dim = 1 + generator_below(&g, 70);
    s.v_dim = 1 + generator_below(&g, 70);
    s.k = 1 + generator_below(&g, 40);
    s.max_len = s.kv_len + 1 + generator_below(&g, 9);
    s.sharing = (enum sharing)generator_below(&g, 3);
    s.place = (enum place)generator_below(&g, PLACES);
    s.with_lens = (int)generator_below(&g, 2);
    for (int type = 0; type < 5; type++) s.types[type] = (fovea_type)generator_below(&g, 3);
    assert_shape(&s, 1000 + (uint64_t)i);
  }
}

/* Rows after a length are not read: NaN there changes nothing. */
static void test_padding(void **state) {
  const struct shape s = {3, 2, 2, 4, 150, 16, 16, 8, 150, HEADWISE, IN_ORDER, {FOVEA_F32}, 1};
  struct trial_of_sums t = make(&s, 9);
  (void)state;
  expect(&t);
  for (int64_t b = 0; b < s.batch; b++)
    for (int64_t h = 0; h < s.kv_heads; h++)
      for (int64_t i = t.lens[b]; i < s.kv_len; i++)
        for (int64_t d = 0; d < 16; d++) tensor_row(&t.k, b, h, i)[d] = tensor_row(&t.v, b, h, i)[d] = NAN;
  run(&t, NULL, NULL);
  assert_expected(&t);
  destroy(&t);
}

static void test_threads(void **state) {
  const struct shape s = {2,
                          4,
                          2,
                          40,
                          USUAL_OR_LONG(2500, 9000),
                          32,
                          32,
                          24,
                          9000,
                          HEADWISE,
                          IN_ORDER,
                          {FOVEA_F32, FOVEA_F16, FOVEA_F32, FOVEA_F32, FOVEA_BF16},
                          0};
  struct trial_of_sums t = make(&s, 77);
  fovea_execution execution;
  (void)state;
  expect(&t);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) {
    run(&t, NULL, &execution);
    assert_expected(&t);
  }
  execution.threads = 3;
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    run(&t, NULL, &execution);
    assert_expected(&t);
  }
  execution.parallel_for = NULL;
  execution.parallel_context = NULL;
  const size_t size =
      measured(fovea_nn_linformer_scratch_size(&t.linformer, &t.problem, with_threads(3), measured_size(), NULL));
  struct guarded scratch = guarded_create(size, GUARD_AT_END);
  execution.scratch = scratch.data;
  execution.scratch_size = size;
  run(&t, NULL, &execution);
  assert_expected(&t);
  execution.scratch_size = size - 64;
  assert_int_equal(fovea_nn_linformer_run(&t.linformer, &t.problem, &t.tensors, &execution, NULL),
                   FOVEA_ERROR_SPACE);
  guarded_destroy(&scratch);
  destroy(&t);
}

/* Exact sums. A number of K' has at most 128 + 15 + 6 roundings on its way, of numbers no larger than the sum of
 * all |E K|; what that does to a score, and a score to the weights, is written out below, with section 8 for the
 * rest. */
static void test_accuracy(void **state) {
  const struct shape s = {1,        1,        1,           3, USUAL_OR_LONG(9000, 65536), 8, 8, 5, 65536,
                          HEADWISE, IN_ORDER, {FOVEA_F32}, 0};
  struct trial_of_sums t = make(&s, 5);
  enum { DIM = 8, K = 5 };
  double keys[K][DIM] = {{0}}, values[K][DIM] = {{0}}, key_size[K][DIM] = {{0}}, value_size[K][DIM] = {{0}};
  const double u = 0x1p-24, depth = (128 + 15 + 6) * u;
  (void)state;
  for (int64_t p = 0; p < s.kv_len; p++)
    for (int j = 0; j < K; j++)
      for (int d = 0; d < DIM; d++) {
        const double e = (double)tensor_row(&t.e, 0, 0, p)[j], f = (double)tensor_row(&t.f, 0, 0, p)[j];
        const double key = e * (double)tensor_row(&t.k, 0, 0, p)[d],
                     value = f * (double)tensor_row(&t.v, 0, 0, p)[d];
        keys[j][d] += key;
        values[j][d] += value;
        key_size[j][d] += fabs(key);
        value_size[j][d] += fabs(value);
      }
  t.problem.scale = 0x1p-7; /* sums of 65,536 random numbers are some hundreds */
  run(&t, NULL, NULL);
  for (int64_t i = 0; i < s.q_len; i++) {
    double score[K], largest = -1e300, sum = 0, score_error = 0, a = 0;
    for (int j = 0; j < K; j++) {
      double size = 0, error = 0;
      score[j] = 0;
      for (int d = 0; d < DIM; d++) {
        const double q = (double)tensor_row(&t.q, 0, 0, i)[d] * t.problem.scale;
        score[j] += q * keys[j][d];
        size += fabs(q * keys[j][d]);
        error += fabs(q) * depth * key_size[j][d];
      }
      largest = fmax(largest, score[j]);
      score_error = fmax(score_error, error);
      a = fmax(a, size + error);
    }
    for (int j = 0; j < K; j++) sum += exp(score[j] - largest);
    for (int d = 0; d < DIM; d++) {
      double exact = 0, size = 0, bound = 0;
      for (int j = 0; j < K; j++) {
        const double weight = exp(score[j] - largest) / sum;
        exact += weight * values[j][d];
        size += weight * fabs(values[j][d]);
        bound += weight * depth * value_size[j][d];
      }
      bound += (exp(2 * score_error) - 1) * size + 48 * u * (2 + a) * (size + bound);
      const double error = fabs((double)tensor_row(&t.o, 0, 0, i)[d] - exact);
      if (!(error <= bound)) fail_msg("row %d dim %d: error %g, bound %g", (int)i, d, error, bound);
    }
  }
  destroy(&t);
}

static float *project(const struct array *x, const struct array *weight, const struct array *bias) {
  const int64_t rows = x->shape[0] * x->shape[1], out = weight->shape[0], in = weight->shape[1];
  float *y = malloc((size_t)(rows * out) * sizeof *y);
  fovea_nn_linear linear;
  fovea_nn_linear_rows call;
  assert_non_null(y);
  fovea_nn_linear_init(&linear, in, out, weight->data);
  if (bias) linear.bias = bias->data;
  fovea_nn_linear_rows_init(&call, &linear, rows, x->data, y);
  assert_int_equal(fovea_nn_linear_run(&linear, &call, NULL, NULL), FOVEA_OK);
  return y;
}

static void assert_oracle(const char *directory, const char *name) {
  struct test_case test;
  char text[300];
  if (!case_read(&test, directory, name, text, sizeof text)) fail_msg("%s", text);
  const struct array *x = case_input(&test, "x"), *e = case_input(&test, "proj_k"),
                     *f = case_input(&test, "proj_v");
  const struct array *value = case_input(&test, "to_v_weight"), *key = case_input(&test, "to_k_weight");
  const int64_t heads = (int64_t)case_number(&test, "num_heads", 1), length = x->shape[1], width = x->shape[2];
  const int64_t dim = width / heads, kv_heads = key->shape[0] / dim, batch = x->shape[0];
  float *q = project(x, case_input(&test, "to_q_weight"), NULL), *k = project(x, key, NULL);
  float *v = project(x, value ? value : key, NULL), *o = calloc((size_t)x->count, sizeof *o);
  fovea_nn_linformer linformer;
  fovea_problem problem;
  fovea_tensors tensors;
  assert_non_null(o);
  fovea_nn_linformer_init(&linformer, e->shape[0], e->shape[1], e->data);
  if (f) linformer.value_projection = f->data;
  fovea_problem_init(&problem, batch, heads, kv_heads, length, length, dim, dim);
  fovea_problem_resolve(&problem, NULL);
  problem.q_strides = problem.o_strides = fovea_strides_rows_before_heads(length, heads, dim);
  problem.k_strides = problem.v_strides = fovea_strides_rows_before_heads(length, kv_heads, dim);
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  assert_int_equal(fovea_nn_linformer_run(&linformer, &problem, &tensors, NULL, NULL), FOVEA_OK);
  struct array heads_out = *x;
  heads_out.data = o;
  float *y = project(&heads_out, case_input(&test, "to_out_weight"), case_input(&test, "to_out_bias"));
  const double *expected = case_output(&test, "y")->data;
  for (int64_t i = 0; i < x->count; i++)
    if (!(fabs((double)y[i] - expected[i]) <= 1e-6))
      fail_msg("%s: number %d is %g, not %g", name, (int)i, (double)y[i], expected[i]);
  free(q);
  free(k);
  free(v);
  free(o);
  free(y);
  case_free(&test);
}

static void test_oracles(void **state) {
  const char *directory = getenv("FOVEA_CONFORMANCE_DIR");
  char oracles[1000];
  (void)state;
  if (!directory) skip();
  snprintf(oracles, sizeof oracles, "%s/oracles", directory);
  assert_oracle(oracles, "linformer_full");
  assert_oracle(oracles, "linformer_share_kv");
  assert_oracle(oracles, "linformer_one_kv_head");
}

#define REFUSES(change, status, text_part)                                                                         \
  do {                                                                                                             \
    struct trial_of_sums bad = t;                                                                                  \
    fovea_error error = {0};                                                                                       \
    fovea_execution e = *on_isa(NULL);                                                                             \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_linformer_run(&bad.linformer, &bad.problem, &bad.tensors, &e, &error), status);      \
    assert_error_says(&error, text_part);                                                                          \
    assert_true(tensor_is_untouched(&t.o));                                                                        \
  } while (0)

static void test_refusals(void **state) {
  const struct shape s = {2, 2, 1, 3, 20, 8, 8, 4, 20, HEADWISE, IN_ORDER, {FOVEA_F32}, 0};
  struct trial_of_sums t = make(&s, 3);
  const int64_t lens[2] = {3, 21};
  (void)state;
  tensor_fill_untouched(&t.o);
  REFUSES(bad.linformer.struct_size = 1, FOVEA_ERROR_ARGUMENT, "linformer");
  REFUSES(bad.linformer.max_len = 19, FOVEA_ERROR_ARGUMENT, "kv_len is 20");
  REFUSES(bad.linformer.k = 0, FOVEA_ERROR_ARGUMENT, "k is 0");
  REFUSES(bad.linformer.type = (fovea_type)7, FOVEA_ERROR_ARGUMENT, "linformer.type is 7");
  REFUSES(bad.linformer.key_projection = NULL, FOVEA_ERROR_ARGUMENT, "key_projection");
  REFUSES(bad.tensors.k = NULL, FOVEA_ERROR_ARGUMENT, "k is NULL");
  REFUSES(bad.tensors.q = NULL, FOVEA_ERROR_ARGUMENT, "q is NULL");
  REFUSES(bad.problem.causal = 1, FOVEA_ERROR_UNUSED, "problem.causal is set and would not be used");
  REFUSES(bad.problem.window_left = 3, FOVEA_ERROR_UNUSED, "window_left");
  REFUSES(bad.problem.mask.type = FOVEA_MASK_BOOL, FOVEA_ERROR_UNUSED, "mask.type");
  REFUSES(bad.problem.state = 1, FOVEA_ERROR_UNUSED, "state");
  REFUSES(bad.problem.scores.kind = FOVEA_SCORES_RAW, FOVEA_ERROR_UNUSED, "scores.kind");
  REFUSES(bad.problem.kv_lens = lens, FOVEA_ERROR_ARGUMENT, "kv_lens[1] is 21");
  REFUSES(bad.tensors.mask = &s, FOVEA_ERROR_UNUSED, "mask");
  REFUSES(bad.tensors.o = (void *)(uintptr_t)bad.tensors.k, FOVEA_ERROR_ARGUMENT, "o shares memory with k");
  REFUSES(bad.tensors.o = tensor_pointer(&t.e), FOVEA_ERROR_ARGUMENT, "o shares memory with key_projection");
  REFUSES(e.isa = "none", FOVEA_ERROR_ARGUMENT, "isa: none");
  assert_int_equal(fovea_nn_linformer_run(&t.linformer, &t.problem, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_linformer_run(NULL, &t.problem, &t.tensors, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  t.problem.causal = 1;
  assert_int_equal(
      measured(fovea_nn_linformer_scratch_size(&t.linformer, &t.problem, with_threads(1), measured_size(), NULL)),
      0);
  destroy(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),    cmocka_unit_test(test_random_sizes), cmocka_unit_test(test_padding),
      cmocka_unit_test(test_threads),  cmocka_unit_test(test_accuracy),     cmocka_unit_test(test_oracles),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
