/* Graph attention: its memory, and tasks of some nodes: scores of nodes, features through a layer, edges in blocks.
 */
#include "graph_block.h"

#include "../../arch/float_state.h"
#include "../../src/base/nodes.h"
#include "../../src/base/types.h"
#include "../linear.h"
#include "../row_job.h"
#include "../tasks.h"

#include <string.h>

enum { EDGES = FOVEA_NN_GRAPH_EDGES, NODES = FOVEA_NN_GRAPH_NODES, MARGIN = FOVEA_NN_GRAPH_MARGIN };

/* Whether rows are made of the caller's rows. */
static int makes_rows(const fovea_nn_graph_call *call) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  return t->features || !fovea_nn_graph_is_plain(call, t->k_type, t->k_strides) ||
         !fovea_nn_graph_is_plain(call, t->v_type, t->v_strides);
}

/* The layer of features has the workers' memory before they have it. */
static fovea_nn_graph_layout lay_out(const fovea_nn_graph_call *call, const fovea_execution *execution) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  const int gat = call->graph.kind == FOVEA_NN_GRAPH_GAT,
            queries = !fovea_nn_graph_is_plain(call, t->q_type, t->q_strides);
  const uint64_t each = fovea_nn_bytes(EDGES + MARGIN, call->padded, 1) + MARGIN * sizeof(float);
  const uint64_t node = fovea_nn_bytes(NODES + MARGIN, call->padded, 1) + MARGIN * sizeof(float);
  const int64_t states = call->most > EDGES ? fovea_span_states(call->most) + 2 : 0;
  fovea_nn_graph_layout l = {.to = 0};
  fovea_nn_reserve(&l.worker, each);
  l.weights = fovea_nn_reserve(&l.worker, each);
  l.edge_sums = fovea_nn_reserve(&l.worker, gat && t->features ? each : 0);
  l.shares = fovea_nn_reserve(&l.worker, t->weights ? each : 0);
  l.maxima = fovea_nn_reserve(&l.worker, node);
  l.sums = fovea_nn_reserve(&l.worker, node);
  l.outputs = fovea_nn_reserve(&l.worker, fovea_nn_bytes(NODES, fovea_nn_graph_output_stride(call), 1));
  l.states = fovea_nn_reserve(&l.worker, fovea_nn_bytes(states, fovea_nn_graph_state_numbers(call), 1));
  l.rows = fovea_nn_reserve(&l.worker, makes_rows(call) ? fovea_nn_bytes(EDGES, call->width, 1) : 0);
  l.queries = fovea_nn_reserve(&l.worker, queries ? fovea_nn_bytes(NODES, call->width, 1) : 0);
  l.to = fovea_nn_reserve(&l.all, gat ? fovea_nn_bytes(t->nodes + MARGIN, call->padded, 1) : 0);
  l.from = fovea_nn_reserve(&l.all, gat ? fovea_nn_bytes(t->sources + MARGIN, call->padded, 1) : 0);
  l.features = fovea_nn_reserve(&l.all, call->graph.edge ? fovea_nn_bytes(call->part, call->width, 1) : 0);
  l.workers =
      fovea_nn_reserve_for_either(&l.all, fovea_nn_product(l.worker.size, (uint64_t)fovea_nn_workers(execution)),
                                  call->graph.edge ? fovea_nn_linear_bytes(&call->edge, call->part, execution) : 0);
  if (l.worker.saturated) l.all.saturated = 1;
  return l;
}

static fovea_nn_graph_memory memory_of(const fovea_nn_graph_job *job, int worker) {
  const fovea_nn_graph_layout *l = job->layout;
  char *memory = job->memory + l->workers + (size_t)worker * l->worker.size;
  return (fovea_nn_graph_memory){.scores = (float *)(void *)memory,
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

/* ---- Tasks ----------------------------------------------------------------------------------------------- */

/* Takes nodes while their edges fit. Returns whether there is any: the first may have too many. */
static int take_nodes(fovea_nn_graph_block *block, int64_t first, int64_t end) {
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
  const fovea_nn_graph_job *job = data;
  const int64_t first = job->first + task * FOVEA_NN_GRAPH_TASK, rest = job->end - first;
  const int64_t end = first + (rest < FOVEA_NN_GRAPH_TASK ? rest : FOVEA_NN_GRAPH_TASK);
  const fovea_nn_graph_memory memory = memory_of(job, worker);
  fovea_nn_graph_block block;
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
      fovea_nn_graph_run_nodes(&block);
    } else {
      fovea_nn_graph_run_node(&block);
    }
  }
  fovea_float_end(caller);
}

