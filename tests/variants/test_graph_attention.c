/* Graph attention: the bits of outputs, weights and LSE, number by number, for kinds, sizes, types, strides,
 * features of edges, special values, instruction sets and threads; formulas in double; a part of a graph alone. */
#include "contract_graph.h"
#include "nn/contract_nn.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where heads lie: side by side in a row, or each in rows of its own. */
enum order { SIDE_BY_SIDE, HEADS_FIRST, ORDERS };
enum { QUERY, KEY, VALUE, Y, FEATURE, TYPES };

struct shape {
  fovea_nn_graph_kind kind;
  int64_t nodes, sources, heads, dim;
  int64_t degree; /* the most edges of most nodes */
  int64_t many;   /* edges of every 7th node; 0: as of the others */
  int64_t in;     /* of the layer of features; 0: features as they are, -1: none */
  int average, with_bias, with_weights, with_lse, special, padding;
  fovea_type types[TYPES];
  enum order order;
};

struct problem {
  struct shape shape;
  struct matrix of[TYPES], a[4], bias, layer, weights, lse;
  fovea_nn_linear edge;
  fovea_nn_graph graph;
  fovea_nn_graph_tensors tensors;
  int64_t *starts, *sources;
  struct contract_graph contract;
  float *numbers[TYPES]; /* contiguous */
  float *expected_weights, *expected_lse;
};

static float *room(int64_t count) {
  float *numbers = calloc((size_t)count + 1, sizeof *numbers);
  assert_non_null(numbers);
  return numbers;
}

static const float *floats(const struct matrix *matrix) {
  return (const float *)(const void *)matrix->memory.data;
}

/* A tensor (rows, heads, dim). Without a generator an output. */
static void make(struct problem *p, int which, int64_t rows, int64_t heads, int64_t dim, int special,
                 fovea_strides *strides, struct generator *generator) {
  const struct shape *s = &p->shape;
  struct matrix *m = &p->of[which];
  float *to = p->numbers[which] = room(rows * heads * dim);
  if (s->order == SIDE_BY_SIDE) {
    const int64_t stride = heads * dim + s->padding;
    *m = matrix_create(rows, heads * dim, stride, s->types[which], special, generator);
    *strides = (fovea_strides){0, dim, stride};
    memcpy(to, m->numbers, (size_t)(rows * heads * dim) * sizeof *to);
    return;
  }
  const int64_t stride = dim + s->padding;
  *m = matrix_create(heads * rows, dim, stride, s->types[which], special, generator);
  *strides = (fovea_strides){0, rows * stride, stride};
  for (int64_t i = 0; i < rows; i++)
    for (int64_t h = 0; h < heads; h++)
      memcpy(to + (i * heads + h) * dim, m->numbers + (h * rows + i) * dim, (size_t)dim * sizeof *to);
}

/* Some nodes have no edges; some edges are there twice, some not at all. */
static void make_edges(struct problem *p, struct generator *generator) {
  const struct shape *s = &p->shape;
  const int64_t longest = s->many > s->degree ? s->many : s->degree;
  p->starts = malloc((size_t)(s->nodes + 1) * sizeof *p->starts);
  p->sources = malloc((size_t)(s->nodes * longest + 4) * sizeof *p->sources);
  assert_true(p->starts && p->sources);
  int64_t at = 3; /* the first edges belong to no node */
  for (int64_t i = 0; i < 3; i++) p->sources[i] = INT64_MAX;
  for (int64_t i = 0; i < s->nodes; i++) {
    const int64_t count = i % 7 == 3 && s->many ? s->many : generator_below(generator, s->degree + 1);
    p->starts[i] = at;
    for (int64_t j = 0; j < count; j++) {
      const int absent = s->sources == 0 || (i % 3 == 1 && generator_below(generator, 9) == 0) || i % 11 == 5;
      p->sources[at++] = absent ? -1 : generator_below(generator, s->sources);
    }
  }
  p->starts[s->nodes] = at;
}

