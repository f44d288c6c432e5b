/* Graph attention: edges of some nodes at a time, in whole blocks: scores, their weights, and values. */
#include "graph.h"

#include "../../arch/float_state.h"
#include "../../src/base/memory.h"
#include "../../src/base/nodes.h"
#include "../../src/base/types.h"
#include "../../src/system/schedule.h"
#include "../linear.h"
#include "../row_job.h"
#include "../scratch.h"

#include <math.h>
#include <string.h>

enum { EDGES = FOVEA_NN_GRAPH_EDGES, NODES = FOVEA_NN_GRAPH_NODES, MARGIN = 16 };

/* What a worker needs. Lists have MARGIN numbers more. */
typedef struct worker_memory {
  float *scores, *weights, *edge_sums, *shares; /* [edge][padded] */
  float *maxima, *sums;                         /* [node][padded] */
  float *outputs;                               /* [node][output_stride] */
  float *states;                                /* of a node with more edges than a block, one after the other */
  float *rows, *queries; /* [edge][width], [node][width]: rows as f32, if they have to be made */
} worker_memory;

typedef struct graph_layout {
  fovea_nn_scratch all;                                     /* of the call */
  size_t to, from, features, workers;                       /* begins of its parts */
  fovea_nn_scratch worker;                                  /* of a worker */
  size_t weights, edge_sums, shares, maxima, sums, outputs; /* begins of its parts; that of scores is 0 */
  size_t states, rows, queries;
} graph_layout;

/* The nodes of a job, and what is computed for them before. */
typedef struct graph_job {
  const fovea_nn_graph_call *call;
  const graph_layout *layout;
  char *memory;
  int64_t first, end;
  const void *features; /* of edge `first_feature`; NULL: there are none */
  fovea_type feature_type;
  fovea_strides feature_strides;
  int64_t first_feature;
  /* Of a job that computes scores of nodes: of the sources or the others. */
  int of_sources;
} graph_job;

/* Whole nodes, or a block of one. */
typedef struct graph_block {
  const graph_job *job;
  const worker_memory *memory;
  int64_t node; /* the first one */
  int nodes, edges;
  int64_t edge; /* the first one */
  int starts[NODES + 1];
  const float *queries[EDGES], *keys[EDGES]; /* of each edge */
  const void *rows[EDGES], *added[EDGES];
} graph_block;

static int64_t output_stride(const fovea_nn_graph_call *call) {
  return (call->width + MARGIN - 1) / MARGIN * MARGIN + MARGIN;
}

static int64_t state_numbers(const fovea_nn_graph_call *call) {
  return output_stride(call) + 2 * (call->padded + MARGIN);
}

static int is_plain(const fovea_nn_graph_call *call, fovea_type type, fovea_strides strides) {
  return type == FOVEA_F32 && (call->graph.heads == 1 || strides.head == call->graph.dim);
}

/* Whether rows are made of those that the caller gave. */
static int makes_rows(const fovea_nn_graph_call *call) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  return t->features || !is_plain(call, t->key_type, t->key_strides) ||
         !is_plain(call, t->value_type, t->value_strides);
}

