/* Performer attention that sees all keys, and the calls. Sums over keys are made span by span, added up as the tree
 * of docs/numerics.md, section 3, step 4, and copied into panels; then each row of queries is a product with
 * them. */
#include "performer.h"

#include "../../arch/float_state.h"
#include "../../src/base/types.h"
#include "../tasks.h"

#include <math.h>
#include <string.h>

enum {
  SPAN_KEYS = FOVEA_SPAN_BLOCKS * FOVEA_BLOCK_KEYS,
  BLOCK_ROWS = 96,     /* queries of a task */
  TASKS_OF_WORKER = 4, /* so that none waits long for the last */
  GROUP = FOVEA_NN_OUTS
};

/* Where the parts of scratch begin, and how the keys of a head are shared out. */
typedef struct layout {
  fovea_nn_scratch all;
  size_t panels, maxima, nodes, sums, workers;
  uint64_t worker_numbers, node_numbers; /* floats, multiples of a vector */
  int64_t groups, value_panels;          /* of the columns of v */
  int64_t spans, chunks;                 /* spans of a chunk, a power of two; chunks of a head */
  int64_t columns;                       /* causal: of a task */
} layout;

typedef struct performer_job {
  const fovea_nn_performer_call *call;
  const layout *layout;
  float *panels, *maxima, *nodes, *sums, *workers;
  fovea_nn_causal causal;
} performer_job;

static uint64_t vectors(uint64_t numbers) {
  return numbers > UINT64_C(1) << 58 ? numbers : (numbers + 15) / 16 * 16;
}

static int bits_of(int64_t number) {
  int bits = 0;
  for (; number > 0; number /= 2) bits++;
  return bits;
}

static int64_t heads_of(const fovea_nn_performer_call *call) {
  return call->tensors.batch * call->tensors.kv_heads;
}

/* ---- Layout ------------------------------------------------------------------------------------------------ */

/* One chunk for each head, or more if there are more workers than heads. */
static void share_spans(const fovea_nn_performer_call *call, int workers, layout *l) {
  const int64_t spans = fovea_nn_ceil(call->tensors.kv_len, SPAN_KEYS);
  for (l->spans = 1; l->spans < spans;) l->spans *= 2;
  const int64_t heads = heads_of(call), wanted = workers > 1 ? (int64_t)workers * TASKS_OF_WORKER : 1;
  while (l->spans > 1 && fovea_nn_ceil(spans, l->spans) < fovea_nn_ceil(wanted, heads)) l->spans /= 2;
  l->chunks = spans > 0 ? fovea_nn_ceil(spans, l->spans) : 1;
}

/* Floats of a worker: of a task over keys or over rows, whichever are more. */
static uint64_t worker_numbers(const fovea_nn_performer_call *call, const layout *l) {
  const fovea_nn_feature_map *map = &call->map;
  const uint64_t values = (uint64_t)l->value_panels * FOVEA_NN_PANEL * FOVEA_BLOCK_KEYS;
  const uint64_t columns = (uint64_t)FOVEA_NN_KEY_FEATURES * FOVEA_BLOCK_KEYS;
  const uint64_t pile = fovea_nn_product(l->node_numbers, (uint64_t)bits_of(l->spans - 1));
  const uint64_t rows = (uint64_t)(map->feature_stride + GROUP + 1) * FOVEA_NN_MAP_ROWS;
  if (pile > UINT64_C(1) << 58) return UINT64_MAX;
  const uint64_t by_keys = fovea_nn_map_numbers(map, 1) + columns + values + pile;
  const uint64_t by_rows = fovea_nn_map_numbers(map, 0) + rows;
  return vectors(by_keys > by_rows ? by_keys : by_rows);
}

static uint64_t bytes_of(uint64_t numbers, uint64_t times) {
  return fovea_nn_product(fovea_nn_product(numbers, times), sizeof(float));
}

