/* Additive attention: projections, then, for some rows of all batch elements at a time, their scores, which
 * attention adds to scores of 0, and weights. */
#include "additive.h"
#include "additive_edges.h"

#include "../arch/float_state.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"
#include "call_plan.h"
#include "linear.h"
#include "row_job.h"
#include "tasks.h"

#include <fovea/state.h>
#include <math.h>

/* Rows, of all batch elements, whose scores are in scratch at a time, and keys of a task. */
enum { TILE_ROWS = 128, TASK_KEYS = 64 };

/* Where the parts of scratch begin. The projections have `run` before attention. */
typedef struct layout {
  fovea_nn_scratch all;
  size_t run, queries, keys, scores, nodes, edges;
  int64_t rows;         /* of each batch element in a tile */
  int64_t node_numbers; /* of a row; 0: no weights are wanted */
} layout;

typedef struct tile {
  const fovea_nn_additive_call *call;
  fovea_nn_projected queries, keys;
  float *scores; /* [batch element][row][key] */
  float *nodes;  /* [batch element][row][number] */
  int64_t first, rows, node_numbers;
} tile;

/* Attention over scores that are added to 0: one dim of q and of k, both 0. */
static fovea_problem problem_of(const fovea_nn_additive_call *call, int64_t rows) {
  const fovea_nn_additive_tensors *t = &call->tensors;
  fovea_problem p;
  fovea_problem_init(&p, t->batch, 1, 1, rows, t->kv_len, 1, t->v_dim);
  p.scale = 1;
  p.q_strides = p.k_strides = (fovea_strides){0, 0, 0};
  p.v_strides = t->v_strides;
  p.o_strides = t->o_strides;
  p.v_type = t->v_type;
  p.o_type = t->o_type;
  p.kv_lens = t->kv_lens;
  p.mask.type = FOVEA_MASK_F32;
  p.mask.strides = (fovea_mask_strides){rows * t->kv_len, 0, t->kv_len, 1};
  p.state = t->weights != NULL && t->kv_len > 0;
  return p;
}

/* The rows of the largest tile. */
static int64_t tile_rows(const fovea_nn_additive_tensors *t) {
  const int64_t fair = t->batch < TILE_ROWS ? TILE_ROWS / t->batch : 1;
  return fair < t->q_len ? fair : t->q_len;
}

/* The plans of all tiles but the last, and of the last. */
typedef struct tile_plans {
  fovea_nn_plan_memory memory;
  fovea_nn_plan plans;
  const fovea_plan *whole, *last;
} tile_plans;

/* Plans check lengths, also the lengths of a batch without rows. */
static fovea_status make_plans(const fovea_nn_additive_call *call, tile_plans *plans, fovea_error *error) {
  const int64_t rows = tile_rows(&call->tensors), rest = rows > 0 ? call->tensors.q_len % rows : 0;
  fovea_problem problem = problem_of(call, rows);
  *plans = (tile_plans){.memory = fovea_nn_plan_memory_of(&call->execution)};
  plans->plans.memory = &plans->memory;
  fovea_status status = fovea_nn_find_plan(&plans->plans, &problem, 0, &plans->whole, error);
  plans->last = plans->whole;
  if (status || call->tensors.edge_starts) return status;
  if (rest == 0) { /* fewer rows may need it: scratch for them is no larger */
    fovea_nn_reserve(&plans->memory.used, fovea_plan_size(problem.batch));
    return FOVEA_OK;
  }
  problem = problem_of(call, rest);
  return fovea_nn_find_plan(&plans->plans, &problem, 1, &plans->last, error);
}

/* Rows of all batch elements. Sizes of which only scratch is asked for may be any. */
static int64_t all_rows(int64_t batch, int64_t length) {
  const uint64_t rows = fovea_nn_product((uint64_t)batch, (uint64_t)length);
  return rows > INT64_MAX ? INT64_MAX : (int64_t)rows;
}