static graph_layout lay_out(const fovea_nn_graph_call *call, int workers) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  const int gat = call->graph.kind == FOVEA_NN_GRAPH_GAT,
            queries = !is_plain(call, t->query_type, t->query_strides);
  const uint64_t each = fovea_nn_bytes(EDGES + MARGIN, call->padded, 1) + MARGIN * sizeof(float);
  const uint64_t node = fovea_nn_bytes(NODES + MARGIN, call->padded, 1) + MARGIN * sizeof(float);
  const int64_t states = call->most > EDGES ? fovea_span_states(call->most) + 2 : 0;
  graph_layout l = {.to = 0};
  fovea_nn_reserve(&l.worker, each);
  l.weights = fovea_nn_reserve(&l.worker, each);
  l.edge_sums = fovea_nn_reserve(&l.worker, gat && t->features ? each : 0);
  l.shares = fovea_nn_reserve(&l.worker, t->weights ? each : 0);
  l.maxima = fovea_nn_reserve(&l.worker, node);
  l.sums = fovea_nn_reserve(&l.worker, node);
  l.outputs = fovea_nn_reserve(&l.worker, fovea_nn_bytes(NODES, output_stride(call), 1));
  l.states = fovea_nn_reserve(&l.worker, fovea_nn_bytes(states, state_numbers(call), 1));
  l.rows = fovea_nn_reserve(&l.worker, makes_rows(call) ? fovea_nn_bytes(EDGES, call->width, 1) : 0);
  l.queries = fovea_nn_reserve(&l.worker, queries ? fovea_nn_bytes(NODES, call->width, 1) : 0);
  l.to = fovea_nn_reserve(&l.all, gat ? fovea_nn_bytes(t->nodes + MARGIN, call->padded, 1) : 0);
  l.from = fovea_nn_reserve(&l.all, gat ? fovea_nn_bytes(t->sources + MARGIN, call->padded, 1) : 0);
  l.features = fovea_nn_reserve(&l.all, call->graph.edge ? fovea_nn_bytes(call->part, call->width, 1) : 0);
  l.workers = fovea_nn_reserve(&l.all, fovea_nn_product(l.worker.size, (uint64_t)workers));
  if (l.worker.saturated) l.all.saturated = 1;
  return l;
}

static worker_memory memory_of(const graph_job *job, int worker) {
  const graph_layout *l = job->layout;
  char *memory = job->memory + l->workers + (size_t)worker * l->worker.size;
  return (worker_memory){.scores = (float *)(void *)memory,
                         .weights = (float *)(void *)(memory + l->weights),
                         .edge_sums = (float *)(void *)(memory + l->edge_sums),
                         .shares = (float *)(void *)(memory + l->shares),
                         .maxima = (float *)(void *)(memory + l->maxima),
                         .sums = (float *)(void *)(memory + l->sums),
                         .outputs = (float *)(void *)(memory + l->outputs),
                         .states = (float *)(void *)(memory + l->states),
                         .rows = (float *)(void *)(memory + l->rows),
                         .queries = (float *)(void *)(memory + l->queries)};
}

/* ---- Lists of rows ---- */

/* Makes f32 rows of those of the block's lists. */
static void make_rows(const fovea_nn_graph_call *call, const graph_job *job, const void *const *rows,
                      fovea_type type, fovea_strides strides, const void *const *added, int count, float *to) {
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

static const void *feature_of(const graph_job *job, int64_t edge) {
  return fovea_element(job->features, job->feature_type, (edge - job->first_feature) * job->feature_strides.row);
}

/* The rows of sources that the edges name; NULL where there is none. */
static void list_rows(const graph_block *block, const void *data, fovea_type type, int64_t stride,
                      const void **rows) {
  const int64_t *sources = block->job->call->tensors.edge_sources + block->edge;
  for (int i = 0; i < block->edges; i++) {
    rows[i] = sources[i] < 0 ? NULL : fovea_element(data, type, sources[i] * stride);
  }
}

/* Sets block->keys to contiguous f32 rows, NULL where there is no edge. `with_features`: they are added. */
static void take_rows(graph_block *block, const void *data, fovea_type type, fovea_strides strides,
                      int with_features) {
  const graph_job *job = block->job;
  const fovea_nn_graph_call *call = job->call;
  const int plain = is_plain(call, type, strides) && !with_features;
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
  make_rows(call, job, block->rows, type, strides, with_features ? block->added : NULL, block->edges,
            block->memory->rows);
  for (int i = 0; i < block->edges; i++) {
    block->keys[i] = block->rows[i] ? block->memory->rows + i * call->width : NULL;
  }
}

/* The row of its node for each edge. */
static void take_queries(graph_block *block) {
  const fovea_nn_graph_call *call = block->job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const int plain = is_plain(call, t->query_type, t->query_strides);
  const void *rows[NODES];
  for (int n = 0; n < block->nodes; n++) {
    rows[n] = fovea_element(t->queries, t->query_type, (block->node + n) * t->query_strides.row);
  }
  if (!plain) {
    make_rows(call, block->job, rows, t->query_type, t->query_strides, NULL, block->nodes, block->memory->queries);
  }
  for (int n = 0; n < block->nodes; n++) {
    const float *row = plain ? rows[n] : block->memory->queries + n * call->width;
    for (int i = block->starts[n]; i < block->starts[n + 1]; i++) block->queries[i] = row;
  }
}

/* ---- Scores ---- */

static void score_rows(graph_block *block) {
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
  take_rows(block, t->keys, t->key_type, t->key_strides, block->job->features != NULL);
  for (int i = 0; i < block->edges; i++) { /* any finite score will do where there is no edge */
    if (!block->keys[i]) block->keys[i] = block->queries[i];
  }
  call->kernels->graph_scores(&args);
}

/* Scores of features: a_edge . e of each edge. */
static void score_features(graph_block *block) {
  const graph_job *job = block->job;
  const fovea_nn_graph_call *call = job->call;
  const int plain = is_plain(call, job->feature_type, job->feature_strides);
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
    make_rows(call, job, block->rows, job->feature_type, job->feature_strides, NULL, block->edges,
              block->memory->rows);
  }
  call->kernels->graph_scores(&args);
}

