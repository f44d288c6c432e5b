/* Patterns, outputs and graphs: what they cost beside attention that sees everything. */
#ifndef FOVEA_BENCH_PATTERNS_H
#define FOVEA_BENCH_PATTERNS_H

#include "harness.h"
#include "workload.h"

/* Makes the pattern that the workload's shape names, and counts its pairs key by key. 0 without memory.
 * bench_workload_destroy() frees it. */
int bench_pattern_create(bench_workload *workload);

/* A graph of `nodes` rows, of which each has from 0 to 2 * degree - 1 edges to nodes at random. */
typedef struct bench_graph_shape {
  const char *name;
  int64_t nodes, degree, dim;
} bench_graph_shape;

typedef struct bench_graph_case {
  const bench_graph_shape *shape;
  const char *isa;
  int threads;
} bench_graph_case;

/* Argument: a bench_graph_case. One head of attention over the edges:
 *   nanoseconds_per_edge
 *   vs_three_passes   how many times as long plain C takes that computes all scores, then every row's softmax, then
 *                     the sums of values, each loop over rows shared by as many threads */
void bench_graph(bench_round *round, const void *argument);

/* Registers patterns, outputs and graphs for this instruction set. */
void bench_register_patterns(const char *isa);

#endif