static void set_vectors(struct problem *p, struct generator *generator) {
  const struct shape *s = &p->shape;
  const int64_t width = s->heads * s->dim;
  for (int i = 0; i < 4; i++) p->a[i] = matrix_create(1, width, width, FOVEA_F32, 0, generator);
  p->bias = matrix_create(1, s->average ? s->dim : width, s->average ? s->dim : width, FOVEA_F32, 0, generator);
  if (s->kind == FOVEA_NN_GRAPH_GAT) {
    p->graph.a_to = floats(&p->a[0]);
    p->graph.a_from = floats(&p->a[1]);
    if (s->in >= 0) p->graph.a_edge = floats(&p->a[2]);
  }
  if (s->kind == FOVEA_NN_GRAPH_GATV2) p->graph.a = floats(&p->a[3]);
  if (s->with_bias) p->graph.bias = floats(&p->bias);
}

/* Features as they are, or through a layer. */
static void make_features(struct problem *p, struct generator *generator) {
  const struct shape *s = &p->shape;
  const int64_t edges = p->starts[s->nodes], width = s->heads * s->dim;
  if (s->in < 0) return;
  if (s->in == 0) {
    make(p, FEATURE, edges, s->heads, s->dim, 30 * s->special, &p->tensors.feature_strides, generator);
  } else {
    const enum order order = s->order;
    p->shape.order = SIDE_BY_SIDE;
    make(p, FEATURE, edges, 1, s->in, 0, &p->tensors.feature_strides, generator);
    p->shape.order = order;
    p->tensors.feature_strides.head = 0;
    float *made = room(edges * width);
    for (int64_t i = 0; i < edges; i++)
      for (int64_t d = 0; d < width; d++)
        made[i * width + d] = contract_nn_dot(p->numbers[FEATURE] + i * s->in, p->layer.numbers + d * s->in, s->in);
    free(p->numbers[FEATURE]);
    p->numbers[FEATURE] = made;
  }
  p->tensors.features = p->of[FEATURE].memory.data;
  p->tensors.feature_type = s->types[FEATURE];
}

static void make_expected(struct problem *p) {
  const struct shape *s = &p->shape;
  const int64_t y_heads = s->average ? 1 : s->heads;
  p->contract = (struct contract_graph){.kind = s->kind,
                                        .heads = s->heads,
                                        .dim = s->dim,
                                        .nodes = s->nodes,
                                        .scale = 1 / sqrt((double)s->dim),
                                        .slope = (float)p->graph.leaky_slope,
                                        .a_to = p->a[0].numbers,
                                        .a_from = p->a[1].numbers,
                                        .a_edge = p->a[2].numbers,
                                        .a = p->a[3].numbers,
                                        .bias = s->with_bias ? p->bias.numbers : NULL,
                                        .average = s->average,
                                        .starts = p->starts,
                                        .sources = p->sources,
                                        .q = p->numbers[QUERY],
                                        .k = p->numbers[KEY],
                                        .v = p->numbers[VALUE],
                                        .e = s->in < 0 ? NULL : p->numbers[FEATURE]};
  p->expected_weights = room(p->starts[s->nodes] * s->heads);
  p->expected_lse = room(s->nodes * s->heads);
  contract_graph(&p->contract, p->numbers[Y], p->expected_lse, p->expected_weights);
  if (s->order == SIDE_BY_SIDE || y_heads == 1) return;
  float *moved = room(s->nodes * s->heads * s->dim);
  for (int64_t i = 0; i < s->nodes; i++)
    for (int64_t h = 0; h < s->heads; h++)
      memcpy(moved + (h * s->nodes + i) * s->dim, p->numbers[Y] + (i * s->heads + h) * s->dim,
             (size_t)s->dim * sizeof *moved);
  free(p->numbers[Y]);
  p->numbers[Y] = moved;
}

