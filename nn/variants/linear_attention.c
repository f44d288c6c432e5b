/* Linear attention: each task takes all tokens of one head through its recurrence, for some columns of its state.
 * What the recurrence takes is prepared in a worker's memory, some tokens at a time. */
#include "linear_attention.h"
#include "../../arch/float_state.h"
#include "../../src/base/memory.h"
#include "../../src/base/types.h"
#include "../layer_scratch.h"
#include "../row_job.h"
#include "../tasks.h"

#include <string.h>

/* The most tokens, and queries of one state, that are prepared at a time, and the fewest tokens. */
enum { BLOCK_QUERIES = 32, LEAST_TOKENS = 4 };
/* A row that is converted to f32 has a multiple of this many numbers. */
enum { ROW_STEP = 16 };
/* Rows of memory that are prefetched for the next block. */
enum { FETCH_ROWS = 4 * BLOCK_QUERIES, FETCH_BYTES = 1024 };

/* What a worker needs, as offsets into its memory. */
typedef struct layout {
  fovea_nn_scratch all;
  size_t q, k, keep, v, beta, o, state;
  int64_t tokens;      /* of a block */
  int64_t row, values; /* floats of a row of q and k, and of v and o */
  int reads;           /* queries of a state */
} layout;

typedef struct linear_job {
  const fovea_nn_linear_attention_call *call;
  layout layout;
  char *memory; /* of all workers */
  int64_t parts, part_columns;
} linear_job;

/* A head's columns of one task, in a worker's memory. */
typedef struct head_part {
  const fovea_nn_linear_attention_call *call;
  const layout *layout;
  float *q, *k, *keep, *v, *beta, *o, *state;
  int64_t entry, head;     /* of the state */
  int64_t batch;           /* its index in tensors of tokens */
  int64_t begin, end;      /* its tokens */
  int64_t column, columns; /* of v */
} head_part;

static int64_t round_up(int64_t number, int64_t step) {
  return (number + step - 1) / step * step;
}

static layout lay_out(const fovea_nn_linear_attention_call *call) {
  const fovea_nn_linear_attention *a = &call->attention;
  const int64_t reads = a->q_heads > a->heads ? a->q_heads / a->heads : 1, given = call->tensors.tokens;
  const int64_t most = BLOCK_QUERIES / reads > LEAST_TOKENS ? BLOCK_QUERIES / reads : LEAST_TOKENS;
  layout l = {.tokens = given < most ? given : most, .reads = (int)reads};
  l.row = round_up(a->k_dim, ROW_STEP);
  l.values = round_up(a->v_dim, FOVEA_NN_STATE_STEP);
  l.q = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.tokens * reads, l.row, 1));
  l.k = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.tokens, l.row, 1));
  l.keep = fovea_nn_reserve(&l.all, call->is_gated ? fovea_nn_bytes(l.tokens, l.row, 1) : 0);
  l.v = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.tokens, l.values, 1));
  l.beta = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.tokens, ROW_STEP, 1));
  l.o = fovea_nn_reserve(&l.all, fovea_nn_bytes(l.tokens * reads, l.values, 1));
  l.state = fovea_nn_reserve(&l.all, fovea_nn_bytes(a->k_dim, round_up(a->v_dim, FOVEA_NN_STATE_COLUMNS), 1));
  return l;
}

static fovea_nn_scratch scratch_of(const layout *l, int workers) {
  fovea_nn_scratch all = {.saturated = l->all.saturated};
  fovea_nn_reserve(&all, fovea_nn_product(l->all.size, (uint64_t)workers));
  return all;
}

/* ---- A block of tokens -------------------------------------------------------------------------------------- */

/* Tokens `first` on of a head of a tensor. */
static const void *at(const void *tensor, fovea_type type, fovea_strides strides, int64_t entry, int64_t head,
                      int64_t first) {
  return fovea_element(tensor, type, entry * strides.batch + head * strides.head + first * strides.row);
}

