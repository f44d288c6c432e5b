/* An encoder layer by one call, and step by step with a clock between. */
#include "layers.h"
#include "machine.h"
#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 12, QUERY = 0, KEY, VALUE, OUTPUT, UP, DOWN, LAYERS };
/* What the steps' times are added to. */
enum { IN_LINEAR, IN_ATTENTION, IN_NORMS, PARTS };

static struct {
  const layer_case *of;
  int64_t rows, dim, width;
  fovea_nn_linear linears[LAYERS];
  float *weights[LAYERS], *biases[LAYERS];
  float *x, *y, *q, *k, *v, *heads, *sums, *normed, *hidden, *stepwise;
  fovea_nn_attention attention;
  fovea_nn_norm norm; /* of both places */
  fovea_nn_block block;
  fovea_problem problem; /* as the layer takes it */
  fovea_nn_attention_tensors tensors;
  fovea_plan *plan; /* of the steps */
  void *scratch, *plan_scratch;
  size_t scratch_size, plan_scratch_size;
  double parts[PARTS];
  char refusal[256];
} layer;

static fovea_execution execution_of(void *scratch, size_t size) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = layer.of->threads;
  execution.scratch = scratch;
  execution.scratch_size = size;
  return execution;
}

static void check(fovea_status status, const fovea_error *error) {
  if (status != FOVEA_OK) snprintf(layer.refusal, sizeof layer.refusal, "%s", error->text);
}

static void run_block(void *context) {
  const fovea_nn_attending self = {&layer.problem, &layer.tensors};
  const fovea_execution execution = execution_of(layer.scratch, layer.scratch_size);
  fovea_error error;
  (void)context;
  check(fovea_nn_block_run(&layer.block, &self, NULL, layer.x, layer.y, &execution, &error), &error);
}

/* ---- Step by step -------------------------------------------------------------------------------------------- */

static void add_time(int part, double *start) {
  const double now = machine_now();
  layer.parts[part] += now - *start;
  *start = now;
}

static void multiply(const fovea_nn_linear *linear, const float *from, const float *residual, float *to) {
  const fovea_execution execution = execution_of(NULL, 0);
  fovea_nn_linear_rows rows;
  fovea_error error;
  fovea_nn_linear_rows_init(&rows, linear, layer.rows, from, to);
  rows.residual = residual;
  check(fovea_nn_linear_run(linear, &rows, &execution, &error), &error);
}

static void normalise(const float *from, float *to) {
  const fovea_execution execution = execution_of(NULL, 0);
  fovea_nn_norm_rows rows;
  fovea_error error;
  fovea_nn_norm_rows_init(&rows, &layer.norm, layer.rows, from, to);
  check(fovea_nn_norm_run(&layer.norm, &rows, &execution, &error), &error);
}

static void attend(void) {
  const fovea_execution execution = execution_of(layer.plan_scratch, layer.plan_scratch_size);
  fovea_tensors tensors;
  fovea_error error;
  fovea_tensors_init(&tensors, layer.q, layer.k, layer.v, layer.heads, NULL);
  check(fovea_plan_run(layer.plan, &tensors, &execution, &error), &error);
}

static void run_steps(void *context) {
  double start = machine_now();
  (void)context;
  multiply(&layer.linears[QUERY], layer.x, NULL, layer.q);
  multiply(&layer.linears[KEY], layer.x, NULL, layer.k);
  multiply(&layer.linears[VALUE], layer.x, NULL, layer.v);
  add_time(IN_LINEAR, &start);
  attend();
  add_time(IN_ATTENTION, &start);
  multiply(&layer.linears[OUTPUT], layer.heads, layer.x, layer.sums);
  add_time(IN_LINEAR, &start);
  normalise(layer.sums, layer.normed);
  add_time(IN_NORMS, &start);
  multiply(&layer.linears[UP], layer.normed, NULL, layer.hidden);
  multiply(&layer.linears[DOWN], layer.hidden, layer.normed, layer.sums);
  add_time(IN_LINEAR, &start);
  normalise(layer.sums, layer.stepwise);
  add_time(IN_NORMS, &start);
}

static void run_up(void *context) {
  const fovea_nn_linear *up = context;
  multiply(up, layer.normed, NULL, layer.hidden);
}

/* ---- Making it ----------------------------------------------------------------------------------------------- */

static int make_linears(void) {
  const int64_t dim = layer.dim, width = layer.width;
  for (int i = 0; i < LAYERS; i++) {
    const int64_t in = i == DOWN ? width : dim, out = i == UP ? width : dim;
    layer.weights[i] = layer_numbers((size_t)(in * out), (uint32_t)i + 1, 1.0f / sqrtf((float)in));
    layer.biases[i] = layer_numbers((size_t)out, (uint32_t)i + 9, 1.0f);
    if (!layer.weights[i] || !layer.biases[i] || !layer_pack(&layer.linears[i], in, out, layer.weights[i]))
      return 0;
    layer.linears[i].bias = layer.biases[i];
  }
  layer.linears[UP].activation = FOVEA_NN_ACTIVATION_GELU;
  return 1;
}

