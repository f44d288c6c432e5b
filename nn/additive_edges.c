/* Rows of a graph, one at a time: the keys of their edges are put in order, and scored in whole blocks. */
#include "additive_edges.h"
#include "../arch/args/lists.h"

#include "../arch/float_state.h"
#include "../src/base/bits.h"
#include "../src/base/nodes.h"
#include "../src/base/types.h"
#include "layer_scratch.h"
#include "row_job.h"
#include "tasks.h"

#include <math.h>
#include <string.h>

enum { TASK_ROWS = 16, WORD_KEYS = 64, BLOCK_WORDS = FOVEA_BLOCK_KEYS / WORD_KEYS };

/* What a worker needs. The sets are empty between rows. */
typedef struct worker_memory {
  uint64_t *blocks; /* set of blocks that have a key */
  uint64_t *keys;   /* set of keys */
  float *outputs;   /* of states */
  float *values;    /* converted, of the keys that are computed; NULL: they are f32 */
  float *scores;    /* of all keys of the row, in their order; NULL: no weights are wanted */
  int32_t *positions;
} worker_memory;

/* Where they begin. */
typedef struct worker_layout {
  fovea_nn_scratch all;
  size_t keys, outputs, values, scores, positions;
} worker_layout;

/* A row, with the keys that were taken and not yet computed: whole blocks, of which the last may wait. */
typedef struct edge_row {
  const fovea_nn_edges *edges;
  const worker_memory *memory;
  int64_t entry, row;
  int count;
  int32_t positions[2 * FOVEA_BLOCK_KEYS];
  fovea_gather_stack stack;
  int64_t seen; /* keys whose scores are kept */
} edge_row;

static int64_t blocks_of(const fovea_nn_additive_call *call) {
  return (call->tensors.kv_len + FOVEA_BLOCK_KEYS - 1) / FOVEA_BLOCK_KEYS;
}

static int64_t output_stride(int64_t dim) {
  return (dim + 15) / 16 * 16;
}

static worker_layout lay_out(const fovea_nn_additive_call *call) {
  const fovea_nn_additive_tensors *t = &call->tensors;
  const int64_t blocks = blocks_of(call), states = fovea_span_states(t->kv_len) + 1;
  const int64_t kept = t->weights ? t->kv_len : 0;
  worker_layout l = {.keys = 0};
  fovea_nn_reserve(&l.all, (uint64_t)((blocks + WORD_KEYS - 1) / WORD_KEYS) * sizeof(uint64_t));
  l.keys = fovea_nn_reserve(&l.all, (uint64_t)(blocks * BLOCK_WORDS) * sizeof(uint64_t));
  l.outputs = fovea_nn_reserve(&l.all, fovea_nn_bytes(states, output_stride(t->v_dim), 1));
  l.values = fovea_nn_reserve(
      &l.all, t->v_type == FOVEA_F32 ? 0 : fovea_nn_bytes(FOVEA_BLOCK_KEYS, output_stride(t->v_dim), 1));
  l.scores = fovea_nn_reserve(&l.all, fovea_nn_bytes(kept, 2, 1)); /* and of weights */
  l.positions = fovea_nn_reserve(&l.all, fovea_nn_bytes(kept, 1, 1));
  return l;
}

uint64_t fovea_nn_edges_bytes(const fovea_nn_additive_call *call) {
  const worker_layout l = lay_out(call);
  return l.all.saturated ? UINT64_MAX : l.all.size;
}

static worker_memory memory_of(const fovea_nn_edges *edges, int worker) {
  const worker_layout l = lay_out(edges->call);
  char *memory = edges->memory + (size_t)worker * l.all.size;
  return (worker_memory){.blocks = (uint64_t *)(void *)memory,
                         .keys = (uint64_t *)(void *)(memory + l.keys),
                         .outputs = (float *)(void *)(memory + l.outputs),
                         .values =
                             edges->call->tensors.v_type == FOVEA_F32 ? NULL : (float *)(void *)(memory + l.values),
                         .scores = edges->call->tensors.weights ? (float *)(void *)(memory + l.scores) : NULL,
                         .positions = (int32_t *)(void *)(memory + l.positions)};
}