static void widen(const head_part *p, const void *from, fovea_type type, int64_t stride, int64_t rows, int64_t dim,
                  float *to, int64_t to_stride) {
  const fovea_widen_args args = {from, type, stride, rows, dim, to, to_stride};
  p->call->kernels->widen(&args);
}

/* q in the order of tokens, and k, of length 1 if that is asked for. */
static void prepare_keys(const head_part *p, int64_t first, int64_t tokens) {
  const fovea_nn_linear_attention *a = &p->call->attention;
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  const int64_t row = p->layout->row, reads = p->layout->reads;
  for (int64_t r = 0; r < reads; r++) {
    const int64_t head = a->q_heads > a->heads ? p->head * reads + r : p->head / (a->heads / a->q_heads);
    widen(p, at(t->q, t->q_type, t->q_strides, p->batch, head, first), t->q_type, t->q_strides.row, tokens,
          a->k_dim, p->q + r * row, reads * row);
  }
  widen(p, at(t->k, t->k_type, t->k_strides, p->batch, p->head / (a->heads / a->k_heads), first), t->k_type,
        t->k_strides.row, tokens, a->k_dim, p->k, row);
  if (!a->unit) return;
  const fovea_nn_unit_args q = {p->q, row, (int)(tokens * reads), a->k_dim, p->call->unit_eps};
  const fovea_nn_unit_args k = {p->k, row, (int)tokens, a->k_dim, p->call->unit_eps};
  p->call->kernels->unit(&q);
  p->call->kernels->unit(&k);
}

static void prepare_decay(const head_part *p, int64_t first, int64_t tokens) {
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  const fovea_nn_decay_args args = {
      .x = at(t->decay, t->decay_type, t->decay_strides, p->batch, p->head, first),
      .type = t->decay_type,
      .stride = t->decay_strides.row,
      .tokens = (int)tokens,
      .per_dim = p->call->attention.per_dim,
      .dim = p->call->attention.k_dim,
      .factor = t->decay_factors ? t->decay_factors + p->head : NULL,
      .keep = p->keep,
      .keep_stride = p->layout->row,
  };
  p->call->kernels->decay(&args);
}

/* v, times beta if the rule has no delta; else beta, one after the other. */
static void prepare_values(const head_part *p, int64_t first, int64_t tokens) {
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  const char *v = at(t->v, t->v_type, t->v_strides, p->batch, p->head, first);
  v += fovea_bytes(t->v_type, p->column);
  if (t->beta) {
    widen(p, at(t->beta, t->beta_type, t->beta_strides, p->batch, p->head, first), t->beta_type,
          t->beta_strides.row, tokens, 1, p->beta, ROW_STEP);
    for (int64_t i = 1; i < tokens; i++) p->beta[i] = p->beta[i * ROW_STEP];
  }
  if (!t->beta || p->call->is_delta) {
    widen(p, v, t->v_type, t->v_strides.row, tokens, p->columns, p->v, p->layout->values);
    return;
  }
  for (int64_t i = 0; i < tokens; i++) {
    const fovea_nn_embed_args scaled = {.count = p->columns,
                                        .x = fovea_element(v, t->v_type, i * t->v_strides.row),
                                        .x_type = t->v_type,
                                        .scale = p->beta[i],
                                        .y = p->v + i * p->layout->values};
    p->call->kernels->embed(&scaled);
  }
}

/* The element of o for a query of the state. */
static int64_t output_place(const head_part *p, int64_t read, int64_t token) {
  const fovea_strides strides = p->call->tensors.o_strides;
  return p->batch * strides.batch + (p->head * p->layout->reads + read) * strides.head + token * strides.row +
         p->column;
}

static void write_outputs(const head_part *p, int64_t first, int64_t tokens) {
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  const int64_t reads = p->layout->reads, values = p->layout->values;
  const char *v = at(t->v, t->v_type, t->v_strides, p->batch, p->head, first);
  for (int64_t r = 0; r < reads; r++) {
    const int64_t place = output_place(p, r, first);
    fovea_nn_read_args args = {.sums = p->o + r * values,
                               .sum_stride = reads * values,
                               .rows = (int)tokens,
                               .dim = p->columns,
                               .scale = p->call->scale,
                               .y = {fovea_output_element(t->o, t->o_type, place), t->o_type, t->o_strides.row}};
    if (t->skip) {
      args.skip = t->skip[p->head];
      args.v = fovea_nn_rows_from(v + fovea_bytes(t->v_type, p->column), t->v_type, t->v_strides.row, 0);
    }
    p->call->kernels->read_state(&args);
  }
}

