/* What graph attention refuses, and with which text: nothing is written. Structs of other sizes; every
 * floating-point environment; what an allocator gives. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/everywhere.h"
#include "support/execution.h"

#include <fovea/graph_attention.h>

#include <math.h>
#include <string.h>

enum { NODES = 3, SOURCES = 5, HEADS = 2, DIM = 4, WIDTH = HEADS * DIM, EDGES = 6, IN = 3 };

static float numbers[1024], more[1024], outputs[256], layer_weights[WIDTH * IN];
static const int64_t starts[NODES + 1] = {0, 2, 2, EDGES}, sources[EDGES] = {4, -1, 0, 1, 0, 3};

static void *no_memory(void *context, size_t size, size_t alignment) {
  (void)context;
  (void)size;
  (void)alignment;
  return NULL;
}

static void release_nothing(void *context, void *pointer) {
  (void)context;
  (void)pointer;
}

static void use_kind(fovea_nn_graph *graph, fovea_nn_graph_tensors *tensors, fovea_nn_graph_kind kind) {
  const int transformer = kind == FOVEA_NN_GRAPH_TRANSFORMER, gat = kind == FOVEA_NN_GRAPH_GAT;
  fovea_nn_graph_init(graph, kind, HEADS, DIM);
  graph->a_to = graph->a_from = gat ? numbers : NULL;
  graph->a = kind == FOVEA_NN_GRAPH_GATV2 ? numbers : NULL;
  fovea_nn_graph_tensors_init(tensors, graph, NODES, SOURCES, starts, sources, numbers, numbers, outputs);
  if (transformer) tensors->v = numbers;
}

#define CASE(kind, change, status, word)                                                                           \
  do {                                                                                                             \
    fovea_nn_linear edge;                                                                                          \
    fovea_nn_graph g;                                                                                              \
    fovea_nn_graph_tensors t;                                                                                      \
    fovea_error error = {.text = "edge.struct_size is 1, and this library's is 64"};                               \
    fovea_nn_linear_init(&edge, IN, WIDTH, layer_weights);                                                         \
    use_kind(&g, &t, kind);                                                                                        \
    memset(outputs, 0x3a, sizeof outputs);                                                                         \
    fovea_execution e = *on_isa(NULL);                                                                             \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_graph_run(&g, &t, &e, &error), status);                                              \
    assert_error_says(&error, word);                                                                               \
    if ((status) != FOVEA_ERROR_MEMORY)                                                                            \
      assert_int_equal(fovea_nn_graph_scratch_size(&g, &t, &e, measured_size(), NULL), status);                    \
    for (size_t i = 0; i < sizeof outputs; i++) assert_int_equal(((const unsigned char *)outputs)[i], 0x3a);       \
  } while (0)
#define TRANSFORMER(change, status, word) CASE(FOVEA_NN_GRAPH_TRANSFORMER, change, status, word)
#define GAT(change, status, word)         CASE(FOVEA_NN_GRAPH_GAT, change, status, word)
#define GATV2(change, status, word)       CASE(FOVEA_NN_GRAPH_GATV2, change, status, word)

static void test_sizes(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_graph_run(NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  TRANSFORMER(g.struct_size--, FOVEA_ERROR_ARGUMENT, "graph.struct_size");
  TRANSFORMER(t.struct_size--, FOVEA_ERROR_ARGUMENT, "tensors.struct_size");
  TRANSFORMER(g.kind = (fovea_nn_graph_kind)3, FOVEA_ERROR_ARGUMENT, "graph.kind is 3");
  TRANSFORMER(g.heads = 0, FOVEA_ERROR_ARGUMENT, "graph.heads is 0");
  TRANSFORMER(g.heads = (1 << 20) + 1, FOVEA_ERROR_ARGUMENT, "graph.heads");
  TRANSFORMER(g.dim = 0, FOVEA_ERROR_ARGUMENT, "graph.dim is 0");
  TRANSFORMER((g.dim = INT64_C(1) << 40), FOVEA_ERROR_ARGUMENT, "heads: more than 2^40");
  TRANSFORMER(g.average_heads = 2, FOVEA_ERROR_ARGUMENT, "graph.average_heads is 2");
  TRANSFORMER(t.nodes = -1, FOVEA_ERROR_ARGUMENT, "tensors.nodes is -1");
  TRANSFORMER(t.sources = -1, FOVEA_ERROR_ARGUMENT, "tensors.sources is -1");
  TRANSFORMER(t.k_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "tensors.k_type is 9");
  TRANSFORMER(t.feature_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "tensors.feature_type is 9");
  TRANSFORMER(g.scale = INFINITY, FOVEA_ERROR_ARGUMENT, "scale is");
  TRANSFORMER(g.scale = NAN, FOVEA_ERROR_ARGUMENT, "scale is");
  TRANSFORMER(g.scale = 3e38, FOVEA_ERROR_ARGUMENT, "scale is");
  GAT(g.leaky_slope = 1, FOVEA_ERROR_ARGUMENT, "leaky_slope is 1");
  GATV2(g.leaky_slope = NAN, FOVEA_ERROR_ARGUMENT, "leaky_slope is");
  TRANSFORMER(e.isa = "abacus", FOVEA_ERROR_ARGUMENT, "isa: abacus");
  TRANSFORMER((e.allocator.allocate = no_memory, e.allocator.release = release_nothing), FOVEA_ERROR_MEMORY,
              "No memory");
}

static void test_unused(void **state) {
  (void)state;
  TRANSFORMER(g.a = numbers, FOVEA_ERROR_UNUSED, "a is set");
  TRANSFORMER(g.a_to = numbers, FOVEA_ERROR_UNUSED, "a_to is set");
  TRANSFORMER(g.leaky_slope = 0.2, FOVEA_ERROR_UNUSED, "leaky_slope");
  TRANSFORMER(g.edge = &edge, FOVEA_ERROR_UNUSED, "edge is set");
  TRANSFORMER(t.feature_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "feature_type");
  TRANSFORMER(t.feature_strides.row = 99, FOVEA_ERROR_UNUSED, "feature_strides");
  TRANSFORMER(t.weight_stride = 3, FOVEA_ERROR_UNUSED, "weight_stride");
  TRANSFORMER(t.k_strides.batch = 3, FOVEA_ERROR_UNUSED, "k_strides.batch");
  GAT(t.v = numbers, FOVEA_ERROR_UNUSED, "v is set");
  GAT(t.v_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "v_type");
  GAT(g.scale = 1, FOVEA_ERROR_UNUSED, "scale is set");
  GAT(g.a = numbers, FOVEA_ERROR_UNUSED, "a is set");
  GAT(g.a_edge = numbers, FOVEA_ERROR_UNUSED, "a_edge: there are no features");
  GATV2(g.a_from = numbers, FOVEA_ERROR_UNUSED, "a_from is set");
}

static void test_pointers(void **state) {
  (void)state;
  TRANSFORMER(t.v = NULL, FOVEA_ERROR_ARGUMENT, "v is NULL");
  TRANSFORMER(t.k = NULL, FOVEA_ERROR_ARGUMENT, "k is NULL");
  TRANSFORMER(t.y = NULL, FOVEA_ERROR_ARGUMENT, "y is NULL");
  TRANSFORMER(t.edge_starts = NULL, FOVEA_ERROR_ARGUMENT, "edge_starts is NULL");
  TRANSFORMER(t.edge_sources = NULL, FOVEA_ERROR_ARGUMENT, "edge_sources is NULL");
  GAT(g.a_to = NULL, FOVEA_ERROR_ARGUMENT, "a_to is NULL");
  GAT(g.a_from = NULL, FOVEA_ERROR_ARGUMENT, "a_from is NULL");
  GAT(t.features = more, FOVEA_ERROR_ARGUMENT, "a_edge is NULL");
  GATV2(g.a = NULL, FOVEA_ERROR_ARGUMENT, "a is NULL");
  TRANSFORMER(t.q = (const char *)numbers + 1, FOVEA_ERROR_ARGUMENT, "q");
  TRANSFORMER(t.edge_starts = (const int64_t *)(const void *)((const char *)starts + 4), FOVEA_ERROR_ARGUMENT,
              "edge_starts");
  TRANSFORMER(t.y = numbers + 9, FOVEA_ERROR_ARGUMENT, "y shares memory with q");
  TRANSFORMER((t.features = more, t.y = more + EDGES * WIDTH - 1), FOVEA_ERROR_ARGUMENT, "y: with features");
  TRANSFORMER(t.lse = outputs + 5, FOVEA_ERROR_ARGUMENT, "lse shares memory with y");
  TRANSFORMER(t.weights = outputs + 3, FOVEA_ERROR_ARGUMENT, "weights shares memory with y");
  TRANSFORMER(g.bias = outputs + 1, FOVEA_ERROR_ARGUMENT, "y: with bias");
  TRANSFORMER(t.y_strides.row = 7, FOVEA_ERROR_ARGUMENT, "y_strides.row is 7");
  TRANSFORMER(t.k_strides.row = INT64_C(1) << 60, FOVEA_ERROR_ARGUMENT, "k_strides");
  static const int64_t later[] = {1, 2, 2, 2};
  TRANSFORMER((t.edge_starts = later, t.features = more, t.feature_strides.row = INT64_C(1) << 60),
              FOVEA_ERROR_ARGUMENT, "feature_strides");
  TRANSFORMER((t.edge_starts = later, t.weights = outputs + 90, t.weight_stride = INT64_MIN / 2),
              FOVEA_ERROR_ARGUMENT, "weight_stride: 2^57");
  TRANSFORMER(
      (edge.out = WIDTH + 1, g.edge = &edge, t.features = more, t.feature_strides = (fovea_strides){0, 0, IN}),
      FOVEA_ERROR_ARGUMENT, "edge.out is 9");
  TRANSFORMER(
      (edge.weights = outputs, g.edge = &edge, t.features = more, t.feature_strides = (fovea_strides){0, 0, IN}),
      FOVEA_ERROR_ARGUMENT, "y: weights of edge");
  TRANSFORMER((edge.struct_size = 1, g.edge = &edge, t.features = more), FOVEA_ERROR_ARGUMENT,
              "edge.struct_size is 1, and this library's is 64");
}

static void test_edges(void **state) {
  (void)state;
  static const int64_t falling[] = {0, 3, 2, 5}, below[] = {-1, 0, 0, 0}, huge[] = {0, 0, 0, INT64_MAX};
  static const int64_t beyond[] = {0, 0, 5, 0, 0, 0}, under[] = {0, 0, 0, -2, 0, 0};
  TRANSFORMER(t.edge_starts = falling, FOVEA_ERROR_ARGUMENT, "edge_starts[2] is 2");
  TRANSFORMER(t.edge_starts = below, FOVEA_ERROR_ARGUMENT, "edge_starts[0] is -1");
  TRANSFORMER(t.edge_starts = huge, FOVEA_ERROR_ARGUMENT, "edge_starts[3] is 9");
  TRANSFORMER(t.edge_sources = beyond, FOVEA_ERROR_ARGUMENT, "edge_sources[2] is 5; it must be from -1 to 4");
  TRANSFORMER(t.edge_sources = under, FOVEA_ERROR_ARGUMENT, "edge_sources[3] is -2");
}

/* No nodes, no sources, no edges: pointers may be NULL. */
static void test_empty(void **state) {
  (void)state;
  static const int64_t none[NODES + 1];
  fovea_nn_graph g;
  fovea_nn_graph_tensors t;
  for (int kind = 0; kind < 3; kind++) {
    use_kind(&g, &t, (fovea_nn_graph_kind)kind);
    fovea_nn_graph_tensors_init(&t, &g, 0, 0, none, NULL, NULL, NULL, NULL);
    assert_int_equal(fovea_nn_graph_run(&g, &t, NULL, NULL), FOVEA_OK);
    fovea_nn_graph_tensors_init(&t, &g, NODES, 0, none, NULL, numbers, NULL, outputs);
    memset(outputs, 0x3a, sizeof outputs);
    assert_int_equal(fovea_nn_graph_run(&g, &t, NULL, NULL), FOVEA_OK);
    for (int i = 0; i < NODES * WIDTH; i++) assert_true(outputs[i] == 0);
    assert_int_equal(((const unsigned char *)outputs)[NODES * WIDTH * sizeof *outputs], 0x3a);
  }
}