/* Adds the keys of the row that it sees to the sets. */
static void mark_keys(const edge_row *row) {
  const fovea_nn_additive_tensors *t = &row->edges->call->tensors;
  const worker_memory *memory = row->memory;
  const int64_t length = t->kv_lens ? t->kv_lens[row->entry] : t->kv_len;
  for (int64_t i = t->edge_starts[row->row]; i < t->edge_starts[row->row + 1]; i++) {
    const int64_t key = t->edge_keys[i], block = key / FOVEA_BLOCK_KEYS;
    if (key < 0 || key >= length) continue;
    if (t->mask && fovea_nn_additive_hides(t, row->entry, row->row, key)) continue;
    memory->keys[key / WORD_KEYS] |= UINT64_C(1) << key % WORD_KEYS;
    memory->blocks[block / WORD_KEYS] |= UINT64_C(1) << block % WORD_KEYS;
  }
}

/* The value of a key, as f32; `place` of those that are computed. */
static const void *value_of(const edge_row *row, int64_t key, int place) {
  const fovea_nn_additive_call *call = row->edges->call;
  const fovea_nn_additive_tensors *t = &call->tensors;
  const void *value = fovea_element(t->v, t->v_type, row->entry * t->v_strides.batch + key * t->v_strides.row);
  if (!row->memory->values) return value;
  float *copy = row->memory->values + place * output_stride(t->v_dim);
  const fovea_widen_args args = {.rows = value,
                                 .type = t->v_type,
                                 .row_count = 1,
                                 .dim = t->v_dim,
                                 .to = copy,
                                 .to_stride = output_stride(t->v_dim)};
  call->kernels->widen(&args);
  return copy;
}

/* Sets the scores of the first `count` keys that were taken, and keeps them if they are wanted. */
static void score_keys(edge_row *row, int count, float *scores) {
  const fovea_nn_edges *edges = row->edges;
  const worker_memory *memory = row->memory;
  const float *keys[FOVEA_BLOCK_KEYS];
  const fovea_nn_additive_args args = {.queries = edges->queries.numbers + row->entry * edges->queries.batch +
                                                  row->row * edges->queries.row,
                                       .key_rows = keys,
                                       .row_count = 1,
                                       .key_count = count,
                                       .w = edges->call->additive.w,
                                       .dim = edges->call->additive.dim,
                                       .scores = scores,
                                       .leaky = edges->call->leaky,
                                       .slope = edges->call->slope};
  for (int i = 0; i < count; i++) {
    keys[i] = edges->keys.numbers + row->entry * edges->keys.batch + row->positions[i] * edges->keys.row;
  }
  edges->call->kernels->additive(&args);
  for (int i = 0; memory->scores && i < count; i++) {
    memory->scores[row->seen] = scores[i];
    memory->positions[row->seen++] = row->positions[i];
  }
}

/* Computes the first `count` keys that were taken; the keys after them move up. */
static void compute_keys(edge_row *row, int count) {
  const fovea_nn_additive_call *call = row->edges->call;
  const void *values[FOVEA_BLOCK_KEYS];
  float scores[FOVEA_BLOCK_KEYS];
  const fovea_gather_args gather = {.scores = scores,
                                    .keys = row->positions,
                                    .values = values,
                                    .type = FOVEA_F32,
                                    .dim = call->tensors.v_dim,
                                    .key_count = count,
                                    .stack = &row->stack};
  if (count == 0) return;
  score_keys(row, count, scores);
  for (int i = 0; i < count; i++) {
    scores[i] *= (float)FOVEA_LOG2E;
    values[i] = value_of(row, row->positions[i], i);
  }
  call->kernels->gather(&gather);
  row->count -= count;
  memmove(row->positions, row->positions + count, (size_t)row->count * sizeof *row->positions);
}

/* Takes the keys of a block out of the set. A block is not cut: if it does not fit, the others are computed first.
 */
static void take_block(edge_row *row, int64_t block) {
  const int before = row->count;
  for (int64_t word = block * BLOCK_WORDS; word < (block + 1) * BLOCK_WORDS; word++) {
    for (uint64_t bits = row->memory->keys[word]; bits; bits &= bits - 1) {
      row->positions[row->count++] = (int32_t)(word * WORD_KEYS + fovea_lowest_bit(bits));
    }
    row->memory->keys[word] = 0;
  }
  if (row->count > FOVEA_BLOCK_KEYS) compute_keys(row, before);
}

static void take_keys(edge_row *row) {
  uint64_t *blocks = row->memory->blocks;
  const int64_t words = (blocks_of(row->edges->call) + WORD_KEYS - 1) / WORD_KEYS;
  for (int64_t word = 0; word < words; word++) {
    for (; blocks[word]; blocks[word] &= blocks[word] - 1) {
      take_block(row, word * WORD_KEYS + fovea_lowest_bit(blocks[word]));
    }
  }
  compute_keys(row, row->count);
}

