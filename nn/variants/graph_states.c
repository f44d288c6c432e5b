/* Graph attention: the states of nodes, from scores to results. */
#include "graph_block.h"

#include "../../src/base/nodes.h"
#include "../../src/base/types.h"

#include <string.h>

enum { EDGES = FOVEA_NN_GRAPH_EDGES, MARGIN = FOVEA_NN_GRAPH_MARGIN };

/* The states of the block's nodes: maxima, sums and outputs. */
static void compute_states(fovea_nn_graph_block *block, float *maxima, float *sums, float *outputs) {
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
                                             .output_stride = fovea_nn_graph_output_stride(call)};
  fovea_nn_graph_score(block);
  call->kernels->graph_weights(&weights);
  if (transformer) {
    fovea_nn_graph_take_rows(block, t->v, t->v_type, t->v_strides, block->job->features != NULL);
  } else {
    fovea_nn_graph_take_rows(block, t->k, t->k_type, t->k_strides, 0);
  }
  call->kernels->graph_values(&values);
}

/* Writes the results of nodes from their states. */
static void finish(const fovea_nn_graph_job *job, int64_t node, int nodes, fovea_nn_graph_state states) {
  const fovea_nn_graph_call *call = job->call;
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_nn_graph_finish_args args = {.states = states,
                                           .nodes = nodes,
                                           .heads = call->graph.heads,
                                           .dim = call->graph.dim,
                                           .padded = call->padded,
                                           .output_stride = fovea_nn_graph_output_stride(call),
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
static void write_weights(const fovea_nn_graph_block *block, int first, int count, const float *maxima,
                          const float *sums) {
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

void fovea_nn_graph_run_nodes(fovea_nn_graph_block *block) {
  const fovea_nn_graph_call *call = block->job->call;
  const fovea_nn_graph_memory *memory = block->memory;
  const fovea_nn_graph_state states = {memory->maxima, memory->sums, memory->outputs};
  compute_states(block, memory->maxima, memory->sums, memory->outputs);
  finish(block->job, block->node, block->nodes, states);
  for (int n = 0; call->tensors.weights && n < block->nodes; n++) {
    const int first = block->starts[n];
    write_weights(block, first, block->starts[n + 1] - first, memory->maxima + n * call->padded,
                  memory->sums + n * call->padded);
  }
}

/* ---- A node with more edges than a block ----------------------------------------------------------------- */

static fovea_nn_graph_state state_at(const fovea_nn_graph_block *block, int place) {
  const fovea_nn_graph_call *call = block->job->call;
  float *maxima = block->memory->states + place * fovea_nn_graph_state_numbers(call);
  return (fovea_nn_graph_state){maxima, maxima + call->padded + MARGIN, maxima + 2 * (call->padded + MARGIN)};
}

/* Merges the state at `place` + 1 into the one at `place`. */
static void merge(const fovea_nn_graph_block *block, int place) {
  const fovea_nn_graph_call *call = block->job->call;
  const fovea_nn_graph_merge_args args = {.left = state_at(block, place),
                                          .right = state_at(block, place + 1),
                                          .heads = call->graph.heads,
                                          .dim = call->graph.dim,
                                          .padded = call->padded};
  call->kernels->graph_merge(&args);
}

/* Sets the block to block `number` of its node. */
static void set_block(fovea_nn_graph_block *block, int64_t number) {
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
void fovea_nn_graph_run_node(fovea_nn_graph_block *block) {
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
    fovea_nn_graph_score(block);
    write_weights(block, 0, block->edges, state.maxima, state.sums);
  }
}
