/* The steps of LSH attention: buckets and keys of rows, their order, chunks, and the merge of rounds. */
#include "reformer.h"

#include "../../arch/float_state.h"
#include "../../src/base/types.h"
#include "../linear.h"
#include "../row_job.h"

#include <fovea/state.h>
#include <string.h>

int64_t fovea_nn_lsh_row_blocks(const fovea_nn_lsh_call *call) {
  return (call->tensors.length + FOVEA_NN_LSH_HASH_ROWS - 1) / FOVEA_NN_LSH_HASH_ROWS;
}

/* ---- Buckets and keys --------------------------------------------------------------------------------------- */

/* Some rows of a head. */
typedef struct rows {
  int64_t head, first, count; /* count: 0 after the batch element */
} rows;

static rows rows_of(const fovea_nn_lsh_piece *piece, int64_t task) {
  const int64_t blocks = fovea_nn_lsh_row_blocks(piece->call);
  rows r = {task / blocks, task % blocks * FOVEA_NN_LSH_HASH_ROWS, 0};
  r.count = fovea_nn_lsh_length(piece, r.head) - r.first;
  if (r.count > FOVEA_NN_LSH_HASH_ROWS) r.count = FOVEA_NN_LSH_HASH_ROWS;
  if (r.count < 0) r.count = 0;
  return r;
}

static int32_t *places_of(const fovea_nn_lsh_piece *piece, int64_t head, int64_t round) {
  return piece->places + (head * piece->call->lsh.rounds + round) * piece->call->tensors.length;
}

static const float *panels_of(const fovea_nn_lsh_piece *piece, int64_t head, int64_t round) {
  const fovea_nn_lsh_tensors *t = &piece->call->tensors;
  const int64_t entry = t->rotation_strides.batch ? (piece->first + head) / t->heads : 0;
  const int64_t of_entry = t->rotation_strides.head ? (piece->first + head) % t->heads : 0;
  const int64_t heads = t->rotation_strides.head ? t->heads : 1;
  return piece->panels + ((entry * heads + of_entry) * piece->call->lsh.rounds + round) * piece->panel_elements;
}

/* The products of rows with R of a round, then their buckets. */
static void hash_round(const fovea_nn_lsh_piece *piece, const rows *r, int64_t round,
                       const fovea_nn_lsh_worker *worker) {
  const fovea_nn_lsh_call *call = piece->call;
  const fovea_nn_lsh_tensors *t = &call->tensors;
  const fovea_execution alone = fovea_nn_alone(&call->execution);
  const fovea_execution execution = fovea_nn_with_scratch(&alone, worker->run, worker->run_size);
  const int64_t *factors = call->lsh.bucket_factors, first = fovea_nn_lsh_offset(piece, r->head, t->x_strides);
  fovea_nn_linear linear;
  fovea_nn_linear_rows call_rows;
  fovea_nn_linear_init(&linear, t->dim, call->columns, panels_of(piece, r->head, round));
  linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  linear.weight_stride = 0;
  fovea_nn_linear_rows_init(&call_rows, &linear, r->count,
                            fovea_element(t->x, t->x_type, first + r->first * t->x_strides.row), worker->products);
  call_rows.x_type = t->x_type;
  call_rows.x_stride = t->x_strides.row;
  fovea_nn_run_linear(&linear, &call_rows, &execution, NULL); /* everything was checked */
  const int64_t count = factors[0] ? factors[0] / 2 : call->columns;
  fovea_nn_lsh_hash_args args = {.products = worker->products,
                                 .stride = call->columns,
                                 .rows = (int)r->count,
                                 .count = (int32_t)count,
                                 .buckets = places_of(piece, r->head, round) + r->first};
  call->kernels->lsh_hash(&args);
  if (factors[0] == 0) return;
  args.products += count;
  args.count = (int32_t)(factors[1] / 2);
  args.step = (int32_t)factors[0];
  call->kernels->lsh_hash(&args);
}

