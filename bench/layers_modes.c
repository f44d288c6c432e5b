/* Linear layers in bf16 and int8 mode and over quantised weights, beside exact mode over other weights. */
#include "layers.h"
#include "machine.h"
#include "modes.h"
#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a round measures: the layer, the layer in exact mode over f32, and a third one that is named by its counter. */
enum { WANTED, OF_F32, BESIDE, LAYERS };

static struct {
  const layer_case *of;
  layer_copies copies[LAYERS]; /* kept while sizes stay */
  fovea_nn_linear layers[LAYERS];
  float *x, *y, *expected;
  void *scratch;
  size_t scratch_size;
  char refusal[256];
} kept;

static int has_mode(const layer_case *of) {
  return of->shape->weights->mode != FOVEA_MODE_EXACT;
}

/* Without a name a mode runs on AMX, once that is allowed. */
static fovea_execution execution_of(void) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = kept.of->threads;
  execution.isa = strcmp(kept.of->isa, BENCH_AMX) == 0 ? NULL : kept.of->isa;
  execution.scratch = kept.scratch;
  execution.scratch_size = kept.scratch_size;
  return execution;
}

static void refuse(const char *text) {
  if (!kept.refusal[0]) snprintf(kept.refusal, sizeof kept.refusal, "%s", text);
}

static void run_rows(const fovea_nn_linear *layer, int64_t first, int64_t count, float *y) {
  const layer_shape *s = kept.of->shape;
  const fovea_execution execution = execution_of();
  fovea_nn_linear_rows rows;
  fovea_error error;
  fovea_nn_linear_rows_init(&rows, layer, count, kept.x + first * s->in, y);
  if (fovea_nn_linear_run(layer, &rows, &execution, &error) != FOVEA_OK) refuse(error.text);
}

static void run_layer(void *context) {
  run_rows(context, 0, kept.of->shape->rows, kept.y);
}

/* ---- Making it ------------------------------------------------------------------------------------------------ */

/* A mode beside exact mode over the same weights; codes beside f16, whose numbers are others. */
static int make_layers(const layer_shape *s) {
  const layer_weights *beside = has_mode(kept.of) ? s->weights : layer_weights_named("f16");
  if (!layer_copies_take(&kept.copies[WANTED], s->weights, s->in, s->out, 1) ||
      !layer_copies_take(&kept.copies[OF_F32], layer_weights_named("f32"), s->in, s->out, 1) ||
      (!has_mode(kept.of) && !layer_copies_take(&kept.copies[BESIDE], beside, s->in, s->out, 1)))
    return 0;
  for (int i = 0; i < LAYERS; i++)
    kept.layers[i] = layer_of_copy(&kept.copies[i == BESIDE && has_mode(kept.of) ? WANTED : i], 0);
  kept.layers[BESIDE].mode = FOVEA_MODE_EXACT;
  return 1;
}

static int make_tensors(const layer_shape *s) {
  kept.x = layer_numbers((size_t)(s->rows * s->in), 1, 1.0f);
  kept.y = bench_allocate((size_t)(s->rows * s->out) * sizeof(float));
  kept.expected = bench_allocate((size_t)(s->rows * s->out) * sizeof(float));
  return kept.x && kept.y && kept.expected;
}

/* For the layer that needs the most. */
static int make_scratch(const layer_shape *s) {
  const fovea_execution execution = execution_of();
  size_t most = 0;
  for (int i = 0; i < LAYERS; i++) {
    size_t size;
    if (fovea_nn_linear_scratch_size(&kept.layers[i], s->rows, &execution, &size, NULL) != FOVEA_OK) return 0;
    if (size > most) most = size;
  }
  kept.scratch = most ? bench_allocate(most) : NULL;
  kept.scratch_size = most;
  return kept.scratch || !most;
}

static void discard(void) {
  free(kept.x);
  free(kept.y);
  free(kept.expected);
  free(kept.scratch);
  kept.x = kept.y = kept.expected = NULL;
  kept.scratch = NULL;
  kept.scratch_size = 0;
  kept.refusal[0] = '\0';
}

/* ---- Results -------------------------------------------------------------------------------------------------- */

/* A row alone has the bits that it has among others: other code computes one row. */
static void check_rows(const layer_shape *s) {
  const int64_t rows[] = {0, s->rows - 1};
  for (int i = 0; i < 2; i++) {
    run_rows(&kept.layers[WANTED], rows[i], 1, kept.expected);
    if (memcmp(kept.expected, kept.y + rows[i] * s->out, (size_t)s->out * sizeof(float)) != 0)
      refuse("a row alone has other bits");
  }
}

/* A mode's error, as a share of the outputs. */
static void check_error(const layer_shape *s) {
  const double most = 0.03;
  double errors = 0.0, outputs = 0.0;
  run_rows(&kept.layers[BESIDE], 0, s->rows, kept.expected);
  for (int64_t i = 0; i < s->rows * s->out; i++) {
    const double difference = (double)kept.y[i] - (double)kept.expected[i];
    errors += difference * difference;
    outputs += (double)kept.expected[i] * (double)kept.expected[i];
  }
  if (!(sqrt(errors / outputs) < most)) refuse("differs from exact mode");
}

static int allows(const layer_case *wanted) {
  fovea_error error;
  if (strcmp(wanted->isa, BENCH_AMX) != 0) return 1;
  if (fovea_allow_amx(&error) != FOVEA_OK)
    refuse(error.text);
  else if (!fovea_uses_amx(wanted->shape->weights->mode))
    refuse("the environment forbids AMX");
  return !kept.refusal[0];
}

static void prepare(const layer_case *wanted) {
  const layer_shape *s = wanted->shape;
  if (kept.of == wanted) return;
  discard();
  kept.of = wanted;
  if (wanted->threads > machine_threads()) refuse("not enough threads here");
  if (kept.refusal[0] || !allows(wanted)) return;
  if (!make_layers(s) || !make_tensors(s) || !make_scratch(s)) {
    refuse("not enough memory, or Fovea refuses the layer");
    return;
  }
  run_layer(&kept.layers[WANTED]);
  if (!kept.refusal[0]) check_rows(s);
  if (!kept.refusal[0] && has_mode(wanted)) check_error(s);
}

void bench_linear_mode(bench_round *round, const void *argument) {
  const layer_case *wanted = argument;
  const layer_shape *s = wanted->shape;
  prepare(wanted);
  if (kept.refusal[0]) {
    bench_skip(round, kept.refusal);
    return;
  }
  const double of_f32 = layer_time(run_layer, &kept.layers[OF_F32]);
  const double before = layer_time(run_layer, &kept.layers[WANTED]);
  const double beside = layer_time(run_layer, &kept.layers[BESIDE]);
  const double seconds = 0.5 * (before + layer_time(run_layer, &kept.layers[WANTED]));
  bench_seconds(round, seconds);
  bench_counter(round, "gflops", 2.0 * (double)s->rows * (double)s->in * (double)s->out / seconds * 1e-9);
  bench_counter(round, "speed_over_f32", of_f32 / seconds);
  bench_counter(round, has_mode(wanted) ? "speed_over_exact" : "speed_over_f16", beside / seconds);
}