/* Merges the states, and writes the row of o. Returns the row's maximum and sum. */
static void finish_row(edge_row *row, float node[2]) {
  const fovea_nn_additive_call *call = row->edges->call;
  const fovea_nn_additive_tensors *t = &call->tensors;
  const fovea_gather_args gather = {.type = FOVEA_F32, .dim = t->v_dim, .last = 1, .stack = &row->stack};
  if (row->stack.depth > 1) call->kernels->gather(&gather);
  const int any = row->stack.depth > 0;
  node[0] = any ? row->stack.maxima[0] : -INFINITY;
  node[1] = any ? row->stack.sums[0] : 0;
  if (!any) memset(row->memory->outputs, 0, (size_t)output_stride(t->v_dim) * sizeof(float));
  const fovea_nn_divide_args divide = {
      .output = row->memory->outputs,
      .sum = node[1],
      .dim = t->v_dim,
      .y = {fovea_output_element(t->o, t->o_type, row->entry * t->o_strides.batch + row->row * t->o_strides.row),
            t->o_type, 0}};
  call->kernels->divide(&divide);
}

static void write_weights(const edge_row *row, const float node[2]) {
  const fovea_nn_additive_tensors *t = &row->edges->call->tensors;
  const worker_memory *memory = row->memory;
  float *weights = memory->scores + t->kv_len;
  float *to = t->weights + row->entry * t->weight_strides.batch + row->row * t->weight_strides.row;
  const fovea_nn_weights_args args = {.scores = memory->scores,
                                      .nodes = node,
                                      .node_count = 1,
                                      .node_numbers = 2,
                                      .seen = row->seen,
                                      .key_count = row->seen,
                                      .weights = weights};
  row->edges->call->kernels->weights(&args);
  if (t->kv_len > 0) memset(to, 0, (size_t)t->kv_len * sizeof *to);
  for (int64_t i = 0; i < row->seen; i++) to[memory->positions[i]] = weights[i];
}

static void run_row(const fovea_nn_edges *edges, const worker_memory *memory, int64_t entry, int64_t number) {
  const int64_t v_dim = edges->call->tensors.v_dim;
  const int states = fovea_span_states(edges->call->tensors.kv_len);
  edge_row row = {.edges = edges, .memory = memory, .entry = entry, .row = number};
  float node[2];
  for (int i = 0; i <= states; i++) row.stack.outputs[i] = memory->outputs + i * output_stride(v_dim);
  mark_keys(&row);
  take_keys(&row);
  finish_row(&row, node);
  if (memory->scores) write_weights(&row, node);
}

/* Some rows of a batch element. */
static void run_task(const void *data, int64_t task, int worker) {
  const fovea_nn_edges *edges = data;
  const fovea_nn_additive_tensors *t = &edges->call->tensors;
  const int64_t pieces = (t->q_len + TASK_ROWS - 1) / TASK_ROWS, first = task % pieces * TASK_ROWS;
  const int64_t end = first + TASK_ROWS < t->q_len ? first + TASK_ROWS : t->q_len;
  const worker_memory memory = memory_of(edges, worker);
  const fovea_float_state caller = fovea_float_begin();
  for (int64_t row = first; row < end; row++) run_row(edges, &memory, task / pieces, row);
  fovea_float_end(caller);
}

void fovea_nn_run_edges(const fovea_nn_edges *edges, const fovea_execution *execution, int workers) {
  const double tanh_work = 25, leaky_work = 3; /* multiply-adds of each dim */
  const fovea_nn_additive_tensors *t = &edges->call->tensors;
  const double pairs = (double)t->batch * (double)(t->edge_starts[t->q_len] - t->edge_starts[0]);
  const double each = edges->call->leaky ? leaky_work : tanh_work;
  const double work = pairs * (each * (double)edges->call->additive.dim + (double)t->v_dim);
  const int64_t tasks = t->batch * ((t->q_len + TASK_ROWS - 1) / TASK_ROWS);
  const int count = fovea_nn_workers_for(tasks, work, workers, execution);
  for (int worker = 0; worker < count; worker++) {
    const worker_memory memory = memory_of(edges, worker);
    memset(memory.blocks, 0, (size_t)((char *)memory.outputs - (char *)memory.blocks));
  }
  (void)fovea_tasks_run(run_task, edges, tasks, count, execution, NULL);
}