static float *tile_at(const head_part *p, int64_t column) {
  return p->state + column * p->call->attention.k_dim;
}

static int tile_columns(const head_part *p, int64_t column) {
  const int64_t rest = round_up(p->columns, FOVEA_NN_STATE_STEP) - column;
  return (int)(rest < FOVEA_NN_STATE_COLUMNS ? rest : FOVEA_NN_STATE_COLUMNS);
}

/* Rows of memory that the next block will use, and their cache lines. */
typedef struct fetch_list {
  fovea_fetch_row rows[FETCH_ROWS];
  int64_t count, lines;
} fetch_list;

/* Rows that follow each other are taken together, FETCH_BYTES at a time. */
static void list_rows(fetch_list *list, const void *from, fovea_type type, int64_t stride, int64_t rows,
                      int64_t dim) {
  const int64_t all = fovea_bytes(type, dim * rows), step = fovea_bytes(type, stride);
  const int are_one = stride == dim;
  const int64_t bytes = are_one ? FETCH_BYTES : fovea_bytes(type, dim);
  for (int64_t i = 0; i * bytes < all && list->count < FETCH_ROWS; i++) {
    const char *row = (const char *)from + i * (are_one ? bytes : step);
    list->rows[list->count++] =
        (fovea_fetch_row){row, are_one && all - i * bytes < bytes ? all - i * bytes : bytes};
    list->lines += bytes / 64 + 1;
  }
}

static void list_block(const head_part *p, int64_t first, int64_t tokens, fetch_list *list) {
  const fovea_nn_linear_attention *a = &p->call->attention;
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  list_rows(list, at(t->k, t->k_type, t->k_strides, p->batch, p->head / (a->heads / a->k_heads), first), t->k_type,
            t->k_strides.row, tokens, a->k_dim);
  const char *v = at(t->v, t->v_type, t->v_strides, p->batch, p->head, first);
  list_rows(list, v + fovea_bytes(t->v_type, p->column), t->v_type, t->v_strides.row, tokens, p->columns);
  if (p->layout->reads > 1) return;
  list_rows(list, at(t->q, t->q_type, t->q_strides, p->batch, p->head / (a->heads / a->q_heads), first), t->q_type,
            t->q_strides.row, tokens, a->k_dim);
  const char *o = at(t->o, t->o_type, t->o_strides, p->batch, p->head, first);
  list_rows(list, o + fovea_bytes(t->o_type, p->column), t->o_type, t->o_strides.row, tokens, p->columns);
}

static void run_block(const head_part *p, int64_t first, int64_t tokens) {
  const int64_t values = p->layout->values, rest = p->end - first - tokens;
  const int64_t tiles = round_up(p->columns, FOVEA_NN_STATE_COLUMNS) / FOVEA_NN_STATE_COLUMNS;
  fetch_list list = {.count = 0};
  if (rest > 0) list_block(p, first + tokens, rest < tokens ? rest : tokens, &list);
  prepare_keys(p, first, tokens);
  if (p->call->is_gated) prepare_decay(p, first, tokens);
  prepare_values(p, first, tokens);
  for (int64_t tile = 0; tile < tiles; tile++) {
    const int64_t column = tile * FOVEA_NN_STATE_COLUMNS;
    const fovea_nn_recurrence_args args = {
        .tokens = (int)tokens,
        .reads = p->layout->reads,
        .columns = tile_columns(p, column),
        .dim = p->call->attention.k_dim,
        .stride = p->layout->row,
        .q = p->q,
        .k = p->k,
        .keep = p->call->is_gated ? p->keep : NULL,
        .v = p->v + column,
        .v_stride = values,
        .delta = p->call->is_delta,
        .beta = p->call->is_delta && p->call->tensors.beta ? p->beta : NULL,
        .state = tile_at(p, column),
        .state_stride = FOVEA_NN_STATE_COLUMNS,
        .o = p->o + column,
        .o_stride = values,
        .fetch = list.rows + list.count * tile / tiles,
        .fetch_count = (int)(list.count * (tile + 1) / tiles - list.count * tile / tiles),
        .fetch_lines = list.lines / tiles,
    };
    p->call->kernels->recurrence(&args);
  }
  write_outputs(p, first, tokens);
}

