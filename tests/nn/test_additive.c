/* Additive attention: bits of context vectors and weights, number by number, for sizes, layers, types, strides,
 * lengths, masks, special values, instruction sets and threads; a float64 formula; scratch. */
#include "contract.h"
#include "nn/contract_nn.h"
#include "nn/contract_recurrent.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/nn.h>
#include <fovea/recurrent.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where row i of batch element b lies. GAPS: each batch element has one row more than are used. */
enum order { ENTRIES_FIRST, ROWS_FIRST, GAPS, ORDERS };

struct shape {
  int64_t batch, q_len, kv_len, dim, v_dim;
  int64_t in; /* of both layers; 0: none */
  int with_mask, with_lens, with_weights, special, padding;
  int with_edges;
  double slope;        /* 0: tanh; -1: LeakyReLU with a slope of 0 */
  fovea_type types[4]; /* of queries, keys, values and o */
  enum order order;
};

struct problem {
  struct shape trial;
  struct matrix queries, keys, values, o, w, bias, layers[2], weights;
  struct guarded mask;
  int64_t lens[256];
  fovea_nn_linear query, key;
  fovea_nn_additive additive;
  fovea_nn_additive_tensors tensors;
  int64_t *starts, *edges;
  unsigned char *seen; /* [batch element][row][key] */
  float *expected_o, *expected_weights;
};

static int64_t row_of(enum order order, int64_t batch, int64_t rows, int64_t b, int64_t i) {
  return order == ROWS_FIRST ? i * batch + b : b * (rows + (order == GAPS)) + i;
}

static fovea_strides strides_of(enum order order, int64_t batch, int64_t rows, int64_t stride) {
  if (order == ROWS_FIRST) return (fovea_strides){stride, 0, batch * stride};
  return (fovea_strides){(rows + (order == GAPS)) * stride, 0, stride};
}

static struct matrix make(const struct shape *t, int64_t rows, int64_t dim, fovea_type type, enum order order,
                          fovea_strides *strides, int special, struct generator *generator) {
  *strides = strides_of(order, t->batch, rows, dim + t->padding);
  return matrix_create(t->batch * (rows + (order == GAPS)), dim, dim + t->padding, type, special, generator);
}

static enum order output_order(enum order order) {
  return order == GAPS ? ENTRIES_FIRST : order;
}

/* Edges of most rows are few; some rows have none, some many. In any order, some twice, some -1. */
static void make_edges(struct problem *p, struct generator *generator) {
  const struct shape *t = &p->trial;
  const int64_t most = t->q_len * (2 * t->kv_len + 8) + 3;
  p->starts = malloc((size_t)(t->q_len + 1) * sizeof *p->starts);
  p->edges = malloc((size_t)most * sizeof *p->edges);
  assert_true(p->starts && p->edges);
  int64_t at = 3; /* the first numbers belong to no row */
  for (int64_t i = 0; i < t->q_len; i++) {
    const int64_t count = generator_below(generator, generator_below(generator, 4) ? 7 : 2 * t->kv_len + 1);
    const int64_t width = generator_below(generator, 3) || t->kv_len == 0 ? t->kv_len : 1 + t->kv_len / 4;
    p->starts[i] = at;
    for (int64_t j = 0; j < count; j++)
      p->edges[at++] = width == 0 || generator_below(generator, 9) == 0 ? -1 : generator_below(generator, width);
  }
  p->starts[t->q_len] = at;
  if (!t->with_edges) return;
  p->tensors.edge_starts = p->starts;
  p->tensors.edge_keys = p->edges;
}

static int has_edge(const struct problem *p, int64_t row, int64_t key) {
  int found = !p->trial.with_edges;
  for (int64_t i = p->starts[row]; i < p->starts[row + 1] && !found; i++) found = p->edges[i] == key;
  return found;
}

