/* Graph attention against the layers of PyTorch Geometric, which graph.py ran: outputs and weights of a small
 * graph, with features of edges. */
#include "support/check.h"

#include <fovea/graph_attention.h>

#include <math.h>

#include "graph.inc"

enum { WIDTH = HEADS * DIM };

static const double tolerance = 1e-6;

static void project(const float *weights, const float *bias, float *y) {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_nn_linear_init(&linear, IN, WIDTH, weights);
  linear.bias = bias;
  fovea_nn_linear_rows_init(&rows, &linear, NODES, x, y);
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, NULL), FOVEA_OK);
}

static void assert_close(const char *name, const float *numbers, const float *wanted, int count) {
  double worst = 0;
  for (int i = 0; i < count; i++) {
    const double distance = fabs((double)numbers[i] - (double)wanted[i]);
    if (!(distance <= worst)) worst = distance;
  }
  print_message("%s: %.1e\n", name, worst);
  assert_true(worst < tolerance);
}

static void run(fovea_nn_graph graph, const float *edge_weights, const float *q, const float *k, const float *v,
                const float *wanted, const float *wanted_weights) {
  float y[NODES * WIDTH], weights[EDGES * HEADS];
  fovea_nn_linear edge;
  fovea_nn_graph_tensors tensors;
  fovea_error error;
  fovea_nn_linear_init(&edge, FEATURES, WIDTH, edge_weights);
  graph.edge = &edge;
  fovea_nn_graph_tensors_init(&tensors, &graph, NODES, NODES, starts, sources, q, k, y);
  tensors.v = v;
  tensors.features = features;
  tensors.weights = weights;
  if (fovea_nn_graph_run(&graph, &tensors, NULL, &error)) fail_msg("%s", error.text);
  assert_close("outputs", y, wanted, graph.average_heads ? NODES * DIM : NODES * WIDTH);
  assert_close("weights", weights, wanted_weights, EDGES * HEADS);
}

static void test_transformer(void **state) {
  (void)state;
  float q[NODES * WIDTH], k[NODES * WIDTH], v[NODES * WIDTH];
  fovea_nn_graph graph;
  project(transformer_query, transformer_query_bias, q);
  project(transformer_key, transformer_key_bias, k);
  project(transformer_value, transformer_value_bias, v);
  fovea_nn_graph_init(&graph, FOVEA_NN_GRAPH_TRANSFORMER, HEADS, DIM);
  run(graph, transformer_edge, q, k, v, transformer_y, transformer_weights);
}

static void test_gat(void **state) {
  (void)state;
  float h[NODES * WIDTH];
  fovea_nn_graph graph;
  project(gat_lin, NULL, h);
  fovea_nn_graph_init(&graph, FOVEA_NN_GRAPH_GAT, HEADS, DIM);
  graph.a_to = gat_att_dst;
  graph.a_from = gat_att_src;
  graph.a_edge = gat_att_edge;
  graph.bias = gat_bias;
  run(graph, gat_edge, h, h, NULL, gat_y, gat_weights);
}

static void test_gatv2(void **state) {
  (void)state;
  float to[NODES * WIDTH], from[NODES * WIDTH];
  fovea_nn_graph graph;
  project(gatv2_to, gatv2_to_bias, to);
  project(gatv2_from, gatv2_from_bias, from);
  fovea_nn_graph_init(&graph, FOVEA_NN_GRAPH_GATV2, HEADS, DIM);
  graph.a = gatv2_att;
  graph.average_heads = 1;
  graph.bias = gatv2_bias;
  run(graph, gatv2_edge, to, from, NULL, gatv2_y, gatv2_weights);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_transformer), cmocka_unit_test(test_gat),
                                     cmocka_unit_test(test_gatv2)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
