#include "fold.h"

#include "../../arch/float_state.h"
#include "../system/schedule.h"

#include <string.h>

#if FOVEA_BUILDS_STATES

static void find_row_states(const fovea_fold *f, const fovea_state *state, int64_t node, float **row_states) {
  for (int i = 0; i < f->row_count; i++) {
    row_states[i] = state->numbers + fovea_row_offset(state->strides, state->heads, state->rows, f->row + i) +
                    node * fovea_row_state_numbers(state->dim);
  }
}

static void read_node(const fovea_fold *f, const fovea_state *from, int64_t node, fovea_state_piece *to) {
  float *row_states[FOVEA_ROW_TILE_LIMIT];
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  find_row_states(f, from, node, row_states);
  for (int i = 0; i < f->row_count; i++) {
    rows[i] = row_states[i] + f->dim;
    to->row_max[i] = row_states[i][from->dim];
    to->row_sum[i] = row_states[i][from->dim + 1];
  }
  for (int i = f->row_count; i < f->kernels->row_tile; i++) {
    to->row_max[i] = -__builtin_inff();
    to->row_sum[i] = 0;
  }
  fovea_load_args args = {rows, FOVEA_F32, f->row_count, f->count, to->output};
  f->kernels->load_rows(&args);
}

static void clear_piece(fovea_state_piece *piece) {
  memset(piece->output, 0, sizeof piece->output);
  for (int i = 0; i < FOVEA_ROW_TILE_LIMIT; i++) {
    piece->row_max[i] = -__builtin_inff();
    piece->row_sum[i] = 0;
  }
}

static void merge_pieces(const fovea_fold *f, fovea_state_piece *left, fovea_state_piece *right) {
  int lanes = f->kernels->lanes;
  fovea_merge_args args = {fovea_piece_state(left), fovea_piece_state(right), f->count,
                           (f->row_count + lanes - 1) / lanes};
  f->kernels->merge(&args);
}

static void join_node(fovea_fold *f, const fovea_state *from, int64_t node, int on_the_left) {
  if (!f->begun) {
    read_node(f, from, node, f->merged);
    f->begun = 1;
    return;
  }
  read_node(f, from, node, f->next);
  merge_pieces(f, on_the_left ? f->next : f->merged, on_the_left ? f->merged : f->next);
  if (!on_the_left) return;
  fovea_state_piece *swap = f->merged;
  f->merged = f->next;
  f->next = swap;
}

/* The nodes of `left` and `right` that lie in `node` get larger from the cut outwards. So, of the two nodes next to
 * what is merged, the smaller one is its sibling in the tree. If the cut is within a span, both sides have a state
 * of that span; then either order will do. */
void fovea_fold_node(fovea_fold *f, const fovea_state *left, const fovea_state *right, fovea_spans node) {
  fovea_spans left_spans = fovea_state_spans(left), right_spans = fovea_state_spans(right);
  int64_t last = fovea_node_count(left_spans) - 1, first = 0, count = fovea_node_count(right_spans);
  while (last >= 0 && fovea_node_at(left_spans, last).first >= node.end) last--;
  while (first < count && fovea_node_at(right_spans, first).end <= node.first) first++;
  f->begun = 0;
  for (;;) {
    fovea_spans a = {0, 0}, b = {0, 0};
    if (last >= 0) a = fovea_node_at(left_spans, last);
    if (first < count) b = fovea_node_at(right_spans, first);
    int from_left = last >= 0 && a.first >= node.first, from_right = first < count && b.end <= node.end;
    if (!from_left && !from_right) return;
    if (from_left && (!from_right || a.end - a.first <= b.end - b.first)) {
      join_node(f, left, last--, 1);
    } else {
      join_node(f, right, first++, 0);
    }
  }
}

/* Merges all nodes of a state in the order of the tree. The boundary is the multiple of the largest power of two in
 * the state. Nodes to its left grow towards it, nodes to its right shrink away from it, so each side is merged from
 * its outer end. */
void fovea_fold_all(fovea_fold *f, const fovea_state *state) {
  fovea_spans spans = fovea_state_spans(state);
  int64_t count = fovea_node_count(spans), node = 0, boundary = spans.end - 1, step = 1;
  for (; spans.first / step != (spans.end - 1) / step; step *= 2) boundary = (spans.end - 1) / step * step;
  if (count == 0) clear_piece(f->merged);
  f->begun = 0;
  for (; node < count && fovea_node_at(spans, node).first < boundary; node++) join_node(f, state, node, 0);
  if (node == count) return;
  int begun = f->begun;
  fovea_state_piece *swap = f->kept;
  f->kept = f->merged;
  f->merged = swap;
  f->begun = 0;
  for (int64_t right = count - 1; right >= node; right--) join_node(f, state, right, 1);
  if (!begun) return;
  merge_pieces(f, f->kept, f->merged);
  swap = f->kept;
  f->kept = f->merged;
  f->merged = swap;
}

/* Writes the merged piece; after the last piece of dims also the maxima and sums. */
void fovea_write_node(const fovea_fold *f, const fovea_state *to, int64_t node) {
  float *row_states[FOVEA_ROW_TILE_LIMIT];
  fovea_tile_state from = fovea_piece_state(f->merged);
  find_row_states(f, to, node, row_states);
  for (int i = 0; i < f->row_count; i++) row_states[i] += f->dim;
  fovea_write_outputs(f->kernels, &from, f->count, f->row_count, row_states);
  if (f->dim + f->count < to->dim) return;
  for (int i = 0; i < f->row_count; i++) row_states[i] += f->count;
  fovea_write_sums(&from, f->row_count, row_states);
}

typedef struct fold_job {
  const fovea_kernels *kernels;
  const fovea_state *state;
  void (*step)(fovea_fold *fold, const void *job);
  const void *job;
  int64_t rows; /* over the batch and the heads */
} fold_job;

/* Folds a tile of rows. */
static void fold_task(const void *data, int64_t task, int worker) {
  const fold_job *job = data;
  const int row_tile = job->kernels->row_tile;
  fovea_float_state caller = fovea_float_begin();
  fovea_fold f;
  (void)worker;
  f.kernels = job->kernels;
  f.merged = &f.memory[0];
  f.next = &f.memory[1];
  f.kept = &f.memory[2];
  f.row = task * row_tile;
  f.row_count = job->rows - f.row < row_tile ? (int)(job->rows - f.row) : row_tile;
  for (f.dim = 0; f.dim < job->state->dim; f.dim += f.count) {
    f.count = job->state->dim - f.dim < FOVEA_FOLD_DIMS ? job->state->dim - f.dim : FOVEA_FOLD_DIMS;
    job->step(&f, job->job);
  }
  fovea_float_end(caller);
}

void fovea_fold_pieces(const fovea_kernels *kernels, const fovea_state *state,
                       void (*step)(fovea_fold *fold, const void *job), const void *job,
                       const fovea_execution *execution) {
  const int64_t rows = state->batch * state->heads * state->rows;
  const fold_job fold = {kernels, state, step, job, rows};
  const double numbers = (double)rows * (double)(state->dim * fovea_node_count(fovea_state_spans(state)));
  fovea_schedule_rows(fold_task, &fold, (rows + kernels->row_tile - 1) / kernels->row_tile, numbers, execution);
}
#endif