static void make_mask(struct problem *p, struct generator *generator) {
  const struct shape *t = &p->trial;
  fovea_nn_additive_tensors *tensors = &p->tensors;
  const int64_t rows = t->batch * t->q_len;
  const int bits = t->with_mask == 2, repeated = t->with_mask == 3;
  const int64_t row_bytes = bits ? (t->kv_len + 7) / 8 : repeated ? 1 : t->kv_len;
  p->seen = malloc((size_t)(rows * t->kv_len + 1));
  assert_non_null(p->seen);
  p->mask = guarded_create((size_t)(rows * row_bytes), GUARD_AT_END);
  for (int64_t i = 0; i < rows * row_bytes; i++) p->mask.data[i] = (unsigned char)generator_bits(generator);
  for (int64_t i = 0; i < rows; i++) {
    unsigned char *row = p->mask.data + i * row_bytes;
    if (i % 5 == 3) memset(row, 0, (size_t)row_bytes);
    for (int64_t j = 0; j < t->kv_len; j++) {
      if (!bits && j < row_bytes && (j / 70 % 2 || generator_below(generator, 3) == 0)) row[j] = 0;
      const int mask_seen = bits ? row[j / 8] >> (j % 8) & 1 : row[repeated ? 0 : j] != 0;
      const int64_t length = t->with_lens ? p->lens[i / t->q_len] : t->kv_len;
      p->seen[i * t->kv_len + j] =
          (unsigned char)((mask_seen || !t->with_mask) && j < length && has_edge(p, i % t->q_len, j));
    }
  }
  if (!t->with_mask) return;
  tensors->mask = p->mask.data;
  tensors->mask_type = bits ? FOVEA_MASK_BITS : FOVEA_MASK_BOOL;
  if (bits) tensors->mask_strides = (fovea_mask_strides){t->q_len * row_bytes * 8, 0, row_bytes * 8, 1};
  if (repeated) tensors->mask_strides = (fovea_mask_strides){t->q_len, 0, 1, 0};
}

/* A row as the additive score sees it. */
static void project(const struct problem *p, int is_key, const float *x, float *y) {
  const struct matrix *layer = &p->layers[is_key];
  for (int64_t d = 0; d < p->trial.dim; d++) {
    y[d] = x[d < p->trial.in || p->trial.in == 0 ? d : 0];
    if (p->trial.in == 0) continue;
    y[d] = contract_nn_dot(x, layer->numbers + d * layer->dim, p->trial.in);
    if (!is_key) y[d] = y[d] + p->bias.numbers[d];
  }
}

static int sees(const void *seen, int64_t position) {
  return ((const unsigned char *)seen)[position];
}

static void expect_row(struct problem *p, int64_t b, int64_t i, const float *keys, float *scratch) {
  const struct shape *t = &p->trial;
  const enum order out = output_order(t->order);
  const int64_t place = row_of(out, t->batch, t->q_len, b, i);
  const unsigned char *seen = p->seen + (b * t->q_len + i) * t->kv_len;
  float *q = scratch, *r = q + t->dim, *values = r + t->kv_len, lse;
  const float one = 1;
  project(p, 0, p->queries.numbers + row_of(t->order, t->batch, t->q_len, b, i) * p->queries.dim, q);
  for (int64_t j = 0; j < t->kv_len; j++) {
    r[j] = contract_additive(q, keys + (b * t->kv_len + j) * t->dim, p->w.numbers, t->dim,
                             t->slope == 0  ? -1
                             : t->slope < 0 ? 0
                                            : (float)t->slope);
    memcpy(values + j * t->v_dim, p->values.numbers + row_of(t->order, t->batch, t->kv_len, b, j) * t->v_dim,
           (size_t)t->v_dim * sizeof(float));
  }
  const struct contract_row row = {.q = &one,
                                   .k = r,
                                   .v = values,
                                   .k_stride = 1,
                                   .v_stride = t->v_dim,
                                   .qk_dim = 1,
                                   .v_dim = t->v_dim,
                                   .positions = t->kv_len,
                                   .scale = 1,
                                   .sees = sees,
                                   .rules = seen};
  contract_row(&row, p->expected_o + place * t->v_dim, &lse);
  contract_weights(r, seen, t->kv_len, p->expected_weights + place * t->kv_len);
}

static void make_expected(struct problem *p) {
  const struct shape *t = &p->trial;
  float *keys = malloc((size_t)(t->batch * t->kv_len * t->dim + 1) * sizeof *keys);
  float *scratch = malloc((size_t)(t->dim + t->kv_len * (1 + t->v_dim) + 1) * sizeof *scratch);
  p->expected_o = malloc((size_t)(t->batch * t->q_len * t->v_dim + 1) * sizeof(float));
  p->expected_weights = malloc((size_t)(t->batch * t->q_len * t->kv_len + 1) * sizeof(float));
  assert_true(keys && scratch && p->expected_o && p->expected_weights);
  for (int64_t b = 0; b < t->batch; b++) {
    for (int64_t j = 0; j < t->kv_len; j++)
      project(p, 1, p->keys.numbers + row_of(t->order, t->batch, t->kv_len, b, j) * p->keys.dim,
              keys + (b * t->kv_len + j) * t->dim);
    for (int64_t i = 0; i < t->q_len; i++) expect_row(p, b, i, keys, scratch);
  }
  free(keys);
  free(scratch);
}

