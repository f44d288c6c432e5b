#include "nn/surroundings.h"

float x[NUMBERS], plain[NUMBERS], weights[WEIGHTS], tiny[WIDTH * WIDTH];
uint16_t halves[NUMBERS];
int32_t ids[MANY * LENGTH];

int64_t batch = FEW, many = MANY;
fovea_type output_type = FOVEA_F32;
fovea_nn_linear layers[6];
fovea_nn_norm norms[2];
fovea_nn_attention attention;
fovea_nn_block block;
fovea_rotary rotary;
fovea_execution execution;

static void make_layers(void) {
  for (int i = 0; i < 6; i++) {
    fovea_nn_linear_init(&layers[i], WIDTH, WIDTH, weights + i * WIDTH * WIDTH);
    layers[i].bias = weights + 6 * WIDTH * WIDTH;
  }
  for (int i = 0; i < 2; i++) {
    fovea_nn_norm_init(&norms[i], FOVEA_NN_LAYER_NORM, WIDTH);
    norms[i].gamma = weights + i;
    norms[i].beta = weights + 100 + i;
  }
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, DIM);
  fovea_nn_attention_init(&attention, &layers[0], &layers[1], &layers[2], &layers[3]);
  attention.rotary = &rotary;
  fovea_nn_block_init(&block, &attention, &norms[0], &layers[4], &layers[5], &norms[1]);
}

int surroundings_set_up(void **state) {
  (void)state;
  struct generator generator = {78};
  fill_values(x, NUMBERS, &generator);
  fill_numbers(plain, NUMBERS, 1, &generator);
  fill_numbers(weights, WEIGHTS, 1, &generator);
  fill_numbers(tiny, WIDTH * WIDTH, 0x1p-130f, &generator);
  for (int i = 0; i < NUMBERS; i++) halves[i] = (uint16_t)(generator_bits(&generator) & 0xbbff);
  for (int i = 0; i < MANY * LENGTH; i++) ids[i] = (int32_t)generator_below(&generator, 4);
  fovea_execution_init(&execution);
  make_layers();
  return 0;
}

static int loops;

static void count_loop(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  loops++;
  everywhere_loop(context, tasks, workers, run, job);
}

void assert_everywhere(void (*act)(void)) {
  assert_same_everywhere_on_isas(act);
  execution.threads = EVERYWHERE_THREADS;
  execution.parallel_for = count_loop;
  batch = many;
  output_type = FOVEA_F16;
  loops = 0;
  assert_same_everywhere(act);
  assert_true(loops > 0);
  fovea_execution_init(&execution);
  batch = FEW;
  output_type = FOVEA_F32;
}

int64_t rows_now(void) {
  return batch * LENGTH;
}

void *room_for_rows(void) {
  return everywhere_room((size_t)(rows_now() * WIDTH) * (output_type == FOVEA_F32 ? 4 : 2));
}

int variants(int all) {
  return batch == FEW ? all : 1;
}