/* Initialisers write as many bytes as the caller's struct has. */
static void test_struct_sizes(void **state) {
  (void)state;
  unsigned char bytes[1024];
  fovea_nn_graph g;
  memset(bytes, 0x5b, sizeof bytes);
  fovea_nn_graph_init_sized((fovea_nn_graph *)(void *)bytes, 12, FOVEA_NN_GRAPH_GAT, 1, 2);
  assert_int_equal(bytes[12], 0x5b);
  fovea_nn_graph_init(&g, FOVEA_NN_GRAPH_GAT, HEADS, DIM);
  fovea_nn_graph_tensors_init_sized((fovea_nn_graph_tensors *)(void *)bytes, 16, &g, 1, 1, NULL, NULL, NULL, NULL,
                                    NULL);
  assert_int_equal(bytes[16], 0x5b);
}

static void act(void) {
  static const int64_t loops[NODES + 1] = {0, 2, 3, EDGES}, from[EDGES] = {4, -1, 0, 1, 0, 3};
  for (int kind = 0; kind < 3; kind++) {
    fovea_nn_linear edge;
    fovea_nn_graph g;
    fovea_nn_graph_tensors t;
    fovea_nn_linear_init(&edge, IN, WIDTH, layer_weights);
    use_kind(&g, &t, (fovea_nn_graph_kind)kind);
    g.edge = &edge;
    g.a_edge = kind == FOVEA_NN_GRAPH_GAT ? numbers : NULL;
    const void *values = t.v;
    fovea_nn_graph_tensors_init(&t, &g, NODES, SOURCES, loops, from, numbers, more,
                                everywhere_room(NODES * WIDTH * sizeof(float)));
    t.v = values;
    t.features = more;
    t.weights = everywhere_room(EDGES * HEADS * sizeof(float));
    t.lse = everywhere_room(NODES * HEADS * sizeof(float));
    everywhere_keep(fovea_nn_graph_run(&g, &t, on_isa(everywhere_isa), NULL));
    const size_t size = measured(fovea_nn_graph_scratch_size(&g, &t, with_threads(2), measured_size(), NULL));
    memcpy(everywhere_room(sizeof size), &size, sizeof size);
  }
}

static void test_environments(void **state) {
  (void)state;
  struct generator generator = {7};
  fill_numbers(numbers, 1024, 1, &generator);
  fill_values(more, 1024, &generator);
  fill_numbers(layer_weights, WIDTH * IN, 1, &generator);
  assert_same_everywhere_on_isas(act);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes),       cmocka_unit_test(test_unused),
                                     cmocka_unit_test(test_pointers),    cmocka_unit_test(test_edges),
                                     cmocka_unit_test(test_empty),       cmocka_unit_test(test_struct_sizes),
                                     cmocka_unit_test(test_environments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
