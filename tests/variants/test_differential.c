/* Differential attention: random problems with all their features against both attentions and the clause in plain
 * C; against contract.c alone; views of the public code's layout; threads; its lambda; a formula in double;
 * refusals. */
#include "contract.h"
#include "nn/contract_functions.h"
#include "nn/contract_nn.h"
#include "nn/contract_norm.h"
#include "places.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/problems.h"
#include "support/trial.h"

#include <fovea/latent_attention.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 0xffd5 };

/* Clause L21, from the rows of both attentions. */
static void contract_difference(const fovea_nn_differential *d, const float *first, const float *second,
                                int64_t dim, float *y) {
  const float lambda = (float)d->lambda, init = (float)d->lambda_init, factor = 1 - init;
  float *x = malloc((size_t)dim * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < dim; i++) x[i] = fmaf(-lambda, second[i], first[i]);
  contract_norm(FOVEA_NN_RMS_NORM, x, dim, (float)d->eps, d->gamma, NULL, y);
  for (int64_t i = 0; i < dim; i++) y[i] = y[i] * factor;
  free(x);
}

/* Compares O of `first` with the difference of the rows of two runs. */
static void assert_difference(const struct trial *first, const struct trial *left, const struct trial *right,
                              const fovea_nn_differential *d) {
  const struct tensor *o = &first->o;
  float *expected = malloc((size_t)o->dim * sizeof *expected);
  assert_non_null(expected);
  tensor_load(o);
  for (int64_t b = 0; b < o->batch; b++)
    for (int64_t h = 0; h < o->heads; h++)
      for (int64_t i = 0; i < o->rows; i++) {
        const float *x = tensor_row(&left->o, b, h, i), *y = tensor_row(&right->o, b, h, i);
        if (bits_of(x[0]) == ((uint32_t)UNTOUCHED << 16 | UNTOUCHED)) { /* no sequence owns it */
          const float *z = tensor_row(o, b, h, i);
          const uint32_t kept = o->type == FOVEA_F32 ? bits_of(x[0]) : widened(o->type, UNTOUCHED);
          assert_int_equal(bits_of(z[0]), kept);
          continue;
        }
        contract_difference(d, x, y, o->dim, expected);
        assert_row(o, b, h, i, expected);
      }
  assert_true(tensor_gaps_untouched(o));
  free(expected);
}

static float *random_numbers(struct generator *g, int64_t count) {
  float *numbers = malloc((size_t)(count + 1) * sizeof *numbers);
  assert_non_null(numbers);
  for (int64_t i = 0; i < count; i++) numbers[i] = generator_uniform(g);
  return numbers;
}

static fovea_status run(struct trial *first, const struct trial *second, const fovea_nn_differential *d,
                        const char *isa, const fovea_execution *execution, fovea_error *error) {
  fovea_tensors a = trial_tensors(first), b = trial_tensors(second);
  a.lse = b.lse = NULL;
  b.o = NULL;
  fovea_execution on_set = *on_isa(isa);
  if (execution) on_set = *execution;
  on_set.isa = isa;
  tensor_fill_untouched(&first->o);
  return fovea_nn_differential_run(d, &first->problem, &a, &b, &on_set, error);
}

static void assert_problem(const fovea_problem *problem, uint64_t seed, struct generator *g) {
  fovea_problem plain = *problem;
  fovea_nn_differential d;
  float *gamma = random_numbers(g, problem->v_dim);
  plain.o_type = FOVEA_F32;
  struct trial first = trial_create(problem, seed), second = trial_create(problem, seed + 1);
  struct trial left = trial_create(&plain, seed), right = trial_create(&plain, seed + 1);
  fovea_nn_differential_init(&d, (double)generator_uniform(g), (double)generator_uniform(g));
  if (generator_below(g, 2)) d.gamma = gamma;
  if (generator_below(g, 3) == 0) d.eps = 0.5;
  trial_run(&left, NULL, NULL);
  trial_run(&right, NULL, NULL);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    fovea_error error = {0};
    if (run(&first, &second, &d, *isa, NULL, &error)) fail_msg("%s", error.text);
    assert_difference(&first, &left, &right, &d);
  }
  trial_destroy(&first);
  trial_destroy(&second);
  trial_destroy(&left);
  trial_destroy(&right);
  free(gamma);
}