static void problem_create(struct problem *p, const struct shape *s, struct generator *generator) {
  const int64_t width = s->heads * s->dim;
  memset(p, 0, sizeof *p);
  p->shape = *s;
  fovea_nn_graph_init(&p->graph, s->kind, s->heads, s->dim);
  p->graph.average_heads = s->average;
  if (s->in > 0) {
    p->layer = matrix_create(width, s->in, s->in, FOVEA_F32, 0, generator);
    fovea_nn_linear_init(&p->edge, s->in, width, p->layer.memory.data);
    p->graph.edge = &p->edge;
  }
  make_edges(p, generator);
  fovea_nn_graph_tensors_init(&p->tensors, &p->graph, s->nodes, s->sources, p->starts, p->sources, NULL, NULL,
                              NULL);
  fovea_nn_graph_tensors *t = &p->tensors;
  set_vectors(p, generator);
  make(p, QUERY, s->nodes, s->heads, s->dim, s->special, &t->q_strides, generator);
  make(p, KEY, s->sources, s->heads, s->dim, 8 * s->special, &t->k_strides, generator);
  make(p, Y, s->nodes, s->average ? 1 : s->heads, s->dim, 0, &t->y_strides, generator);
  t->q = p->of[QUERY].memory.data;
  t->k = p->of[KEY].memory.data;
  t->y = p->of[Y].memory.data;
  t->q_type = s->types[QUERY];
  t->k_type = s->types[KEY];
  t->y_type = s->types[Y];
  if (s->kind == FOVEA_NN_GRAPH_TRANSFORMER) {
    make(p, VALUE, s->sources, s->heads, s->dim, 20 * s->special, &t->v_strides, generator);
    t->v = p->of[VALUE].memory.data;
    t->v_type = s->types[VALUE];
  }
  make_features(p, generator);
  const int64_t edges = p->starts[s->nodes] - p->starts[0], stride = s->heads + s->padding;
  p->weights = matrix_create(edges, s->heads, stride, FOVEA_F32, 0, generator);
  p->lse = matrix_create(1, s->nodes * s->heads, s->nodes * s->heads, FOVEA_F32, 0, generator);
  if (s->with_weights) {
    t->weight_stride = stride;
    t->weights = (float *)(void *)p->weights.memory.data - p->starts[0] * stride;
  }
  if (s->with_lse && s->nodes > 0) t->lse = (float *)(void *)p->lse.memory.data;
  make_expected(p);
}

static void problem_destroy(struct problem *p) {
  for (int i = 0; i < TYPES; i++) {
    matrix_destroy(&p->of[i]);
    free(p->numbers[i]);
  }
  for (int i = 0; i < 4; i++) matrix_destroy(&p->a[i]);
  matrix_destroy(&p->bias);
  matrix_destroy(&p->layer);
  matrix_destroy(&p->weights);
  matrix_destroy(&p->lse);
  free(p->starts);
  free(p->sources);
  free(p->expected_weights);
  free(p->expected_lse);
}

static void assert_problem(struct problem *p, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&p->of[Y]);
  matrix_spoil(&p->weights);
  matrix_spoil(&p->lse);
  if (fovea_nn_graph_run(&p->graph, &p->tensors, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&p->of[Y], p->numbers[Y]);
  if (p->tensors.weights) assert_matrix(&p->weights, p->expected_weights + p->starts[0] * p->shape.heads);
  if (p->tensors.lse) assert_matrix(&p->lse, p->expected_lse);
}

static void check(const struct shape *s, struct generator *generator) {
  struct problem p;
  problem_create(&p, s, generator);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    assert_problem(&p, on_isa(*isa));
  }
  problem_destroy(&p);
}

static struct shape random_shape(struct generator *g) {
  static const int64_t dims[] = {1, 2, 4, 8, 16, 32, 64};
  struct shape s = {.kind = (fovea_nn_graph_kind)generator_below(g, 3),
                    .nodes = generator_below(g, generator_below(g, 4) ? 30 : 90),
                    .sources = generator_below(g, 60),
                    .heads = 1 + generator_below(g, generator_below(g, 3) ? 9 : 40),
                    .dim = 1 + generator_below(g, generator_below(g, 4) ? 20 : 90),
                    .degree = generator_below(g, 20),
                    .in = generator_below(g, 2) ? -1 : generator_below(g, 12),
                    .average = (int)generator_below(g, 2),
                    .with_bias = (int)generator_below(g, 2),
                    .with_weights = (int)generator_below(g, 2),
                    .with_lse = (int)generator_below(g, 2),
                    .special = generator_below(g, 3) ? 0 : 200,
                    .padding = (int)generator_below(g, 3),
                    .order = (enum order)generator_below(g, ORDERS)};
  if (generator_below(g, 2)) s.dim = dims[generator_below(g, 7)];
  if (generator_below(g, 3) == 0) s.many = generator_below(g, 300);
  for (int i = 0; i < TYPES; i++) {
    if (generator_below(g, 2)) s.types[i] = (fovea_type)generator_below(g, 3);
  }
  return s;
}

