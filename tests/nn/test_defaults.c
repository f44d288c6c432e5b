/* Defaults of layers' structs belong to the sizes that they have when they are used: if an initialiser was given
 * other sizes, or another layer, strides fit the layer that runs. */
#include "support/check.h"

#include <fovea/embedding.h>
#include <fovea/graph_attention.h>
#include <fovea/linear_attention.h>
#include <fovea/nn.h>
#include <fovea/performer.h>
#include <fovea/recurrent.h>
#include <fovea/sparse_attention.h>

#include <string.h>

enum { ROWS = 6, IN = 10, OUT = 7, HEADS = 2, ALL = 4096 };

static float numbers[ALL];

static int make_numbers(void **state) {
  (void)state;
  for (int i = 0; i < ALL; i++) numbers[i] = (float)(i * 37 % 101 - 50) / 64;
  return 0;
}

/* Outputs of a call that was prepared with the right sizes, and of one that was not. */
static float results[2][ALL];

static void assert_same(void) {
  assert_memory_equal(results[1], results[0], sizeof results[0]);
  memset(results, 0, sizeof results);
}

#define OK(call) assert_int_equal(call, FOVEA_OK)

static void test_linear(void **state) {
  (void)state;
  for (int panels = 0; panels < 2; panels++) {
    static float packed[ALL];
    for (int late = 0; late < 2; late++) {
      fovea_nn_linear linear, other;
      fovea_nn_linear_rows rows;
      fovea_nn_linear_init(&other, 3, 2, numbers);
      fovea_nn_linear_init(&linear, late ? 3 : IN, late ? 2 : OUT, numbers);
      linear.in = IN, linear.out = OUT;
      OK(fovea_nn_pack(&linear, packed, NULL, NULL));
      if (panels) linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS, linear.weights = packed;
      fovea_nn_linear_rows_init(&rows, late ? &other : &linear, ROWS, numbers, results[late]);
      rows.residual = numbers + 100;
      OK(fovea_nn_linear_run(&linear, &rows, NULL, NULL));
    }
    assert_same();
  }
}

static void test_rows(void **state) {
  (void)state;
  for (int late = 0; late < 2; late++) {
    fovea_nn_map map;
    fovea_nn_map_init(&map, ROWS, late ? 2 : IN, numbers, results[late]);
    map.dim = IN;
    OK(fovea_nn_softmax(&map, NULL, NULL));
  }
  assert_same();
  for (int late = 0; late < 2; late++) {
    fovea_nn_norm norm, other;
    fovea_nn_norm_rows rows;
    fovea_nn_norm_init(&norm, FOVEA_NN_LAYER_NORM, IN);
    fovea_nn_norm_init(&other, FOVEA_NN_LAYER_NORM, 3);
    fovea_nn_norm_rows_init(&rows, late ? &other : &norm, ROWS, numbers, results[late]);
    rows.residual = numbers + 50;
    OK(fovea_nn_norm_run(&norm, &rows, NULL, NULL));
  }
  assert_same();
  for (int late = 0; late < 2; late++) {
    fovea_nn_sinusoid_rows rows;
    fovea_nn_sinusoid_rows_init(&rows, ROWS, late ? 2 : IN, results[late]);
    rows.dim = IN;
    rows.x = numbers;
    OK(fovea_nn_sinusoids(&rows, NULL, NULL));
  }
  assert_same();
  for (int late = 0; late < 2; late++) {
    fovea_nn_dropout_rows rows;
    fovea_nn_dropout_rows_init(&rows, ROWS, late ? 2 : IN, numbers, results[late]);
    rows.dim = IN;
    rows.p = 0.5f;
    OK(fovea_nn_dropout(&rows, NULL, NULL));
  }
  assert_same();
}

static void test_embedding(void **state) {
  (void)state;
  static const int32_t ids[ROWS] = {3, 1, 4, 1, 5, 2};
  for (int late = 0; late < 2; late++) {
    fovea_nn_embedding embedding, other;
    fovea_nn_embedding_rows rows;
    fovea_nn_embedding_init(&other, 2, 20, numbers);
    fovea_nn_embedding_init(&embedding, late ? 3 : IN, 20, numbers);
    embedding.dim = IN;
    embedding.positions.data = numbers + 300;
    embedding.positions.count = 30;
    fovea_nn_embedding_rows_init(&rows, late ? &other : &embedding, ROWS, ids, results[late]);
    OK(fovea_nn_embed(&embedding, &rows, NULL, NULL));
  }
  assert_same();
}

static void test_attention(void **state) {
  (void)state;
  enum { DIM = 5, WIDTH = HEADS * DIM };
  for (int late = 0; late < 2; late++) {
    fovea_nn_linear layer;
    fovea_nn_attention attention;
    fovea_nn_attention_tensors tensors;
    fovea_problem problem;
    fovea_nn_linear_init(&layer, WIDTH, WIDTH, numbers);
    fovea_nn_attention_init(&attention, &layer, &layer, &layer, &layer);
    fovea_problem_init(&problem, 1, HEADS, HEADS, late ? 1 : ROWS, late ? 1 : ROWS, late ? 2 : DIM, late ? 2 : DIM);
    problem.q_len = problem.kv_len = ROWS, problem.qk_dim = problem.v_dim = DIM;
    problem.scores.kind = FOVEA_SCORES_WEIGHTS;
    attention.average_scores = 1;
    fovea_nn_attention_tensors_init(&tensors, numbers, results[late]);
    tensors.scores = results[late] + 1000;
    OK(fovea_nn_attention_run(&attention, &problem, &tensors, NULL, NULL));
  }
  assert_same();
}