/* Differential attention does not have these outputs. */
static void drop_outputs(fovea_problem *p) {
  fovea_problem plain;
  fovea_problem_init(&plain, p->batch, p->heads, p->kv_heads, p->q_len, p->kv_len, p->qk_dim, p->v_dim);
  fovea_problem_resolve(&plain, NULL);
  p->scores.kind = FOVEA_SCORES_NONE;
  p->scores.strides = plain.scores.strides;
  p->scores.heads = plain.scores.heads;
  p->scores.rows = plain.scores.rows;
  p->scores.keys = plain.scores.keys;
  p->max_logits = p->entropy = p->column_sums.wanted = 0;
  p->column_sums.rows = plain.column_sums.rows;
  p->top.k = 0;
  p->top.strides = plain.top.strides;
}

static void test_random_problems(void **state) {
  struct generator g = {61};
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(20, 800); i++) {
    struct listed_problem listed;
    problem_random(&listed, &g, 20000);
    problem_random_features(&listed.problem, &g);
    drop_outputs(&listed.problem);
    assert_problem(&listed.problem, 300 + 2 * (uint64_t)i, &g);
  }
}

static int sees_before(const void *rules, int64_t position) {
  return position <= *(const int64_t *)rules;
}

/* Q and K as the public code has them: heads 2 h and 2 h + 1 side by side in rows. Causal, with fewer kv heads. */
static void test_views(void **state) {
  enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, LENGTH = 150, DIM = 24, V_DIM = 48 };
  struct generator g = {62};
  float *q = random_numbers(&g, BATCH * LENGTH * 2 * HEADS * DIM),
        *k = random_numbers(&g, BATCH * LENGTH * 2 * KV_HEADS * DIM);
  float *v = random_numbers(&g, BATCH * LENGTH * KV_HEADS * V_DIM),
        *o = calloc(BATCH * LENGTH * HEADS * V_DIM, sizeof *o);
  float *gamma = random_numbers(&g, V_DIM);
  fovea_problem p;
  fovea_tensors first, second;
  fovea_nn_differential d;
  (void)state;
  assert_non_null(o);
  fovea_problem_init(&p, BATCH, HEADS, KV_HEADS, LENGTH, LENGTH, DIM, V_DIM);
  fovea_problem_resolve(&p, NULL);
  p.causal = 1;
  p.q_strides = (fovea_strides){LENGTH * 2 * HEADS * DIM, 2 * DIM, 2 * HEADS * DIM};
  p.k_strides = (fovea_strides){LENGTH * 2 * KV_HEADS * DIM, 2 * DIM, 2 * KV_HEADS * DIM};
  p.v_strides = fovea_strides_rows_before_heads(LENGTH, KV_HEADS, V_DIM);
  p.o_strides = fovea_strides_rows_before_heads(LENGTH, HEADS, V_DIM);
  fovea_tensors_init(&first, q, k, v, o, NULL);
  fovea_tensors_init(&second, q + DIM, k + DIM, v, NULL, NULL);
  fovea_nn_differential_init(&d, 0.75, 0.2);
  d.gamma = gamma;
  assert_int_equal(fovea_nn_differential_run(&d, &p, &first, &second, NULL, NULL), FOVEA_OK);
  for (int64_t b = 0; b < BATCH; b++)
    for (int64_t h = 0; h < HEADS; h++)
      for (int64_t i = 0; i < LENGTH; i += 7) {
        float rows[2][V_DIM], expected[V_DIM], lse;
        for (int n = 0; n < 2; n++) {
          const struct contract_row row = {
              .q = q + ((b * LENGTH + i) * 2 * HEADS + 2 * h + n) * DIM,
              .k = k + (b * LENGTH * 2 * KV_HEADS + h / 2 * 2 + n) * DIM,
              .v = v + (b * LENGTH * KV_HEADS + h / 2) * V_DIM,
              .k_stride = 2 * KV_HEADS * DIM,
              .v_stride = KV_HEADS * V_DIM,
              .qk_dim = DIM,
              .v_dim = V_DIM,
              .positions = LENGTH,
              .scale = p.scale,
              .sees = sees_before,
              .rules = &i,
          };
          contract_row(&row, rows[n], &lse);
        }
        contract_difference(&d, rows[0], rows[1], V_DIM, expected);
        for (int64_t e = 0; e < V_DIM; e++)
          assert_int_equal(bits_of(o[((b * LENGTH + i) * HEADS + h) * V_DIM + e]),
                           bits_of(rounded_number(FOVEA_F32, expected[e])));
      }
  free(q);
  free(k);
  free(v);
  free(o);
  free(gamma);
}

