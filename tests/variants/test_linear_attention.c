/* Linear attention against contract_linear_attention.c, bit for bit: rules, heads, types, strides, special values,
 * instruction sets, threads, chunks, batches. */
#include "nn/contract_functions.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"
#include "variants/contract_linear_attention.h"

#include <fovea/linear_attention.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
  fovea_nn_update_rule rule;
  int64_t batch, tokens, heads, q_heads, k_heads, k_dim, v_dim;
  int per_dim, unit, with_beta, with_skip, with_factors, with_past, special, padding;
  int tokens_first; /* (batch, tokens, heads, dim) tensors, as ONNX has them */
  fovea_type types[6];
};

/* All tensors of a call, with what the contract expects. */
struct problem {
  struct shape s;
  struct matrix q, k, v, o, decay, beta, factors, skip, past, present;
  fovea_nn_linear_attention attention;
  fovea_nn_linear_attention_tensors tensors;
  float *expected_o, *expected_state;
};

static int is_gated(const struct shape *s) {
  return s->rule == FOVEA_NN_UPDATE_GATED || s->rule == FOVEA_NN_UPDATE_GATED_DELTA;
}

static int64_t output_heads(const struct shape *s) {
  return s->q_heads > s->heads ? s->q_heads : s->heads;
}

/* The row of a tensor of `heads` heads that holds this token. */
static int64_t row_of(const struct shape *s, int64_t heads, int64_t b, int64_t h, int64_t t) {
  return s->tokens_first ? (b * s->tokens + t) * heads + h : (b * heads + h) * s->tokens + t;
}

static struct matrix make(const struct shape *s, int64_t heads, int64_t dim, fovea_type type,
                          fovea_strides *strides, struct generator *generator) {
  const int64_t row = dim + s->padding, n = s->tokens;
  *strides = (fovea_strides){n * heads * row, s->tokens_first ? row : n * row, s->tokens_first ? heads * row : row};
  return matrix_create(s->batch * heads * n, dim, row, type, s->special, generator);
}

/* Decays are mostly below 0. */
static void lower(struct matrix *m) {
  if (m->type != FOVEA_F32) return;
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t d = 0; d < m->dim; d++) {
      float *x = (float *)(void *)m->memory.data + i * m->stride + d;
      if (*x > 0.05f) *x = -*x;
      m->numbers[i * m->dim + d] = *x;
    }
}

static void copy_rows(const struct problem *p, const struct matrix *from, int64_t heads, int64_t b, int64_t h,
                      int64_t step, float *to) {
  for (int64_t t = 0; t < p->s.tokens; t++)
    memcpy(to + t * step, from->numbers + row_of(&p->s, heads, b, h, t) * from->dim,
           (size_t)from->dim * sizeof *to);
}

static float *numbers(int64_t count) {
  float *all = calloc((size_t)count + 1, sizeof *all);
  assert_non_null(all);
  return all;
}

static void expect_head(struct problem *p, int64_t b, int64_t h) {
  const struct shape *s = &p->s;
  const int64_t n = s->tokens, reads = output_heads(s) / s->heads;
  float *q = numbers(n * reads * s->k_dim), *k = numbers(n * s->k_dim), *v = numbers(n * s->v_dim);
  float *decay = numbers(n * s->k_dim), *beta = numbers(n), *o = numbers(n * reads * s->v_dim);
  float *state = p->expected_state + (b * s->heads + h) * s->k_dim * s->v_dim;
  struct contract_linear c = {n, reads, s->k_dim, s->v_dim, is_gated(s), 0,    s->per_dim, s->unit, 0,
                              0, q,     k,        v,        decay,       NULL, NULL,       NULL};
  c.is_delta = s->rule == FOVEA_NN_UPDATE_DELTA || s->rule == FOVEA_NN_UPDATE_GATED_DELTA;
  const double scale = p->attention.scale;
  c.scale = (float)(scale == FOVEA_DEFAULT_NUMBER ? 1 / sqrt((double)s->k_dim) : scale);
  c.eps = (float)p->attention.unit_eps;
  for (int64_t r = 0; r < reads; r++) {
    const int64_t head = s->q_heads > s->heads ? h * reads + r : h * s->q_heads / s->heads;
    copy_rows(p, &p->q, s->q_heads, b, head, reads * s->k_dim, q + r * s->k_dim);
  }
  copy_rows(p, &p->k, s->k_heads, b, h * s->k_heads / s->heads, s->k_dim, k);
  copy_rows(p, &p->v, s->heads, b, h, s->v_dim, v);
  if (c.is_gated) copy_rows(p, &p->decay, s->heads, b, h, p->decay.dim, decay);
  if (s->with_beta) copy_rows(p, &p->beta, s->heads, b, h, 1, beta);
  if (s->with_beta) c.beta = beta;
  if (s->with_factors) c.factor = p->factors.numbers + h;
  if (s->with_skip) c.skip = p->skip.numbers + h;
  if (s->with_past)
    memcpy(state, p->past.numbers + (b * s->heads + h) * s->k_dim * s->v_dim,
           (size_t)(s->k_dim * s->v_dim) * sizeof *state);
  contract_linear_head(&c, state, o);
  for (int64_t t = 0; t < n; t++)
    for (int64_t r = 0; r < reads; r++)
      memcpy(p->expected_o + row_of(s, output_heads(s), b, h * reads + r, t) * s->v_dim,
             o + (t * reads + r) * s->v_dim, (size_t)s->v_dim * sizeof *o);
  free(q);
  free(k);
  free(v);
  free(decay);
  free(beta);
  free(o);
}

