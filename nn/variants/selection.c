/* Selected keys: index scores of some rows, block of keys by block, and the lists of the best keys so far. If there
 * are fewer tiles of rows than workers, each is cut into parts of the keys, whose lists are put together at the
 * end. */
#include "selection.h"
#include "../../arch/args/outputs.h"

#include "../../arch/float_state.h"
#include "../../src/base/types.h"
#include "../layer_scratch.h"
#include "../tasks.h"

#include <math.h>
#include <string.h>

/* Products with heads of rows that share a panel of keys, and the most rows of a tile. */
enum { TILE_PRODUCTS = 128, MOST_ROWS = 16 };
/* The least keys of a part. */
enum { PART_KEYS = 1024 };

/* What a worker needs; where it begins. */
typedef struct layout {
  int rows;             /* of a tile */
  int64_t tiles, parts; /* of a batch element; of a tile */
  int64_t part_keys;
  size_t part_floats; /* of a row's list in a part: count, scores, keys */
  size_t queries, panels, products, scores, list_scores, list_keys, order;
  fovea_nn_scratch worker;
  size_t kept; /* after the workers: lists of parts */
  fovea_nn_scratch all;
} layout;

typedef struct job {
  const fovea_nn_selection_call *call;
  const layout *layout;
  char *memory;
} job;

/* Some rows of a batch element and their memory. */
typedef struct tile {
  const job *job;
  int64_t entry, first;
  int rows;
  float *queries, *panels, *products, *scores;
  fovea_top_list lists[MOST_ROWS];
  int64_t ends[MOST_ROWS]; /* after the last key that each row sees */
} tile;

static int64_t whole_vectors(int64_t dim) {
  return (dim + 15) / 16 * 16;
}

static layout lay_out(const fovea_nn_selection *s, int workers) {
  const int64_t fair = (TILE_PRODUCTS + s->heads - 1) / s->heads;
  layout l = {.rows = (int)(fair < MOST_ROWS ? fair : MOST_ROWS)};
  const int64_t heads = l.rows * s->heads, room = (int64_t)FOVEA_TOP_ROOM(s->top_k);
  const uint64_t panel = FOVEA_DOT_PIECE * FOVEA_NN_OUTS * sizeof(float);
  l.queries = fovea_nn_reserve(&l.worker, fovea_nn_bytes(heads, whole_vectors(s->dim), 1));
  l.panels = fovea_nn_reserve(&l.worker, panel);
  l.products = fovea_nn_reserve(&l.worker, fovea_nn_bytes(heads, FOVEA_NN_OUTS, 1));
  l.scores = fovea_nn_reserve(&l.worker, fovea_nn_bytes(l.rows, FOVEA_NN_OUTS, 1));
  l.list_scores = fovea_nn_reserve(&l.worker, fovea_nn_bytes(l.rows, room, 1));
  l.list_keys = fovea_nn_reserve(&l.worker, fovea_nn_bytes(l.rows, room, 1));
  l.order = fovea_nn_reserve(&l.worker, (uint64_t)FOVEA_TOP_SORTED(s->top_k) * sizeof(uint64_t));
  l.tiles = (s->q_len + l.rows - 1) / l.rows;
  const int64_t tasks = s->batch * l.tiles, most = s->kv_len / PART_KEYS;
  l.parts = tasks > 0 && tasks < workers ? (workers + tasks - 1) / tasks : 1;
  if (l.parts > most) l.parts = most < 1 ? 1 : most;
  l.part_keys = (s->kv_len / l.parts / FOVEA_NN_OUTS + 1) * FOVEA_NN_OUTS;
  l.part_floats = 1 + 2 * (size_t)s->top_k;
  const uint64_t bytes = fovea_nn_bytes(l.rows, (int64_t)l.part_floats, l.parts > 1 ? l.parts * tasks : 0);
  fovea_nn_reserve(&l.all, fovea_nn_product(l.worker.saturated ? UINT64_MAX : l.worker.size, (uint64_t)workers));
  l.kept = fovea_nn_reserve(&l.all, bytes);
  return l;
}

static void *part(const job *job, int worker, size_t at) {
  return job->memory + (size_t)worker * job->layout->worker.size + at;
}

static int64_t end_of(const fovea_nn_selection *s, int64_t entry, int64_t row) {
  const int64_t length = s->kv_lens ? s->kv_lens[entry] : s->kv_len;
  if (!s->causal) return length;
  const int64_t bottom_right = length - s->q_len;
  const int64_t one = s->offset == FOVEA_OFFSET_BOTTOM_RIGHT ? bottom_right : s->offset;
  const int64_t end = row + (s->offsets ? s->offsets[entry] : one) + 1;
  return end < 0 ? 0 : end < length ? end : length;
}