static void write_bucket_numbers(const fovea_nn_lsh_piece *piece, const rows *r) {
  const fovea_nn_lsh_tensors *t = &piece->call->tensors;
  const int64_t rounds = piece->call->lsh.rounds, rest = t->length - r->first;
  const int64_t all = rest < FOVEA_NN_LSH_HASH_ROWS ? rest : FOVEA_NN_LSH_HASH_ROWS;
  for (int64_t round = 0; round < rounds && t->bucket_numbers; round++) {
    const int32_t *from = places_of(piece, r->head, round) + r->first;
    int64_t *to = t->bucket_numbers + ((piece->first + r->head) * rounds + round) * t->length + r->first;
    for (int64_t i = 0; i < r->count; i++) to[i] = from[i];
    for (int64_t i = r->count; i < all; i++) to[i] = -1;
  }
}

/* Keys have a mean square of 1. */
static void make_keys(const fovea_nn_lsh_piece *piece, const rows *r) {
  const fovea_nn_lsh_tensors *t = &piece->call->tensors;
  const int64_t first = fovea_nn_lsh_offset(piece, r->head, t->x_strides) + r->first * t->x_strides.row;
  const fovea_nn_norm_args args = {
      .x = fovea_nn_rows_from(t->x, t->x_type, 1, first),
      .y = fovea_nn_rows_from(piece->keys + (r->head * t->length + r->first) * t->dim, FOVEA_F32, t->dim, 0),
      .rows = r->count,
      .dim = t->dim,
      .kind = FOVEA_NN_RMS_NORM,
      .eps = piece->call->eps};
  fovea_nn_norm_args with_stride = args;
  with_stride.x.stride = t->x_strides.row;
  piece->call->kernels->norm(&with_stride);
}

void fovea_nn_lsh_hash_task(const void *data, int64_t task, int worker) {
  const fovea_nn_lsh_piece *piece = data;
  const fovea_nn_lsh_worker scratch = fovea_nn_lsh_worker_at(piece, worker);
  const rows r = rows_of(piece, task);
  const fovea_float_state caller = fovea_float_begin();
  if (r.count > 0) {
    for (int64_t round = 0; round < piece->call->lsh.rounds; round++) {
      hash_round(piece, &r, round, &scratch);
    }
    make_keys(piece, &r);
  }
  fovea_float_end(caller);
  write_bucket_numbers(piece, &r);
}

/* ---- Order -------------------------------------------------------------------------------------------------- */

/* Counts the rows of each bucket, then gives each row, ascending, the next slot of its bucket. */
void fovea_nn_lsh_sort_task(const void *data, int64_t task, int worker) {
  const fovea_nn_lsh_piece *piece = data;
  const int64_t rounds = piece->call->lsh.rounds, length = fovea_nn_lsh_length(piece, task / rounds);
  int32_t *counts = fovea_nn_lsh_worker_at(piece, worker).counts,
          *places = places_of(piece, task / rounds, task % rounds);
  int32_t *order = piece->order + task * piece->slots, slot = 0;
  const int64_t buckets = piece->call->lsh.buckets;
  memset(counts, 0, (size_t)buckets * sizeof *counts);
  for (int64_t i = 0; i < length; i++) counts[places[i]]++;
  for (int64_t b = 0; b < buckets; b++) {
    const int32_t count = counts[b];
    counts[b] = slot;
    slot += count;
  }
  for (int64_t i = 0; i < length; i++) {
    places[i] = counts[places[i]]++;
    order[places[i]] = (int32_t)i;
  }
  for (int64_t i = length; i < piece->slots; i++) order[i] = FOVEA_NN_LSH_NONE;
}

/* ---- Chunks ------------------------------------------------------------------------------------------------- */

fovea_problem fovea_nn_lsh_problem(const fovea_nn_lsh_call *call) {
  const fovea_nn_lsh_tensors *t = &call->tensors;
  const int64_t m = call->lsh.bucket_size;
  fovea_problem p;
  fovea_problem_init(&p, call->group, 1, 1, m, 2 * m, t->dim, t->v_dim);
  p.k_strides = (fovea_strides){m * t->dim, 0, t->dim}; /* of a chunk: keys of the chunk before it, then its own */
  p.v_strides = (fovea_strides){m * t->v_dim, 0, t->v_dim};
  p.q_type = t->x_type;
  p.v_type = t->v_type;
  p.scale = call->scale;
  p.mask.type = FOVEA_MASK_BOOL;
  p.mask.strides = (fovea_mask_strides){2 * m * m, 0, 2 * m, 1};
  p.state = 1;
  return p;
}