static void use_layers(struct problem *p) {
  const struct shape *t = &p->trial;
  if (t->in == 0) return;
  fovea_nn_linear_init(&p->query, t->in, t->dim, p->layers[0].memory.data);
  fovea_nn_linear_init(&p->key, t->in, t->dim, p->layers[1].memory.data);
  p->query.bias = (const float *)(const void *)p->bias.memory.data;
  p->additive.query = &p->query;
  p->additive.key = &p->key;
}

static void problem_create(struct problem *p, const struct shape *t, struct generator *generator) {
  const int64_t width = t->in ? t->in : t->dim;
  const enum order out = output_order(t->order);
  fovea_nn_additive_tensors tensors;
  memset(p, 0, sizeof *p);
  p->trial = *t;
  p->w = matrix_create(1, t->dim, t->dim, FOVEA_F32, 2 * t->special, generator);
  p->bias = matrix_create(1, t->dim, t->dim, FOVEA_F32, 0, generator);
  for (int i = 0; i < 2; i++) p->layers[i] = matrix_create(t->dim, width, width, FOVEA_F32, 0, generator);
  fovea_nn_additive_init(&p->additive, t->dim, (const float *)(const void *)p->w.memory.data);
  use_layers(p);
  fovea_nn_additive_tensors_init(&tensors, &p->additive, t->batch, t->q_len, t->kv_len, t->v_dim, NULL, NULL, NULL,
                                 NULL);
  p->queries = make(t, t->q_len, width, t->types[0], t->order, &tensors.q_strides, t->special, generator);
  p->keys = make(t, t->kv_len, width, t->types[1], t->order, &tensors.k_strides, 8 * t->special, generator);
  p->values = make(t, t->kv_len, t->v_dim, t->types[2], t->order, &tensors.v_strides, 20 * t->special, generator);
  p->o = make(t, t->q_len, t->v_dim, t->types[3], out, &tensors.o_strides, 0, generator);
  p->weights = make(t, t->q_len, t->kv_len, FOVEA_F32, out, &tensors.weight_strides, 0, generator);
  tensors.q = p->queries.memory.data;
  tensors.k = p->keys.memory.data;
  tensors.v = p->values.memory.data;
  tensors.o = p->o.memory.data;
  tensors.q_type = t->types[0];
  tensors.k_type = t->types[1];
  tensors.v_type = t->types[2];
  tensors.o_type = t->types[3];
  if (t->with_weights) tensors.weights = (float *)(void *)p->weights.memory.data;
  if (!t->with_weights) tensors.weight_strides = (fovea_strides){t->q_len * t->kv_len, 0, t->kv_len};
  for (int64_t b = 0; b < t->batch; b++) p->lens[b] = generator_below(generator, t->kv_len + 1);
  if (t->with_lens) tensors.kv_lens = p->lens;
  p->tensors = tensors;
  if (t->slope != 0) p->additive.activation = FOVEA_NN_ADDITIVE_ACTIVATION_LEAKY_RELU;
  p->additive.leaky_slope = fmax(t->slope, 0);
  make_edges(p, generator);
  make_mask(p, generator);
  make_expected(p);
}

enum { MATRICES = 9 };

static void problem_destroy(struct problem *p) {
  struct matrix *all[MATRICES] = {&p->queries, &p->keys,      &p->values,    &p->o,      &p->w,
                                  &p->bias,    &p->layers[0], &p->layers[1], &p->weights};
  for (int i = 0; i < MATRICES; i++) matrix_destroy(all[i]);
  guarded_destroy(&p->mask);
  free(p->seen);
  free(p->starts);
  free(p->edges);
  free(p->expected_o);
  free(p->expected_weights);
}

static void assert_problem(struct problem *p, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&p->o);
  matrix_spoil(&p->weights);
  if (fovea_nn_additive_run(&p->additive, &p->tensors, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&p->o, p->expected_o);
  if (p->trial.with_weights) assert_matrix(&p->weights, p->expected_weights);
}

static void check(const struct shape *t, struct generator *generator) {
  struct problem p;
  problem_create(&p, t, generator);
  for (const char *const *isa = whole_isas(); *isa; isa++) {
    assert_problem(&p, on_isa(*isa));
  }
  problem_destroy(&p);
}

