/* Norms beside a copy, and functions of single numbers. */
#include "layers.h"
#include "machine.h"
#include "runner.h"
#include "vector_kernels.h"

#include <fovea/recurrent.h>
#include <string.h>

/* Tensors of the largest shape, kept for all cases. */
enum { numbers = 1 << 16, factors = 4096 };

static struct {
  const layer_case *of;
  float *x, *y, *gamma, *beta;
  fovea_execution execution;
} rows_of;

static int prepare(const layer_case *wanted) {
  if (!rows_of.x) {
    rows_of.x = layer_numbers(numbers, 1, 4.0f);
    rows_of.y = layer_numbers(numbers, 2, 1.0f);
    rows_of.gamma = layer_numbers(factors, 3, 1.0f);
    rows_of.beta = layer_numbers(factors, 4, 1.0f);
    fovea_execution_init(&rows_of.execution);
  }
  rows_of.of = wanted;
  rows_of.execution.threads = wanted->threads;
  return wanted->threads <= machine_threads() && rows_of.x && rows_of.y && rows_of.gamma && rows_of.beta;
}

static void run_norm(void *context) {
  const layer_shape *s = rows_of.of->shape;
  fovea_nn_norm norm;
  fovea_nn_norm_rows rows;
  (void)context;
  fovea_nn_norm_init(&norm, s->norm, s->in);
  norm.gamma = rows_of.gamma;
  norm.beta = s->norm == FOVEA_NN_LAYER_NORM ? rows_of.beta : NULL;
  fovea_nn_norm_rows_init(&rows, &norm, s->rows, rows_of.x, rows_of.y);
  fovea_nn_norm_run(&norm, &rows, &rows_of.execution, NULL);
}

static void copy_bytes(void *context) {
  const layer_shape *s = rows_of.of->shape;
  (void)context;
  memcpy(rows_of.y, rows_of.x, (size_t)(s->rows * s->in) * sizeof(float));
}

static void copy_vectors(void *context) {
  const layer_shape *s = rows_of.of->shape;
  (void)context;
  vector_kernels_best()->copy(rows_of.y, rows_of.x, (size_t)(s->rows * s->in));
}

static double copy_seconds(void) {
  const double bytes = layer_time(copy_bytes, NULL), vectors = layer_time(copy_vectors, NULL);
  return bytes < vectors ? bytes : vectors;
}

void bench_norm(bench_round *round, const void *argument) {
  const layer_case *wanted = argument;
  if (!prepare(wanted) || !vector_kernels_best()) {
    bench_skip(round, "not enough memory, or no loop that copies");
    return;
  }
  const double bytes = 2.0 * (double)(wanted->shape->rows * wanted->shape->in) * (double)sizeof(float);
  const double copy_before = copy_seconds();
  const double seconds = layer_time(run_norm, NULL);
  const double copy = 0.5 * (copy_before + copy_seconds());
  bench_seconds(round, seconds);
  bench_counter(round, "gigabytes_per_second", bytes / seconds * 1e-9);
  bench_counter(round, "copy_gigabytes_per_second", bytes / copy * 1e-9);
  bench_counter(round, "copy_fraction", copy / seconds);
}

/* The rate of elements, and a thread's cycles for a vector: at the peak a cycle is four flops for each lane. */
static void report_elements(bench_round *round, double elements, double seconds, double peak) {
  bench_seconds(round, seconds);
  bench_counter(round, "elements_per_second", elements / seconds);
  bench_counter(round, "peak_gflops", peak * 1e-9);
  bench_counter(round, "cycles_per_vector", seconds / elements * peak / 4.0);
}

static void run_activate(void *context) {
  const layer_shape *s = rows_of.of->shape;
  fovea_nn_map map;
  (void)context;
  fovea_nn_map_init(&map, s->rows, s->in, rows_of.x, rows_of.y);
  fovea_nn_activate(&map, s->activation, &rows_of.execution, NULL);
}

static void measure(bench_round *round, void (*call)(void *context), double elements) {
  const layer_case *of = rows_of.of;
  const double peak_before = machine_fma_peak(of->isa, of->threads, BENCH_PEAK_SLICE);
  const double seconds = layer_time(call, NULL);
  const double peak = 0.5 * (peak_before + machine_fma_peak(of->isa, of->threads, BENCH_PEAK_SLICE));
  report_elements(round, elements, seconds, peak);
}

void bench_activate(bench_round *round, const void *argument) {
  const layer_case *wanted = argument;
  if (!prepare(wanted)) {
    bench_skip(round, "not enough memory");
    return;
  }
  measure(round, run_activate, (double)(wanted->shape->rows * wanted->shape->in));
}

static void run_additive(void *context) {
  const layer_shape *s = rows_of.of->shape;
  fovea_nn_additive additive;
  fovea_nn_additive_tensors tensors;
  (void)context;
  fovea_nn_additive_init(&additive, s->in, rows_of.gamma);
  fovea_nn_additive_tensors_init(&tensors, &additive, 1, s->rows, s->rows, s->in, rows_of.x, rows_of.x, rows_of.x,
                                 rows_of.y);
  fovea_nn_additive_run(&additive, &tensors, &rows_of.execution, NULL);
}

void bench_additive(bench_round *round, const void *argument) {
  const layer_case *wanted = argument;
  const layer_shape *s = wanted->shape;
  if (!prepare(wanted)) {
    bench_skip(round, "not enough memory or threads");
    return;
  }
  measure(round, run_additive, (double)(s->rows * s->rows * s->in));
}