static void set_optional(struct problem *p) {
  const struct shape *s = &p->s;
  fovea_nn_linear_attention_tensors *t = &p->tensors;
  if (is_gated(s)) {
    t->decay = p->decay.memory.data;
    t->decay_type = p->decay.type;
  }
  if (s->with_factors) t->decay_factors = p->factors.numbers;
  if (s->with_skip) t->skip = p->skip.numbers;
  if (s->with_beta) {
    t->beta = p->beta.memory.data;
    t->beta_type = p->beta.type;
  }
  if (s->with_past) t->past = (const float *)(const void *)p->past.memory.data;
  t->present = (float *)(void *)p->present.memory.data;
}

static struct problem problem_create(const struct shape *s, struct generator *generator) {
  struct problem p = {.s = *s};
  fovea_strides q, k, v, o, decay, beta;
  const int64_t row = s->v_dim + s->padding;
  const fovea_strides state = {s->heads * s->k_dim * row, s->k_dim * row, row};
  p.q = make(s, s->q_heads, s->k_dim, s->types[0], &q, generator);
  p.k = make(s, s->k_heads, s->k_dim, s->types[1], &k, generator);
  p.v = make(s, s->heads, s->v_dim, s->types[2], &v, generator);
  p.o = make(s, output_heads(s), s->v_dim, s->types[3], &o, generator);
  p.decay = make(s, s->heads, s->per_dim ? s->k_dim : 1, s->types[4], &decay, generator);
  p.beta = make(s, s->heads, 1, s->types[5], &beta, generator);
  p.factors = matrix_create(1, s->heads, s->heads, FOVEA_F32, 0, generator);
  p.skip = matrix_create(1, s->heads, s->heads, FOVEA_F32, s->special, generator);
  p.past = matrix_create(s->batch * s->heads * s->k_dim, s->v_dim, row, FOVEA_F32, s->special, generator);
  p.present = matrix_create(s->batch * s->heads * s->k_dim, s->v_dim, row, FOVEA_F32, 0, generator);
  lower(&p.decay);
  fovea_nn_linear_attention_init(&p.attention, s->rule, s->heads, s->k_dim, s->v_dim);
  p.attention.q_heads = s->q_heads;
  p.attention.k_heads = s->k_heads;
  p.attention.per_dim = s->per_dim;
  p.attention.unit = s->unit;
  fovea_nn_linear_attention_tensors_init(&p.tensors, &p.attention, s->batch, s->tokens, p.q.memory.data,
                                         p.k.memory.data, p.v.memory.data, p.o.memory.data);
  set_optional(&p);
  p.tensors.q_type = s->types[0];
  p.tensors.k_type = s->types[1];
  p.tensors.v_type = s->types[2];
  p.tensors.o_type = s->types[3];
  p.tensors.q_strides = q;
  p.tensors.k_strides = k;
  p.tensors.v_strides = v;
  p.tensors.o_strides = o;
  if (is_gated(s)) p.tensors.decay_strides = decay;
  if (s->with_beta) p.tensors.beta_strides = beta;
  if (s->with_past) p.tensors.past_strides = state;
  p.tensors.present_strides = state;
  p.expected_o = numbers(s->batch * output_heads(s) * s->tokens * s->v_dim);
  p.expected_state = numbers(s->batch * s->heads * s->k_dim * s->v_dim);
  for (int64_t b = 0; b < s->batch; b++)
    for (int64_t h = 0; h < s->heads; h++) expect_head(&p, b, h);
  return p;
}

