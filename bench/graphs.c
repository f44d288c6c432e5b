/* Attention over the edges of a graph, beside three passes of plain C. */
#include "machine.h"
#include "patterns.h"
#include "runner.h"

#include <fovea/pattern.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* State kept from round to round of one benchmark. */
static struct {
  const bench_graph_case *of;
  int64_t *starts, *nodes; /* of the edges of each row */
  float *q, *k, *v, *o, *scores;
  fovea_pattern *pattern;
  fovea_plan *plan;
} graph;

static void release(void) {
  fovea_plan_destroy(graph.plan);
  fovea_pattern_destroy(graph.pattern);
  free(graph.starts);
  free(graph.nodes);
  free(graph.q);
  free(graph.k);
  free(graph.v);
  free(graph.o);
  free(graph.scores);
  memset(&graph, 0, sizeof graph);
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static float *numbers(size_t count, uint32_t seed) {
  float *made = bench_allocate(count * sizeof *made);
  for (size_t i = 0; made && i < count; i++) made[i] = (float)next_random(&seed) * 0x1p-23f - 1.0f;
  return made;
}

/* Sorted, and without the edges that come twice, as those who make graphs hand them on. */
static int compare(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

static int make_edges(const bench_graph_shape *shape) {
  uint32_t state = 7;
  const int64_t most = 2 * shape->degree;
  graph.starts = calloc((size_t)shape->nodes + 1, sizeof *graph.starts);
  graph.nodes = calloc((size_t)(shape->nodes * most), sizeof *graph.nodes);
  if (!graph.starts || !graph.nodes) return 0;
  for (int64_t row = 0; row < shape->nodes; row++) {
    int64_t *first = graph.nodes + graph.starts[row], count = next_random(&state) % most, kept = 0;
    for (int64_t i = 0; i < count; i++) first[i] = next_random(&state) % shape->nodes;
    qsort(first, (size_t)count, sizeof *first, compare);
    for (int64_t i = 0; i < count; i++) {
      if (!kept || first[kept - 1] != first[i]) first[kept++] = first[i];
    }
    graph.starts[row + 1] = graph.starts[row] + kept;
  }
  return 1;
}

static int make_plan(const bench_graph_shape *shape) {
  const fovea_rule edges = fovea_rule_edges(0, shape->nodes, graph.starts, graph.nodes);
  fovea_pattern_options options;
  fovea_problem problem;
  fovea_pattern_options_init(&options, &edges, shape->nodes, shape->nodes);
  if (fovea_pattern_create(&options, &graph.pattern, NULL)) return 0;
  fovea_problem_init(&problem, 1, 1, 1, shape->nodes, shape->nodes, shape->dim, shape->dim);
  problem.pattern = graph.pattern;
  return fovea_plan_create(&problem, NULL, &graph.plan, NULL) == FOVEA_OK;
}

static int prepare(const bench_graph_case *wanted) {
  if (graph.of == wanted) return 1;
  const bench_graph_shape *shape = wanted->shape;
  const size_t count = (size_t)(shape->nodes * shape->dim);
  release();
  if (!make_edges(shape) || !make_plan(shape)) return 0;
  graph.q = numbers(count, 1);
  graph.k = numbers(count, 2);
  graph.v = numbers(count, 3);
  graph.o = numbers(count, 4);
  graph.scores = numbers((size_t)graph.starts[shape->nodes], 5);
  graph.of = wanted;
  return graph.q && graph.k && graph.v && graph.o && graph.scores;
}

static void run_fovea(void) {
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_tensors_init(&tensors, graph.q, graph.k, graph.v, graph.o, NULL);
  fovea_execution_init(&execution);
  execution.threads = graph.of->threads;
  fovea_plan_run(graph.plan, &tensors, &execution, NULL);
}

static void score_row(int64_t row, int64_t dim) {
  const float scale = 1.0f / sqrtf((float)dim), *q = graph.q + row * dim;
  for (int64_t i = graph.starts[row]; i < graph.starts[row + 1]; i++) {
    const float *k = graph.k + graph.nodes[i] * dim;
    float sums[16] = {0}, sum = 0.0f; /* without -ffast-math one sum is not vectorised */
    for (int64_t d = 0; d < dim; d += 16)
      for (int lane = 0; lane < 16; lane++) sums[lane] += q[d + lane] * k[d + lane];
    for (int lane = 0; lane < 16; lane++) sum += sums[lane];
    graph.scores[i] = sum * scale;
  }
}

static void normalise_row(int64_t row) {
  float *begin = graph.scores + graph.starts[row], *end = graph.scores + graph.starts[row + 1];
  float maximum = -INFINITY, sum = 0.0f;
  for (float *at = begin; at < end; at++) maximum = *at > maximum ? *at : maximum;
  for (float *at = begin; at < end; at++) sum += *at = expf(*at - maximum);
  for (float *at = begin; at < end; at++) *at /= sum;
}

static void add_values(int64_t row, int64_t dim) {
  float *o = graph.o + row * dim;
  memset(o, 0, (size_t)dim * sizeof *o);
  for (int64_t i = graph.starts[row]; i < graph.starts[row + 1]; i++) {
    const float *v = graph.v + graph.nodes[i] * dim, weight = graph.scores[i];
    for (int64_t d = 0; d < dim; d++) o[d] += weight * v[d];
  }
}

static void run_passes(void) {
  const int64_t nodes = graph.of->shape->nodes, dim = graph.of->shape->dim;
#ifdef _OPENMP
#pragma omp parallel num_threads(graph.of->threads)
#endif
  {
#ifdef _OPENMP
#pragma omp for
#endif
    for (int64_t row = 0; row < nodes; row++) score_row(row, dim);
#ifdef _OPENMP
#pragma omp for
#endif
    for (int64_t row = 0; row < nodes; row++) normalise_row(row);
#ifdef _OPENMP
#pragma omp for
#endif
    for (int64_t row = 0; row < nodes; row++) add_values(row, dim);
  }
}

static double time_of(void (*run)(void)) {
  int runs = 0;
  const double start = machine_now();
  double seconds = 0.0;
  for (; seconds < BENCH_SLICE; seconds = machine_now() - start, runs++) run();
  return seconds / runs;
}

void bench_graph(bench_round *round, const void *argument) {
  const bench_graph_case *wanted = argument;
  if (wanted->threads > machine_threads() || !prepare(wanted)) {
    bench_skip(round, "not enough memory or threads");
    return;
  }
  const double before = time_of(run_passes), seconds = time_of(run_fovea), after = time_of(run_passes);
  bench_seconds(round, seconds);
  bench_counter(round, "nanoseconds_per_edge", 1e9 * seconds / (double)graph.starts[wanted->shape->nodes]);
  bench_counter(round, "vs_three_passes", 0.5 * (before + after) / seconds);
}