static layout lay_out(const fovea_nn_additive_call *call, const fovea_plan *plan,
                      const fovea_execution *execution) {
  const fovea_nn_additive_tensors *t = &call->tensors;
  const int64_t dim = call->additive.dim;
  const int edges = t->edge_starts != NULL, workers = fovea_nn_workers(execution);
  const int64_t rows = tile_rows(t);
  const fovea_nn_layer_use layers[] = {{call->additive.query, all_rows(t->batch, t->q_len)},
                                       {call->additive.key, all_rows(t->batch, t->kv_len)}};
  layout l = {.rows = rows};
  if (t->weights && !edges) l.node_numbers = fovea_state_numbers(t->v_dim, 0, t->kv_len);
  l.run = fovea_nn_reserve_for_either(&l.all, edges ? 0 : fovea_plan_scratch_size(plan, workers),
                                      fovea_nn_layers_bytes(layers, 2, execution));
  l.queries = fovea_nn_reserve(&l.all, call->additive.query ? fovea_nn_bytes(t->batch, dim, t->q_len) : 0);
  l.keys = fovea_nn_reserve(&l.all, call->additive.key ? fovea_nn_bytes(t->batch, dim, t->kv_len) : 0);
  l.scores = fovea_nn_reserve(&l.all, edges ? 0 : fovea_nn_bytes(t->batch, rows, t->kv_len));
  l.nodes = fovea_nn_reserve(&l.all, fovea_nn_bytes(t->batch, rows, l.node_numbers));
  l.edges = fovea_nn_reserve(&l.all, edges ? fovea_nn_product(fovea_nn_edges_bytes(call), (uint64_t)workers) : 0);
  return l;
}

/* Rows (batch, length, in) through a layer: all by one call if they follow each other at one distance. */
static fovea_status project(const fovea_nn_linear *linear, const void *from, fovea_type type, fovea_strides strides,
                            int64_t batch, int64_t length, float *to, fovea_nn_projected *result,
                            const fovea_execution *execution, fovea_error *error) {
  const int64_t dim = linear->out;
  int64_t calls = 1, rows = batch * length, stride = strides.row;
  *result = (fovea_nn_projected){to, length * dim, dim};
  if (length == 1) {
    stride = strides.batch;
  } else if (batch > 1 && strides.row == batch * strides.batch) {
    stride = strides.batch;
    *result = (fovea_nn_projected){to, dim, batch * dim};
  } else if (batch > 1 && strides.batch != length * strides.row) {
    calls = batch;
    rows = length;
  }
  for (int64_t i = 0; i < calls; i++) {
    fovea_nn_linear_rows call;
    const void *x = rows > 0 ? fovea_element(from, type, i * strides.batch) : NULL;
    fovea_nn_linear_rows_init(&call, linear, rows, x, to + i * result->batch);
    call.x_type = type;
    call.x_stride = stride;
    const fovea_status status = fovea_nn_run_linear(linear, &call, execution, error);
    if (status) return status;
  }
  return FOVEA_OK;
}

static fovea_status project_all(const fovea_nn_additive_call *call, float *queries, float *keys, tile *tile,
                                const fovea_execution *execution, fovea_error *error) {
  const fovea_nn_additive_tensors *t = &call->tensors;
  fovea_status status = FOVEA_OK;
  tile->queries = (fovea_nn_projected){t->q, t->q_strides.batch, t->q_strides.row};
  tile->keys = (fovea_nn_projected){t->k, t->k_strides.batch, t->k_strides.row};
  if (call->additive.query) {
    status = project(call->additive.query, t->q, t->q_type, t->q_strides, t->batch, t->q_len, queries,
                     &tile->queries, execution, error);
  }
  if (call->additive.key && !status) {
    status = project(call->additive.key, t->k, t->k_type, t->k_strides, t->batch, t->kv_len, keys, &tile->keys,
                     execution, error);
  }
  return status;
}

static int64_t length_of(const fovea_nn_additive_tensors *t, int64_t entry) {
  return t->kv_lens ? t->kv_lens[entry] : t->kv_len;
}

/* Row by row, leaving out rows that see none of the keys. */
static void score_masked(const tile *tile, int64_t entry, int64_t key, fovea_nn_additive_args args) {
  const fovea_nn_additive_tensors *t = &tile->call->tensors;
  args.row_count = 1;
  for (int64_t row = 0; row < tile->rows; row++) {
    int hidden[TASK_KEYS] = {0}, count = 0;
    for (int j = 0; j < args.key_count; j++) {
      hidden[j] = fovea_nn_additive_hides(t, entry, tile->first + row, key + j);
      count += hidden[j];
    }
    if (count < args.key_count) tile->call->kernels->additive(&args);
    for (int j = 0; j < args.key_count; j++) {
      if (hidden[j]) args.scores[j] = -INFINITY;
    }
    args.queries += args.query_stride;
    args.scores += args.score_stride;
  }
}