static layout lay_out(const fovea_nn_performer_call *call, int workers) {
  const fovea_nn_performer_tensors *t = &call->tensors;
  const fovea_nn_feature_map *map = &call->map;
  const uint64_t heads = fovea_nn_product((uint64_t)t->batch, (uint64_t)t->kv_heads);
  layout l = {.columns = 0};
  l.panels = fovea_nn_reserve(&l.all, bytes_of(fovea_nn_map_panel_numbers(map), 1));
  if (call->performer.causal) {
    l.columns = fovea_nn_causal_columns(call, workers);
    l.worker_numbers = fovea_nn_causal_numbers(call, l.columns);
    if (l.worker_numbers < UINT64_MAX) l.worker_numbers = vectors(l.worker_numbers);
  } else {
    share_spans(call, workers, &l);
    l.groups = fovea_nn_ceil(t->v_dim, GROUP);
    l.value_panels = fovea_nn_ceil(t->v_dim, FOVEA_NN_PANEL);
    l.node_numbers = fovea_nn_product(fovea_nn_product((uint64_t)l.groups, GROUP) + 1, (uint64_t)map->features);
    l.node_numbers = vectors(l.node_numbers);
    l.maxima =
        fovea_nn_reserve(&l.all, bytes_of(fovea_nn_product(heads, (uint64_t)l.chunks), map->stabilised != 0));
    l.nodes = fovea_nn_reserve(&l.all, bytes_of(l.node_numbers, fovea_nn_product(heads, (uint64_t)l.chunks)));
    l.sums = fovea_nn_reserve(&l.all, bytes_of(l.node_numbers, heads));
    l.worker_numbers = worker_numbers(call, &l);
  }
  l.workers = fovea_nn_reserve(&l.all, bytes_of(l.worker_numbers, (uint64_t)workers));
  return l;
}

/* ---- Sums over keys ---------------------------------------------------------------------------------------- */

/* The keys of a batch element that are in a chunk. */
typedef struct chunk {
  int64_t entry, head, begin, end; /* `head` counts heads of the keys */
  float *node;                     /* its sums: [group][feature][column], then [feature] */
} chunk;

static chunk chunk_of(const performer_job *job, int64_t task) {
  const layout *l = job->layout;
  const int64_t head = task / l->chunks, number = task % l->chunks, kv_heads = job->call->tensors.kv_heads;
  chunk c = {.entry = head / kv_heads, .head = head % kv_heads, .begin = number * l->spans * SPAN_KEYS};
  const int64_t keys = fovea_nn_performer_keys(&job->call->tensors, c.entry), most = l->spans * SPAN_KEYS;
  c.end = keys - c.begin < most ? keys : c.begin + most;
  c.node = job->nodes + (uint64_t)task * l->node_numbers;
  return c;
}

static fovea_nn_source rows_from(const void *tensor, fovea_type type, const fovea_strides *s, int64_t entry,
                                 int64_t head, int64_t row) {
  const int64_t at = entry * s->batch + head * s->head + row * s->row;
  return (fovea_nn_source){fovea_element(tensor, type, at), type, s->row};
}

static fovea_nn_source keys_from(const performer_job *job, const chunk *c, int64_t key) {
  const fovea_nn_performer_tensors *t = &job->call->tensors;
  return rows_from(t->k, t->k_type, &t->k_strides, c->entry, c->head, key);
}

static float *worker_memory(const performer_job *job, int worker) {
  return job->workers + (uint64_t)worker * job->layout->worker_numbers;
}

static int block_keys(int64_t key, int64_t end) {
  return end - key < FOVEA_BLOCK_KEYS ? (int)(end - key) : FOVEA_BLOCK_KEYS;
}

static void pack_task(const void *data, int64_t task, int worker) {
  const performer_job *job = data;
  const fovea_float_state caller = fovea_float_begin();
  (void)worker;
  fovea_nn_map_pack(&job->call->map, task, job->panels);
  fovea_float_end(caller);
}

