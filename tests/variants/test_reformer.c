/* LSH attention: buckets and bits, number by number, for sizes, options, types, strides, lengths, special values,
 * instruction sets and threads; a formula in double; the answers of lucidrains' code; scratch and refusals. */
#include "conformance/case.h"
#include "contract_reformer.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/trial.h"

#include <fovea/sparse_attention.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
  int64_t batch, heads, length, dim, v_dim, rounds, bucket_size, buckets, factors[2];
  int causal, once, within_round, with_lengths, rows_before_heads, own_rotations, special, padding;
  double scale, eps; /* 0: the default */
  fovea_type types[3];
};

struct problem {
  struct shape shape;
  struct matrix x, v, y, rotations; /* rows of batch * heads * length, in the order of memory */
  fovea_nn_lsh lsh;
  fovea_nn_lsh_tensors tensors;
  int64_t *lengths;
  int64_t *buckets, *expected_buckets;
  float *expected;
};

static int64_t row_of(const struct shape *s, int64_t b, int64_t h, int64_t i) {
  return s->rows_before_heads ? (b * s->length + i) * s->heads + h : (b * s->heads + h) * s->length + i;
}

static fovea_strides strides_of(const struct shape *s, int64_t stride) {
  if (s->rows_before_heads) return (fovea_strides){s->length * s->heads * stride, stride, s->heads * stride};
  return (fovea_strides){s->heads * s->length * stride, s->length * stride, stride};
}

/* The rows of a head, one after the other. */
static float *head_rows(const struct problem *p, const struct matrix *m, int64_t b, int64_t h) {
  float *rows = malloc((size_t)(p->shape.length * m->dim + 1) * sizeof *rows);
  assert_non_null(rows);
  for (int64_t i = 0; i < p->shape.length; i++)
    memcpy(rows + i * m->dim, m->numbers + row_of(&p->shape, b, h, i) * m->dim, (size_t)m->dim * sizeof *rows);
  return rows;
}

static struct contract_reformer contract_of(const struct problem *p, int64_t b, int64_t h, const float *x,
                                            const float *v) {
  const struct shape *s = &p->shape;
  const int64_t columns = s->factors[0] ? (s->factors[0] + s->factors[1]) / 2 : s->buckets / 2;
  const int64_t which = s->own_rotations ? b * s->heads + h : 0;
  return (struct contract_reformer){.length = p->lengths[b],
                                    .dim = s->dim,
                                    .v_dim = s->v_dim,
                                    .x = x,
                                    .v = v,
                                    .rounds = s->rounds,
                                    .bucket_size = s->bucket_size,
                                    .buckets = s->buckets,
                                    .factors = {s->factors[0], s->factors[1]},
                                    .causal = s->causal,
                                    .once = s->once,
                                    .within_round = s->within_round,
                                    .scale = p->lsh.scale,
                                    .eps = (float)p->lsh.eps,
                                    .rotations = p->rotations.numbers + which * s->dim * s->rounds * columns,
                                    .rotation_row = s->rounds * columns,
                                    .columns = columns};
}

static void expect_head(struct problem *p, int64_t b, int64_t h) {
  const struct shape *s = &p->shape;
  float *x = head_rows(p, &p->x, b, h), *v = head_rows(p, &p->v, b, h);
  float *y = calloc((size_t)(s->length * s->v_dim + 1), sizeof *y);
  int64_t *buckets = malloc((size_t)(s->rounds * s->length + 1) * sizeof *buckets);
  assert_true(y && buckets);
  const struct contract_reformer c = contract_of(p, b, h, x, v);
  contract_reformer(&c, buckets, y);
  for (int64_t i = 0; i < s->length; i++) {
    memcpy(p->expected + row_of(s, b, h, i) * s->v_dim, y + i * s->v_dim, (size_t)s->v_dim * sizeof *y);
    for (int64_t r = 0; r < s->rounds; r++)
      p->expected_buckets[((b * s->heads + h) * s->rounds + r) * s->length + i] =
          i < c.length ? buckets[r * c.length + i] : -1;
  }
  free(x);
  free(v);
  free(y);
  free(buckets);
}

