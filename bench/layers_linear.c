/* Linear layers beside OpenBLAS and the register tile. */
#include "../nn/choose_table.h"
#include "layers.h"
#include "machine.h"
#include "runner.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The register tile --------------------------------------------------------------------------------------- */

enum { tile_rows_limit = 16, tile_calls = 2000 };

/* 41 KB for six rows in a tile: as much as L1 has. */
typedef struct tile_arrays {
  _Alignas(64) float x[tile_rows_limit * FOVEA_DOT_PIECE];
  _Alignas(64) float weights[FOVEA_DOT_PIECE * FOVEA_NN_OUTS];
  _Alignas(64) float sums[tile_rows_limit * FOVEA_NN_OUTS];
} tile_arrays;

static double tile_calls_per_second(const fovea_nn_kernels *kernels, double seconds) {
  tile_arrays arrays = {.x = {1.0f}, .weights = {1.0f}};
  const fovea_nn_dot_args args = {.x = arrays.x,
                                  .x_stride = FOVEA_DOT_PIECE,
                                  .rows = 2 * kernels->row_step,
                                  .weights = arrays.weights,
                                  .panel_stride = FOVEA_DOT_PIECE * FOVEA_NN_PANEL,
                                  .panels = FOVEA_NN_PANELS,
                                  .dims = FOVEA_DOT_PIECE,
                                  .sums = arrays.sums};
  int64_t calls = 0;
  const double start = machine_now();
  double now = start;
  while (now - start < seconds) {
    for (int i = 0; i < tile_calls; i++) kernels->dot(&args);
    calls += tile_calls;
    now = machine_now();
  }
  return (double)calls / (now - start);
}

/* Flops per second of register tiles on threads that all run for about `seconds`. */
static double tile_rate(const char *isa, int threads, double seconds) {
  const fovea_nn_kernels *kernels;
  double calls_per_second = 0.0;
  if (fovea_nn_dispatch(isa, &kernels, NULL) != FOVEA_OK || 2 * kernels->row_step > tile_rows_limit) return 0.0;
  (void)threads;
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) reduction(+ : calls_per_second)
#endif
  calls_per_second += tile_calls_per_second(kernels, seconds);
  return calls_per_second * 2.0 * (2 * kernels->row_step) * FOVEA_DOT_PIECE * FOVEA_NN_OUTS;
}

/* ---- OpenBLAS ------------------------------------------------------------------------------------------------ */

/* Weights as PyTorch stores them or transposed beforehand; threads with rows or outputs of their own, each in a
 * product of one thread. */
enum { WAY_TRANSPOSED = 1, WAY_SPLITS_OUTPUTS = 2, WAYS = 4 };

static struct {
  const layer_case *of;
  float *x, *weights, *transposed, *y, *expected;
  fovea_nn_linear linear;
  int way;
  int turn; /* which of both comes first in the next round */
  char refusal[256];
} current;

static void multiply_part(int part, int parts) {
  const layer_shape *s = current.of->shape;
  const int by_outputs = (current.way & WAY_SPLITS_OUTPUTS) != 0, transposed = (current.way & WAY_TRANSPOSED) != 0;
  const int64_t whole = by_outputs ? s->out : s->rows, first = whole * part / parts;
  const int64_t count = whole * (part + 1) / parts - first;
  const int64_t row = by_outputs ? 0 : first, out = by_outputs ? first : 0;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasNoTrans : CblasTrans,
              (blasint)(by_outputs ? s->rows : count), (blasint)(by_outputs ? count : s->out), (blasint)s->in, 1.0f,
              current.x + row * s->in, (blasint)s->in,
              transposed ? current.transposed + out : current.weights + out * s->in,
              (blasint)(transposed ? s->out : s->in), 0.0f, current.y + row * s->out + out, (blasint)s->out);
}

static void run_openblas(void *context) {
  const int parts = current.of->threads;
  (void)context;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(parts) schedule(static)
#endif
  for (int part = 0; part < parts; part++) multiply_part(part, parts);
}

static void choose_way(void) {
  double best = INFINITY;
  int fastest = 0;
  for (int round = 0; round < 2; round++)
    for (int way = 0; way < (current.of->threads > 1 ? WAYS : WAY_SPLITS_OUTPUTS); way++) {
      current.way = way;
      const double seconds = layer_time(run_openblas, NULL);
      if (seconds < best) {
        best = seconds;
        fastest = way;
      }
    }
  current.way = fastest;
}