/* The largest product of a chunk's keys with the projection. */
static void maximum_task(const void *data, int64_t task, int worker) {
  const performer_job *job = data;
  const fovea_nn_feature_map *map = &job->call->map;
  const chunk c = chunk_of(job, task);
  const fovea_nn_map_memory memory = fovea_nn_map_memory_at(map, worker_memory(job, worker));
  const fovea_float_state caller = fovea_float_begin();
  float maximum = -INFINITY;
  for (int64_t key = c.begin; key < c.end; key += FOVEA_BLOCK_KEYS) {
    const fovea_nn_source rows = keys_from(job, &c, key);
    const float largest = fovea_nn_map_maximum(map, &rows, block_keys(key, c.end), &memory);
    maximum = largest > maximum ? largest : maximum;
  }
  job->maxima[task] = maximum;
  fovea_float_end(caller);
}

/* Of all chunks of a head. */
static float key_maximum(const performer_job *job, int64_t task) {
  const int64_t chunks = job->layout->chunks, first = task / chunks * chunks;
  float maximum = -INFINITY;
  if (!job->call->map.stabilised) return maximum;
  for (int64_t i = first; i < first + chunks; i++) maximum = job->maxima[i] > maximum ? job->maxima[i] : maximum;
  return maximum;
}

/* Scratch of a worker over keys. */
typedef struct key_memory {
  fovea_nn_map_memory map;
  float *columns, *values, *pile;
} key_memory;

static key_memory key_memory_at(const performer_job *job, int worker) {
  const fovea_nn_feature_map *map = &job->call->map;
  float *memory = worker_memory(job, worker);
  key_memory m = {.map = fovea_nn_map_memory_at(map, memory)};
  m.columns = memory + fovea_nn_map_numbers(map, 1);
  m.values = m.columns + FOVEA_NN_KEY_FEATURES * FOVEA_BLOCK_KEYS;
  m.pile = m.values + job->layout->value_panels * FOVEA_NN_PANEL * FOVEA_BLOCK_KEYS;
  return m;
}

/* Adds a block to a node, or begins it. Some features at a time: all their products, then all their sums. */
static void add_block(const performer_job *job, const chunk *c, int64_t key, int keys, float maximum, int begun,
                      const key_memory *memory, float *node) {
  const fovea_nn_performer_tensors *t = &job->call->tensors;
  const fovea_nn_feature_map *map = &job->call->map;
  const layout *l = job->layout;
  const fovea_nn_source rows = keys_from(job, c, key);
  const fovea_nn_source values = rows_from(t->v, t->v_type, &t->v_strides, c->entry, c->head, key);
  float *totals = node + l->groups * GROUP * map->features;
  fovea_nn_map_keys(map, &rows, keys, maximum, &memory->map);
  fovea_nn_performer_values(map->kernels, &values, keys, 0, t->v_dim, memory->values);
  for (int64_t f = 0; f < map->features; f += FOVEA_NN_KEY_FEATURES) {
    const int64_t rest = map->features - f;
    const int count = rest < FOVEA_NN_KEY_FEATURES ? (int)rest : FOVEA_NN_KEY_FEATURES;
    const fovea_nn_totals_args total = {memory->columns, FOVEA_BLOCK_KEYS, keys, count, begun, totals + f};
    fovea_nn_map_columns(map, keys, f, count, &memory->map, memory->columns);
    map->kernels->totals(&total);
    for (int64_t group = 0; group < l->groups; group++) {
      const int64_t panel = group * FOVEA_NN_PANELS, panels = l->value_panels - panel;
      const fovea_nn_dot_args args = {.x = memory->columns,
                                      .x_stride = FOVEA_BLOCK_KEYS,
                                      .rows = count,
                                      .weights = memory->values + panel * FOVEA_BLOCK_KEYS * FOVEA_NN_PANEL,
                                      .panel_stride = FOVEA_BLOCK_KEYS * FOVEA_NN_PANEL,
                                      .panels = panels < FOVEA_NN_PANELS ? (int)panels : FOVEA_NN_PANELS,
                                      .dims = keys,
                                      .begun = begun,
                                      .sums = node + (group * map->features + f) * GROUP};
      map->kernels->dot(&args);
    }
  }
}