/* Some keys of a batch element for all rows of the tile. */
static void score_task(const void *data, int64_t task, int worker) {
  const tile *tile = data;
  const fovea_nn_additive_tensors *t = &tile->call->tensors;
  const int64_t blocks = (t->kv_len + TASK_KEYS - 1) / TASK_KEYS, entry = task / blocks;
  const int64_t key = task % blocks * TASK_KEYS, rest = length_of(t, entry) - key;
  (void)worker;
  if (rest <= 0) return;
  const fovea_nn_additive_args args = {.queries = tile->queries.numbers + entry * tile->queries.batch +
                                                  tile->first * tile->queries.row,
                                       .keys = tile->keys.numbers + entry * tile->keys.batch + key * tile->keys.row,
                                       .query_stride = tile->queries.row,
                                       .key_stride = tile->keys.row,
                                       .row_count = (int)tile->rows,
                                       .key_count = (int)(rest < TASK_KEYS ? rest : TASK_KEYS),
                                       .w = tile->call->additive.w,
                                       .dim = tile->call->additive.dim,
                                       .scores = tile->scores + entry * tile->rows * t->kv_len + key,
                                       .score_stride = t->kv_len,
                                       .leaky = tile->call->leaky,
                                       .slope = tile->call->slope};
  const fovea_float_state caller = fovea_float_begin();
  if (t->mask_type == FOVEA_MASK_NONE) {
    tile->call->kernels->additive(&args);
  } else {
    score_masked(tile, entry, key, args);
  }
  fovea_float_end(caller);
}

/* Multiply-adds of the scores of so many pairs. */
static double work_of(const fovea_nn_additive_call *call, double pairs) {
  const double each = call->leaky ? 3 : 25; /* of a dim */
  return pairs * (double)call->additive.dim * each;
}

static void compute_scores(const tile *tile, const fovea_execution *execution) {
  const fovea_nn_additive_tensors *t = &tile->call->tensors;
  const double work = work_of(tile->call, (double)t->batch * (double)tile->rows * (double)t->kv_len);
  const int64_t tasks = t->batch * ((t->kv_len + TASK_KEYS - 1) / TASK_KEYS);
  fovea_nn_run_tasks(score_task, tile, tasks, work, INT_MAX, execution);
}

/* Weights of rows `first` on, counted over all batch elements. */
static void write_weights(const void *data, int64_t first, int64_t count) {
  const tile *tile = data;
  const fovea_nn_additive_tensors *t = &tile->call->tensors;
  for (int64_t i = first; i < first + count; i++) {
    const int64_t entry = i / tile->rows, row = tile->first + i % tile->rows, numbers = t->v_dim + 2;
    const fovea_nn_weights_args args = {.scores = tile->scores + i * t->kv_len,
                                        .nodes = tile->nodes + i * tile->node_numbers,
                                        .node_count = tile->node_numbers / numbers,
                                        .node_numbers = numbers,
                                        .seen = length_of(t, entry),
                                        .key_count = t->kv_len,
                                        .weights = t->weights + entry * t->weight_strides.batch +
                                                   row * t->weight_strides.row};
    tile->call->kernels->weights(&args);
  }
}

/* With weights the result is a state at first, which has the largest score and the sum of weights. */
static fovea_status attend(const tile *tile, const fovea_plan *plan, const fovea_execution *execution,
                           fovea_error *error) {
  static const float zero = 0;
  const fovea_nn_additive_tensors *t = &tile->call->tensors;
  const fovea_execution rows = fovea_nn_without_scratch(execution);
  void *o = fovea_output_element(t->o, t->o_type, tile->first * t->o_strides.row);
  fovea_tensors tensors;
  fovea_state state;
  fovea_tensors_init(&tensors, &zero, &zero, t->v, o, NULL);
  tensors.mask = tile->scores;
  if (tile->node_numbers == 0) return fovea_plan_run(plan, &tensors, execution, error);
  fovea_state_init(&state, t->batch, 1, tile->rows, t->v_dim, 0, t->kv_len, tile->nodes);
  tensors.state = &state;
  tensors.o = NULL;
  fovea_status status = fovea_plan_run(plan, &tensors, execution, error);
  if (status) return status;
  const fovea_problem problem = problem_of(tile->call, tile->rows);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o, NULL);
  tensors.state = &state;
  status = fovea_state_finish(&problem, &tensors, &rows, error);
  if (status) return status;
  const fovea_nn_row_job job = {t->batch * tile->rows, t->kv_len, 10, tile, write_weights};
  fovea_nn_run_rows(&job, &rows);
  return FOVEA_OK;
}

