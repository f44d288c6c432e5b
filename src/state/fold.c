#include "fold.h"

#include <string.h>

/* Where the rows' groups of one node lie. */
static void find_groups(const fovea_fold *f, const fovea_state *state, int64_t node, float **groups) {
  for (int i = 0; i < f->row_count; i++) {
    groups[i] = state->numbers + fovea_row_offset(state->strides, state->heads, state->rows, f->row + i) +
                node * fovea_group_numbers(state->dim);
  }
}

static void read_node(const fovea_fold *f, const fovea_state *from, int64_t node, fovea_state_piece *to) {
  float *groups[FOVEA_ROW_TILE_LIMIT];
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  find_groups(f, from, node, groups);
  for (int i = 0; i < f->row_count; i++) {
    rows[i] = groups[i] + f->dim;
    to->row_max[i] = groups[i][from->dim];
    to->row_sum[i] = groups[i][from->dim + 1];
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

/* The nodes of both sides that lie in this one grow from the cut outwards, so that the smaller of the two next to
 * what is merged is its sibling in the tree. Where the cut is in the middle of a span both sides have something of
 * it; then any order is as good. */
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

/* All nodes of a state, as the tree merges them: those to the left of the boundary that is a multiple of the
 * largest power of two grow towards it, those to its right shrink away from it. */
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

/* Writes the piece that was merged; with the last piece also the maxima and sums. */
void fovea_write_node(const fovea_fold *f, const fovea_state *to, int64_t node) {
  float *groups[FOVEA_ROW_TILE_LIMIT];
  fovea_tile_state from = fovea_piece_state(f->merged);
  find_groups(f, to, node, groups);
  for (int i = 0; i < f->row_count; i++) groups[i] += f->dim;
  fovea_write_outputs(f->kernels, &from, f->count, f->row_count, groups);
  if (f->dim + f->count < to->dim) return;
  for (int i = 0; i < f->row_count; i++) groups[i] += f->count;
  fovea_write_sums(&from, f->row_count, groups);
}

void fovea_fold_pieces(const fovea_kernels *kernels, const fovea_state *state,
                       void (*step)(fovea_fold *fold, const void *job), const void *job) {
  int64_t rows = state->batch * state->heads * state->rows;
  fovea_fold f;
  f.kernels = kernels;
  f.merged = &f.memory[0];
  f.next = &f.memory[1];
  f.kept = &f.memory[2];
  for (f.row = 0; f.row < rows; f.row += f.row_count) {
    f.row_count = rows - f.row < kernels->row_tile ? (int)(rows - f.row) : kernels->row_tile;
    for (f.dim = 0; f.dim < state->dim; f.dim += f.count) {
      f.count = state->dim - f.dim < FOVEA_FOLD_DIMS ? state->dim - f.dim : FOVEA_FOLD_DIMS;
      step(&f, job);
    }
  }
}