static void merge(float *node, const float *right, uint64_t numbers) {
  for (uint64_t i = 0; i < numbers; i++) node[i] = node[i] + right[i];
}

/* The sums of a chunk. Nodes of the tree lie on a pile while they wait for their right neighbours; the first lies
 * where the result is wanted. */
static void sum_task(const void *data, int64_t task, int worker) {
  const performer_job *job = data;
  const uint64_t numbers = job->layout->node_numbers;
  const chunk c = chunk_of(job, task);
  const key_memory memory = key_memory_at(job, worker);
  const fovea_float_state caller = fovea_float_begin();
  const float maximum = key_maximum(job, task);
  int depth = 0;
  int64_t span = 0;
  for (int64_t begin = c.begin; begin < c.end; begin += SPAN_KEYS, span++) {
    const int64_t end = c.end - begin < SPAN_KEYS ? c.end : begin + SPAN_KEYS;
    float *node = depth == 0 ? c.node : memory.pile + (uint64_t)(depth - 1) * numbers;
    if (begin == c.begin || depth > 0) memset(node, 0, (size_t)numbers * sizeof(float)); /* columns beyond v_dim */
    for (int64_t key = begin; key < end; key += FOVEA_BLOCK_KEYS) {
      add_block(job, &c, key, block_keys(key, end), maximum, key > begin, &memory, node);
    }
    depth++;
    for (int64_t rest = span; rest % 2 == 1; rest /= 2, depth--) {
      merge(depth == 2 ? c.node : memory.pile + (uint64_t)(depth - 3) * numbers,
            memory.pile + (uint64_t)(depth - 2) * numbers, numbers);
    }
  }
  for (; depth > 1; depth--) {
    merge(depth == 2 ? c.node : memory.pile + (uint64_t)(depth - 3) * numbers,
          memory.pile + (uint64_t)(depth - 2) * numbers, numbers);
  }
  fovea_float_end(caller);
}

/* Adds up the chunks of a head, and copies the sums into panels. */
static void root_task(const void *data, int64_t head, int worker) {
  const performer_job *job = data;
  const layout *l = job->layout;
  const int64_t features = job->call->map.features, chunk_keys = l->spans * SPAN_KEYS;
  const int64_t keys = fovea_nn_performer_keys(&job->call->tensors, head / job->call->tensors.kv_heads);
  const int64_t chunks = fovea_nn_ceil(keys, chunk_keys);
  float *nodes = job->nodes + (uint64_t)(head * l->chunks) * l->node_numbers;
  float *to = job->sums + (uint64_t)head * l->node_numbers;
  const fovea_float_state caller = fovea_float_begin();
  (void)worker;
  if (keys == 0) memset(nodes, 0, (size_t)l->node_numbers * sizeof(float));
  for (int64_t step = 1; step < chunks; step *= 2) {
    for (int64_t i = 0; i + step < chunks; i += 2 * step) {
      merge(nodes + (uint64_t)i * l->node_numbers, nodes + (uint64_t)(i + step) * l->node_numbers, l->node_numbers);
    }
  }
  for (int64_t panel = 0; panel < l->groups * FOVEA_NN_PANELS; panel++) {
    const float *from =
        nodes + panel / FOVEA_NN_PANELS * features * GROUP + panel % FOVEA_NN_PANELS * FOVEA_NN_PANEL;
    for (int64_t f = 0; f < features; f++, to += FOVEA_NN_PANEL) {
      memcpy(to, from + f * GROUP, FOVEA_NN_PANEL * sizeof(float));
    }
  }
  memcpy(to, nodes + l->groups * GROUP * features, (size_t)features * sizeof(float));
  fovea_float_end(caller);
}

