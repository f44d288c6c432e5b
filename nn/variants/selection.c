/* Selected keys: index scores of some rows, block of keys by block, and the lists of the best keys so far. */
#include "selection.h"

#include "../../arch/float_state.h"
#include "../../src/base/memory.h"
#include "../../src/base/types.h"
#include "../../src/system/schedule.h"
#include "../scratch.h"

#include <math.h>

/* Products with heads of rows that share a panel of keys, and the most rows of a tile. */
enum { TILE_PRODUCTS = 128, MOST_ROWS = 16 };

/* What a worker needs; where it begins. */
typedef struct layout {
  int rows; /* of a tile */
  size_t queries, panels, products, scores, list_scores, list_keys, order, sorted;
  fovea_nn_scratch worker;
} layout;

typedef struct job {
  const fovea_nn_selection_call *call;
  const layout *layout;
  char *memory;
  int64_t tiles; /* of an entry */
} job;

/* Some rows of an entry and their memory. */
typedef struct tile {
  const job *job;
  int64_t entry, first;
  int rows;
  float *queries, *panels, *products, *scores;
  fovea_top_list lists[MOST_ROWS];
  int64_t ends[MOST_ROWS]; /* behind the last key that each row sees */
} tile;

static int64_t whole_vectors(int64_t dim) {
  return (dim + 15) / 16 * 16;
}

static layout lay_out(const fovea_nn_selection *s) {
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
  l.sorted = fovea_nn_reserve(&l.worker, (uint64_t)s->top_k * sizeof(int32_t));
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
    const fovea_nn_widen_args widen = {.weights = fovea_element(s->k, s->k_type, from),
                                       .type = s->k_type,
                                       .stride = s->k_strides.row,
                                       .dim = dim,
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
  int32_t *sorted = part(t->job, worker, t->job->layout->sorted);
  for (int i = 0; i < t->rows; i++) {
    const fovea_top_finish_args finish = {.list = &t->lists[i],
                                          .k = (int)s->top_k,
                                          .order = part(t->job, worker, t->job->layout->order),
                                          .keys = sorted};
    int64_t *keys = s->keys + (t->entry * s->q_len + t->first + i) * s->top_k;
    t->job->call->kernels->top_finish(&finish);
    for (int64_t j = 0; j < s->top_k; j++) keys[j] = sorted[j];
  }
}

static void select_tile(const void *data, int64_t task, int worker) {
  const job *job = data;
  const fovea_nn_selection *s = &job->call->selection;
  const int64_t first = task % job->tiles * job->layout->rows, rest = s->q_len - first;
  tile t = {.job = job,
            .entry = task / job->tiles,
            .first = first,
            .rows = (int)(rest < job->layout->rows ? rest : job->layout->rows)};
  const fovea_float_state caller = fovea_float_begin();
  begin_tile(&t, worker);
  const int64_t end = t.ends[t.rows - 1]; /* rows see more and more */
  for (int64_t key = 0; key < end; key += FOVEA_NN_OUTS) {
    const int keys = (int)(end - key < FOVEA_NN_OUTS ? end - key : FOVEA_NN_OUTS);
    multiply(&t, key, keys);
    list_keys(&t, key, keys);
  }
  write_lists(&t, worker);
  fovea_float_end(caller);
}

fovea_status fovea_nn_select(const fovea_nn_selection *selection, const fovea_execution *execution,
                             fovea_error *error) {
  fovea_nn_selection_call call;
  fovea_nn_scratch all = {0, 0};
  void *allocated;
  fovea_status status = fovea_nn_check_selection(selection, execution, &call, error);
  if (status || call.selection.q_len == 0) return status;
  const fovea_nn_selection *s = &call.selection;
  const layout l = lay_out(s);
  const int workers = fovea_nn_workers(&call.execution);
  job job = {&call, &l, NULL, (s->q_len + l.rows - 1) / l.rows};
  fovea_nn_reserve(&all, fovea_nn_product(l.worker.saturated ? UINT64_MAX : l.worker.size, (uint64_t)workers));
  status = fovea_nn_obtain(&all, &call.execution, &s->allocator, &job.memory, &allocated, error);
  if (status) return status;
  const fovea_execution rows = fovea_nn_without_scratch(&call.execution);
  const double pairs = (double)s->batch * (double)s->q_len * (double)s->kv_len;
  const double work = pairs * (double)s->heads * (double)s->dim;
  const int64_t tasks = s->batch * job.tiles;
  const fovea_job tiles = {&job, work, 1, {{tasks, select_tile}}};
  const int wanted = fovea_schedule_workers(tasks, work, &rows);
  fovea_schedule_run(&tiles, &rows, wanted < workers ? wanted : workers);
  fovea_release(&s->allocator, allocated);
  return FOVEA_OK;
}

size_t fovea_nn_selection_scratch_size(const fovea_nn_selection *selection, int workers) {
  fovea_nn_selection_call call;
  fovea_nn_scratch all = {0, 0};
  if (fovea_nn_check_selection(selection, NULL, &call, NULL) != FOVEA_OK) return 0;
  const layout l = lay_out(&call.selection);
  if (workers <= 0) workers = fovea_default_threads();
  fovea_nn_reserve(&all, fovea_nn_product(l.worker.saturated ? UINT64_MAX : l.worker.size, (uint64_t)workers));
  return all.saturated ? SIZE_MAX : all.size;
}
