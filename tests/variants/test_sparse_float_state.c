/* Longformer and LSH attention called in every floating-point environment: the same bits, and the environment
 * stays. */
#include "support/check.h"
#include "support/everywhere.h"

#include <fovea/sparse_attention.h>

enum { BATCH = 2, LENGTH = 300, HEADS = 2, DIM = 8, WIDTH = HEADS * DIM, ROUNDS = 2, BUCKETS = 8 };

static float x[BATCH * LENGTH * WIDTH], v[BATCH * LENGTH * WIDTH], weights[WIDTH * WIDTH];
static float rotations[DIM * ROUNDS * BUCKETS / 2];
static int8_t states[BATCH * LENGTH];
static int64_t length = 40; /* up to LENGTH */
static fovea_execution execution;

static void act_longformer(void) {
  fovea_nn_linear linear;
  fovea_nn_longformer_options options;
  fovea_nn_longformer_layer layer;
  fovea_nn_longformer_rows rows;
  fovea_nn_longformer *longformer;
  fovea_nn_linear_init(&linear, WIDTH, WIDTH, weights);
  execution.isa = everywhere_isa;
  fovea_nn_longformer_options_init(&options, BATCH, HEADS, length, DIM, 100);
  options.states = states;
  everywhere_keep(fovea_nn_longformer_create(&options, &execution, &longformer, NULL));
  fovea_nn_longformer_layer_init(&layer, &linear, &linear, &linear);
  for (int with_output = 0; with_output < 2; with_output++) {
    fovea_nn_longformer_rows_init(&rows, x, everywhere_room(sizeof x));
    if (with_output) layer.output = &linear;
    everywhere_keep(fovea_nn_longformer_run(longformer, &layer, &rows, &execution, NULL));
  }
  fovea_nn_longformer_destroy(longformer);
}

static void act_lsh(void) {
  fovea_nn_lsh lsh;
  fovea_nn_lsh_tensors t;
  fovea_nn_lsh_init(&lsh, ROUNDS, 32, BUCKETS, DIM);
  execution.isa = everywhere_isa;
  for (int causal = 0; causal < 2; causal++) {
    lsh.causal = lsh.once = causal;
    fovea_nn_lsh_tensors_init(&t, &lsh, BATCH, HEADS, length, DIM, x, v, everywhere_room(sizeof x), rotations);
    t.bucket_numbers = everywhere_room(BATCH * HEADS * ROUNDS * LENGTH * sizeof(int64_t));
    everywhere_keep(fovea_nn_lsh_run(&lsh, &t, &execution, NULL));
  }
}

static void test_longformer(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_longformer);
}

static void test_lsh(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_lsh);
}

static int loops;

static void count_loop(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  loops++;
  everywhere_loop(context, tasks, workers, run, job);
}

/* Tasks, in the caller's threads. */
static void test_threads(void **state) {
  (void)state;
  length = LENGTH; /* work for several threads */
  execution.threads = EVERYWHERE_THREADS;
  execution.parallel_for = count_loop;
  assert_same_everywhere(act_longformer);
  assert_true(loops > 0);
  loops = 0;
  assert_same_everywhere(act_lsh);
  assert_true(loops > 0);
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {9};
  fill_numbers(x, BATCH * LENGTH * WIDTH, 1, &generator);
  fill_values(v, BATCH * LENGTH * WIDTH, &generator);
  fill_values(x, LENGTH, &generator);
  fill_numbers(weights, WIDTH * WIDTH, 1, &generator);
  fill_numbers(rotations, DIM * ROUNDS * BUCKETS / 2, 1, &generator);
  for (int i = 0; i < BATCH * LENGTH; i++) states[i] = (int8_t)(i % LENGTH > 270 ? -1 : i % 50 == 5);
  fovea_execution_init(&execution);
  execution.threads = 1;
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_longformer),
      cmocka_unit_test(test_lsh),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