static void set_lsh(struct problem *p) {
  const struct shape *s = &p->shape;
  fovea_nn_lsh_init(&p->lsh, s->rounds, s->bucket_size, s->buckets, s->dim);
  p->lsh.bucket_factors[0] = s->factors[0];
  p->lsh.bucket_factors[1] = s->factors[1];
  p->lsh.causal = s->causal;
  p->lsh.once = s->once;
  p->lsh.ring = s->within_round ? FOVEA_NN_LSH_WITHIN_ROUND : FOVEA_NN_LSH_ACROSS_ROUNDS;
  p->lsh.scale = s->scale != 0 ? s->scale : 1 / sqrt((double)s->dim);
  if (s->eps != 0) p->lsh.eps = s->eps;
}

static void set_tensors(struct problem *p) {
  const struct shape *s = &p->shape;
  fovea_nn_lsh_tensors *t = &p->tensors;
  fovea_nn_lsh_tensors_init(t, &p->lsh, s->batch, s->heads, s->length, s->dim, p->x.memory.data, p->v.memory.data,
                            p->y.memory.data, (const float *)(const void *)p->rotations.memory.data);
  t->v_dim = s->v_dim;
  t->x_strides = strides_of(s, p->x.stride);
  t->v_strides = strides_of(s, p->v.stride);
  t->y_strides = strides_of(s, p->y.stride);
  t->x_type = s->types[0];
  t->v_type = s->types[1];
  t->y_type = s->types[2];
  if (s->own_rotations) {
    t->rotation_strides.row = s->rounds * fovea_nn_lsh_columns(&p->lsh);
    t->rotation_strides.head = s->dim * t->rotation_strides.row;
    t->rotation_strides.batch = s->heads * t->rotation_strides.head;
  }
  if (s->with_lengths) t->lens = p->lengths;
  t->bucket_numbers = p->buckets;
}

static void problem_create(struct problem *p, const struct shape *s, struct generator *g) {
  const int64_t rows = s->batch * s->heads * s->length, pads = s->padding;
  memset(p, 0, sizeof *p);
  p->shape = *s;
  set_lsh(p);
  p->lengths = malloc((size_t)s->batch * sizeof *p->lengths);
  p->buckets = malloc((size_t)(rows * s->rounds + 1) * sizeof *p->buckets);
  p->expected_buckets = malloc((size_t)(rows * s->rounds + 1) * sizeof *p->buckets);
  p->expected = malloc((size_t)(rows * s->v_dim + 1) * sizeof *p->expected);
  assert_true(p->lengths && p->buckets && p->expected_buckets && p->expected);
  for (int64_t b = 0; b < s->batch; b++)
    p->lengths[b] = s->with_lengths ? generator_below(g, s->length + 1) : s->length;
  p->x = matrix_create(rows, s->dim, s->dim + pads, s->types[0], s->special, g);
  p->v = matrix_create(rows, s->v_dim, s->v_dim + pads, s->types[1], 3 * s->special, g);
  p->y = matrix_create(rows, s->v_dim, s->v_dim + pads, s->types[2], 0, g);
  const int64_t row = s->rounds * fovea_nn_lsh_columns(&p->lsh);
  p->rotations =
      matrix_create(s->dim * (s->own_rotations ? s->batch * s->heads : 1), row, row, FOVEA_F32, 20 * s->special, g);
  set_tensors(p);
  for (int64_t b = 0; b < s->batch; b++)
    for (int64_t h = 0; h < s->heads; h++) expect_head(p, b, h);
}

static void problem_destroy(struct problem *p) {
  struct matrix *all[] = {&p->x, &p->v, &p->y, &p->rotations};
  for (int i = 0; i < 4; i++) matrix_destroy(all[i]);
  free(p->lengths);
  free(p->buckets);
  free(p->expected_buckets);
  free(p->expected);
}