/* ---- Rows of queries --------------------------------------------------------------------------------------- */

static void write_columns(const performer_job *job, const float *phi, const float *sums, int64_t group, int rows,
                          const float *inverses, float *products, fovea_nn_rows y) {
  const fovea_nn_feature_map *map = &job->call->map;
  const int64_t panels = job->layout->value_panels - group * FOVEA_NN_PANELS;
  const int64_t columns = job->call->tensors.v_dim - group * GROUP;
  for (int64_t f = 0; f < map->features; f += FOVEA_DOT_PIECE) {
    const int64_t rest = map->features - f;
    const fovea_nn_dot_args args = {.x = phi + f,
                                    .x_stride = map->feature_stride,
                                    .rows = rows,
                                    .weights =
                                        sums + (group * FOVEA_NN_PANELS * map->features + f) * FOVEA_NN_PANEL,
                                    .panel_stride = map->features * FOVEA_NN_PANEL,
                                    .panels = panels < FOVEA_NN_PANELS ? (int)panels : FOVEA_NN_PANELS,
                                    .dims = rest < FOVEA_DOT_PIECE ? (int)rest : FOVEA_DOT_PIECE,
                                    .begun = f > 0,
                                    .sums = products};
    map->kernels->dot(&args);
  }
  const fovea_nn_quotients_args args = {products, inverses, rows, columns < GROUP ? (int)columns : GROUP, y};
  map->kernels->quotients(&args);
}

static void row_task(const void *data, int64_t task, int worker) {
  const performer_job *job = data;
  const fovea_nn_performer_tensors *t = &job->call->tensors;
  const fovea_nn_feature_map *map = &job->call->map;
  const int64_t blocks = fovea_nn_ceil(t->q_len, BLOCK_ROWS), row = task % blocks * BLOCK_ROWS,
                rest = t->q_len - row;
  const int64_t head = task / blocks % t->heads, entry = task / blocks / t->heads;
  const int64_t kv_head = entry * t->kv_heads + head / (t->heads / t->kv_heads);
  const int rows = rest < BLOCK_ROWS ? (int)rest : BLOCK_ROWS;
  float *sums = job->sums + (uint64_t)kv_head * job->layout->node_numbers;
  const fovea_nn_source queries = rows_from(t->q, t->q_type, &t->q_strides, entry, head, row);
  float *memory = worker_memory(job, worker), *phi = memory + fovea_nn_map_numbers(map, 0);
  float *products = phi + FOVEA_NN_MAP_ROWS * map->feature_stride, *inverses = products + FOVEA_NN_MAP_ROWS * GROUP;
  const fovea_nn_map_memory map_memory = fovea_nn_map_memory_at(map, memory);
  const fovea_float_state caller = fovea_float_begin();
  fovea_nn_map_rows(map, &queries, rows, NULL, &map_memory, phi);
  const fovea_nn_inverses_args args = {.queries = phi,
                                       .stride = map->feature_stride,
                                       .dim = map->features,
                                       .rows = rows,
                                       .totals = sums + job->layout->groups * GROUP * map->features,
                                       .inverses = inverses};
  map->kernels->inverses(&args);
  for (int64_t group = 0; group < job->layout->groups; group++) {
    const fovea_strides *o = &t->o_strides;
    const int64_t at = entry * o->batch + head * o->head + row * o->row + group * GROUP;
    const fovea_nn_rows y = {fovea_output_element(t->o, t->o_type, at), t->o_type, o->row};
    write_columns(job, phi, sums, group, rows, inverses, products, y);
  }
  fovea_float_end(caller);
}

/* ---- Calls ------------------------------------------------------------------------------------------------- */

/* Multiply-adds of so many keys or rows. */
static double work_of(const fovea_nn_performer_call *call, double rows) {
  return rows * (double)call->map.features * (double)(call->map.dim + call->tensors.v_dim);
}

static double all_keys(const fovea_nn_performer_tensors *t) {
  return (double)t->batch * (double)t->kv_heads * (double)t->kv_len;
}