/* ---- Fovea --------------------------------------------------------------------------------------------------- */

static void run_fovea(void *context) {
  fovea_execution execution;
  fovea_nn_linear_rows rows;
  fovea_error error;
  (void)context;
  fovea_execution_init(&execution);
  execution.threads = current.of->threads;
  fovea_nn_linear_rows_init(&rows, &current.linear, current.of->shape->rows, current.x, current.y);
  if (fovea_nn_linear_run(&current.linear, &rows, &execution, &error) != FOVEA_OK)
    snprintf(current.refusal, sizeof current.refusal, "%s", error.text);
}

/* Speeds are compared only between equal results. */
static void check_results(void) {
  const layer_shape *s = current.of->shape;
  const size_t count = (size_t)(s->rows * s->out);
  double worst = 0.0;
  run_openblas(NULL);
  memcpy(current.expected, current.y, count * sizeof *current.y);
  memset(current.y, 0, count * sizeof *current.y);
  run_fovea(NULL);
  for (size_t i = 0; i < count; i++) {
    const double difference = fabs((double)current.expected[i] - (double)current.y[i]);
    if (!(difference <= worst)) worst = difference;
  }
  if (!(worst < 1e-6 * (double)s->in))
    snprintf(current.refusal, sizeof current.refusal, "differs from OpenBLAS by %g", worst);
}

static void make_tensors(const layer_shape *s) {
  const size_t size = (size_t)(s->in * s->out), outputs = (size_t)(s->rows * s->out);
  current.x = layer_numbers((size_t)(s->rows * s->in), 1, 1.0f);
  current.weights = layer_numbers(size, 2, 1.0f);
  current.transposed = bench_allocate(size * sizeof(float));
  current.y = bench_allocate(outputs * sizeof(float));
  current.expected = bench_allocate(outputs * sizeof(float));
  if (!current.x || !current.weights || !current.transposed || !current.y || !current.expected ||
      !layer_pack(&current.linear, s->in, s->out, current.weights)) {
    snprintf(current.refusal, sizeof current.refusal, "not enough memory");
    return;
  }
  for (int64_t i = 0; i < s->out; i++)
    for (int64_t d = 0; d < s->in; d++) current.transposed[d * s->out + i] = current.weights[i * s->in + d];
}

static void prepare(const layer_case *wanted) {
  if (current.of == wanted) return;
  free(current.x);
  free(current.weights);
  free(current.transposed);
  free(current.y);
  free(current.expected);
  free((void *)(uintptr_t)current.linear.weights);
  memset(&current, 0, sizeof current);
  current.of = wanted;
  if (wanted->threads > machine_threads()) {
    snprintf(current.refusal, sizeof current.refusal, "no more than %d thread(s) here", machine_threads());
    return;
  }
  make_tensors(wanted->shape);
  if (current.refusal[0]) return;
  choose_way();
  check_results();
}

void bench_linear(bench_round *round, const void *argument) {
  const layer_case *wanted = argument;
  const layer_shape *s = wanted->shape;
  prepare(wanted);
  if (current.refusal[0]) {
    bench_skip(round, current.refusal);
    return;
  }
  const int first = current.turn++ % 2;
  double seconds[2];
  const double peak_before = machine_fma_peak(wanted->isa, wanted->threads, BENCH_PEAK_SLICE);
  seconds[first] = layer_time(first ? run_openblas : run_fovea, NULL);
  const double tile = tile_rate(wanted->isa, wanted->threads, BENCH_PEAK_SLICE);
  seconds[!first] = layer_time(first ? run_fovea : run_openblas, NULL);
  const double peak = 0.5 * (peak_before + machine_fma_peak(wanted->isa, wanted->threads, BENCH_PEAK_SLICE));
  const double rate = 2.0 * (double)s->rows * (double)s->in * (double)s->out / seconds[0];
  bench_seconds(round, seconds[0]);
  bench_counter(round, "gflops", rate * 1e-9);
  bench_counter(round, "peak_gflops", peak * 1e-9);
  bench_counter(round, "peak_fraction", rate / peak);
  bench_counter(round, "tile_gflops", tile * 1e-9);
  bench_counter(round, "tile_fraction", rate / tile);
  bench_counter(round, "vs_openblas", seconds[1] / seconds[0]);
  bench_counter(round, "openblas_way", current.way);
}