/* The queries as f32, heads of a row side by side; empty lists. */
static void begin_tile(tile *t, int worker) {
  const job *job = t->job;
  const fovea_nn_selection *s = &job->call->selection;
  const int64_t dim = whole_vectors(s->dim), room = (int64_t)FOVEA_TOP_ROOM(s->top_k);
  float *scores = part(job, worker, job->layout->list_scores);
  int32_t *keys = part(job, worker, job->layout->list_keys);
  t->queries = part(job, worker, job->layout->queries);
  t->panels = part(job, worker, job->layout->panels);
  t->products = part(job, worker, job->layout->products);
  t->scores = part(job, worker, job->layout->scores);
  for (int i = 0; i < t->rows; i++) {
    const int64_t from = t->entry * s->q_strides.batch + (t->first + i) * s->q_strides.row;
    const fovea_widen_args args = {
        fovea_element(s->q, s->q_type, from), s->q_type, s->q_strides.head, s->heads, s->dim,
        t->queries + i * s->heads * dim,      dim};
    job->call->kernels->widen(&args);
    t->lists[i] = (fovea_top_list){scores + i * room, keys + i * room, 0, -INFINITY};
    t->ends[i] = end_of(s, t->entry, t->first + i);
  }
}

/* Products of all heads of the tile's rows with some keys, piece by piece of the dims. */
static void multiply(const tile *t, int64_t key, int keys) {
  const fovea_nn_selection *s = &t->job->call->selection;
  const fovea_nn_kernels *kernels = t->job->call->kernels;
  const int64_t from = t->entry * s->k_strides.batch + key * s->k_strides.row;
  for (int64_t dim = 0; dim < s->dim; dim += FOVEA_DOT_PIECE) {
    const int64_t rest = s->dim - dim;
    const fovea_nn_widen_args widen = {.weights = fovea_element(s->k, s->k_type, from + dim),
                                       .type = s->k_type,
                                       .stride = s->k_strides.row,
                                       .dims = (int)(rest < FOVEA_DOT_PIECE ? rest : FOVEA_DOT_PIECE),
                                       .outs = keys,
                                       .to = t->panels};
    const fovea_nn_dot_args dot = {.x = t->queries + dim,
                                   .x_stride = whole_vectors(s->dim),
                                   .rows = (int)(t->rows * s->heads),
                                   .weights = t->panels,
                                   .panel_stride = FOVEA_DOT_PIECE * FOVEA_NN_PANEL,
                                   .panels = (keys + FOVEA_NN_PANEL - 1) / FOVEA_NN_PANEL,
                                   .dims = widen.dims,
                                   .begun = dim > 0,
                                   .sums = t->products};
    kernels->widen_weights(&widen);
    kernels->dot(&dot);
  }
}

/* Scores of keys that a row does not see become -Inf, which no list takes. */
static void list_keys(tile *t, int64_t key, int keys) {
  const fovea_nn_selection *s = &t->job->call->selection;
  const fovea_nn_index_args index = {.products = t->products,
                                     .weights = s->weights + t->entry * s->weight_strides.batch +
                                                t->first * s->weight_strides.row,
                                     .weight_stride = s->weight_strides.row,
                                     .rows = t->rows,
                                     .heads = s->heads,
                                     .scores = t->scores,
                                     .score_stride = FOVEA_NN_OUTS};
  const fovea_top_filter_args filter = {.scores = t->scores,
                                        .row_stride = FOVEA_NN_OUTS,
                                        .row_count = t->rows,
                                        .key_count = keys,
                                        .first = (int32_t)key,
                                        .lists = t->lists,
                                        .k = (int)s->top_k};
  t->job->call->kernels->index(&index);
  for (int i = 0; i < t->rows; i++) {
    const int64_t seen = t->ends[i] - key;
    float *scores = t->scores + i * FOVEA_NN_OUTS;
    for (int64_t j = seen < 0 ? 0 : seen; j < FOVEA_NN_OUTS; j++) scores[j] = -INFINITY;
  }
  t->job->call->kernels->top_filter(&filter);
}

static void write_lists(tile *t, int worker) {
  const fovea_nn_selection *s = &t->job->call->selection;
  for (int i = 0; i < t->rows; i++) {
    const fovea_top_finish_args finish = {.list = &t->lists[i],
                                          .k = (int)s->top_k,
                                          .order = part(t->job, worker, t->job->layout->order),
                                          .keys = s->keys + (t->entry * s->q_len + t->first + i) * s->top_k};
    t->job->call->kernels->top_finish(&finish);
  }
}

/* The list of a row in a part. */
static float *kept_list(const job *job, int64_t tile, int64_t part, int row) {
  const layout *l = job->layout;
  const int64_t number = (tile * l->parts + part) * l->rows + row;
  return (float *)(void *)(job->memory + l->kept) + (size_t)number * l->part_floats;
}

static void keep_lists(tile *t, int64_t number, int64_t part) {
  const int k = (int)t->job->call->selection.top_k;
  for (int i = 0; i < t->rows; i++) {
    fovea_top_list *list = &t->lists[i];
    float *kept = kept_list(t->job, number, part, i);
    t->job->call->kernels->top_select(list, k);
    const int32_t count = list->count;
    memcpy(kept, &count, sizeof count);
    memcpy(kept + 1, list->scores, (size_t)count * sizeof *list->scores);
    memcpy(kept + 1 + k, list->keys, (size_t)count * sizeof *list->keys);
  }
}