static void test_threads(void **state) {
  fovea_problem problem;
  fovea_nn_differential d;
  fovea_execution execution;
  (void)state;
  fovea_problem_init(&problem, 2, 3, 1, 200, USUAL_OR_LONG(300, 2600), 16, 32);
  fovea_problem_resolve(&problem, NULL);
  problem.causal = 1;
  struct trial first = trial_create(&problem, 4), second = trial_create(&problem, 5);
  struct trial left = trial_create(&problem, 4), right = trial_create(&problem, 5);
  fovea_nn_differential_init(&d, 0.5, 0.8);
  trial_run(&left, NULL, NULL);
  trial_run(&right, NULL, NULL);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) {
    assert_int_equal(run(&first, &second, &d, NULL, &execution, NULL), FOVEA_OK);
    assert_difference(&first, &left, &right, &d);
  }
  execution.threads = 3;
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_int_equal(run(&first, &second, &d, NULL, &execution, NULL), FOVEA_OK);
    assert_difference(&first, &left, &right, &d);
  }
  execution.parallel_for = NULL;
  execution.parallel_context = NULL;
  const size_t size =
      measured(fovea_nn_differential_scratch_size(&d, &problem, with_threads(3), measured_size(), NULL));
  struct guarded scratch = guarded_create(size, GUARD_AT_END);
  execution.scratch = scratch.data;
  execution.scratch_size = size;
  assert_int_equal(run(&first, &second, &d, NULL, &execution, NULL), FOVEA_OK);
  assert_difference(&first, &left, &right, &d);
  execution.scratch_size = size - 64;
  assert_int_equal(run(&first, &second, &d, NULL, &execution, NULL), FOVEA_ERROR_SPACE);
  assert_true(tensor_is_untouched(&first.o));
  guarded_destroy(&scratch);
  trial_destroy(&first);
  trial_destroy(&second);
  trial_destroy(&left);
  trial_destroy(&right);
}

static void test_lambda(void **state) {
  struct generator g = {63};
  (void)state;
  for (int i = 0; i < 200; i++) {
    const int64_t dim = 1 + generator_below(&g, 300);
    float *v[4], lambda;
    for (int n = 0; n < 4; n++) v[n] = random_numbers(&g, dim);
    const double init = (double)generator_uniform(&g);
    assert_int_equal(fovea_nn_differential_lambda(dim, v[0], v[1], v[2], v[3], init, &lambda, NULL), FOVEA_OK);
    const float a = contract_exp(contract_nn_dot(v[0], v[1], dim)),
                b = contract_exp(contract_nn_dot(v[2], v[3], dim));
    const float difference = a - b;
    assert_int_equal(bits_of(lambda), bits_of(difference + (float)init));
    double x = 0, y = 0, size = 1;
    for (int64_t d = 0; d < dim; d++) {
      x += (double)v[0][d] * (double)v[1][d];
      y += (double)v[2][d] * (double)v[3][d];
      size += fabs((double)v[0][d] * (double)v[1][d]) + fabs((double)v[2][d] * (double)v[3][d]);
    }
    const double bound = 0x1p-24 * (exp(x) + exp(y) + 2) * (2 + 130 * size);
    assert_true(fabs((double)lambda - (exp(x) - exp(y) + init)) <= bound);
    for (int n = 0; n < 4; n++) free(v[n]);
  }
  float x = 1, large = 100, lambda;
  fovea_error error;
  assert_int_equal(fovea_nn_differential_lambda(1, &large, &x, &large, &x, 0.8, &lambda, NULL), FOVEA_OK);
  assert_int_equal(bits_of(lambda), 0x7fc00000); /* Inf - Inf, whose NaN has another sign on x86 than on ARM */
  assert_int_equal(fovea_nn_differential_lambda(1, &x, NULL, &x, &x, 0.8, &x, &error), FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "k1 is NULL");
  assert_int_equal(fovea_nn_differential_lambda(0, &x, &x, &x, &x, 0.8, &x, &error), FOVEA_ERROR_ARGUMENT);
  float two[2];
  float *const odd = (float *)(void *)((char *)(void *)two + 1);
  assert_int_equal(fovea_nn_differential_lambda(1, &x, &x, &x, &x, 0.8, odd, &error), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_differential_lambda(1, &x, &x, &x, &x, (double)INFINITY, &x, &error),
                   FOVEA_ERROR_ARGUMENT);
}