static void assert_run(struct problem *p, const fovea_execution *execution) {
  const size_t numbers = (size_t)(p->y.rows * p->shape.rounds);
  fovea_error error;
  matrix_spoil(&p->y);
  memset(p->buckets, 0xa5, numbers * sizeof *p->buckets);
  if (fovea_nn_lsh_run(&p->lsh, &p->tensors, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  if (numbers > 0) assert_memory_equal(p->buckets, p->expected_buckets, numbers * sizeof *p->buckets);
  assert_matrix(&p->y, p->expected);
}

static void check(const struct shape *s, struct generator *g) {
  struct problem p;
  fovea_execution alone; /* test_tasks() has threads */
  fovea_execution_init(&alone);
  alone.threads = 1;
  problem_create(&p, s, g);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    alone.isa = *isa;
    assert_run(&p, &alone);
  }
  problem_destroy(&p);
}

static struct shape random_shape(struct generator *g) {
  struct shape s = {.batch = 1 + generator_below(g, 3),
                    .heads = 1 + generator_below(g, 3),
                    .length = generator_below(g, generator_below(g, 4) ? 60 : 200),
                    .dim = 1 + generator_below(g, 20),
                    .v_dim = 1 + generator_below(g, 20),
                    .rounds = 1 + generator_below(g, 4),
                    .bucket_size = 1 + generator_below(g, generator_below(g, 3) ? 12 : 80),
                    .buckets = 2 + 2 * generator_below(g, generator_below(g, 3) ? 8 : 40),
                    .causal = (int)generator_below(g, 2),
                    .once = (int)generator_below(g, 2),
                    .within_round = (int)generator_below(g, 2),
                    .with_lengths = (int)generator_below(g, 2),
                    .rows_before_heads = (int)generator_below(g, 2),
                    .own_rotations = (int)generator_below(g, 2),
                    .special = generator_below(g, 4) ? 0 : 80,
                    .padding = (int)generator_below(g, 3)};
  if (generator_below(g, 2)) s.scale = 1, s.eps = 1e-6;
  for (int i = 0; i < 3; i++) s.types[i] = (fovea_type)generator_below(g, 3);
  if (generator_below(g, 3) == 0) {
    s.factors[0] = 2 + 2 * generator_below(g, 5);
    s.factors[1] = 2 + 2 * generator_below(g, 20);
    s.buckets = s.factors[0] * s.factors[1];
  }
  return s;
}

static void test_bits(void **state) {
  (void)state;
  struct generator g = {1};
  for (int i = 0; i < USUAL_OR_LONG(25, 100); i++) {
    const struct shape s = random_shape(&g);
    check(&s, &g);
  }
}

/* Several groups of chunks, several pieces of heads, many rounds, chunks of more than a block, one chunk only. */
static void test_sizes(void **state) {
  (void)state;
  struct generator g = {2};
  struct shape s = {
      .batch = 1, .heads = 1, .length = USUAL_OR_LONG(300, 1100), .dim = 16, .v_dim = 16, .rounds = 2};
  s.bucket_size = 4;
  s.buckets = 64;
  check(&s, &g);
  s = (struct shape){.batch = 70, .heads = 2, .length = 9, .dim = 3, .v_dim = 2, .rounds = 1, .bucket_size = 2};
  s.buckets = 4;
  check(&s, &g);
  s = (struct shape){.batch = 1, .heads = 1, .length = 40, .dim = 5, .v_dim = 3, .rounds = 64, .bucket_size = 4};
  s.buckets = 10;
  s.once = 1;
  check(&s, &g);
  s = (struct shape){.batch = 2, .heads = 1, .length = 450, .dim = 5, .v_dim = 3, .rounds = 2, .bucket_size = 140};
  s.buckets = 4;
  s.causal = s.with_lengths = 1;
  check(&s, &g);
  s = (struct shape){.batch = 1, .heads = 2, .length = 30, .dim = 5, .v_dim = 3, .rounds = 3, .bucket_size = 1024};
  s.buckets = 2;
  check(&s, &g);
  s.rounds = 1;
  check(&s, &g);
  s.once = s.within_round = 1;
  check(&s, &g);
  s.length = 1; /* a row that sees nothing has its value */
  check(&s, &g);
}

/* Equal products: the first wins, of the positive half if the halves are equal. NaN wins, the first of them. */
static void test_ties(void **state) {
  (void)state;
  enum { ROWS = 6, COLUMNS = 20 };
  float x[ROWS] = {1, -1, 0, -0.0f, INFINITY, NAN}, v[ROWS] = {0}, y[ROWS], rotations[COLUMNS];
  int64_t buckets[ROWS];
  static const int64_t expected[ROWS] = {COLUMNS + 3, 3, 0, 0, 1, 0};
  fovea_nn_lsh lsh;
  fovea_nn_lsh_tensors t;
  for (int i = 0; i < COLUMNS; i++) rotations[i] = i == 3 || i == 18 ? -2 : i == 1 || i == 7 || i == 19 ? 0 : 1;
  fovea_nn_lsh_init(&lsh, 1, 4, 2 * COLUMNS, 1);
  fovea_nn_lsh_tensors_init(&t, &lsh, 1, 1, ROWS, 1, x, v, y, rotations);
  t.bucket_numbers = buckets;
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    assert_int_equal(fovea_nn_lsh_run(&lsh, &t, on_isa(*isa), NULL), FOVEA_OK);
    assert_memory_equal(buckets, expected, sizeof expected); /* Inf * 0 is NaN */
  }
}