static double all_rows(const fovea_nn_performer_tensors *t) {
  return (double)t->batch * (double)t->heads * (double)t->q_len;
}

/* Of both, at most twice as much: a sum of products could be fused. */
static double work_of_all(const fovea_nn_performer_call *call) {
  const double keys = all_keys(&call->tensors), rows = all_rows(&call->tensors);
  return work_of(call, 2 * (keys > rows ? keys : rows));
}

static void run(fovea_nn_performer_call *call, const layout *l, char *memory, int workers) {
  const fovea_nn_performer_tensors *t = &call->tensors;
  const int64_t heads = heads_of(call), chunks = heads * l->chunks;
  const int64_t blocks = t->batch * t->heads * fovea_nn_ceil(t->q_len, BLOCK_ROWS);
  const double keys = all_keys(t), rows = all_rows(t);
  performer_job job = {.call = call,
                       .layout = l,
                       .panels = (float *)(void *)(memory + l->panels),
                       .maxima = (float *)(void *)(memory + l->maxima),
                       .nodes = (float *)(void *)(memory + l->nodes),
                       .sums = (float *)(void *)(memory + l->sums),
                       .workers = (float *)(void *)(memory + l->workers)};
  call->map.panels = job.panels;
  const fovea_execution *e = &call->execution;
  const int64_t groups = call->map.groups;
  int count = fovea_nn_workers_for(chunks > groups ? chunks : groups, work_of(call, keys), workers, e);
  (void)fovea_tasks_run(pack_task, &job, groups, count, e, NULL);
  if (call->map.stabilised) (void)fovea_tasks_run(maximum_task, &job, chunks, count, e, NULL);
  if (call->performer.causal) {
    job.causal = (fovea_nn_causal){call, job.workers, l->worker_numbers, l->columns};
    const int64_t tasks = fovea_nn_causal_tasks(&job.causal);
    fovea_nn_run_tasks(fovea_nn_causal_task, &job.causal, tasks, work_of(call, 2 * rows), workers, e);
    return;
  }
  count = fovea_nn_workers_for(chunks > blocks ? chunks : blocks, work_of_all(call), workers, e);
  (void)fovea_tasks_run(sum_task, &job, chunks, count, e, NULL);
  (void)fovea_tasks_run(root_task, &job, heads, count, e, NULL);
  (void)fovea_tasks_run(row_task, &job, blocks, count, e, NULL);
}

typedef struct performer_run {
  fovea_nn_performer_call *call;
  const layout *layout;
  int workers; /* that have memory */
} performer_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const performer_run *r = data;
  (void)error;
  r->call->execution = *execution;
  run(r->call, r->layout, memory, r->workers);
  return FOVEA_OK;
}

fovea_status fovea_nn_performer_run(const fovea_nn_performer *performer, const fovea_nn_performer_tensors *tensors,
                                    const fovea_execution *execution, fovea_error *error) {
  fovea_nn_performer_call call;
  const fovea_status status = fovea_nn_check_performer(performer, tensors, execution, &call, error);
  if (status || call.tensors.q_len == 0) return status;
  const layout l = lay_out(&call, fovea_nn_workers(&call.execution));
  const double work = work_of_all(&call);
  performer_run r = {&call, &l, fovea_nn_workers(&call.execution)};
  return fovea_nn_run_steps(run_steps, &r, &l.all, work, &call.execution, error);
}

fovea_status fovea_nn_performer_scratch_size(const fovea_nn_performer *performer,
                                             const fovea_nn_performer_tensors *tensors,
                                             const fovea_execution *execution, size_t *size, fovea_error *error) {
  fovea_nn_performer_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_performer(performer, tensors, &measured, &call, error);
  if (status) return status;
  const layout l = lay_out(&call, fovea_nn_workers(&measured));
  *size = fovea_nn_size_of(&l.all);
  return FOVEA_OK;
}
