/* What variants may rely on of a caller, and what not: half an allocator is refused, names may go after a create,
 * and a state holds the one NaN. */
#include "support/check.h"
#include "support/types.h"

#include <fovea/graph_attention.h>
#include <fovea/linear_attention.h>
#include <fovea/performer.h>
#include <fovea/sparse_attention.h>

#include <math.h>
#include <string.h>

static void *never(void *context, size_t size, size_t alignment) {
  (void)context, (void)size, (void)alignment;
  fail_msg("%s", "half an allocator is called");
  return NULL;
}

static const fovea_allocator half = {NULL, never, NULL};

/* Every struct that has an allocator. */
static void test_half_allocators(void **state) {
  static float numbers[4096], y[256];
  static int64_t lists[64];
  const int64_t starts[2] = {0, 0};
  fovea_error errors[8];
  fovea_nn_graph graph;
  fovea_nn_graph_tensors edges;
  fovea_nn_selection selection;
  fovea_nn_linear_attention linear;
  fovea_nn_linear_attention_tensors tokens;
  fovea_nn_performer performer;
  fovea_nn_performer_tensors rows;
  fovea_nn_random_features random;
  fovea_nn_longformer_options options;
  fovea_nn_longformer *longformer;
  fovea_nn_bigbird bigbird;
  fovea_pattern *pattern;
  fovea_nn_lsh lsh;
  fovea_nn_lsh_tensors sorted;
  (void)state;
  fovea_nn_graph_init(&graph, FOVEA_NN_GRAPH_TRANSFORMER, 1, 4);
  fovea_nn_graph_tensors_init(&edges, &graph, 1, 1, starts, lists, numbers, numbers, y);
  edges.v = numbers;
  fovea_nn_selection_init(&selection, 1, 1, 1, 1, 4, 1, numbers, numbers, numbers, lists);
  fovea_nn_linear_attention_init(&linear, FOVEA_NN_UPDATE_LINEAR, 1, 4, 4);
  fovea_nn_linear_attention_tensors_init(&tokens, &linear, 1, 1, numbers, numbers, numbers, y);
  fovea_nn_performer_init(&performer, FOVEA_NN_PERFORMER_RELU, 4, 4, numbers);
  fovea_nn_performer_tensors_init(&rows, &performer, 1, 1, 1, 1, 1, 4, numbers, numbers, numbers, y);
  fovea_nn_random_features_init(&random, 4, 4);
  fovea_nn_longformer_options_init(&options, 1, 1, 4, 4, 1);
  fovea_nn_bigbird_init(&bigbird, 4);
  fovea_nn_lsh_init(&lsh, 1, 2, 2, 4);
  fovea_nn_lsh_tensors_init(&sorted, &lsh, 1, 1, 4, 4, numbers, numbers, y, numbers);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.allocator = bigbird.allocator = half;
  assert_int_equal(fovea_nn_graph_run(&graph, &edges, &execution, &errors[0]), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_select(&selection, &execution, &errors[1]), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_linear_attention_run(&linear, &tokens, &execution, &errors[2]), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_performer_run(&performer, &rows, &execution, &errors[3]), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_random_features_draw(&random, y, &execution, &errors[4]), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_longformer_create(&options, &execution, &longformer, &errors[5]), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_bigbird_pattern(&bigbird, &pattern, &errors[6]), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_lsh_run(&lsh, &sorted, &execution, &errors[7]), FOVEA_ERROR_ARGUMENT);
  for (int i = 0; i < 8; i++) {
    assert_string_equal(errors[i].text, "allocator.release is NULL; set both functions or neither");
  }
}

/* The object keeps nothing of the options but what it has copied. */
static void test_names_may_go(void **state) {
  static float x[8 * 4], weights[4 * 4], y[8 * 4];
  char name[16] = "scalar";
  fovea_nn_longformer_options options;
  fovea_nn_longformer *longformer;
  fovea_nn_linear linear;
  fovea_nn_longformer_layer layer;
  fovea_nn_longformer_rows rows;
  (void)state;
  fovea_nn_longformer_options_init(&options, 1, 1, 8, 4, 1);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.isa = name;
  assert_int_equal(fovea_nn_longformer_create(&options, &execution, &longformer, NULL), FOVEA_OK);
  memset(name, 'x', sizeof name);
  fovea_nn_linear_init(&linear, 4, 4, weights);
  fovea_nn_longformer_layer_init(&layer, &linear, &linear, &linear);
  fovea_nn_longformer_rows_init(&rows, x, y);
  assert_int_equal(fovea_nn_longformer_run(longformer, &layer, &rows, NULL, NULL), FOVEA_OK);
  fovea_nn_longformer_destroy(longformer);
}

/* x86 and ARM make NaNs of other signs and contents. */
static void test_states_hold_one_nan(void **state) {
  const float projection[1] = {1}, q[2] = {1, 1}, k[2] = {1, 1}, v[2] = {INFINITY, -INFINITY};
  float o[2], sums[2] = {0, 0};
  fovea_nn_performer performer;
  fovea_nn_performer_tensors rows;
  (void)state;
  fovea_nn_performer_init(&performer, FOVEA_NN_PERFORMER_RELU, 1, 1, projection);
  performer.causal = 1;
  fovea_nn_performer_tensors_init(&rows, &performer, 1, 1, 1, 2, 2, 1, q, k, v, o);
  rows.state = sums;
  assert_int_equal(fovea_nn_performer_run(&performer, &rows, NULL, NULL), FOVEA_OK);
  assert_int_equal(bits_of(sums[0]), 0x7fc00000);
  assert_true(sums[1] > 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_half_allocators), cmocka_unit_test(test_names_may_go),
                                     cmocka_unit_test(test_states_hold_one_nan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
