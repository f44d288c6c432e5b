/* Two layers of graph attention, GAT (Velickovic et al., 2018) and GATv2 (Brody et al., 2022), against formulas in
 * double over the list of edges: self loops once, edges from source to destination, isolated nodes. */
#include "support/check.h"
#include "support/generator.h"

#include <fovea/nn.h>
#include <fovea/pattern.h>
#include <fovea/recurrent.h>

#include <math.h>
#include <string.h>

enum { NODES = 90, EDGES = 260, ALONE = 7, IN = 12, HEADS = 3, DIM = 8, WIDTH = HEADS * DIM, MOST = EDGES + NODES };

static const double slope = 0.2;

/* Edges from `from` to `to`; the library's are a CSR matrix by destination. */
struct graph {
  int64_t from[MOST], to[MOST];
  int64_t count;
  int64_t starts[NODES + 1], keys[MOST];
};

/* Some edges are there twice, some are self loops before these are added. */
static void make_graph(struct graph *graph, int with_loops, struct generator *generator) {
  graph->count = 0;
  while (graph->count < EDGES) {
    const int64_t from = generator_below(generator, NODES), to = generator_below(generator, NODES);
    if (from == ALONE || to == ALONE) continue;
    graph->from[graph->count] = from;
    graph->to[graph->count] = graph->count % 9 ? to : from;
    graph->count++;
    if (graph->count % 11) continue;
    graph->from[graph->count] = graph->from[graph->count - 1];
    graph->to[graph->count] = graph->to[graph->count - 1];
    graph->count++;
  }
  for (int64_t i = 0; i < NODES && with_loops; i++)
    graph->from[graph->count] = graph->to[graph->count] = i, graph->count++;
  int64_t at = 0;
  for (int64_t to = 0; to < NODES; to++) {
    graph->starts[to] = at;
    for (int64_t e = 0; e < graph->count; e++)
      if (graph->to[e] == to) graph->keys[at++] = graph->from[e];
  }
  graph->starts[NODES] = at;
}

/* The weights of a layer: W (WIDTH, in), of the destination and of the source (the same in GAT), and the vectors a
 * of the heads, of the destination and of the source. */
struct layer {
  int64_t in;
  float to[WIDTH * WIDTH], from[WIDTH * WIDTH], a_to[WIDTH], a_from[WIDTH];
};

static void make_layer(struct layer *layer, int64_t in, int version, struct generator *generator) {
  layer->in = in;
  for (int64_t i = 0; i < WIDTH * in; i++) {
    layer->to[i] = generator_uniform(generator);
    layer->from[i] = version == 1 ? layer->to[i] : generator_uniform(generator);
  }
  for (int i = 0; i < WIDTH; i++) {
    layer->a_to[i] = generator_uniform(generator);
    layer->a_from[i] = version == 1 ? generator_uniform(generator) : layer->a_to[i];
  }
}

/* ---- In double ----------------------------------------------------------------------------------------------- */

static double leaky(double x) {
  return x > 0 ? x : slope * x;
}

static double projected(const float *w, const double *x, const struct layer *layer, int64_t row) {
  double sum = 0;
  for (int64_t i = 0; i < layer->in; i++) sum += (double)w[row * layer->in + i] * x[i];
  return sum;
}

/* The score of an edge, for one head. */
static double score_of(const struct layer *layer, int version, const double *to, const double *from, int head) {
  double sum = 0;
  for (int d = head * DIM; d < (head + 1) * DIM; d++) {
    const double a = projected(layer->to, to, layer, d), b = projected(layer->from, from, layer, d);
    sum += version == 1 ? (double)layer->a_to[d] * a + (double)layer->a_from[d] * b
                        : (double)layer->a_to[d] * leaky(a + b);
  }
  return version == 1 ? leaky(sum) : sum;
}

/* o (NODES, WIDTH). */
static void expect(const struct graph *graph, const struct layer *layer, int version, const double *x, double *o) {
  static int edge[NODES][NODES];
  memset(edge, 0, sizeof edge);
  for (int64_t e = 0; e < graph->count; e++) edge[graph->to[e]][graph->from[e]] = 1;
  memset(o, 0, NODES * WIDTH * sizeof *o);
  for (int64_t i = 0; i < NODES; i++)
    for (int head = 0; head < HEADS; head++) {
      double all = 0;
      for (int64_t j = 0; j < NODES; j++)
        if (edge[i][j]) all += exp(score_of(layer, version, x + i * layer->in, x + j * layer->in, head));
      for (int64_t j = 0; j < NODES; j++) {
        if (!edge[i][j]) continue;
        const double weight = exp(score_of(layer, version, x + i * layer->in, x + j * layer->in, head)) / all;
        for (int d = head * DIM; d < (head + 1) * DIM; d++)
          o[i * WIDTH + d] += weight * projected(layer->from, x + j * layer->in, layer, d);
      }
    }
}

/* ---- By the library ------------------------------------------------------------------------------------------ */

static void run_linear(const float *weights, const float *bias, int64_t in, int64_t out, const float *x, float *y) {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_nn_linear_init(&linear, in, out, weights);
  linear.bias = bias;
  fovea_nn_linear_rows_init(&rows, &linear, NODES, x, y);
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, NULL), FOVEA_OK);
}