static void test_recurrent(void **state) {
  (void)state;
  enum { H = 4 };
  for (int late = 0; late < 2; late++) {
    fovea_nn_linear input, hidden;
    fovea_nn_cell cell, none;
    fovea_nn_cell_rows rows;
    fovea_nn_linear_init(&input, IN, 3 * H, numbers);
    fovea_nn_linear_init(&hidden, H, 3 * H, numbers + 200);
    fovea_nn_cell_init(&cell, &input, &hidden);
    fovea_nn_cell_init(&none, NULL, NULL);
    fovea_nn_cell_rows_init(&rows, late ? &none : &cell, ROWS, numbers, numbers + 500, results[late]);
    OK(fovea_nn_gru(&cell, &rows, NULL, NULL));
  }
  assert_same();
}

static void test_additive(void **state) {
  (void)state;
  enum { DIM = 5, V = 3, KEYS = 4 };
  for (int late = 0; late < 2; late++) {
    fovea_nn_linear query;
    fovea_nn_additive additive, none;
    fovea_nn_additive_tensors t;
    fovea_nn_linear_init(&query, IN, DIM, numbers);
    fovea_nn_additive_init(&none, 2, numbers);
    fovea_nn_additive_init(&additive, DIM, numbers + 60);
    additive.query = &query;
    fovea_nn_additive_tensors_init(&t, late ? &none : &additive, 2, late ? 1 : ROWS, late ? 1 : KEYS, late ? 1 : V,
                                   numbers, numbers + 200, numbers + 300, results[late]);
    t.q_len = ROWS, t.kv_len = KEYS, t.v_dim = V;
    t.weights = results[late] + 1000;
    OK(fovea_nn_additive_run(&additive, &t, NULL, NULL));
  }
  assert_same();
}

static void test_variants(void **state) {
  (void)state;
  enum { DIM = 6, V = 4, TOKENS = 5, NODES = 3 };
  for (int late = 0; late < 2; late++) {
    fovea_nn_linear_attention a;
    fovea_nn_linear_attention_tensors t;
    fovea_nn_linear_attention_init(&a, FOVEA_NN_UPDATE_LINEAR, late ? 1 : HEADS, late ? 2 : DIM, late ? 1 : V);
    a.heads = HEADS, a.k_dim = DIM, a.v_dim = V;
    fovea_nn_linear_attention_tensors_init(&t, late ? NULL : &a, 2, late ? 1 : TOKENS, numbers, numbers + 200,
                                           numbers + 400, results[late]);
    t.tokens = TOKENS;
    OK(fovea_nn_linear_attention_run(&a, &t, NULL, NULL));
  }
  assert_same();
  for (int late = 0; late < 2; late++) {
    fovea_nn_performer p;
    fovea_nn_performer_tensors t;
    fovea_nn_performer_init(&p, FOVEA_NN_PERFORMER_RELU, late ? 2 : DIM, late ? 3 : 8, numbers);
    p.dim = DIM, p.features = 8;
    fovea_nn_performer_tensors_init(&t, late ? NULL : &p, 2, HEADS, HEADS, late ? 1 : TOKENS, late ? 1 : TOKENS,
                                    late ? 1 : V, numbers + 100, numbers + 300, numbers + 500, results[late]);
    t.q_len = t.kv_len = TOKENS, t.v_dim = V;
    OK(fovea_nn_performer_run(&p, &t, NULL, NULL));
  }
  assert_same();
  static const int64_t starts[] = {0, 2, 3, 5}, sources[] = {0, 1, 2, 1, 0};
  for (int late = 0; late < 2; late++) {
    fovea_nn_graph g;
    fovea_nn_graph_tensors t;
    fovea_nn_graph_init(&g, FOVEA_NN_GRAPH_TRANSFORMER, late ? 1 : HEADS, late ? 2 : DIM);
    if (!late) g.average_heads = 1;
    fovea_nn_graph_tensors_init(&t, &g, NODES, NODES, starts, sources, numbers, numbers + 100, results[late]);
    g.heads = HEADS, g.dim = DIM, g.average_heads = 1;
    t.v = numbers + 200;
    OK(fovea_nn_graph_run(&g, &t, NULL, NULL));
  }
  assert_same();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear),    cmocka_unit_test(test_rows),      cmocka_unit_test(test_embedding),
      cmocka_unit_test(test_attention), cmocka_unit_test(test_recurrent), cmocka_unit_test(test_additive),
      cmocka_unit_test(test_variants),
  };
  return cmocka_run_group_tests(tests, make_numbers, NULL);
}