/* ---- A head ------------------------------------------------------------------------------------------------- */

/* Columns beyond v_dim are zeros, so that they cost nothing: numbers that are not finite may. */
static void load_state(const head_part *p) {
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  const int64_t dim = p->call->attention.k_dim, all = round_up(p->columns, FOVEA_NN_STATE_COLUMNS);
  if (!t->past || p->columns % FOVEA_NN_STATE_COLUMNS) memset(p->state, 0, (size_t)(dim * all) * sizeof *p->state);
  if (!t->past) return;
  const float *past = at(t->past, FOVEA_F32, t->past_strides, p->entry, p->head, 0);
  for (int64_t column = 0; column < p->columns; column += FOVEA_NN_STATE_COLUMNS) {
    const int64_t rest = p->columns - column;
    widen(p, past + p->column + column, FOVEA_F32, t->past_strides.row, dim,
          rest < FOVEA_NN_STATE_COLUMNS ? rest : FOVEA_NN_STATE_COLUMNS, tile_at(p, column),
          FOVEA_NN_STATE_COLUMNS);
  }
}

static void store_state(const head_part *p) {
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  if (!t->present) return;
  float *present = t->present + p->entry * t->present_strides.batch + p->head * t->present_strides.head + p->column;
  for (int64_t column = 0; column < p->columns; column += FOVEA_NN_STATE_COLUMNS) {
    const int64_t rest = p->columns - column;
    const fovea_nn_activate_args args = {
        .x = {tile_at(p, column), FOVEA_F32, FOVEA_NN_STATE_COLUMNS},
        .y = {present + column, FOVEA_F32, t->present_strides.row},
        .rows = p->call->attention.k_dim,
        .dim = rest < FOVEA_NN_STATE_COLUMNS ? rest : FOVEA_NN_STATE_COLUMNS,
        .activation = FOVEA_NN_ACTIVATION_NONE,
    };
    p->call->kernels->activate(&args);
  }
}

/* Zeros for the tokens after the sequence's, in every type. */
static void clear_padding(const head_part *p) {
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  const size_t bytes = (size_t)fovea_bytes(t->o_type, p->columns);
  if (!t->token_lens) return;
  for (int64_t r = 0; r < p->layout->reads; r++)
    for (int64_t token = p->end; token < t->tokens; token++)
      memset(fovea_output_element(t->o, t->o_type, output_place(p, r, token)), 0, bytes);
}

/* Sets the tokens of the part's sequence. */
static void find_tokens(head_part *p) {
  const fovea_nn_linear_attention_tensors *t = &p->call->tensors;
  p->batch = t->cu_seqlens ? 0 : p->entry;
  p->begin = t->cu_seqlens ? t->cu_seqlens[p->entry] : 0;
  p->end = t->cu_seqlens ? t->cu_seqlens[p->entry + 1] : t->token_lens ? t->token_lens[p->entry] : t->tokens;
}

