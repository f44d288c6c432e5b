/* Linformer, latent and differential attention and selected keys called in every floating-point environment: the
 * same bits, and the environment stays. */
#include "support/check.h"
#include "support/everywhere.h"

#include <fovea/latent_attention.h>
#include <fovea/sparse_attention.h>

enum {
  BATCH = 2,
  LENGTH = 140,
  HEADS = 4,
  DIM = 8,
  WIDTH = HEADS * DIM,
  K = 12,
  RANK = 20,
  ROPE = 4,
  NUMBERS = BATCH * LENGTH * WIDTH
};

static float x[NUMBERS], v[NUMBERS], weights[4 * WIDTH * WIDTH], gamma[WIDTH];
static char absorbed[1 << 16];
static fovea_execution execution;

static fovea_problem make_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  execution.isa = everywhere_isa;
  return problem;
}

static void act_linformer(void) {
  const fovea_problem problem = make_problem();
  fovea_nn_linformer linformer;
  fovea_tensors tensors;
  fovea_nn_linformer_init(&linformer, LENGTH, K, weights);
  fovea_tensors_init(&tensors, x, x, v, everywhere_room(sizeof x), NULL);
  everywhere_keep(fovea_nn_linformer_run(&linformer, &problem, &tensors, &execution, NULL));
}

static void act_differential(void) {
  const fovea_problem problem = make_problem();
  fovea_nn_differential differential;
  fovea_tensors first, second;
  fovea_nn_differential_init(&differential, 0.1, 0.3);
  differential.gamma = gamma;
  fovea_tensors_init(&first, x, x, v, everywhere_room(sizeof x), NULL);
  fovea_tensors_init(&second, v, x, v, NULL, NULL);
  everywhere_keep(fovea_nn_differential_run(&differential, &problem, &first, &second, &execution, NULL));
  everywhere_keep(fovea_nn_differential_lambda(DIM, x, v, v, x, 0.1, everywhere_room(sizeof(float)), NULL));
}

static void act_latent(void) {
  fovea_nn_linear q, a, b, o;
  fovea_nn_norm norm;
  fovea_rotary rotary;
  fovea_nn_latent latent;
  fovea_nn_latent_tensors tensors;
  fovea_problem problem;
  fovea_nn_linear_init(&q, WIDTH, HEADS * (DIM + ROPE), weights);
  fovea_nn_linear_init(&a, WIDTH, RANK + ROPE, weights);
  fovea_nn_linear_init(&b, RANK, HEADS * 2 * DIM, weights);
  fovea_nn_linear_init(&o, WIDTH, WIDTH, weights);
  fovea_nn_norm_init(&norm, FOVEA_NN_RMS_NORM, RANK);
  fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, ROPE);
  execution.isa = everywhere_isa;
  fovea_nn_latent_init(&latent, HEADS, RANK, DIM, ROPE, DIM);
  latent.q_b_proj = &q;
  latent.kv_a_proj = &a;
  latent.kv_b_proj = &b;
  latent.o_proj = &o;
  latent.kv_a_layernorm = &norm;
  latent.rotary = &rotary;
  everywhere_keep(fovea_nn_latent_absorb(&latent, absorbed, NULL));
  for (int form = 0; form < 2; form++) {
    fovea_problem_init(&problem, BATCH, HEADS, HEADS, LENGTH, LENGTH, DIM + ROPE, DIM);
    execution.isa = everywhere_isa;
    problem.causal = 1;
    latent.form = (fovea_nn_latent_form)form;
    latent.absorbed = form ? absorbed : NULL;
    fovea_nn_latent_tensors_init(&tensors, x, everywhere_room(sizeof x));
    everywhere_keep(fovea_nn_latent_run(&latent, &problem, &tensors, &execution, NULL));
  }
}

static void act_selection(void) {
  fovea_nn_selection selection;
  fovea_nn_selection_init(&selection, BATCH, HEADS, LENGTH, LENGTH, DIM, K, x, v, v,
                          everywhere_room(BATCH * LENGTH * K * sizeof(int64_t)));
  execution.isa = everywhere_isa;
  everywhere_keep(fovea_nn_select(&selection, &execution, NULL));
}

static void test_linformer(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_linformer);
}

static void test_differential(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_differential);
}

static void test_latent(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_latent);
}

static void test_selection(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_selection);
}

/* In the caller's threads. */
static void test_threads(void **state) {
  (void)state;
  execution.threads = EVERYWHERE_THREADS;
  execution.parallel_for = everywhere_loop;
  assert_same_everywhere(act_linformer);
  assert_same_everywhere(act_differential);
  assert_same_everywhere(act_latent);
  assert_same_everywhere(act_selection);
}

static int set_up(void **state) {
  struct generator generator = {21};
  (void)state;
  fill_values(x, NUMBERS, &generator);
  fill_numbers(v, NUMBERS, 1, &generator);
  fill_numbers(weights, 4 * WIDTH * WIDTH, 0.3f, &generator);
  fill_numbers(gamma, WIDTH, 1, &generator);
  fovea_execution_init(&execution);
  execution.threads = 1;
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linformer), cmocka_unit_test(test_differential), cmocka_unit_test(test_latent),
      cmocka_unit_test(test_selection), cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