static void score_sums(graph_block *block) {
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

static void compute_scores(graph_block *block) {
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

/* ---- States ---- */

/* The states of the block's nodes: maxima, sums and outputs. */
static void compute_states(graph_block *block, float *maxima, float *sums, float *outputs) {
  const fovea_nn_graph_call *call = block->job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const int transformer = call->graph.kind == FOVEA_NN_GRAPH_TRANSFORMER;
  const fovea_nn_graph_weights_args weights = {.starts = block->starts,
                                               .nodes = block->nodes,
                                               .padded = call->padded,
                                               .scores = block->memory->scores,
                                               .weights = block->memory->weights,
                                               .maxima = maxima,
                                               .sums = sums};
  const fovea_nn_graph_values_args values = {.starts = block->starts,
                                             .nodes = block->nodes,
                                             .heads = call->graph.heads,
                                             .dim = call->graph.dim,
                                             .padded = call->padded,
                                             .values = block->keys,
                                             .weights = block->memory->weights,
                                             .outputs = outputs,
                                             .output_stride = output_stride(call)};
  compute_scores(block);
  call->kernels->graph_weights(&weights);
  if (transformer) {
    take_rows(block, t->values, t->value_type, t->value_strides, block->job->features != NULL);
  } else {
    take_rows(block, t->keys, t->key_type, t->key_strides, 0);
  }
  call->kernels->graph_values(&values);
}

/* Writes the results of nodes from their states. */
static void finish(const graph_job *job, int64_t node, int nodes, fovea_nn_graph_state states) {
  const fovea_nn_graph_call *call = job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_nn_graph_finish_args args = {.states = states,
                                           .nodes = nodes,
                                           .heads = call->graph.heads,
                                           .dim = call->graph.dim,
                                           .padded = call->padded,
                                           .output_stride = output_stride(call),
                                           .average = call->graph.average_heads,
                                           .bias = call->graph.bias,
                                           .y = fovea_output_element(t->y, t->y_type, node * t->y_strides.row),
                                           .type = t->y_type,
                                           .head_stride = t->y_strides.head,
                                           .row_stride = t->y_strides.row,
                                           .lse = t->lse ? t->lse + node * call->graph.heads : NULL};
  call->kernels->graph_finish(&args);
}

/* Writes the weights of `count` edges of a node, from place `first` of the block on. */
static void write_weights(const graph_block *block, int first, int count, const float *maxima, const float *sums) {
  const fovea_nn_graph_call *call = block->job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const float *shares = block->memory->shares;
  const fovea_nn_graph_shares_args args = {.scores = block->memory->scores + first * call->padded,
                                           .maxima = maxima,
                                           .sums = sums,
                                           .count = count,
                                           .padded = call->padded,
                                           .shares = block->memory->shares};
  if (count == 0) return;
  call->kernels->graph_shares(&args);
  for (int i = 0; i < count; i++) {
    memcpy(t->weights + (block->edge + first + i) * t->weight_stride, shares + i * call->padded,
           (size_t)call->graph.heads * sizeof *shares);
  }
}

/* The nodes of a block. */
static void run_nodes(graph_block *block) {
  const fovea_nn_graph_call *call = block->job->call;
  const worker_memory *memory = block->memory;
  const fovea_nn_graph_state states = {memory->maxima, memory->sums, memory->outputs};
  compute_states(block, memory->maxima, memory->sums, memory->outputs);
  finish(block->job, block->node, block->nodes, states);
  for (int n = 0; call->tensors.weights && n < block->nodes; n++) {
    const int first = block->starts[n];
    write_weights(block, first, block->starts[n + 1] - first, memory->maxima + n * call->padded,
                  memory->sums + n * call->padded);
  }
}

/* ---- A node with more edges than a block ---- */

static fovea_nn_graph_state state_at(const graph_block *block, int place) {
  const fovea_nn_graph_call *call = block->job->call;
  float *maxima = block->memory->states + place * state_numbers(call);
  return (fovea_nn_graph_state){maxima, maxima + call->padded + MARGIN, maxima + 2 * (call->padded + MARGIN)};
}

/* Merges the state at `place` + 1 into the one at `place`. */
static void merge(const graph_block *block, int place) {
  const fovea_nn_graph_call *call = block->job->call;
  const fovea_nn_graph_merge_args args = {.left = state_at(block, place),
                                          .right = state_at(block, place + 1),
                                          .heads = call->graph.heads,
                                          .dim = call->graph.dim,
                                          .padded = call->padded};
  call->kernels->graph_merge(&args);
}

/* Sets the block to block `number` of its node. */
static void set_block(graph_block *block, int64_t number) {
  const int64_t *starts = block->job->call->tensors.edge_starts + block->node;
  const int64_t first = starts[0] + number * EDGES, rest = starts[1] - first;
  block->nodes = 1;
  block->edge = first;
  block->edges = rest < EDGES ? (int)rest : EDGES;
  block->starts[0] = 0;
  block->starts[1] = block->edges;
}

/* Blocks merge into their span, and spans as a binary tree: of two of the same height the right one into the left
 * one. The states of nodes of that tree wait, the lower ones above the others. */
static void run_node(graph_block *block) {
  const int64_t *starts = block->job->call->tensors.edge_starts + block->node;
  const int64_t blocks = (starts[1] - starts[0] + EDGES - 1) / EDGES;
  int waiting = 0;
  for (int64_t b = 0; b < blocks; b++) {
    const int begins = b % FOVEA_SPAN_BLOCKS == 0, place = begins ? waiting++ : waiting;
    const fovea_nn_graph_state state = state_at(block, place);
    set_block(block, b);
    compute_states(block, state.maxima, state.sums, state.outputs);
    if (!begins) merge(block, place - 1);
    if (b % FOVEA_SPAN_BLOCKS != FOVEA_SPAN_BLOCKS - 1) continue;
    for (int64_t spans = b / FOVEA_SPAN_BLOCKS + 1; spans % 2 == 0; spans /= 2) merge(block, --waiting - 1);
  }
  while (waiting > 1) merge(block, --waiting - 1);
  const fovea_nn_graph_state state = state_at(block, 0);
  finish(block->job, block->node, 1, state);
  for (int64_t b = 0; block->job->call->tensors.weights && b < blocks; b++) {
    set_block(block, b);
    compute_scores(block);
    write_weights(block, 0, block->edges, state.maxima, state.sums);
  }
}

/* ---- Tasks ---- */

/* Takes nodes while their edges fit. Returns whether there is any: the first may have too many. */
static int take_nodes(graph_block *block, int64_t first, int64_t end) {
  const int64_t *starts = block->job->call->tensors.edge_starts;
  block->node = first;
  block->edge = starts[first];
  block->nodes = block->starts[0] = 0;
  while (first + block->nodes < end && block->nodes < NODES) {
    const int64_t edges = starts[first + block->nodes + 1] - starts[first];
    if (edges > EDGES) break;
    block->starts[++block->nodes] = (int)edges;
  }
  block->edges = block->starts[block->nodes];
  return block->nodes > 0;
}

static void run_task(const void *data, int64_t task, int worker) {
  const graph_job *job = data;
  const int64_t first = job->first + task * FOVEA_NN_GRAPH_TASK, rest = job->end - first;
  const int64_t end = first + (rest < FOVEA_NN_GRAPH_TASK ? rest : FOVEA_NN_GRAPH_TASK);
  const worker_memory memory = memory_of(job, worker);
  graph_block block;
  const fovea_float_state caller = fovea_float_begin();
  block.job = job;
  block.memory = &memory;
  /* Kernels load whole vectors, also of scores that nothing has set. */
  memset(memory.scores, 0, job->layout->weights);
  if (job->layout->shares > job->layout->edge_sums) {
    memset(memory.edge_sums, 0, job->layout->shares - job->layout->edge_sums);
  }
  for (int64_t node = first; node < end; node += block.nodes) {
    if (take_nodes(&block, node, end)) {
      run_nodes(&block);
    } else {
      run_node(&block);
    }
  }
  fovea_float_end(caller);
}

static void run_job(const graph_job *job, double work, void (*run)(const void *, int64_t, int), int workers) {
  const int64_t count = job->end - job->first,
                tasks = count / FOVEA_NN_GRAPH_TASK + (count % FOVEA_NN_GRAPH_TASK > 0);
  const fovea_job all = {job, work, 1, {{tasks, run}}};
  const fovea_execution *execution = &job->call->execution;
  const int wanted = tasks > 0 ? fovea_schedule_workers(tasks, work, execution) : 0;
  if (tasks > 0) fovea_schedule_run(&all, execution, wanted < workers ? wanted : workers);
}

/* Scores of nodes for GAT: a_to . q, or a_from . k of sources. */
static void run_node_scores(const void *data, int64_t task, int worker) {
  const graph_job *job = data;
  const fovea_nn_graph_call *call = job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const int64_t first = task * FOVEA_NN_GRAPH_TASK, rest = job->end - first;
  const int64_t end = first + (rest < FOVEA_NN_GRAPH_TASK ? rest : FOVEA_NN_GRAPH_TASK);
  const void *nodes = job->of_sources ? t->keys : t->queries;
  const fovea_type type = job->of_sources ? t->key_type : t->query_type;
  const fovea_strides strides = job->of_sources ? t->key_strides : t->query_strides;
  const int plain = is_plain(call, type, strides);
  const worker_memory memory = memory_of(job, worker);
  float *to = (float *)(void *)(job->memory + (job->of_sources ? job->layout->from : job->layout->to));
  const fovea_float_state caller = fovea_float_begin();
  for (int64_t node = first; node < end; node += NODES) {
    const int count = end - node < NODES ? (int)(end - node) : NODES;
    float *made = job->of_sources ? memory.rows : memory.queries;
    const float *a[NODES], *rows[NODES];
    const void *given[NODES];
    for (int i = 0; i < count; i++) {
      given[i] = fovea_element(nodes, type, (node + i) * strides.row);
      rows[i] = plain ? given[i] : made + i * call->width;
      a[i] = job->of_sources ? call->graph.a_from : call->graph.a_to;
    }
    if (!plain) make_rows(call, job, given, type, strides, NULL, count, made);
    const fovea_nn_graph_scores_args args = {.queries = a,
                                             .keys = rows,
                                             .count = count,
                                             .heads = call->graph.heads,
                                             .dim = call->graph.dim,
                                             .padded = call->padded,
                                             .factor = 1,
                                             .scores = memory.scores};
    call->kernels->graph_scores(&args);
    memcpy(to + node * call->padded, memory.scores, (size_t)(count * call->padded) * sizeof *to);
  }
  fovea_float_end(caller);
}

static void score_nodes(const graph_job *job, int workers) {
  const fovea_nn_graph_tensors *t = &job->call->tensors;
  for (int of_sources = 0; of_sources < 2; of_sources++) {
    graph_job nodes = *job;
    nodes.first = 0;
    nodes.end = of_sources ? t->sources : t->nodes;
    nodes.of_sources = of_sources;
    run_job(&nodes, (double)nodes.end * (double)job->call->width, run_node_scores, workers);
  }
}

/* Projects the features of the job's edges. They are contiguous then. */
static fovea_status project(graph_job *job, fovea_error *error) {
  const fovea_nn_graph_call *call = job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_execution execution = fovea_nn_without_scratch(&call->execution);
  const int64_t first = t->edge_starts[job->first], count = t->edge_starts[job->end] - first;
  float *to = (float *)(void *)(job->memory + job->layout->features);
  fovea_nn_linear_rows rows;
  const void *x = count > 0 ? fovea_element(t->features, t->feature_type, first * t->feature_strides.row) : NULL;
  fovea_nn_linear_rows_init(&rows, &call->edge, count, x, to);
  rows.x_type = t->feature_type;
  rows.x_stride = t->feature_strides.row;
  job->features = to;
  job->feature_type = FOVEA_F32;
  job->feature_strides = (fovea_strides){0, call->graph.dim, call->width};
  job->first_feature = first;
  return fovea_nn_linear_run(&call->edge, &rows, &execution, error);
}

static fovea_status run(const fovea_nn_graph_call *call, const graph_layout *layout, char *memory, int workers,
                        fovea_error *error) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  graph_job job = {.call = call,
                   .layout = layout,
                   .memory = memory,
                   .end = t->nodes,
                   .features = t->features,
                   .feature_type = t->feature_type,
                   .feature_strides = t->feature_strides};
  if (call->graph.kind == FOVEA_NN_GRAPH_GAT) score_nodes(&job, workers);
  for (int64_t node = 0; node < t->nodes; node = job.end) {
    job.first = node;
    job.end = call->graph.edge ? fovea_nn_graph_part_end(t, node) : t->nodes;
    const fovea_status status = call->graph.edge ? project(&job, error) : FOVEA_OK;
    if (status) return status;
    const double edges = (double)(t->edge_starts[job.end] - t->edge_starts[job.first]);
    run_job(&job, (4 * edges + 2 * (double)(job.end - job.first)) * (double)call->width, run_task, workers);
  }
  return FOVEA_OK;
}

fovea_status fovea_nn_graph_run(const fovea_nn_graph *graph, const fovea_nn_graph_tensors *tensors,
                                const fovea_execution *execution, fovea_error *error) {
  fovea_nn_graph_call call;
  char *memory;
  void *allocated;
  fovea_status status = fovea_nn_check_graph(graph, tensors, execution, &call, error);
  if (status || call.tensors.nodes == 0) return status;
  const int workers = fovea_nn_workers(&call.execution);
  const graph_layout layout = lay_out(&call, workers);
  status = fovea_nn_obtain(&layout.all, &call.execution, &call.graph.allocator, &memory, &allocated, error);
  if (!status) status = run(&call, &layout, memory, workers, error);
  fovea_release(&call.graph.allocator, allocated);
  return status;
}

size_t fovea_nn_graph_scratch_size(const fovea_nn_graph *graph, const fovea_nn_graph_tensors *tensors,
                                   int workers) {
  fovea_nn_graph_call call;
  if (fovea_nn_check_graph(graph, tensors, NULL, &call, NULL) != FOVEA_OK) return 0;
  const graph_layout layout = lay_out(&call, workers > 0 ? workers : fovea_default_threads());
  return layout.all.saturated ? SIZE_MAX : layout.all.size;
}