/* The formula in double. The attentions are within section 8's bound; the norm divides by its root mean square. */
static void test_accuracy(void **state) {
  enum { KEYS = 100, DIM = 16 };
  fovea_problem problem;
  fovea_nn_differential d;
  (void)state;
  fovea_problem_init(&problem, 1, 1, 1, 3, KEYS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  struct trial first = trial_create(&problem, 14), second = trial_create(&problem, 15);
  fovea_nn_differential_init(&d, 0.6, 0.35);
  assert_int_equal(run(&first, &second, &d, NULL, NULL, NULL), FOVEA_OK);
  for (int64_t i = 0; i < 3; i++) {
    double o[DIM] = {0}, square = 0;
    for (int n = 0; n < 2; n++) {
      const struct trial *t = n ? &second : &first;
      double score[KEYS], sum = 0;
      for (int64_t j = 0; j < KEYS; j++) {
        score[j] = 0;
        for (int e = 0; e < DIM; e++)
          score[j] += (double)tensor_row(&t->q, 0, 0, i)[e] * (double)tensor_row(&t->k, 0, 0, j)[e];
        sum += exp(score[j] / 4);
      }
      for (int64_t j = 0; j < KEYS; j++)
        for (int e = 0; e < DIM; e++)
          o[e] += (n ? -0.6 : 1) * exp(score[j] / 4) / sum * (double)tensor_row(&t->v, 0, 0, j)[e];
    }
    for (int e = 0; e < DIM; e++) square += o[e] * o[e] / DIM;
    for (int e = 0; e < DIM; e++) {
      const double exact = o[e] / sqrt(square + 1e-5) * 0.65;
      assert_true(fabs((double)tensor_row(&first.o, 0, 0, i)[e] - exact) <= 48 * 0x1p-24 * 10 / sqrt(square));
    }
  }
  trial_destroy(&first);
  trial_destroy(&second);
}

#define REFUSES(change, status, text_part)                                                                         \
  do {                                                                                                             \
    fovea_problem problem = first.problem;                                                                         \
    fovea_tensors a = trial_tensors(&first), b = trial_tensors(&second);                                           \
    fovea_nn_differential bad = d;                                                                                 \
    fovea_error error = {0};                                                                                       \
    a.lse = b.lse = NULL;                                                                                          \
    b.o = NULL;                                                                                                    \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_differential_run(&bad, &problem, &a, &b, NULL, &error), status);                     \
    assert_error_says(&error, text_part);                                                                          \
    assert_true(tensor_is_untouched(&first.o));                                                                    \
  } while (0)

static void test_refusals(void **state) {
  fovea_problem plain;
  fovea_nn_differential d;
  float lse[20];
  (void)state;
  fovea_problem_init(&plain, 1, 2, 2, 5, 9, 8, 8);
  fovea_problem_resolve(&plain, NULL);
  struct trial first = trial_create(&plain, 1), second = trial_create(&plain, 2);
  fovea_nn_differential_init(&d, 0.5, 0.8);
  tensor_fill_untouched(&first.o);
  REFUSES(bad.struct_size = 4, FOVEA_ERROR_ARGUMENT, "differential");
  REFUSES(bad.lambda = (double)NAN, FOVEA_ERROR_ARGUMENT, "differential.lambda is nan");
  REFUSES(bad.lambda_init = 1e39, FOVEA_ERROR_ARGUMENT, "lambda_init");
  REFUSES(bad.eps = -1, FOVEA_ERROR_ARGUMENT, "differential.eps: it must be from 0 to 3.4e38");
  REFUSES(a.lse = lse, FOVEA_ERROR_UNUSED, "first.lse is set and would not be used");
  REFUSES(b.o = lse, FOVEA_ERROR_UNUSED, "second.o is set and would not be used");
  REFUSES(b.k = NULL, FOVEA_ERROR_ARGUMENT, "k is NULL");
  REFUSES(a.q = NULL, FOVEA_ERROR_ARGUMENT, "q is NULL");
  REFUSES(b.k = a.o, FOVEA_ERROR_ARGUMENT, "o");
  REFUSES(bad.gamma = (const float *)a.o + 3, FOVEA_ERROR_ARGUMENT, "o shares memory with gamma");
  REFUSES(problem.top.k = 3, FOVEA_ERROR_UNUSED, "top.k");
  REFUSES(problem.state = 1, FOVEA_ERROR_UNUSED, "state");
  REFUSES(problem.window_left = -7, FOVEA_ERROR_ARGUMENT, "window_left");
  REFUSES(b.mask = lse, FOVEA_ERROR_UNUSED, "mask");
  assert_int_equal(fovea_nn_differential_run(&d, &first.problem, NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  trial_destroy(&first);
  trial_destroy(&second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems), cmocka_unit_test(test_views),    cmocka_unit_test(test_threads),
      cmocka_unit_test(test_lambda),          cmocka_unit_test(test_accuracy), cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