static void run_job(const fovea_nn_graph_job *job, double work, fovea_nn_task *run, int workers) {
  const int64_t count = job->end - job->first,
                tasks = count / FOVEA_NN_GRAPH_TASK + (count % FOVEA_NN_GRAPH_TASK > 0);
  fovea_nn_run_tasks(run, job, tasks, work, workers, &job->call->execution);
}

/* Scores of nodes for GAT: a_to . q, or a_from . k of sources. */
static void run_node_scores(const void *data, int64_t task, int worker) {
  const fovea_nn_graph_job *job = data;
  const fovea_nn_graph_call *call = job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const int64_t first = task * FOVEA_NN_GRAPH_TASK, rest = job->end - first;
  const int64_t end = first + (rest < FOVEA_NN_GRAPH_TASK ? rest : FOVEA_NN_GRAPH_TASK);
  const void *nodes = job->of_sources ? t->k : t->q;
  const fovea_type type = job->of_sources ? t->k_type : t->q_type;
  const fovea_strides strides = job->of_sources ? t->k_strides : t->q_strides;
  const int plain = fovea_nn_graph_is_plain(call, type, strides);
  const fovea_nn_graph_memory memory = memory_of(job, worker);
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
    if (!plain) fovea_nn_graph_make_rows(call, job, given, type, strides, NULL, count, made);
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

static void score_nodes(const fovea_nn_graph_job *job, int workers) {
  const fovea_nn_graph_tensors *t = &job->call->tensors;
  for (int of_sources = 0; of_sources < 2; of_sources++) {
    fovea_nn_graph_job nodes = *job;
    nodes.first = 0;
    nodes.end = of_sources ? t->sources : t->nodes;
    nodes.of_sources = of_sources;
    run_job(&nodes, (double)nodes.end * (double)job->call->width, run_node_scores, workers);
  }
}

/* Projects the features of the job's edges. They are contiguous then. */
static fovea_status project(fovea_nn_graph_job *job, fovea_error *error) {
  const fovea_nn_graph_call *call = job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const size_t workers = job->layout->workers;
  const fovea_execution execution =
      fovea_nn_with_scratch(&call->execution, job->memory + workers, job->layout->all.size - workers);
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
  return fovea_nn_run_linear(&call->edge, &rows, &execution, error);
}

static fovea_status run(const fovea_nn_graph_call *call, const fovea_nn_graph_layout *layout, char *memory,
                        int workers, fovea_error *error) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  fovea_nn_graph_job job = {.call = call,
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

typedef struct graph_run {
  fovea_nn_graph_call *call;
  const fovea_nn_graph_layout *layout;
  int workers; /* that have memory */
} graph_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const graph_run *r = data;
  r->call->execution = *execution;
  return run(r->call, r->layout, memory, r->workers, error);
}

/* Multiply-adds of scores and sums, and of the layer. */
static double work_of(const fovea_nn_graph_call *call) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  const double each = call->graph.edge ? 4 + (double)call->edge.in : 4;
  const double edges = (double)(t->edge_starts[t->nodes] - t->edge_starts[0]);
  return (each * edges + 2 * (double)t->nodes) * (double)call->width;
}

fovea_status fovea_nn_graph_run(const fovea_nn_graph *graph, const fovea_nn_graph_tensors *tensors,
                                const fovea_execution *execution, fovea_error *error) {
  fovea_nn_graph_call call;
  const fovea_status status = fovea_nn_check_graph(graph, tensors, execution, &call, error);
  if (status || call.tensors.nodes == 0) return status;
  const fovea_nn_graph_layout layout = lay_out(&call, &call.execution);
  graph_run r = {&call, &layout, fovea_nn_workers(&call.execution)};
  return fovea_nn_run_steps(run_steps, &r, &layout.all, work_of(&call), &call.execution, error);
}

fovea_status fovea_nn_graph_scratch_size(const fovea_nn_graph *graph, const fovea_nn_graph_tensors *tensors,
                                         const fovea_execution *execution, size_t *size, fovea_error *error) {
  fovea_nn_graph_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_graph(graph, tensors, &measured, &call, error);
  if (status) return status;
  const fovea_nn_graph_layout layout = lay_out(&call, &measured);
  *size = fovea_nn_size_of(&layout.all);
  return FOVEA_OK;
}