/* A chunk of a round. */
typedef struct chunk {
  int64_t round, number; /* number -1: there is none */
} chunk;

static chunk chunk_before(const fovea_nn_lsh_call *call, int64_t length, chunk c) {
  const int64_t last = (length - 1) / call->lsh.bucket_size;
  chunk before = {c.round, c.number - 1};
  if (c.number > 0) return before;
  before.number = last;
  if (call->lsh.ring == FOVEA_NN_LSH_ACROSS_ROUNDS) before.round = c.round > 0 ? c.round - 1 : call->lsh.rounds - 1;
  if (last == 0 && before.round == c.round) before.number = -1;
  return before;
}

/* How many rows ahead of the gathered rows. */
enum { AHEAD = 6 };

/* Lines of memory of rows that are gathered soon. */
static void prefetch(const void *row, size_t bytes) {
  for (size_t i = 0; i < bytes && i < 512; i += 64) __builtin_prefetch((const char *)row + i);
}

/* Copies keys and values of `count` slots, and their positions. */
static void gather_keys(const fovea_nn_lsh_piece *piece, int64_t head, const int32_t *order, int64_t count,
                        const fovea_nn_lsh_worker *to, int64_t at) {
  const fovea_nn_lsh_tensors *t = &piece->call->tensors;
  const size_t key = (size_t)t->dim * sizeof(float), value = (size_t)fovea_bytes(t->v_type, t->v_dim);
  const void *v = fovea_element(t->v, t->v_type, fovea_nn_lsh_offset(piece, head, t->v_strides));
  for (int64_t i = 0; i < count; i++) {
    const int32_t row = order ? order[i] : FOVEA_NN_LSH_NONE;
    float *to_key = to->keys + (at + i) * t->dim;
    char *to_value = to->v + (size_t)(at + i) * value;
    const int32_t soon = order && i + AHEAD < count ? order[i + AHEAD] : FOVEA_NN_LSH_NONE;
    to->positions[at + i] = row;
    if (soon != FOVEA_NN_LSH_NONE) {
      prefetch(piece->keys + (head * t->length + soon) * t->dim, key);
      prefetch(fovea_element(v, t->v_type, soon * t->v_strides.row), value);
    }
    if (row == FOVEA_NN_LSH_NONE) {
      memset(to_key, 0, key);
      memset(to_value, 0, value);
      continue;
    }
    memcpy(to_key, piece->keys + (head * t->length + row) * t->dim, key);
    memcpy(to_value, fovea_element(v, t->v_type, row * t->v_strides.row), value);
  }
}

static void gather_rows(const fovea_nn_lsh_piece *piece, int64_t head, const int32_t *order, int64_t count,
                        const fovea_nn_lsh_worker *to) {
  const fovea_nn_lsh_tensors *t = &piece->call->tensors;
  const size_t bytes = (size_t)fovea_bytes(t->x_type, t->dim);
  const void *x = fovea_element(t->x, t->x_type, fovea_nn_lsh_offset(piece, head, t->x_strides));
  for (int64_t i = 0; i < count; i++) {
    char *row = to->x + (size_t)i * bytes;
    const int32_t soon = i + AHEAD < count ? order[i + AHEAD] : FOVEA_NN_LSH_NONE;
    if (soon != FOVEA_NN_LSH_NONE) prefetch(fovea_element(x, t->x_type, soon * t->x_strides.row), bytes);
    if (order[i] == FOVEA_NN_LSH_NONE) {
      memset(row, 0, bytes);
    } else {
      memcpy(row, fovea_element(x, t->x_type, order[i] * t->x_strides.row), bytes);
    }
  }
}

/* A row sees keys at positions below the limit, which is at least 0: the sign of the difference says so. Sixteen at
 * a time, which compilers make vectors. */
