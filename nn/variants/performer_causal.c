/* Causal Performer attention: a head of the keys at a time, or some columns of its values, by blocks of positions.
 * Its sums lie in panels meanwhile. Queries that share a head of keys go over it one after the other, each from the
 * state that the call began with. */
#include "../../arch/float_state.h"
#include "../../src/base/types.h"
#include "performer.h"

#include <string.h>

/* Columns of tasks are multiples of this many. */
enum { COLUMN_STEP = 2 * FOVEA_NN_PANEL };

/* What a worker has, and what a task is about. */
typedef struct causal_task {
  const fovea_nn_performer_call *call;
  int64_t entry, kv_head, first, columns; /* which columns of v */
  int64_t panels;
  fovea_nn_map_memory map;
  float *queries, *keys;  /* features, as rows */
  float *values;          /* panels of a block */
  float *state;           /* [panel][feature][column] */
  float *totals;          /* of the features of keys */
  float *inverses, *sums; /* of a block of rows */
} causal_task;

int64_t fovea_nn_causal_columns(const fovea_nn_performer_call *call, int workers) {
  const fovea_nn_performer_tensors *t = &call->tensors;
  const uint64_t heads = fovea_nn_product((uint64_t)t->batch, (uint64_t)t->kv_heads);
  /* A state's sums of features are read by all tasks of a head, so one task must write them. */
  if (t->state || heads >= (uint64_t)workers) return t->v_dim;
  const int64_t parts = (int64_t)((uint64_t)workers / heads), steps = fovea_nn_ceil(t->v_dim, COLUMN_STEP);
  return parts < 2 || steps < 2 ? t->v_dim : fovea_nn_ceil(steps, parts) * COLUMN_STEP;
}

static int64_t panels_for(int64_t columns) {
  return fovea_nn_ceil(columns, FOVEA_NN_PANEL);
}

uint64_t fovea_nn_causal_numbers(const fovea_nn_performer_call *call, int64_t columns) {
  const fovea_nn_feature_map *map = &call->map;
  const int64_t panels = panels_for(columns);
  const uint64_t block = (uint64_t)(2 * map->feature_stride + panels * FOVEA_NN_PANEL + FOVEA_NN_OUTS + 1);
  const uint64_t state = fovea_nn_product((uint64_t)(panels * FOVEA_NN_PANEL), (uint64_t)map->features);
  if (state > UINT64_C(1) << 57) return UINT64_MAX;
  return fovea_nn_map_numbers(map, 0) + block * FOVEA_BLOCK_KEYS + state + (uint64_t)map->feature_stride;
}

int64_t fovea_nn_causal_tasks(const fovea_nn_causal *causal) {
  const fovea_nn_performer_tensors *t = &causal->call->tensors;
  return t->batch * t->kv_heads * fovea_nn_ceil(t->v_dim, causal->columns);
}

static causal_task make_task(const fovea_nn_causal *causal, int64_t number, int worker) {
  const fovea_nn_performer_tensors *t = &causal->call->tensors;
  const fovea_nn_feature_map *map = &causal->call->map;
  const int64_t parts = fovea_nn_ceil(t->v_dim, causal->columns), head = number / parts;
  float *memory = causal->memory + (uint64_t)worker * causal->worker_numbers;
  causal_task task = {.call = causal->call, .entry = head / t->kv_heads, .kv_head = head % t->kv_heads};
  task.first = number % parts * causal->columns;
  task.columns = t->v_dim - task.first < causal->columns ? t->v_dim - task.first : causal->columns;
  task.panels = panels_for(task.columns);
  task.map = fovea_nn_map_memory_at(map, memory);
  task.queries = memory + fovea_nn_map_numbers(map, 0);
  task.keys = task.queries + FOVEA_BLOCK_KEYS * map->feature_stride;
  task.values = task.keys + FOVEA_BLOCK_KEYS * map->feature_stride;
  task.sums = task.values + FOVEA_BLOCK_KEYS * task.panels * FOVEA_NN_PANEL;
  task.inverses = task.sums + FOVEA_BLOCK_KEYS * FOVEA_NN_OUTS;
  task.totals = task.inverses + FOVEA_BLOCK_KEYS;
  task.state = task.totals + map->feature_stride;
  return task;
}