/* In memory that is large enough. */
static fovea_status run(const fovea_nn_additive_call *call, const layout *l, const tile_plans *plans, char *memory,
                        int workers, fovea_error *error) {
  fovea_execution execution = call->execution;
  const fovea_execution rows = fovea_nn_without_scratch(&execution);
  tile tile = {.call = call,
               .scores = (float *)(void *)(memory + l->scores),
               .nodes = (float *)(void *)(memory + l->nodes),
               .node_numbers = l->node_numbers};
  execution.scratch = memory + l->run;
  execution.scratch_size = l->queries - l->run;
  fovea_status status = project_all(call, (float *)(void *)(memory + l->queries),
                                    (float *)(void *)(memory + l->keys), &tile, &execution, error);
  if (call->tensors.edge_starts) {
    const fovea_nn_edges edges = {call, tile.queries, tile.keys, memory + l->edges};
    if (!status) fovea_nn_run_edges(&edges, &rows, workers);
    return status;
  }
  for (; tile.first < call->tensors.q_len && !status; tile.first += l->rows) {
    const int64_t rest = call->tensors.q_len - tile.first;
    tile.rows = rest < l->rows ? rest : l->rows;
    compute_scores(&tile, &rows);
    status = attend(&tile, tile.rows == l->rows ? plans->whole : plans->last, &execution, error);
  }
  return status;
}

typedef struct additive_run {
  fovea_nn_additive_call *call;
  const layout *layout;
  const tile_plans *plans;
  int workers; /* that have memory */
} additive_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const additive_run *r = data;
  r->call->execution = *execution;
  return run(r->call, r->layout, r->plans, memory, r->workers, error);
}

/* In scratch after the plans, or in memory that is allocated. */
static fovea_status run_in_memory(fovea_nn_additive_call *call, const tile_plans *plans, fovea_error *error) {
  const fovea_nn_additive_tensors *t = &call->tensors;
  const int64_t pairs = t->edge_starts ? t->edge_starts[t->q_len] - t->edge_starts[0] : t->q_len * t->kv_len;
  const double work = work_of(call, (double)t->batch * (double)pairs);
  layout l = lay_out(call, plans->whole, &call->execution);
  additive_run r = {call, &l, plans, fovea_nn_workers(&call->execution)};
  l.all.before = fovea_nn_plans_end(&plans->memory);
  return fovea_nn_run_steps(run_steps, &r, &l.all, work, &call->execution, error);
}

fovea_status fovea_nn_additive_run(const fovea_nn_additive *additive, const fovea_nn_additive_tensors *tensors,
                                   const fovea_execution *execution, fovea_error *error) {
  fovea_nn_additive_call call;
  tile_plans plans;
  fovea_status status = fovea_nn_check_additive(additive, tensors, execution, &call, error);
  if (status) return status;
  status = make_plans(&call, &plans, error);
  if (!status && call.tensors.q_len > 0) status = run_in_memory(&call, &plans, error);
  fovea_nn_release_plan(&plans.plans);
  return status;
}

fovea_status fovea_nn_additive_scratch_size(const fovea_nn_additive *additive,
                                            const fovea_nn_additive_tensors *tensors,
                                            const fovea_execution *execution, size_t *size, fovea_error *error) {
  fovea_nn_additive_call call;
  tile_plans plans;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_additive(additive, tensors, &measured, &call, error);
  if (status) return status;
  status = make_plans(&call, &plans, error);
  if (!status) {
    const layout l = lay_out(&call, plans.whole, &measured);
    *size = fovea_nn_scratch_size(&plans.memory, &l.all);
  }
  fovea_nn_release_plan(&plans.plans);
  return status;
}
