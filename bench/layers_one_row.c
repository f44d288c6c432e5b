/* One row through layer after layer, beside the rate of memory. */
#include "layers.h"
#include "machine.h"
#include "runner.h"

#include <stdlib.h>

enum { pool_bytes = 256 << 20 };

/* Layers that follow each other, and the next. */
typedef struct layer_stream {
  layer_copies copies;
  int next;
} layer_stream;

static struct {
  int threads;
  int64_t in, out;
  float *x, *y;
  void *scratch;
  size_t scratch_size;
  layer_stream layers, f16;
} one;

static fovea_execution execution_of(void) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = one.threads;
  execution.scratch = one.scratch;
  execution.scratch_size = one.scratch_size;
  return execution;
}

static void run_layer(layer_stream *stream, fovea_mode mode) {
  const fovea_execution execution = execution_of();
  fovea_nn_linear linear = layer_of_copy(&stream->copies, stream->next);
  fovea_nn_linear_rows rows;
  linear.mode = mode;
  fovea_nn_linear_rows_init(&rows, &linear, 1, one.x, one.y);
  stream->next = (stream->next + 1) % stream->copies.count;
  fovea_nn_linear_run(&linear, &rows, &execution, NULL);
}

static void run_next(void *context) {
  layer_stream *stream = context;
  run_layer(stream, stream->copies.of->mode);
}

static void run_next_exact(void *context) {
  run_layer(context, FOVEA_MODE_EXACT);
}

static int take(layer_stream *stream, const layer_weights *weights, const layer_shape *s) {
  const size_t bytes = layer_weights_bytes(weights, s->in, s->out);
  if (!bytes || !layer_copies_take(&stream->copies, weights, s->in, s->out, (int)(pool_bytes / bytes))) return 0;
  stream->next %= stream->copies.count;
  return 1;
}

/* Only modes need some. */
static int make_scratch(void) {
  const fovea_nn_linear linear = layer_of_copy(&one.layers.copies, 0);
  free(one.scratch);
  one.scratch = NULL;
  one.scratch_size = 0;
  const fovea_execution execution = execution_of();
  if (fovea_nn_linear_scratch_size(&linear, 1, &execution, &one.scratch_size, NULL) != FOVEA_OK) return 0;
  one.scratch = one.scratch_size ? bench_allocate(one.scratch_size) : NULL;
  return one.scratch || !one.scratch_size;
}

static int is_exact(const layer_shape *s) {
  return s->weights->mode == FOVEA_MODE_EXACT;
}

static int prepare(const layer_case *wanted) {
  const layer_shape *s = wanted->shape;
  one.threads = wanted->threads;
  if (!one.x || one.in != s->in || one.out != s->out) {
    free(one.x);
    free(one.y);
    one.in = s->in;
    one.out = s->out;
    one.x = layer_numbers((size_t)s->in, 1, 1.0f);
    one.y = layer_numbers((size_t)s->out, 1, 1.0f);
  }
  if (!one.x || !one.y || !take(&one.layers, s->weights, s) || !make_scratch()) return 0;
  return s->weights->kept == LAYER_PANELS || !is_exact(s) || take(&one.f16, layer_weights_named("f16"), s);
}

void bench_one_row(bench_round *round, const void *argument) {
  const layer_case *wanted = argument;
  if (wanted->threads > machine_threads() || !prepare(wanted)) {
    bench_skip(round, "not enough memory or threads, or Fovea refuses the layer");
    return;
  }
  const layer_copies *copies = &one.layers.copies;
  const size_t all = copies->stride * (size_t)copies->count;
  const double bytes = (double)copies->bytes;
  const double reading_before = machine_read_rate(copies->memory, all, wanted->threads, BENCH_SLICE);
  const double seconds = layer_time(run_next, &one.layers);
  const double reading_after = machine_read_rate(copies->memory, all, wanted->threads, BENCH_SLICE);
  const double reading = 0.5 * (reading_before + reading_after);
  bench_seconds(round, seconds);
  bench_counter(round, "gigabytes_per_second", bytes / seconds * 1e-9);
  bench_counter(round, "read_gigabytes_per_second", reading * 1e-9);
  bench_counter(round, "bandwidth_fraction", bytes / seconds / reading);
  if (!is_exact(wanted->shape))
    bench_counter(round, "speed_over_exact", layer_time(run_next_exact, &one.layers) / seconds);
  else if (copies->of->kept != LAYER_PANELS)
    bench_counter(round, "speed_over_f16", layer_time(run_next, &one.f16) / seconds);
}