static void test_bits(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int i = 0; i < USUAL_OR_SLOW(USUAL_OR_LONG(60, 500), 30); i++) {
    const struct shape s = random_shape(&generator);
    check(&s, &generator);
  }
}

/* Every number of heads and dims that kernels treat in their own way, with more edges than a call takes. */
static void test_sizes(void **state) {
  (void)state;
  struct generator generator = {2};
  for (int kind = 0; kind < 3; kind++)
    for (int64_t heads = 1; heads <= 16; heads *= 2)
      for (int64_t dim = 4; dim <= 64; dim *= 2) {
        const struct shape s = {.kind = (fovea_nn_graph_kind)kind,
                                .nodes = 15,
                                .sources = 33,
                                .heads = heads,
                                .dim = dim,
                                .degree = 9,
                                .many = 131,
                                .in = -1,
                                .with_weights = 1};
        check(&s, &generator);
      }
}

/* Nodes with more edges than a span has: states of several nodes of the tree. */
static void test_long(void **state) {
  (void)state;
  static const int64_t lengths[] = {128, 129, 2048, 2049, 3 * 2048 + 100, 7 * 2048 - 1};
  struct generator generator = {3};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const struct shape s = {.kind = (fovea_nn_graph_kind)(i % 3),
                            .nodes = 5,
                            .sources = 50,
                            .heads = 1 + (int64_t)i,
                            .dim = 5,
                            .degree = 2,
                            .many = lengths[i],
                            .in = i % 2 ? 3 : -1,
                            .with_weights = 1,
                            .with_lse = 1,
                            .special = i == 4 ? 50 : 0};
    check(&s, &generator);
  }
}

/* Any number of threads, any loop, and scratch of the caller's, at its size and not one byte less. */
static void test_tasks(void **state) {
  (void)state;
  struct generator generator = {4};
  for (int kind = 0; kind < 3; kind++) {
    const struct shape s = {.kind = (fovea_nn_graph_kind)kind,
                            .nodes = 1500,
                            .sources = 900,
                            .heads = 3,
                            .dim = 11,
                            .degree = 14,
                            .in = kind == 2 ? 0 : 5,
                            .with_weights = 1};
    struct problem p;
    struct executor context = {.order = TASKS_SHUFFLED};
    fovea_execution execution;
    problem_create(&p, &s, &generator);
    fovea_execution_init(&execution);
    for (execution.threads = 1; execution.threads <= 4; execution.threads++) assert_problem(&p, &execution);
    execution.threads = 3;
    execution.parallel_for = threads_for;
    execution.parallel_context = &context;
    assert_problem(&p, &execution);
    const size_t size =
        measured(fovea_nn_graph_scratch_size(&p.graph, &p.tensors, with_threads(3), measured_size(), NULL));
    struct guarded scratch = guarded_create(size, GUARD_AT_START);
    execution.scratch = scratch.data;
    execution.scratch_size = size;
    assert_problem(&p, &execution);
    assert_true(guarded_slack_intact(&scratch));
    execution.scratch_size = size - 1;
    assert_int_equal(fovea_nn_graph_run(&p.graph, &p.tensors, &execution, NULL), FOVEA_ERROR_SPACE);
    guarded_destroy(&scratch);
    problem_destroy(&p);
  }
}

/* A node has the bits that it has in a graph of its own, and nothing that it has no edge to reaches it: sources
 * that no edge of it names become NaN. */
static void test_alone(void **state) {
  (void)state;
  struct generator generator = {5};
  for (int kind = 0; kind < 3; kind++) {
    const struct shape s = {.kind = (fovea_nn_graph_kind)kind,
                            .nodes = 40,
                            .sources = 60,
                            .heads = 4,
                            .dim = 6,
                            .degree = 12,
                            .in = -1};
    const int64_t width = s.heads * s.dim;
    struct problem p;
    problem_create(&p, &s, &generator);
    for (int64_t node = 0; node < s.nodes; node++) {
      fovea_nn_graph_tensors t = p.tensors;
      float *keys = room(s.sources * width), *values = room(s.sources * width), *y = room(width);
      for (int64_t i = 0; i < s.sources * width; i++) keys[i] = values[i] = NAN;
      for (int64_t e = p.starts[node]; e < p.starts[node + 1]; e++) {
        const int64_t at = p.sources[e] * width;
        if (at < 0) continue;
        memcpy(keys + at, p.numbers[KEY] + at, (size_t)width * sizeof *keys);
        if (kind == 0) memcpy(values + at, p.numbers[VALUE] + at, (size_t)width * sizeof *values);
      }
      t.nodes = 1;
      t.edge_starts = p.starts + node;
      t.q = p.numbers[QUERY] + node * width;
      t.k = keys;
      if (kind == 0) t.v = values;
      t.y = y;
      assert_int_equal(fovea_nn_graph_run(&p.graph, &t, NULL, NULL), FOVEA_OK);
      assert_memory_equal(y, p.numbers[Y] + node * width, (size_t)width * sizeof *y);
      free(keys);
      free(values);
      free(y);
    }
    problem_destroy(&p);
  }
}