static struct shape random_trial(struct generator *g) {
  struct shape t = {.batch = 1 + generator_below(g, 4),
                    .q_len = generator_below(g, 6),
                    .kv_len = generator_below(g, generator_below(g, 4) ? 40 : 300),
                    .dim = 1 + generator_below(g, generator_below(g, 3) ? 20 : 80),
                    .v_dim = 1 + generator_below(g, 20),
                    .with_mask = (int)generator_below(g, 4),
                    .with_lens = (int)generator_below(g, 2),
                    .with_weights = (int)generator_below(g, 2),
                    .special = generator_below(g, 3) ? 0 : 40,
                    .padding = (int)generator_below(g, 3),
                    .order = (enum order)generator_below(g, ORDERS)};
  t.with_edges = (int)generator_below(g, 2);
  if (generator_below(g, 2)) t.slope = (double)generator_below(g, 5) * 0.2 - 0.2;
  if (generator_below(g, 2)) t.in = 1 + generator_below(g, 30);
  for (int i = 0; i < 4; i++) {
    if (i >= 2 || t.in) t.types[i] = (fovea_type)generator_below(g, 3);
  }
  return t;
}

static void test_bits(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int i = 0; i < USUAL_OR_LONG(40, 400); i++) {
    const struct shape t = random_trial(&generator);
    check(&t, &generator);
  }
}

/* Several tiles of rows, with a last one that is smaller; more batch elements than rows of a tile. */
static void test_tiles(void **state) {
  (void)state;
  struct generator generator = {2};
  struct shape t = {
      .batch = 1, .q_len = 300, .kv_len = 70, .dim = 5, .v_dim = 3, .with_weights = 1, .with_mask = 1};
  check(&t, &generator);
  t = (struct shape){.batch = 3, .q_len = 90, .kv_len = 40, .dim = 17, .v_dim = 9, .with_lens = 1, .in = 7};
  check(&t, &generator);
  t = (struct shape){.batch = 200, .q_len = 2, .kv_len = 19, .dim = 3, .v_dim = 2, .with_weights = 1, .in = 4};
  t.order = ROWS_FIRST;
  check(&t, &generator);
}

/* More keys than a span has: states of several nodes. */
static void test_long(void **state) {
  (void)state;
  static const int64_t lengths[] = {2048, 2049, 3 * 2048 + 100, 7 * 2048 - 1};
  struct generator generator = {3};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const struct shape t = {.batch = 2,
                            .q_len = 2,
                            .kv_len = lengths[i],
                            .dim = 2,
                            .v_dim = 3,
                            .with_weights = 1,
                            .with_lens = i % 2 == 0,
                            .with_mask = (int)i % 2,
                            .with_edges = (int)i % 3 == 1,
                            .slope = i % 3 ? 0.2 : 0,
                            .special = i == 3 ? 3000 : 0};
    check(&t, &generator);
  }
}

static void check_tasks(const struct shape *t, struct generator *generator) {
  struct problem p;
  fovea_execution execution;
  problem_create(&p, t, generator);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) assert_problem(&p, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_problem(&p, &execution);
    assert_true(executor.calls > !t->with_edges);
  }
  problem_destroy(&p);
}

static void test_tasks(void **state) {
  (void)state;
  struct generator generator = {4};
  struct shape t = {
      .batch = 2, .q_len = 75, .kv_len = 500, .dim = 33, .v_dim = 40, .with_weights = 1, .with_lens = 1, .in = 20};
  check_tasks(&t, &generator);
  t.with_edges = 1;
  t.q_len = 300;
  t.slope = 0.2;
  check_tasks(&t, &generator);
}

/* Edges have the bits of a mask of the same meaning. */
static void test_edges_are_a_mask(void **state) {
  (void)state;
  struct generator generator = {7};
  for (int i = 0; i < USUAL_OR_LONG(6, 30); i++) {
    struct shape t = {.batch = 1 + i % 2,
                      .q_len = 60,
                      .kv_len = i % 3 ? 90 : 4500,
                      .dim = 1 + i * 5,
                      .v_dim = 1 + i,
                      .with_edges = 1,
                      .with_weights = 1,
                      .slope = i % 2 ? 0.2 : 0};
    struct problem p;
    problem_create(&p, &t, &generator);
    assert_problem(&p, NULL);
    p.tensors.edge_starts = p.tensors.edge_keys = NULL;
    p.tensors.mask = p.seen;
    p.tensors.mask_type = FOVEA_MASK_BOOL;
    assert_problem(&p, NULL);
    problem_destroy(&p);
  }
}