static void run_part(const void *data, int64_t task, int worker) {
  const linear_job *job = data;
  const fovea_nn_linear_attention_call *call = job->call;
  const layout *l = &job->layout;
  const int64_t head = task / job->parts, column = task % job->parts * job->part_columns;
  const int64_t rest = call->attention.v_dim - column;
  char *memory = job->memory + (size_t)worker * l->all.size;
  if (rest <= 0) return;
  head_part p = {
      .call = call,
      .layout = l,
      .q = (float *)(void *)(memory + l->q),
      .k = (float *)(void *)(memory + l->k),
      .keep = (float *)(void *)(memory + l->keep),
      .v = (float *)(void *)(memory + l->v),
      .beta = (float *)(void *)(memory + l->beta),
      .o = (float *)(void *)(memory + l->o),
      .state = (float *)(void *)(memory + l->state),
      .entry = head / call->attention.heads,
      .head = head % call->attention.heads,
      .column = column,
      .columns = rest < job->part_columns ? rest : job->part_columns,
  };
  find_tokens(&p);
  const fovea_float_state caller = fovea_float_begin();
  load_state(&p);
  if (p.columns % FOVEA_NN_STATE_STEP) memset(p.v, 0, (size_t)(l->tokens * l->values) * sizeof *p.v);
  for (int64_t first = p.begin; first < p.end; first += l->tokens) {
    const int64_t left = p.end - first;
    run_block(&p, first, left < l->tokens ? left : l->tokens);
  }
  store_state(&p);
  fovea_float_end(caller);
  clear_padding(&p);
}

/* Multiply-adds. The caller's floating-point environment may trap what is inexact. */
static double work_of(const fovea_nn_linear_attention_call *call) {
  const fovea_nn_linear_attention *a = &call->attention;
  const fovea_float_state caller = fovea_float_begin();
  const double states = (double)call->tensors.batch,
               tokens = (double)call->token_batch * (double)call->tensors.tokens;
  volatile double work = (double)a->heads * (double)a->k_dim * (double)a->v_dim * (3 * tokens + states);
  fovea_float_end(caller);
  return work;
}

/* Shares columns of heads, too, if there are few heads for the workers. */
static void run(const fovea_nn_linear_attention_call *call, const layout *l, char *memory) {
  const fovea_nn_linear_attention *a = &call->attention;
  const int64_t heads = call->tensors.batch * a->heads;
  const double work = work_of(call);
  const int64_t steps = round_up(a->v_dim, FOVEA_NN_STATE_STEP) / FOVEA_NN_STATE_STEP;
  const int workers = fovea_tasks_workers(heads * steps, work, &call->execution);
  int64_t parts = workers > 1 && heads < 2 * workers ? 2 * workers / heads : 1;
  if (parts > steps) parts = steps;
  linear_job job = {call, *l, memory, 0, (steps + parts - 1) / parts * FOVEA_NN_STATE_STEP};
  job.parts = (a->v_dim + job.part_columns - 1) / job.part_columns;
  fovea_nn_run_tasks(run_part, &job, heads * job.parts, work, INT_MAX, &call->execution);
}

fovea_status fovea_nn_linear_attention_run(const fovea_nn_linear_attention *attention,
                                           const fovea_nn_linear_attention_tensors *tensors,
                                           const fovea_execution *execution, fovea_error *error) {
  fovea_nn_linear_attention_call call;
  char *memory;
  void *allocated;
  fovea_status status = fovea_nn_check_linear_attention(attention, tensors, execution, &call, error);
  if (status || (call.tensors.tokens == 0 && !call.tensors.present)) return status;
  const layout l = lay_out(&call);
  const fovea_nn_scratch all = scratch_of(&l, fovea_nn_workers(&call.execution));
  status = fovea_nn_obtain(&all, &call.execution, &memory, &allocated, error);
  if (!status) run(&call, &l, memory);
  fovea_release(&call.execution.allocator, allocated);
  return status;
}

fovea_status fovea_nn_linear_attention_scratch_size(const fovea_nn_linear_attention *attention,
                                                    const fovea_nn_linear_attention_tensors *tensors,
                                                    const fovea_execution *execution, size_t *size,
                                                    fovea_error *error) {
  fovea_nn_linear_attention_call call;
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_nn_check_linear_attention(attention, tensors, &measured, &call, error);
  if (status) return status;
  const layout l = lay_out(&call);
  const fovea_nn_scratch all = scratch_of(&l, fovea_nn_workers(&measured));
  *size = fovea_nn_size_of(&all);
  return FOVEA_OK;
}