static void fill_below(const int32_t *positions, int64_t count, int32_t limit, unsigned char *mask) {
  int64_t j = 0;
  for (; j + 16 <= count; j += 16) {
    uint32_t signs[16];
    for (int i = 0; i < 16; i++) signs[i] = (uint32_t)(positions[j + i] - limit) >> 31;
    for (int i = 0; i < 16; i++) mask[j + i] = (unsigned char)signs[i];
  }
  for (; j < count; j++) mask[j] = positions[j] < limit;
}

/* Where a row meets keys, round by round: the first slots of its own chunk and of the chunk before, whose round may
 * be another. -1: there is none. */
typedef struct meetings {
  int64_t own[FOVEA_NN_LSH_ROUNDS], before[FOVEA_NN_LSH_ROUNDS], before_round[FOVEA_NN_LSH_ROUNDS];
} meetings;

static void find_meetings(const fovea_nn_lsh_piece *piece, int64_t head, int32_t row, int64_t rounds,
                          meetings *met) {
  const int64_t m = piece->call->lsh.bucket_size, length = fovea_nn_lsh_length(piece, head);
  for (int64_t r = 0; r < rounds; r++) {
    const chunk own = {r, places_of(piece, head, r)[row] / m}, before = chunk_before(piece->call, length, own);
    met->own[r] = own.number * m;
    met->before[r] = before.number < 0 ? -1 : before.number * m;
    met->before_round[r] = before.round;
  }
}

/* Whether a key has one of the m slots from `first` on in a round. */
static int is_in(const fovea_nn_lsh_piece *piece, int64_t head, int64_t round, int32_t key, int64_t first) {
  const int64_t place = places_of(piece, head, round)[key];
  return first >= 0 && place >= first && place < first + piece->call->lsh.bucket_size;
}

/* Takes away keys that the row met in an earlier round, and keys of its own chunk that it met in the chunk before.
 */
static void hide_met(const fovea_nn_lsh_piece *piece, int64_t head, int64_t round, int32_t row,
                     const int32_t *positions, unsigned char *mask) {
  const int64_t m = piece->call->lsh.bucket_size;
  meetings met = {{0}, {0}, {0}};
  find_meetings(piece, head, row, round + 1, &met);
  for (int64_t j = 0; j < 2 * m; j++) {
    if (!mask[j]) continue;
    const int32_t key = positions[j];
    int seen = j >= m && is_in(piece, head, met.before_round[round], key, met.before[round]);
    for (int64_t r = 0; r < round && !seen; r++) {
      seen = is_in(piece, head, r, key, met.own[r]) || is_in(piece, head, met.before_round[r], key, met.before[r]);
    }
    mask[j] = !seen;
  }
}

/* The mask of a chunk without `causal`: all rows see the same keys, but for themselves. They are in their own
 * places, and may be anywhere in a chunk of another round, which comes before the first. */
static void fill_all(const int32_t *positions, int64_t m, int is_first, unsigned char *mask) {
  fill_below(positions, 2 * m, FOVEA_NN_LSH_NONE, mask);
  for (int64_t i = 1; i < m; i++) memcpy(mask + i * 2 * m, mask, (size_t)(2 * m));
  for (int64_t i = 0; i < m; i++) {
    unsigned char *row = mask + i * 2 * m;
    row[m + i] = 0;
    for (int64_t j = 0; j < m && is_first; j++) row[j] &= positions[j] != positions[m + i];
  }
}

/* Of a group, whose first chunk has number `first`. */
static void make_mask(const fovea_nn_lsh_piece *piece, int64_t head, chunk first,
                      const fovea_nn_lsh_worker *scratch) {
  const fovea_nn_lsh *lsh = &piece->call->lsh;
  const int64_t m = lsh->bucket_size;
  for (int64_t c = 0; c < piece->call->group; c++) {
    const int32_t *positions = scratch->positions + c * m;
    unsigned char *mask = scratch->mask + c * 2 * m * m;
    if (!lsh->causal) fill_all(positions, m, first.number + c == 0, mask);
    for (int64_t i = 0; i < m; i++) {
      const int32_t own = positions[m + i], limit = own == FOVEA_NN_LSH_NONE ? 0 : own;
      if (lsh->causal) fill_below(positions, 2 * m, limit, mask + i * 2 * m);
      if (lsh->once && own != FOVEA_NN_LSH_NONE) {
        hide_met(piece, head, first.round, own, positions, mask + i * 2 * m);
      }
    }
  }
}