static void problem_destroy(struct problem *p) {
  struct matrix *all[] = {&p->q,    &p->k,       &p->v,    &p->o,    &p->decay,
                          &p->beta, &p->factors, &p->skip, &p->past, &p->present};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) matrix_destroy(all[i]);
  free(p->expected_o);
  free(p->expected_state);
}

static void assert_problem(struct problem *p, const fovea_execution *execution) {
  fovea_error error = {0};
  matrix_spoil(&p->o);
  matrix_spoil(&p->present);
  const fovea_status status = fovea_nn_linear_attention_run(&p->attention, &p->tensors, execution, &error);
  if (status) print_error("%s\n", error.text);
  assert_int_equal(status, FOVEA_OK);
  assert_matrix(&p->o, p->expected_o);
  assert_matrix(&p->present, p->expected_state);
}

static void assert_everywhere(struct problem *p) {
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) assert_problem(p, on_isa(*isa));
}

static struct shape any_shape(struct generator *generator) {
  static const int64_t dims[] = {1, 3, 8, 15, 16, 17, 32, 40, 64, 96, 128, 130, 257};
  struct shape s = {.rule = (fovea_nn_update_rule)generator_below(generator, 4)};
  const int64_t most = generator_below(generator, 6) ? 0 : 5;
  s.batch = 1 + generator_below(generator, 2);
  s.heads = 1 + generator_below(generator, 4);
  s.tokens = generator_below(generator, 4) ? generator_below(generator, 14) : generator_below(generator, 70);
  s.k_dim = dims[generator_below(generator, 8 + most)];
  s.v_dim = dims[generator_below(generator, 8 + most)];
  s.k_heads = generator_below(generator, 2) ? s.heads : s.heads % 2 ? 1 : s.heads / 2;
  s.q_heads = generator_below(generator, 2) ? s.heads : generator_below(generator, 2) ? s.k_heads : 0;
  if (s.q_heads == 0)
    s.q_heads = s.heads * (1 + generator_below(generator, generator_below(generator, 4) ? 5 : 11));
  s.unit = (int)generator_below(generator, 2);
  s.with_beta = (int)generator_below(generator, 3) > 0;
  s.with_skip = generator_below(generator, 3) == 0;
  s.with_past = (int)generator_below(generator, 2);
  if (is_gated(&s)) {
    s.per_dim = (int)generator_below(generator, 2);
    s.with_factors = generator_below(generator, 3) == 0;
  }
  s.special = generator_below(generator, 4) == 0 ? 200 : 0;
  s.padding = (int)generator_below(generator, 3);
  s.tokens_first = (int)generator_below(generator, 2);
  for (int i = 0; i < 6; i++)
    s.types[i] = generator_below(generator, 2) ? FOVEA_F32 : (fovea_type)generator_below(generator, 3);
  return s;
}

static void test_random(void **state) {
  (void)state;
  struct generator generator = {91};
  for (int i = 0; i < USUAL_OR_LONG(40, 400); i++) {
    const struct shape s = any_shape(&generator);
    struct problem p = problem_create(&s, &generator);
    assert_everywhere(&p);
    problem_destroy(&p);
  }
}

/* ---- The same by other ways -------------------------------------------------------------------------------- */

static const struct shape plain = {.rule = FOVEA_NN_UPDATE_GATED_DELTA,
                                   .batch = 2,
                                   .tokens = 75,
                                   .heads = 2,
                                   .q_heads = 2,
                                   .k_heads = 2,
                                   .k_dim = 40,
                                   .v_dim = 72,
                                   .with_beta = 1,
                                   .with_past = 1,
                                   .tokens_first = 1};