/* A row's candidates of a part, piece by piece: a list has room for a block. */
static void take_list(tile *t, int row, const float *kept) {
  const int k = (int)t->job->call->selection.top_k;
  int32_t count, keys[FOVEA_NN_OUTS];
  float scores[FOVEA_NN_OUTS];
  memcpy(&count, kept, sizeof count);
  for (int first = 0; first < count; first += FOVEA_NN_OUTS) {
    const int piece = count - first < FOVEA_NN_OUTS ? count - first : FOVEA_NN_OUTS;
    memcpy(scores, kept + 1 + first, (size_t)piece * sizeof *scores);
    memcpy(keys, kept + 1 + k + first, (size_t)piece * sizeof *keys);
    for (int i = piece; i < FOVEA_NN_OUTS; i++) scores[i] = -INFINITY, keys[i] = -1;
    const fovea_top_filter_args args = {
        .scores = scores, .row_count = 1, .key_count = piece, .keys = keys, .lists = &t->lists[row], .k = k};
    t->job->call->kernels->top_filter(&args);
  }
}

static tile tile_at(const job *job, int64_t number) {
  const int64_t first = number % job->layout->tiles * job->layout->rows, rest = job->call->selection.q_len - first;
  return (tile){.job = job,
                .entry = number / job->layout->tiles,
                .first = first,
                .rows = (int)(rest < job->layout->rows ? rest : job->layout->rows)};
}

static void select_part(const void *data, int64_t task, int worker) {
  const job *job = data;
  const int64_t number = task / job->layout->parts, part = task % job->layout->parts;
  tile t = tile_at(job, number);
  const fovea_float_state caller = fovea_float_begin();
  begin_tile(&t, worker);
  const int64_t begin = part * job->layout->part_keys, seen = t.ends[t.rows - 1]; /* rows see more and more */
  const int64_t end = seen - begin < job->layout->part_keys ? seen : begin + job->layout->part_keys;
  for (int64_t key = begin; key < end; key += FOVEA_NN_OUTS) {
    const int keys = (int)(end - key < FOVEA_NN_OUTS ? end - key : FOVEA_NN_OUTS);
    multiply(&t, key, keys);
    list_keys(&t, key, keys);
  }
  if (job->layout->parts > 1)
    keep_lists(&t, number, part);
  else
    write_lists(&t, worker);
  fovea_float_end(caller);
}

static void join_parts(const void *data, int64_t task, int worker) {
  const job *job = data;
  tile t = tile_at(job, task);
  const fovea_float_state caller = fovea_float_begin();
  begin_tile(&t, worker);
  for (int i = 0; i < t.rows; i++) {
    for (int64_t part = 0; part < job->layout->parts; part++) take_list(&t, i, kept_list(job, task, part, i));
  }
  write_lists(&t, worker);
  fovea_float_end(caller);
}

static double work_of(const fovea_nn_selection *s) {
  const double pairs = (double)s->batch * (double)s->q_len * (double)s->kv_len;
  return pairs * (double)s->heads * (double)s->dim;
}

typedef struct selection_run {
  const fovea_nn_selection_call *call;
  const layout *layout;
  int workers; /* that have memory */
} selection_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const selection_run *r = data;
  const fovea_nn_selection *s = &r->call->selection;
  const layout *l = r->layout;
  const job job = {r->call, l, memory};
  const fovea_execution rows = fovea_nn_without_scratch(execution);
  const int64_t tasks = s->batch * l->tiles;
  const int count = fovea_nn_workers_for(tasks * l->parts, work_of(s), r->workers, &rows);
  (void)error;
  (void)fovea_tasks_run(select_part, &job, tasks * l->parts, count, &rows, NULL);
  if (l->parts > 1) (void)fovea_tasks_run(join_parts, &job, tasks, count, &rows, NULL);
  return FOVEA_OK;
}

fovea_status fovea_nn_select(const fovea_nn_selection *selection, const fovea_execution *execution,
                             fovea_error *error) {
  fovea_nn_selection_call call;
  const fovea_status status = fovea_nn_check_selection(selection, execution, &call, error);
  if (status || call.selection.q_len == 0) return status;
  const layout l = lay_out(&call.selection, fovea_nn_workers(&call.execution));
  selection_run r = {&call, &l, fovea_nn_workers(&call.execution)};
  return fovea_nn_run_steps(run_steps, &r, &l.all, work_of(&call.selection), &call.execution, error);
}

fovea_status fovea_nn_selection_scratch_size(const fovea_nn_selection *selection, const fovea_execution *execution,
                                             size_t *size, fovea_error *error) {
  fovea_nn_selection_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_selection(selection, &measured, &call, error);
  if (status) return status;
  const layout l = lay_out(&call.selection, fovea_nn_workers(&measured));
  *size = fovea_nn_size_of(&l.all);
  return FOVEA_OK;
}