/* ---- Formulas in double ------------------------------------------------------------------------------------ */

static double score_of(const struct contract_graph *g, int64_t node, int64_t edge, int64_t head) {
  const int64_t width = g->heads * g->dim;
  double sum = 0, of_edge = 0;
  for (int64_t d = head * g->dim; d < (head + 1) * g->dim; d++) {
    const double q = (double)g->q[node * width + d], k = (double)g->k[g->sources[edge] * width + d];
    const double e = g->e ? (double)g->e[edge * width + d] : 0;
    const double x = q + k + e;
    if (g->kind == FOVEA_NN_GRAPH_TRANSFORMER) sum += q * (k + e) * g->scale;
    if (g->kind == FOVEA_NN_GRAPH_GATV2) sum += (double)g->a[d] * (x > 0 ? x : 0.2 * x);
    if (g->kind != FOVEA_NN_GRAPH_GAT) continue;
    sum += (double)g->a_to[d] * q + (double)g->a_from[d] * k;
    if (g->e) of_edge += (double)g->a_edge[d] * e;
  }
  sum += of_edge;
  return g->kind == FOVEA_NN_GRAPH_GAT && sum < 0 ? 0.2 * sum : sum;
}

static void assert_formula(const struct problem *p, int64_t node, int64_t head) {
  const struct contract_graph *g = &p->contract;
  const int64_t width = g->heads * g->dim;
  double all = 0;
  for (int64_t e = g->starts[node]; e < g->starts[node + 1]; e++) {
    if (g->sources[e] >= 0) all += exp(score_of(g, node, e, head));
  }
  for (int64_t d = head * g->dim; d < (head + 1) * g->dim; d++) {
    double sum = 0;
    for (int64_t e = g->starts[node]; e < g->starts[node + 1]; e++) {
      if (g->sources[e] < 0) continue;
      const double weight = exp(score_of(g, node, e, head)) / (all + 1e-16);
      const float *values = g->kind == FOVEA_NN_GRAPH_TRANSFORMER ? g->v : g->k;
      const double added = g->kind == FOVEA_NN_GRAPH_TRANSFORMER && g->e ? (double)g->e[e * width + d] : 0;
      sum += weight * ((double)values[g->sources[e] * width + d] + added);
    }
    const double y = (double)floats(&p->of[Y])[node * width + d];
    if (!(fabs(y - sum) <= 4e-6)) fail_msg("node %d number %d: %.9g, not %.9g", (int)node, (int)d, y, sum);
  }
}

static void test_formulas(void **state) {
  (void)state;
  struct generator generator = {6};
  for (int i = 0; i < 12; i++) {
    const struct shape s = {.kind = (fovea_nn_graph_kind)(i % 3),
                            .nodes = 25,
                            .sources = 25,
                            .heads = 3,
                            .dim = 9,
                            .degree = i < 6 ? 10 : 300,
                            .in = i % 2 ? 0 : -1};
    struct problem p;
    problem_create(&p, &s, &generator);
    assert_int_equal(fovea_nn_graph_run(&p.graph, &p.tensors, NULL, NULL), FOVEA_OK);
    for (int64_t node = 0; node < s.nodes; node++)
      for (int64_t head = 0; head < s.heads; head++) assert_formula(&p, node, head);
    problem_destroy(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits),  cmocka_unit_test(test_sizes),
                                     cmocka_unit_test(test_long),  cmocka_unit_test(test_tasks),
                                     cmocka_unit_test(test_alone), cmocka_unit_test(test_formulas)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
