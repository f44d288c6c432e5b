/* Longformer, BigBird, Reformer, selected keys, and a graph. */
#include "variants.h"
#include "workload.h"

#include <fovea/graph_attention.h>
#include <fovea/sparse_attention.h>
#include <stdlib.h>

enum { WINDOW = 256, CHUNK = 64, SELECTED = 256, DEGREE = 16 };

static void end(variant_call *call) {
  free(call->own);
}

/* ---- Longformer: x is q ------------------------------------------------------------------------------------ */

typedef struct longformer_call {
  fovea_nn_linear projection;
  fovea_nn_longformer_layer layer;
  fovea_nn_longformer_rows rows;
  fovea_nn_longformer *longformer;
} longformer_call;

static int begin_longformer(variant_call *call) {
  const int64_t width = call->heads * call->dim, in = call->size ? call->size : 8;
  const float *weights = variant_numbers(call, (size_t)(in * width), 11, 0.1f);
  fovea_nn_longformer_options options;
  longformer_call *own = call->own = calloc(1, sizeof *own);
  int8_t *states = calloc((size_t)call->length, 1);
  fovea_nn_longformer_options_init(&options, 1, call->heads, call->length, call->dim, WINDOW);
  options.states = states;
  if (states) states[0] = FOVEA_NN_TOKEN_GLOBAL;
  const int made = own && states && weights && !fovea_nn_longformer_create(&options, NULL, &own->longformer, NULL);
  free(states);
  if (!made) return 0;
  fovea_nn_linear_init(&own->projection, in, width, weights);
  fovea_nn_longformer_layer_init(&own->layer, &own->projection, &own->projection, &own->projection);
  own->layer.global_query = own->layer.global_key = own->layer.global_value = &own->projection;
  fovea_nn_longformer_rows_init(&own->rows, call->q, call->o);
  size_t size;
  if (fovea_nn_longformer_scratch_size(own->longformer, &own->layer, &own->rows, &call->execution, &size, NULL))
    return 0;
  return variant_scratch(call, size);
}

static fovea_status run_longformer(const variant_call *call) {
  const longformer_call *own = call->own;
  return fovea_nn_longformer_run(own->longformer, &own->layer, &own->rows, &call->execution, NULL);
}

static void end_longformer(variant_call *call) {
  longformer_call *own = call->own;
  if (own) fovea_nn_longformer_destroy(own->longformer);
  free(own);
}

const variant variant_longformer = {"longformer", 0, begin_longformer, run_longformer, end_longformer};

/* ---- BigBird: a pattern ------------------------------------------------------------------------------------ */

typedef struct pattern_call {
  fovea_pattern *pattern;
  fovea_plan *plan;
} pattern_call;

static int plan_pattern(variant_call *call, pattern_call *own) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, call->heads, call->heads, call->length, call->length, call->dim, call->dim);
  problem.causal = call->variant->causal;
  problem.pattern = own->pattern;
  if (fovea_plan_create(&problem, NULL, &own->plan, NULL)) return 0;
  call->bytes += fovea_plan_size(1) + fovea_pattern_bytes(own->pattern);
  return 1;
}

static int begin_bigbird(variant_call *call) {
  pattern_call *own = call->own = calloc(1, sizeof *own);
  fovea_nn_bigbird bigbird;
  fovea_nn_bigbird_init(&bigbird, call->length);
  if (!own || fovea_nn_bigbird_pattern(&bigbird, &own->pattern, NULL) || !plan_pattern(call, own)) return 0;
  return variant_scratch(call, fovea_plan_scratch_size(own->plan, call->threads));
}

static fovea_status run_plan(const variant_call *call) {
  const pattern_call *own = call->own;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, call->q, call->k, call->v, call->o, NULL);
  return fovea_plan_run(own->plan, &tensors, &call->execution, NULL);
}

static void end_pattern(variant_call *call) {
  pattern_call *own = call->own;
  if (!own) return;
  fovea_plan_destroy(own->plan);
  fovea_pattern_destroy(own->pattern);
  free(own);
}

const variant variant_bigbird = {"bigbird", 0, begin_bigbird, run_plan, end_pattern};

/* ---- Selected keys: an indexer's lists, and attention over them as over the edges of a graph --------------- */

typedef struct selected_call {
  fovea_nn_selection selection;
  fovea_nn_graph graph;
  fovea_nn_graph_tensors tensors;
  void *selecting; /* scratch */
  size_t selecting_size;
} selected_call;