/* Two outputs for each head: a . W x, and a 1, from weights of 0 and a bias of 1. `place`: which is the 1. */
static void project_score(const struct layer *layer, const float *w, const float *a, int place, const float *x,
                          float *y) {
  float weights[2 * HEADS * WIDTH] = {0}, bias[2 * HEADS] = {0};
  for (int head = 0; head < HEADS; head++) {
    bias[2 * head + place] = 1;
    for (int64_t i = 0; i < layer->in; i++) {
      double sum = 0;
      for (int d = head * DIM; d < (head + 1) * DIM; d++) sum += (double)a[d] * (double)w[d * layer->in + i];
      weights[(2 * head + !place) * layer->in + i] = (float)sum;
    }
  }
  run_linear(weights, bias, layer->in, 2 * HEADS, x, y);
}

static void run_gat(const struct graph *graph, const struct layer *layer, const float *x, float *o) {
  static float q[NODES * 2 * HEADS], k[NODES * 2 * HEADS], v[NODES * WIDTH];
  fovea_problem problem;
  fovea_pattern_options options;
  fovea_pattern *pattern;
  fovea_tensors tensors;
  project_score(layer, layer->to, layer->a_to, 1, x, q);
  project_score(layer, layer->from, layer->a_from, 0, x, k);
  run_linear(layer->from, NULL, layer->in, WIDTH, x, v);
  const fovea_rule edges = fovea_rule_edges(0, NODES, graph->starts, graph->keys);
  fovea_pattern_options_init(&options, &edges, NODES, NODES);
  options.by_row = 1;
  assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
  fovea_problem_init(&problem, 1, HEADS, HEADS, NODES, NODES, 2, DIM);
  problem.q_strides = problem.k_strides = fovea_strides_rows_before_heads(NODES, HEADS, 2);
  problem.v_strides = problem.o_strides = fovea_strides_rows_before_heads(NODES, HEADS, DIM);
  problem.scale = 1;
  problem.activation.kind = FOVEA_SCORE_ACTIVATION_LEAKY_RELU;
  problem.activation.leaky_slope = slope;
  problem.pattern = pattern;
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  assert_int_equal(fovea_attend(&problem, &tensors, NULL, NULL), FOVEA_OK);
  fovea_pattern_destroy(pattern);
}

static void run_gatv2(const struct graph *graph, const struct layer *layer, const float *x, float *o) {
  static float v[NODES * WIDTH];
  run_linear(layer->from, NULL, layer->in, WIDTH, x, v);
  for (int head = 0; head < HEADS; head++) {
    fovea_nn_linear query, key;
    fovea_nn_additive additive;
    fovea_nn_additive_tensors tensors;
    fovea_nn_linear_init(&query, layer->in, DIM, layer->to + head * DIM * layer->in);
    fovea_nn_linear_init(&key, layer->in, DIM, layer->from + head * DIM * layer->in);
    fovea_nn_additive_init(&additive, DIM, layer->a_to + head * DIM);
    additive.query = &query;
    additive.key = &key;
    additive.activation = FOVEA_NN_ADDITIVE_ACTIVATION_LEAKY_RELU;
    additive.leaky_slope = slope;
    fovea_nn_additive_tensors_init(&tensors, &additive, 1, NODES, NODES, DIM, x, x, v + head * DIM, o + head * DIM);
    tensors.v_strides = tensors.o_strides = (fovea_strides){NODES * WIDTH, 0, WIDTH};
    tensors.edge_starts = graph->starts;
    tensors.edge_keys = graph->keys;
    assert_int_equal(fovea_nn_additive_run(&additive, &tensors, NULL, NULL), FOVEA_OK);
  }
}

/* The first layer's heads are concatenated, with ELU; the last layer's are averaged. */
static void check(int version, int with_loops, uint64_t seed) {
  static float x[NODES * WIDTH], hidden[NODES * WIDTH], o[NODES * WIDTH];
  static double exact_x[NODES * WIDTH], exact_hidden[NODES * WIDTH], exact[NODES * WIDTH];
  static struct layer layers[2];
  static struct graph graph;
  struct generator generator = {seed};
  make_graph(&graph, with_loops, &generator);
  make_layer(&layers[0], IN, version, &generator);
  make_layer(&layers[1], WIDTH, version, &generator);
  for (int i = 0; i < NODES * IN; i++) exact_x[i] = (double)(x[i] = generator_uniform(&generator));
  (version == 1 ? run_gat : run_gatv2)(&graph, &layers[0], x, hidden);
  fovea_nn_map elu;
  fovea_nn_map_init(&elu, NODES, WIDTH, hidden, hidden);
  assert_int_equal(fovea_nn_activate(&elu, FOVEA_NN_ACTIVATION_ELU, NULL, NULL), FOVEA_OK);
  (version == 1 ? run_gat : run_gatv2)(&graph, &layers[1], hidden, o);
  expect(&graph, &layers[0], version, exact_x, exact_hidden);
  for (int i = 0; i < NODES * WIDTH; i++)
    exact_hidden[i] = exact_hidden[i] > 0 ? exact_hidden[i] : expm1(exact_hidden[i]);
  expect(&graph, &layers[1], version, exact_hidden, exact);
  for (int i = 0; i < NODES; i++)
    for (int d = 0; d < DIM; d++) {
      double average = 0, expected = 0;
      for (int head = 0; head < HEADS; head++) {
        average += (double)o[i * WIDTH + head * DIM + d] / HEADS;
        expected += exact[i * WIDTH + head * DIM + d] / HEADS;
      }
      if (!(fabs(average - expected) <= 2e-5)) fail_msg("node %d dim %d: %.9g, not %.9g", i, d, average, expected);
      if (i == ALONE && !with_loops) assert_true(average == 0);
    }
}

static void test_layers(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 3; seed++)
    for (int version = 1; version <= 2; version++)
      for (int with_loops = 0; with_loops < 2; with_loops++) check(version, with_loops, seed);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
