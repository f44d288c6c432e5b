/* Graph attention: the rows of a block's edges, and their scores. */
#include "graph_block.h"

#include "../../src/base/types.h"

#include <math.h>

enum { NODES = FOVEA_NN_GRAPH_NODES };

/* ---- Lists of rows --------------------------------------------------------------------------------------- */

void fovea_nn_graph_make_rows(const fovea_nn_graph_call *call, const fovea_nn_graph_job *job,
                              const void *const *rows, fovea_type type, fovea_strides strides,
                              const void *const *added, int count, float *to) {
  const int64_t heads = call->graph.heads;
  const int together =
      heads > 1 && strides.head == call->graph.dim && (!added || job->feature_strides.head == call->graph.dim);
  const fovea_nn_graph_rows_args args = {.rows = rows,
                                         .added = added,
                                         .type = type,
                                         .added_type = job->feature_type,
                                         .head_stride = strides.head,
                                         .added_head_stride = job->feature_strides.head,
                                         .count = count,
                                         .heads = together ? 1 : heads,
                                         .dim = together ? call->width : call->graph.dim,
                                         .to = to,
                                         .to_stride = call->width};
  call->kernels->graph_rows(&args);
}

static const void *feature_of(const fovea_nn_graph_job *job, int64_t edge) {
  return fovea_element(job->features, job->feature_type, (edge - job->first_feature) * job->feature_strides.row);
}

/* The rows of sources that the edges name; NULL where there is none. */
static void list_rows(const fovea_nn_graph_block *block, const void *data, fovea_type type, int64_t stride,
                      const void **rows) {
  const int64_t *sources = block->job->call->tensors.edge_sources + block->edge;
  for (int i = 0; i < block->edges; i++) {
    rows[i] = sources[i] < 0 ? NULL : fovea_element(data, type, sources[i] * stride);
  }
}

void fovea_nn_graph_take_rows(fovea_nn_graph_block *block, const void *data, fovea_type type, fovea_strides strides,
                              int with_features) {
  const fovea_nn_graph_job *job = block->job;
  const fovea_nn_graph_call *call = job->call;
  const int plain = fovea_nn_graph_is_plain(call, type, strides) && !with_features;
  if (plain) {
    const int64_t *sources = call->tensors.edge_sources + block->edge, stride = strides.row;
    for (int i = 0; i < block->edges; i++) {
      block->keys[i] = sources[i] < 0 ? NULL : (const float *)data + sources[i] * stride;
    }
    return;
  }
  list_rows(block, data, type, strides.row, block->rows);
  for (int i = 0; with_features && i < block->edges; i++) {
    block->added[i] = block->rows[i] ? feature_of(job, block->edge + i) : NULL;
  }
  fovea_nn_graph_make_rows(call, job, block->rows, type, strides, with_features ? block->added : NULL, block->edges,
                           block->memory->rows);
  for (int i = 0; i < block->edges; i++) {
    block->keys[i] = block->rows[i] ? block->memory->rows + i * call->width : NULL;
  }
}

/* The row of its node for each edge. */
static void take_queries(fovea_nn_graph_block *block) {
  const fovea_nn_graph_call *call = block->job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const int plain = fovea_nn_graph_is_plain(call, t->q_type, t->q_strides);
  const void *rows[NODES];
  for (int n = 0; n < block->nodes; n++) {
    rows[n] = fovea_element(t->q, t->q_type, (block->node + n) * t->q_strides.row);
  }
  if (!plain) {
    fovea_nn_graph_make_rows(call, block->job, rows, t->q_type, t->q_strides, NULL, block->nodes,
                             block->memory->queries);
  }
  for (int n = 0; n < block->nodes; n++) {
    const float *row = plain ? rows[n] : block->memory->queries + n * call->width;
    for (int i = block->starts[n]; i < block->starts[n + 1]; i++) block->queries[i] = row;
  }
}

/* ---- Scores ---------------------------------------------------------------------------------------------- */

static void score_rows(fovea_nn_graph_block *block) {
  const fovea_nn_graph_call *call = block->job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_nn_graph_scores_args args = {.queries = block->queries,
                                           .keys = block->keys,
                                           .count = block->edges,
                                           .heads = call->graph.heads,
                                           .dim = call->graph.dim,
                                           .padded = call->padded,
                                           .a = call->graph.a,
                                           .slope = call->slope,
                                           .factor = call->factor,
                                           .scores = block->memory->scores};
  take_queries(block);
  fovea_nn_graph_take_rows(block, t->k, t->k_type, t->k_strides, block->job->features != NULL);
  for (int i = 0; i < block->edges; i++) { /* any finite score will do where there is no edge */
    if (!block->keys[i]) block->keys[i] = block->queries[i];
  }
  call->kernels->graph_scores(&args);
}

/* Scores of features: a_edge . e of each edge. */
static void score_features(fovea_nn_graph_block *block) {
  const fovea_nn_graph_job *job = block->job;
  const fovea_nn_graph_call *call = job->call;
  const int plain = fovea_nn_graph_is_plain(call, job->feature_type, job->feature_strides);
  const fovea_nn_graph_scores_args args = {.queries = block->queries,
                                           .keys = block->keys,
                                           .count = block->edges,
                                           .heads = call->graph.heads,
                                           .dim = call->graph.dim,
                                           .padded = call->padded,
                                           .factor = 1,
                                           .scores = block->memory->edge_sums};
  for (int i = 0; i < block->edges; i++) {
    block->rows[i] = feature_of(job, block->edge + i);
    block->queries[i] = call->graph.a_edge;
    block->keys[i] = plain ? block->rows[i] : block->memory->rows + i * call->width;
  }
  if (!plain) {
    fovea_nn_graph_make_rows(call, job, block->rows, job->feature_type, job->feature_strides, NULL, block->edges,
                             block->memory->rows);
  }
  call->kernels->graph_scores(&args);
}

static void score_sums(fovea_nn_graph_block *block) {
  const fovea_nn_graph_call *call = block->job->call;
  const float *to = (const float *)(const void *)(block->job->memory + block->job->layout->to);
  const float *from = (const float *)(const void *)(block->job->memory + block->job->layout->from);
  const int64_t *sources = call->tensors.edge_sources + block->edge;
  const fovea_nn_graph_sums_args args = {.to = block->queries,
                                         .from = block->keys,
                                         .edges = block->job->features ? block->memory->edge_sums : NULL,
                                         .count = block->edges,
                                         .padded = call->padded,
                                         .slope = call->slope,
                                         .factor = call->factor,
                                         .scores = block->memory->scores};
  if (block->job->features) score_features(block);
  for (int n = 0; n < block->nodes; n++) {
    for (int i = block->starts[n]; i < block->starts[n + 1]; i++) {
      block->queries[i] = to + (block->node + n) * call->padded;
      block->keys[i] = sources[i] < 0 ? block->queries[i] : from + sources[i] * call->padded;
    }
  }
  call->kernels->graph_sums(&args);
}

void fovea_nn_graph_score(fovea_nn_graph_block *block) {
  const fovea_nn_graph_call *call = block->job->call;
  const int64_t *sources = call->tensors.edge_sources + block->edge;
  if (block->edges == 0) return;
  if (call->graph.kind == FOVEA_NN_GRAPH_GAT) {
    score_sums(block);
  } else {
    score_rows(block);
  }
  for (int i = 0; i < block->edges; i++) {
    if (sources[i] >= 0) continue;
    for (int64_t h = 0; h < call->padded; h++) block->memory->scores[i * call->padded + h] = -INFINITY;
  }
}