/* The caller's state of this head. */
static float *state_of(const causal_task *task) {
  const fovea_nn_performer_tensors *t = &task->call->tensors;
  const int64_t numbers = task->call->map.features * (t->v_dim + 1);
  return t->state + (task->entry * t->kv_heads + task->kv_head) * numbers;
}

/* Panels of the caller's state, or of zeros. */
static void begin_state(const causal_task *task) {
  const int64_t features = task->call->map.features, v_dim = task->call->tensors.v_dim;
  memset(task->state, 0, (size_t)(task->panels * features * FOVEA_NN_PANEL) * sizeof(float));
  memset(task->totals, 0, (size_t)features * sizeof(float));
  if (!task->call->tensors.state) return;
  const float *from = state_of(task);
  memcpy(task->totals, from + features * v_dim, (size_t)features * sizeof(float));
  for (int64_t f = 0; f < features; f++) {
    for (int64_t d = 0; d < task->columns; d++) {
      task->state[(d / FOVEA_NN_PANEL * features + f) * FOVEA_NN_PANEL + d % FOVEA_NN_PANEL] =
          from[f * v_dim + task->first + d];
    }
  }
}

/* As results are written: zeros as +0, NaNs as the one NaN. */
static void end_state(const causal_task *task) {
  const int64_t features = task->call->map.features, v_dim = task->call->tensors.v_dim;
  float *to = state_of(task);
  const fovea_nn_activate_args totals = {.x = {task->totals, FOVEA_F32, features},
                                         .y = {to + features * v_dim, FOVEA_F32, features},
                                         .rows = 1,
                                         .dim = features,
                                         .activation = FOVEA_NN_ACTIVATION_NONE};
  task->call->map.kernels->activate(&totals);
  for (int64_t panel = 0; panel < task->panels; panel++) {
    const int64_t column = panel * FOVEA_NN_PANEL, rest = task->columns - column;
    const fovea_nn_activate_args sums = {
        .x = {task->state + column * features, FOVEA_F32, FOVEA_NN_PANEL},
        .y = {to + task->first + column, FOVEA_F32, v_dim},
        .rows = features,
        .dim = rest < FOVEA_NN_PANEL ? rest : FOVEA_NN_PANEL,
        .activation = FOVEA_NN_ACTIVATION_NONE,
    };
    task->call->map.kernels->activate(&sums);
  }
}

/* Rows first to first + rows - 1 of a group of columns. The first `keys` of them have a key of their own; the
 * others see what is there. */
static void sum_columns(const causal_task *task, int64_t column, int rows, int keys) {
  const fovea_nn_feature_map *map = &task->call->map;
  const int64_t panel = column / FOVEA_NN_PANEL, rest = task->panels - panel;
  const int panels = rest < FOVEA_NN_PANELS ? (int)rest : FOVEA_NN_PANELS;
  for (int64_t f = 0; f < map->features; f += FOVEA_DOT_PIECE) {
    const int features = map->features - f < FOVEA_DOT_PIECE ? (int)(map->features - f) : FOVEA_DOT_PIECE;
    float *state = task->state + (panel * map->features + f) * FOVEA_NN_PANEL;
    const fovea_nn_prefix_args prefix = {.queries = task->queries + f,
                                         .keys = task->keys + f,
                                         .stride = map->feature_stride,
                                         .values = task->values + panel * FOVEA_BLOCK_KEYS * FOVEA_NN_PANEL,
                                         .state = state,
                                         .value_panel = FOVEA_BLOCK_KEYS * FOVEA_NN_PANEL,
                                         .state_panel = map->features * FOVEA_NN_PANEL,
                                         .rows = keys,
                                         .features = features,
                                         .panels = panels,
                                         .begun = f > 0,
                                         .sums = task->sums};
    const fovea_nn_dot_args dot = {.x = task->queries + keys * map->feature_stride + f,
                                   .x_stride = map->feature_stride,
                                   .rows = rows - keys,
                                   .weights = state,
                                   .panel_stride = map->features * FOVEA_NN_PANEL,
                                   .panels = panels,
                                   .dims = features,
                                   .begun = f > 0,
                                   .sums = task->sums + keys * FOVEA_NN_OUTS};
    if (keys > 0) map->kernels->prefix(&prefix);
    if (rows > keys) map->kernels->dot(&dot);
  }
}