/* A key with a score of -Inf is visible: its value counts, with a weight of 0. */
static void test_infinite_scores(void **state) {
  (void)state;
  const float w = -INFINITY, q = 0.5f, keys[4] = {1, 2, -1, 4}, values[4] = {1, 2, 3, INFINITY};
  const float huge = 0x1.fffffep+127f, small[4] = {0, 0, -20, 0};
  float o, weights[4];
  fovea_nn_additive additive;
  fovea_nn_additive_tensors tensors;
  fovea_nn_additive_init(&additive, 1, &w);
  fovea_nn_additive_tensors_init(&tensors, &additive, 1, 1, 4, 1, &q, keys, values, &o);
  tensors.weights = weights;
  assert_int_equal(fovea_nn_additive_run(&additive, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(isnan(o) && isnan(weights[0])); /* a key with +Inf is visible, too */
  const float three[3] = {1, 2, 4}, some[3] = {1, 2, INFINITY};
  fovea_nn_additive_tensors_init(&tensors, &additive, 1, 1, 3, 1, &q, three, some, &o);
  assert_int_equal(fovea_nn_additive_run(&additive, &tensors, NULL, NULL), FOVEA_OK);
  assert_int_equal(bits_of(o), 0); /* no state */
  additive.w = &huge;
  fovea_nn_additive_tensors_init(&tensors, &additive, 1, 1, 4, 1, small, small, values, &o);
  tensors.weights = weights;
  assert_int_equal(fovea_nn_additive_run(&additive, &tensors, NULL, NULL), FOVEA_OK);
  assert_true(isinf(o) && weights[2] == 0 && weights[0] == 1.0f / 3);
}

/* The formula in float64, and weights that sum to 1. */
static void test_accuracy(void **state) {
  (void)state;
  enum { KEYS = 700, DIM = 130, V = 8 };
  struct generator generator = {5};
  const struct shape t = {.batch = 1, .q_len = 6, .kv_len = KEYS, .dim = DIM, .v_dim = V, .with_weights = 1};
  struct problem p;
  problem_create(&p, &t, &generator);
  assert_problem(&p, NULL);
  for (int i = 0; i < t.q_len; i++) {
    const float *o = (const float *)(const void *)p.o.memory.data + i * V, *weights = p.tensors.weights + i * KEYS;
    double sum = 0, all = 0, expected[V] = {0}, part[KEYS], most = -INFINITY;
    for (int j = 0; j < KEYS; j++) {
      part[j] = 0;
      for (int d = 0; d < DIM; d++)
        part[j] += (double)p.w.numbers[d] *
                   tanh((double)p.queries.numbers[i * DIM + d] + (double)p.keys.numbers[j * DIM + d]);
      most = fmax(most, part[j]);
      all += (double)weights[j];
    }
    for (int j = 0; j < KEYS; j++) sum += exp(part[j] - most);
    for (int j = 0; j < KEYS; j++) {
      const double weight = exp(part[j] - most) / sum;
      assert_true(fabs((double)weights[j] - weight) < 1e-5 * weight);
      for (int d = 0; d < V; d++) expected[d] += weight * (double)p.values.numbers[j * V + d];
    }
    assert_true(fabs(all - 1) <= KEYS * 0x1p-24);
    for (int d = 0; d < V; d++) assert_true(fabs((double)o[d] - expected[d]) < 1e-6);
  }
  problem_destroy(&p);
}

static void test_scratch(void **state) {
  (void)state;
  struct generator generator = {6};
  struct shape t = {.batch = 2, .q_len = 70, .kv_len = 90, .dim = 9, .v_dim = 5, .in = 6};
  for (int i = 0; i < 4; i++) {
    struct problem p;
    fovea_execution execution;
    t.with_weights = i % 2;
    t.with_edges = i / 2;
    problem_create(&p, &t, &generator);
    fovea_execution_init(&execution);
    execution.threads = 1;
    execution.scratch_size =
        measured(fovea_nn_additive_scratch_size(&p.additive, &p.tensors, with_threads(1), measured_size(), NULL));
    assert_true(execution.scratch_size > 0);
    struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
    execution.scratch = scratch.data;
    assert_problem(&p, &execution);
    execution.scratch_size--;
    assert_int_equal(fovea_nn_additive_run(&p.additive, &p.tensors, &execution, NULL), FOVEA_ERROR_SPACE);
    execution.scratch_size = 64;
    assert_int_equal(fovea_nn_additive_run(&p.additive, &p.tensors, &execution, NULL), FOVEA_ERROR_SPACE);
    guarded_destroy(&scratch);
    problem_destroy(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits),     cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_long),     cmocka_unit_test(test_tasks),
      cmocka_unit_test(test_scratch),  cmocka_unit_test(test_infinite_scores),
      cmocka_unit_test(test_accuracy), cmocka_unit_test(test_edges_are_a_mask),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