static void test_tasks(void **state) {
  (void)state;
  struct generator g = {3};
  const struct shape s = {.batch = 2,
                          .heads = 3,
                          .length = USUAL_OR_LONG(150, 500),
                          .dim = 16,
                          .v_dim = 24,
                          .rounds = 3,
                          .bucket_size = 16,
                          .buckets = 32,
                          .with_lengths = 1,
                          .causal = 1};
  struct problem p;
  fovea_execution execution;
  problem_create(&p, &s, &g);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) assert_run(&p, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_run(&p, &execution);
    assert_true(executor.calls > 0);
  }
  /* In the caller's scratch, of exactly that size. */
  fovea_execution_init(&execution);
  execution.threads = 2;
  execution.scratch_size =
      measured(fovea_nn_lsh_scratch_size(&p.lsh, &p.tensors, with_threads(2), measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
  execution.scratch = scratch.data;
  assert_run(&p, &execution);
  execution.scratch_size--;
  assert_int_equal(fovea_nn_lsh_run(&p.lsh, &p.tensors, &execution, NULL), FOVEA_ERROR_SPACE);
  execution.scratch_size = 1;
  assert_int_equal(fovea_nn_lsh_run(&p.lsh, &p.tensors, &execution, NULL), FOVEA_ERROR_SPACE);
  guarded_destroy(&scratch);
  problem_destroy(&p);
}

/* ---- The papers' formula in double --------------------------------------------------------------------------- */

/* Softmax over what all rounds show a row, keys counted as often as they are met. */
static void assert_formula(const struct problem *p, const struct contract_reformer *c, const unsigned char *counts,
                           const float *y, int64_t i) {
  double sum = 0, out[64] = {0}, size = 0;
  for (int64_t j = 0; j < c->length; j++) {
    double times = 0, dot = 0, norm = 0;
    for (int64_t r = 0; r < c->rounds; r++) times += counts[(i * c->rounds + r) * c->length + j];
    for (int64_t d = 0; d < c->dim; d++) {
      dot += (double)c->x[i * c->dim + d] * (double)c->x[j * c->dim + d];
      norm += (double)c->x[j * c->dim + d] * (double)c->x[j * c->dim + d];
    }
    const double weight = times > 0 ? times * exp(p->lsh.scale * dot / sqrt(norm)) : 0;
    sum += weight;
    for (int64_t d = 0; d < c->v_dim; d++) out[d] += weight * (double)c->v[j * c->v_dim + d];
    size = fmax(size, fabs(p->lsh.scale * dot / sqrt(norm)));
  }
  /* Section 8, with A at most |q|, here below sqrt(dim) times the scale, and a norm's error of 3 units more. */
  const double bound = 24 * 0x1p-24 * (2 + p->lsh.scale * sqrt((double)c->dim) * sqrt((double)c->dim));
  for (int64_t d = 0; d < c->v_dim; d++) {
    const double expected = sum > 0 ? out[d] / sum : (double)c->v[i * c->v_dim + d];
    if (!(fabs(expected - (double)y[i * c->v_dim + d]) <= bound))
      fail_msg("row %d: %.9g, not %.9g", (int)i, (double)y[i * c->v_dim + d], expected);
  }
}

static void test_formula(void **state) {
  (void)state;
  struct generator g = {4};
  for (int options = 0; options < 8; options++) {
    const struct shape s = {.batch = 1,
                            .heads = 1,
                            .length = 90,
                            .dim = 12,
                            .v_dim = 7,
                            .rounds = 3,
                            .bucket_size = 8,
                            .buckets = 12,
                            .causal = options & 1,
                            .once = options >> 1 & 1,
                            .within_round = options >> 2};
    struct problem p;
    problem_create(&p, &s, &g);
    assert_run(&p, NULL);
    const struct contract_reformer c = contract_of(&p, 0, 0, p.x.numbers, p.v.numbers);
    unsigned char *counts = malloc((size_t)(s.length * s.rounds * s.length));
    assert_non_null(counts);
    contract_reformer_sees(&c, p.buckets, counts);
    for (int64_t i = 0; i < s.length; i++)
      assert_formula(&p, &c, counts, (const float *)(const void *)p.y.memory.data, i);
    free(counts);
    problem_destroy(&p);
  }
}

/* ---- lucidrains' answers ------------------------------------------------------------------------------------- */

static void compare_case(const struct test_case *test) {
  const struct array *qk = case_input(test, "qk"), *y = case_output(test, "y");
  const struct array *buckets = case_output(test, "buckets");
  const int64_t batch = qk->shape[0], length = qk->shape[1], dim = qk->shape[2];
  const int64_t size = (int64_t)case_number(test, "bucket_size", 0);
  const int64_t rounds = (int64_t)case_number(test, "n_hashes", 0);
  fovea_nn_lsh lsh;
  fovea_nn_lsh_tensors t;
  fovea_error error;
  fovea_nn_lsh_init(&lsh, rounds, size, length / size, dim);
  lsh.causal = (int)case_number(test, "causal", 0);
  lsh.once = !(int)case_number(test, "allow_duplicate", 1);
  float *result = malloc((size_t)y->count * sizeof *result);
  int64_t *numbers = malloc((size_t)buckets->count * sizeof *numbers);
  assert_true(result && numbers);
  fovea_nn_lsh_tensors_init(&t, &lsh, batch, 1, length, dim, qk->data, case_input(test, "v")->data, result,
                            case_input(test, "rotations")->data);
  t.bucket_numbers = numbers;
  if (fovea_nn_lsh_run(&lsh, &t, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  for (int64_t i = 0; i < buckets->count; i++) {
    const int64_t wanted = ((const int64_t *)buckets->data)[i]; /* some versions count on from round to round */
    assert_int_equal(numbers[i], wanted % (length / size));
  }
  for (int64_t i = 0; i < y->count; i++) {
    const double wanted = ((const double *)y->data)[i];
    if (!(fabs((double)result[i] - wanted) <= 1e-6))
      fail_msg("%s, number %d: %g, not %g", test->name, (int)i, (double)result[i], wanted);
  }
  free(result);
  free(numbers);
}

static void test_oracles(void **state) {
  (void)state;
  static const char *const cases[] = {"reformer_bidir_h2", "reformer_causal_h4"};
  const char *root = getenv("FOVEA_CONFORMANCE_DIR");
  char directory[3000], error[500];
  if (!root) skip();
  snprintf(directory, sizeof directory, "%s/oracles", root);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct test_case test;
    if (!case_read(&test, directory, cases[i], error, sizeof error)) fail_msg("%s", error);
    compare_case(&test);
    case_free(&test);
  }
}

/* ---- Refusals ----------------------------------------------------------------------------------------------- */

static float numbers[256];
static _Alignas(int64_t) float results[128]; /* numbers of buckets may lie there */

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    int64_t lengths[2] = {8, 3};                                                                                   \
    fovea_nn_lsh l;                                                                                                \
    fovea_nn_lsh_tensors t;                                                                                        \
    fovea_error error = {.text = ""};                                                                              \
    fovea_nn_lsh_init(&l, 2, 4, 4, 4);                                                                             \
    fovea_nn_lsh_tensors_init(&t, &l, 2, 1, 8, 4, numbers, numbers, results, numbers);                             \
    t.lens = lengths;                                                                                              \
    memset(results, 0x3a, sizeof results);                                                                         \
    fovea_execution e = *on_isa(NULL);                                                                             \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_lsh_run(&l, &t, &e, &error), status);                                                \
    assert_error_says(&error, word);                                                                               \
    for (size_t i = 0; i < sizeof results; i++) assert_int_equal(((const unsigned char *)results)[i], 0x3a);       \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_lsh_run(NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED(l.struct_size--, FOVEA_ERROR_ARGUMENT, "lsh.struct_size");
  REFUSED(t.struct_size++, FOVEA_ERROR_ARGUMENT, "tensors.struct_size");
  REFUSED(l.rounds = 65, FOVEA_ERROR_ARGUMENT, "lsh.rounds is 65");
  REFUSED(l.bucket_size = 0, FOVEA_ERROR_ARGUMENT, "lsh.bucket_size is 0");
  REFUSED(l.bucket_size = 1025, FOVEA_ERROR_ARGUMENT, "lsh.bucket_size is 1025");
  REFUSED(l.buckets = 5, FOVEA_ERROR_ARGUMENT, "lsh.buckets is 5");
  REFUSED(l.bucket_factors[0] = 2, FOVEA_ERROR_ARGUMENT, "lsh.bucket_factors are 2 and 0");
  REFUSED((l.bucket_factors[0] = 4, l.bucket_factors[1] = 1), FOVEA_ERROR_ARGUMENT,
          "lsh.bucket_factors are 4 and 1");
  REFUSED(l.causal = 2, FOVEA_ERROR_ARGUMENT, "lsh.causal is 2");
  REFUSED(l.once = -1, FOVEA_ERROR_ARGUMENT, "lsh.once is -1");
  REFUSED(l.ring = (fovea_nn_lsh_ring)2, FOVEA_ERROR_ARGUMENT, "lsh.ring is 2");
  REFUSED(l.scale = INFINITY, FOVEA_ERROR_ARGUMENT, "lsh.scale is inf");
  REFUSED(l.eps = 0, FOVEA_ERROR_ARGUMENT, "lsh.eps is 0");
  REFUSED(l.eps = NAN, FOVEA_ERROR_ARGUMENT, "lsh.eps is nan");
  REFUSED(e.isa = "abacus", FOVEA_ERROR_ARGUMENT, "isa: abacus");
  REFUSED(t.batch = 0, FOVEA_ERROR_ARGUMENT, "tensors.batch is 0");
  REFUSED(t.length = -1, FOVEA_ERROR_ARGUMENT, "tensors.length is -1");
  REFUSED(t.dim = 0, FOVEA_ERROR_ARGUMENT, "tensors.dim is 0");
  REFUSED(t.y_type = (fovea_type)3, FOVEA_ERROR_ARGUMENT, "tensors.y_type is 3");
  REFUSED(lengths[1] = 9, FOVEA_ERROR_ARGUMENT, "lens[1] is 9");
  REFUSED(t.lens = (const int64_t *)(const void *)((const char *)(const void *)lengths + 1), FOVEA_ERROR_ARGUMENT,
          "lens is 1 bytes off"); /* before its numbers are read */
  REFUSED((l.rounds = INT64_MAX, l.buckets = INT64_MAX - 1,
           fovea_nn_lsh_tensors_init(&t, &l, 1, 1, 1, 1, NULL, NULL, NULL, NULL)),
          FOVEA_ERROR_ARGUMENT, "lsh.rounds is"); /* the initialiser does not overflow */
  REFUSED(t.x = NULL, FOVEA_ERROR_ARGUMENT, "x is NULL");
  REFUSED(t.rotations = NULL, FOVEA_ERROR_ARGUMENT, "rotations is NULL");
  REFUSED(t.y_strides.row = 3, FOVEA_ERROR_ARGUMENT, "y_strides.row");
  REFUSED(t.v = results + 5, FOVEA_ERROR_ARGUMENT, "y shares memory with v");
  REFUSED(t.bucket_numbers = (int64_t *)(void *)results, FOVEA_ERROR_ARGUMENT,
          "bucket_numbers shares memory with y");
  for (int allowed = 0; allowed < 2; allowed++) {
    int left = allowed;
    REFUSED(e.allocator = memory_allocator(&left), FOVEA_ERROR_MEMORY, "No memory");
  }
  assert_int_equal(measured(fovea_nn_lsh_scratch_size(NULL, NULL, with_threads(1), measured_size(), NULL)), 0);
  assert_int_equal(fovea_nn_lsh_columns(NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits),    cmocka_unit_test(test_sizes),   cmocka_unit_test(test_ties),
      cmocka_unit_test(test_tasks),   cmocka_unit_test(test_formula), cmocka_unit_test(test_oracles),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