static void invert(const causal_task *task, int rows, int keys) {
  const fovea_nn_feature_map *map = &task->call->map;
  fovea_nn_inverses_args args = {.queries = task->queries,
                                 .keys = task->keys,
                                 .stride = map->feature_stride,
                                 .dim = map->features,
                                 .rows = keys,
                                 .totals = task->totals,
                                 .inverses = task->inverses};
  map->kernels->inverses(&args);
  args.queries += keys * map->feature_stride;
  args.keys = NULL;
  args.rows = rows - keys;
  args.inverses += keys;
  map->kernels->inverses(&args);
}

static void run_block(const causal_task *task, int64_t head, int64_t row, int rows) {
  const fovea_nn_performer_tensors *t = &task->call->tensors;
  const fovea_nn_feature_map *map = &task->call->map;
  const int64_t seen = fovea_nn_performer_keys(t, task->entry) - row;
  const int keys = seen < 0 ? 0 : seen < rows ? (int)seen : rows;
  const fovea_strides *q = &t->q_strides, *k = &t->k_strides, *v = &t->v_strides, *o = &t->o_strides;
  const fovea_nn_source queries = {
      fovea_element(t->q, t->q_type, task->entry * q->batch + head * q->head + row * q->row), t->q_type, q->row};
  fovea_nn_map_rows(map, &queries, rows, NULL, &task->map, task->queries);
  if (keys > 0) {
    const int64_t k_at = task->entry * k->batch + task->kv_head * k->head + row * k->row;
    const int64_t v_at = task->entry * v->batch + task->kv_head * v->head + row * v->row;
    const fovea_nn_source key_rows = {fovea_element(t->k, t->k_type, k_at), t->k_type, k->row};
    const fovea_nn_source value_rows = {fovea_element(t->v, t->v_type, v_at), t->v_type, v->row};
    fovea_nn_map_rows(map, &key_rows, keys, NULL, &task->map, task->keys);
    fovea_nn_performer_values(map->kernels, &value_rows, keys, task->first, task->columns, task->values);
  }
  invert(task, rows, keys);
  for (int64_t d = 0; d < task->columns; d += FOVEA_NN_OUTS) {
    const int64_t rest = task->columns - d;
    const int64_t at = task->entry * o->batch + head * o->head + row * o->row + task->first + d;
    sum_columns(task, d, rows, keys);
    const fovea_nn_quotients_args args = {.sums = task->sums,
                                          .inverses = task->inverses,
                                          .rows = rows,
                                          .columns = rest < FOVEA_NN_OUTS ? (int)rest : FOVEA_NN_OUTS,
                                          .y = {fovea_output_element(t->o, t->o_type, at), t->o_type, o->row}};
    map->kernels->quotients(&args);
  }
}

void fovea_nn_causal_task(const void *data, int64_t number, int worker) {
  const fovea_nn_causal *causal = data;
  const fovea_nn_performer_tensors *t = &causal->call->tensors;
  const causal_task task = make_task(causal, number, worker);
  const int64_t group = t->heads / t->kv_heads;
  const fovea_float_state caller = fovea_float_begin();
  for (int64_t head = task.kv_head * group; head < (task.kv_head + 1) * group; head++) {
    begin_state(&task);
    for (int64_t row = 0; row < t->q_len; row += FOVEA_BLOCK_KEYS) {
      const int64_t rest = t->q_len - row;
      run_block(&task, head, row, rest < FOVEA_BLOCK_KEYS ? (int)rest : FOVEA_BLOCK_KEYS);
    }
  }
  fovea_float_end(caller);
  if (t->state) end_state(&task);
}