static int make_rows(void) {
  float **const rows[] = {&layer.y,     &layer.q,    &layer.k,      &layer.v,
                          &layer.heads, &layer.sums, &layer.normed, &layer.stepwise};
  const size_t size = (size_t)(layer.rows * layer.dim);
  layer.x = layer_numbers(size, 5, 1.0f);
  layer.hidden = bench_allocate((size_t)(layer.rows * layer.width) * sizeof(float));
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    *rows[i] = bench_allocate(size * sizeof(float));
    if (!*rows[i]) return 0;
  }
  return layer.x && layer.hidden;
}

/* The problem of the steps: heads lie side by side in the rows of the linear layers. */
static int make_plan(void) {
  fovea_problem problem = layer.problem;
  const fovea_strides strides = {problem.q_len * layer.dim, layer.dim / HEADS, layer.dim};
  problem.q_strides = problem.k_strides = problem.v_strides = problem.o_strides = strides;
  if (fovea_plan_create(&problem, NULL, &layer.plan, NULL) != FOVEA_OK) return 0;
  layer.plan_scratch_size = fovea_plan_scratch_size(layer.plan, layer.of->threads);
  layer.plan_scratch = bench_allocate(layer.plan_scratch_size);
  return layer.plan_scratch != NULL;
}

static int make_block(const layer_shape *s) {
  const fovea_nn_attending self = {&layer.problem, &layer.tensors};
  fovea_nn_linear *l = layer.linears;
  fovea_problem_init(&layer.problem, s->batch, HEADS, HEADS, s->rows, s->rows, s->in / HEADS, s->in / HEADS);
  fovea_nn_attention_tensors_init(&layer.tensors, NULL, NULL);
  fovea_nn_attention_init(&layer.attention, &l[QUERY], &l[KEY], &l[VALUE], &l[OUTPUT]);
  fovea_nn_norm_init(&layer.norm, FOVEA_NN_LAYER_NORM, s->in);
  layer.norm.gamma = layer.biases[QUERY];
  layer.norm.beta = layer.biases[KEY];
  fovea_nn_block_init(&layer.block, &layer.attention, &layer.norm, &l[UP], &l[DOWN], &layer.norm);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = layer.of->threads;
  if (fovea_nn_block_scratch_size(&layer.block, &self, NULL, &execution, &layer.scratch_size, NULL)) return 0;
  layer.scratch = bench_allocate(layer.scratch_size);
  return layer.scratch != NULL;
}

static void discard(void) {
  float *const rows[] = {layer.x,     layer.y,    layer.q,      layer.k,      layer.v,
                         layer.heads, layer.sums, layer.normed, layer.hidden, layer.stepwise};
  fovea_plan_destroy(layer.plan);
  for (int i = 0; i < LAYERS; i++) {
    free(layer.weights[i]);
    free(layer.biases[i]);
    free((void *)(uintptr_t)layer.linears[i].weights);
  }
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) free(rows[i]);
  free(layer.scratch);
  free(layer.plan_scratch);
  memset(&layer, 0, sizeof layer);
}

static void prepare(const layer_case *wanted) {
  const layer_shape *s = wanted->shape;
  if (layer.of == wanted) return;
  discard();
  layer.of = wanted;
  layer.rows = s->batch * s->rows;
  layer.dim = s->in;
  layer.width = s->out;
  if (wanted->threads > machine_threads()) {
    snprintf(layer.refusal, sizeof layer.refusal, "no more than %d thread(s) here", machine_threads());
    return;
  }
  if (!make_linears() || !make_rows() || !make_block(s) || !make_plan()) {
    snprintf(layer.refusal, sizeof layer.refusal, "not enough memory");
    return;
  }
  run_block(NULL);
  run_steps(NULL);
  if (!layer.refusal[0] && memcmp(layer.y, layer.stepwise, (size_t)(layer.rows * layer.dim) * sizeof(float)) != 0)
    snprintf(layer.refusal, sizeof layer.refusal, "the steps give other bits than the layer");
}

void bench_encoder(bench_round *round, const void *argument) {
  prepare(argument);
  if (layer.refusal[0]) {
    bench_skip(round, layer.refusal);
    return;
  }
  fovea_nn_linear plain = layer.linears[UP];
  plain.activation = FOVEA_NN_ACTIVATION_NONE;
  const double before = layer_time(run_block, NULL);
  memset(layer.parts, 0, sizeof layer.parts);
  const double steps = layer_time(run_steps, NULL);
  const double whole = 0.5 * (before + layer_time(run_block, NULL));
  const double gelu = layer_time(run_up, &layer.linears[UP]) - layer_time(run_up, &plain);
  const double parts = layer.parts[IN_LINEAR] + layer.parts[IN_ATTENTION] + layer.parts[IN_NORMS];
  const double linear = layer.parts[IN_LINEAR] / parts * steps,
               attention = layer.parts[IN_ATTENTION] / parts * steps;
  bench_seconds(round, whole);
  bench_counter(round, "linear_share", linear / whole);
  bench_counter(round, "attention_share", attention / whole);
  bench_counter(round, "outside_share", 1.0 - (linear + attention) / whole);
  bench_counter(round, "gelu_share", gelu / whole);
  bench_counter(round, "norms_share", layer.parts[IN_NORMS] / parts * steps / whole);
}