void fovea_nn_lsh_chunk_task(const void *data, int64_t task, int worker) {
  const fovea_nn_lsh_piece *piece = data;
  const fovea_nn_lsh_call *call = piece->call;
  const fovea_nn_lsh_worker scratch = fovea_nn_lsh_worker_at(piece, worker);
  const int64_t m = call->lsh.bucket_size, group = task % call->groups,
                round = task / call->groups % call->lsh.rounds;
  const int64_t head = task / call->groups / call->lsh.rounds, length = fovea_nn_lsh_length(piece, head);
  const chunk first = {round, group * call->group};
  if (first.number * m >= length) return;
  const chunk before = chunk_before(call, length, first);
  const int32_t *orders = piece->order + head * call->lsh.rounds * piece->slots;
  const int32_t *order = orders + round * piece->slots + first.number * m;
  gather_keys(piece, head, before.number < 0 ? NULL : orders + before.round * piece->slots + before.number * m, m,
              &scratch, 0);
  gather_keys(piece, head, order, call->group * m, &scratch, m);
  gather_rows(piece, head, order, call->group * m, &scratch);
  make_mask(piece, head, first, &scratch);
  fovea_execution execution = fovea_nn_alone(&call->execution);
  fovea_tensors tensors;
  fovea_state state;
  const int64_t slot = (head * call->lsh.rounds + round) * piece->slots + first.number * m;
  fovea_state_init(&state, call->group, 1, m, call->tensors.v_dim, 0, 2 * m,
                   piece->states + slot * (call->tensors.v_dim + 2));
  fovea_tensors_init(&tensors, scratch.x, scratch.keys, scratch.v, NULL, NULL);
  tensors.mask = scratch.mask;
  tensors.state = &state;
  execution.scratch = scratch.run;
  execution.scratch_size = scratch.run_size;
  fovea_plan_run(piece->plan, &tensors, &execution, NULL); /* everything was checked */
}

/* ---- Rounds ------------------------------------------------------------------------------------------------- */

void fovea_nn_lsh_merge_task(const void *data, int64_t task, int worker) {
  const fovea_nn_lsh_piece *piece = data;
  const fovea_nn_lsh_call *call = piece->call;
  const fovea_nn_lsh_tensors *t = &call->tensors;
  const rows r = rows_of(piece, task);
  const int64_t y = fovea_nn_lsh_offset(piece, r.head, t->y_strides), rest = t->length - r.first;
  const int64_t v = fovea_nn_lsh_offset(piece, r.head, t->v_strides) + r.first * t->v_strides.row;
  const int64_t all = rest < FOVEA_NN_LSH_HASH_ROWS ? rest : FOVEA_NN_LSH_HASH_ROWS;
  fovea_nn_lsh_merge_args args = {.states =
                                      piece->states + r.head * call->lsh.rounds * piece->slots * (t->v_dim + 2),
                                  .round_stride = piece->slots,
                                  .places = places_of(piece, r.head, 0) + r.first,
                                  .place_stride = t->length,
                                  .rounds = (int)call->lsh.rounds,
                                  .rows = r.count,
                                  .dim = t->v_dim,
                                  .v = fovea_nn_rows_from(t->v, t->v_type, 1, v),
                                  .y = fovea_nn_rows_from(t->y, t->y_type, 1, y + r.first * t->y_strides.row)};
  args.v.stride = t->v_strides.row;
  args.y.stride = t->y_strides.row;
  (void)worker;
  const fovea_float_state caller = fovea_float_begin();
  call->kernels->lsh_merge(&args);
  fovea_float_end(caller);
  for (int64_t i = r.count; i < all; i++) {
    memset(fovea_output_element(t->y, t->y_type, y + (r.first + i) * t->y_strides.row), 0,
           (size_t)fovea_bytes(t->y_type, t->v_dim));
  }
}