static void test_threads(void **state) {
  (void)state;
  struct generator generator = {92};
  for (int64_t heads = 1; heads <= 3; heads++) {
    struct shape s = plain;
    s.batch = 1;
    s.heads = s.q_heads = s.k_heads = heads;
    s.tokens = 600; /* enough work for more than one worker */
    struct problem p = problem_create(&s, &generator);
    fovea_execution execution;
    fovea_execution_init(&execution);
    for (execution.threads = 1; execution.threads <= 7; execution.threads += 2) assert_problem(&p, &execution);
    for (int order = 0; order < TASK_ORDERS; order++) {
      struct executor executor = {(enum task_order)order, 0};
      execution.parallel_for = threads_for;
      execution.parallel_context = &executor;
      assert_problem(&p, &execution);
      assert_int_equal(executor.calls, 1);
    }
    problem_destroy(&p);
  }
}

/* The tensors of tokens `first` to first + count - 1. All are f32. */
static fovea_nn_linear_attention_tensors some_tokens(const struct problem *p, int64_t first, int64_t count,
                                                     float *memory) {
  fovea_nn_linear_attention_tensors t = p->tensors;
  t.tokens = count;
  t.q = (const float *)t.q + first * t.q_strides.row;
  t.k = (const float *)t.k + first * t.k_strides.row;
  t.v = (const float *)t.v + first * t.v_strides.row;
  t.o = (float *)t.o + first * t.o_strides.row;
  if (t.decay) t.decay = (const float *)t.decay + first * t.decay_strides.row;
  if (t.beta) t.beta = (const float *)t.beta + first * t.beta_strides.row;
  t.past = t.present = memory;
  t.past_strides = t.present_strides;
  return t;
}

/* Chunks of at most `most` tokens, with the state in place. Midway it is copied, and goes on from the copy. */
static void assert_chunks(struct problem *p, int64_t most, struct generator *generator) {
  const size_t bytes = p->past.memory.size;
  float *states[2] = {malloc(bytes), malloc(bytes)};
  assert_true(states[0] && states[1]);
  matrix_spoil(&p->o);
  memcpy(states[0], p->past.memory.data, bytes);
  int fork = 0;
  for (int64_t first = 0; first < p->s.tokens;) {
    const int64_t left = p->s.tokens - first, drawn = most == 1 ? 1 : generator_below(generator, most + 1);
    const int64_t count = drawn < left ? drawn : left;
    if (!fork && first > p->s.tokens / 2) {
      memcpy(states[1], states[0], bytes);
      memset(states[0], 0xff, bytes);
      fork = 1;
    }
    const fovea_nn_linear_attention_tensors t = some_tokens(p, first, count, states[fork]);
    assert_int_equal(fovea_nn_linear_attention_run(&p->attention, &t, NULL, NULL), FOVEA_OK);
    first += count;
  }
  assert_matrix(&p->o, p->expected_o);
  memcpy(p->present.memory.data, states[fork], bytes);
  assert_matrix(&p->present, p->expected_state);
  free(states[0]);
  free(states[1]);
}

static void test_chunks(void **state) {
  (void)state;
  struct generator generator = {93};
  for (int i = 0; i < USUAL_OR_LONG(8, 40); i++) {
    struct shape s = any_shape(&generator);
    for (int j = 0; j < 6; j++) s.types[j] = FOVEA_F32;
    s.with_past = 1;
    s.tokens = 1 + generator_below(&generator, 80);
    struct problem p = problem_create(&s, &generator);
    assert_chunks(&p, 1, &generator);
    assert_chunks(&p, 1 + generator_below(&generator, 40), &generator);
    problem_destroy(&p);
  }
}

/* Each batch element alone has the bits that it has in the batch, and columns of v do not know of each other. */
static void test_alone(void **state) {
  (void)state;
  struct generator generator = {94};
  struct problem p = problem_create(&plain, &generator);
  const fovea_nn_linear_attention_tensors whole = p.tensors;
  const int64_t half = plain.v_dim / 2;
  matrix_spoil(&p.o);
  matrix_spoil(&p.present);
  p.tensors.batch = 1;
  for (int64_t b = 0; b < plain.batch; b++) {
    p.tensors.q = (const float *)whole.q + b * whole.q_strides.batch;
    p.tensors.k = (const float *)whole.k + b * whole.k_strides.batch;
    p.tensors.decay = (const float *)whole.decay + b * whole.decay_strides.batch;
    p.tensors.beta = (const float *)whole.beta + b * whole.beta_strides.batch;
    for (int64_t column = 0; column < plain.v_dim; column += half) {
      p.attention.v_dim = half;
      p.tensors.v = (const float *)whole.v + b * whole.v_strides.batch + column;
      p.tensors.o = (float *)whole.o + b * whole.o_strides.batch + column;
      p.tensors.past = whole.past + b * whole.past_strides.batch + column;
      p.tensors.present = whole.present + b * whole.present_strides.batch + column;
      assert_int_equal(fovea_nn_linear_attention_run(&p.attention, &p.tensors, NULL, NULL), FOVEA_OK);
    }
  }
  assert_matrix(&p.o, p.expected_o);
  assert_matrix(&p.present, p.expected_state);
  problem_destroy(&p);
}