/* The index has the queries and keys of the only head. */
static int begin_selected(variant_call *call) {
  const int64_t rows = call->length;
  const float *weights = variant_numbers(call, (size_t)rows, 13, 1);
  int64_t *keys = (int64_t *)(void *)variant_numbers(call, (size_t)(2 * rows * SELECTED), 14, 1);
  int64_t *starts = (int64_t *)(void *)variant_numbers(call, (size_t)(2 * rows + 2), 14, 1);
  selected_call *own = call->own = calloc(1, sizeof *own);
  if (!own || !weights || !keys || !starts || call->heads > 1) return 0;
  for (int64_t i = 0; i <= rows; i++) starts[i] = i * SELECTED;
  for (int64_t i = 0; i < rows * SELECTED; i++) keys[i] = -1; /* for the checks of the scratch's size */
  fovea_nn_selection_init(&own->selection, 1, 1, rows, rows, call->dim, SELECTED, call->q, call->k, weights, keys);
  fovea_nn_graph_init(&own->graph, FOVEA_NN_GRAPH_TRANSFORMER, 1, call->dim);
  fovea_nn_graph_tensors_init(&own->tensors, &own->graph, rows, rows, starts, keys, call->q, call->k, call->o);
  own->tensors.v = call->v;
  if (fovea_nn_selection_scratch_size(&own->selection, &call->execution, &own->selecting_size, NULL)) return 0;
  own->selecting = bench_allocate(own->selecting_size);
  call->bytes += own->selecting_size;
  size_t size;
  if (fovea_nn_graph_scratch_size(&own->graph, &own->tensors, &call->execution, &size, NULL)) return 0;
  return own->selecting && variant_scratch(call, size);
}

static fovea_status run_selected(const variant_call *call) {
  const selected_call *own = call->own;
  fovea_execution selecting = call->execution;
  selecting.scratch = own->selecting;
  selecting.scratch_size = own->selecting_size;
  const fovea_status status = fovea_nn_select(&own->selection, &selecting, NULL);
  return status ? status : fovea_nn_graph_run(&own->graph, &own->tensors, &call->execution, NULL);
}

static void end_selected(variant_call *call) {
  selected_call *own = call->own;
  if (own) free(own->selecting);
  free(own);
}

const variant variant_selected = {"selected", 1, begin_selected, run_selected, end_selected};

/* ---- Reformer: q is q and k -------------------------------------------------------------------------------- */

typedef struct reformer_call {
  fovea_nn_lsh lsh;
  fovea_nn_lsh_tensors tensors;
} reformer_call;

/* Two even factors of `buckets`, a power of two, nearly equal. */
static void factorise(fovea_nn_lsh *lsh) {
  int64_t factor = 2;
  while (factor * factor * 4 <= lsh->buckets) factor *= 2;
  if (lsh->buckets < 128) return; /* few products either way, and what the peer does */
  lsh->bucket_factors[0] = factor;
  lsh->bucket_factors[1] = lsh->buckets / factor;
}

static int begin_reformer(variant_call *call) {
  reformer_call *own = call->own = calloc(1, sizeof *own);
  if (!own) return 0;
  const int64_t rounds = call->size ? call->size : 4;
  fovea_nn_lsh_init(&own->lsh, rounds, CHUNK, call->length / CHUNK, call->dim);
  own->lsh.scale = 1; /* trax's */
  factorise(&own->lsh);
  const int64_t factors = own->lsh.bucket_factors[0] + own->lsh.bucket_factors[1];
  const int64_t columns = (factors ? factors : own->lsh.buckets) / 2;
  const float *rotations = variant_numbers(call, (size_t)(call->dim * rounds * columns), 15, 1);
  if (!rotations) return 0;
  fovea_nn_lsh_tensors_init(&own->tensors, &own->lsh, 1, call->heads, call->length, call->dim, call->q, call->v,
                            call->o, rotations);
  size_t size;
  if (fovea_nn_lsh_scratch_size(&own->lsh, &own->tensors, &call->execution, &size, NULL)) return 0;
  return variant_scratch(call, size);
}

static fovea_status run_reformer(const variant_call *call) {
  const reformer_call *own = call->own;
  return fovea_nn_lsh_run(&own->lsh, &own->tensors, &call->execution, NULL);
}

const variant variant_reformer = {"reformer", 0, begin_reformer, run_reformer, end};

/* ---- A graph whose nodes have DEGREE edges to nodes at random ---------------------------------------------- */

typedef struct graph_call {
  fovea_nn_graph graph;
  fovea_nn_graph_tensors tensors;
} graph_call;

static int begin_graph(variant_call *call) {
  const int64_t nodes = call->length, edges = nodes * DEGREE;
  const size_t count = (size_t)(nodes + 1 + edges);
  int64_t *numbers = (int64_t *)(void *)variant_numbers(call, count * sizeof(int64_t) / sizeof(float), 16, 1);
  graph_call *own = call->own = calloc(1, sizeof *own);
  uint32_t state = 1;
  if (!own || !numbers) return 0;
  for (int64_t i = 0; i <= nodes; i++) numbers[i] = i * DEGREE;
  for (int64_t i = 0; i < edges; i++) {
    state = state * 1664525u + 1013904223u;
    numbers[nodes + 1 + i] = (int64_t)(state >> 8) % nodes;
  }
  fovea_nn_graph_init(&own->graph, FOVEA_NN_GRAPH_TRANSFORMER, 1, call->dim);
  fovea_nn_graph_tensors_init(&own->tensors, &own->graph, nodes, nodes, numbers, numbers + nodes + 1, call->q,
                              call->k, call->o);
  own->tensors.v = call->v;
  size_t size;
  if (fovea_nn_graph_scratch_size(&own->graph, &own->tensors, &call->execution, &size, NULL)) return 0;
  return variant_scratch(call, size);
}

static fovea_status run_graph(const variant_call *call) {
  const graph_call *own = call->own;
  return fovea_nn_graph_run(&own->graph, &own->tensors, &call->execution, NULL);
}

const variant variant_graph = {"graph", 0, begin_graph, run_graph, end};