/* A present without tokens is the past, as results are written; without past it is zeros. */
static void test_no_tokens(void **state) {
  (void)state;
  struct generator generator = {95};
  for (int with_past = 0; with_past < 2; with_past++) {
    struct shape s = plain;
    s.tokens = 0;
    s.with_past = with_past;
    s.special = 3;
    struct problem p = problem_create(&s, &generator);
    assert_everywhere(&p);
    p.tensors.present = NULL;
    p.tensors.present_strides = (fovea_strides){0, 0, 0};
    assert_int_equal(fovea_nn_linear_attention_run(&p.attention, &p.tensors, NULL, NULL), FOVEA_OK);
    problem_destroy(&p);
  }
}

/* One beta for all heads has a head stride of 0; one row of q for all tokens a row stride of 0. */
static void test_repeated_inputs(void **state) {
  (void)state;
  struct generator generator = {96};
  struct problem p = problem_create(&plain, &generator), other = problem_create(&plain, &generator);
  for (int64_t b = 0; b < plain.batch; b++)
    for (int64_t t = 0; t < plain.tokens; t++)
      for (int64_t h = 0; h < plain.heads; h++) {
        const int64_t to = row_of(&plain, plain.heads, b, h, t), from = row_of(&plain, plain.heads, b, 0, t);
        ((float *)(void *)p.beta.memory.data)[to] = p.beta.numbers[from];
        memcpy(p.q.memory.data + (size_t)(to * p.q.stride) * 4, p.q.numbers, (size_t)p.q.dim * 4);
      }
  assert_int_equal(fovea_nn_linear_attention_run(&p.attention, &p.tensors, NULL, NULL), FOVEA_OK);
  other.tensors = p.tensors;
  other.tensors.o = other.o.memory.data;
  other.tensors.present = (float *)(void *)other.present.memory.data;
  other.tensors.beta_strides.head = 0;
  other.tensors.q_strides = (fovea_strides){0, 0, 0};
  assert_int_equal(fovea_nn_linear_attention_run(&p.attention, &other.tensors, NULL, NULL), FOVEA_OK);
  assert_memory_equal(p.o.memory.data, other.o.memory.data, p.o.memory.size);
  assert_memory_equal(p.present.memory.data, other.present.memory.data, p.present.memory.size);
  problem_destroy(&p);
  problem_destroy(&other);
}

static void test_scratch(void **state) {
  (void)state;
  struct generator generator = {97};
  for (int i = 0; i < USUAL_OR_LONG(5, 30); i++) {
    const struct shape s = any_shape(&generator);
    struct problem p = problem_create(&s, &generator);
    fovea_execution execution;
    fovea_error error;
    fovea_execution_init(&execution);
    execution.threads = 1;
    execution.scratch_size = measured(
        fovea_nn_linear_attention_scratch_size(&p.attention, &p.tensors, with_threads(1), measured_size(), NULL));
    assert_true(execution.scratch_size > 0);
    struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
    execution.scratch = scratch.data;
    assert_problem(&p, &execution);
    assert_true(guarded_slack_intact(&scratch));
    execution.scratch_size--;
    assert_int_equal(fovea_nn_linear_attention_run(&p.attention, &p.tensors, &execution, &error),
                     FOVEA_ERROR_SPACE);
    guarded_destroy(&scratch);
    problem_destroy(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),  cmocka_unit_test(test_threads),   cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_alone),   cmocka_unit_test(test_no_tokens), cmocka_unit_test(test_repeated_inputs),
      cmocka_unit_test(test_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
