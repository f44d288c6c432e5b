#include "new_rows.h"
#include "validate_append.h"

#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../base/row_tasks.h"
#include "../base/types.h"
#include "../rotary/rotary.h"
#include "../rotary/validate_rotary.h"
#include "../system/dispatch.h"
#include "../system/schedule.h"
#include "cached_rows.h"
#include "coded_rows.h"
#include "panels.h"
#include "row_maker.h"
#include "sequences.h"

#include <string.h>

/* The keys, or the values, of a call. */
typedef struct new_side {
  int values;
  const void *from;
  fovea_type type;
  fovea_strides strides;
  int64_t dim, hadamard;
} new_side;

/* Like fovea_rotary_row(), but to a key in a panel: the piece is rotated beside the panel and then copied there. */
static void rotate_into_panel(const fovea_rotary_piece *piece, const fovea_rotary_angles *angles, const void *from,
                              fovea_type from_type, const fovea_cached_row *to) {
  const fovea_rotary *rotary = piece->rotary;
  const int interleaved = rotary->layout == FOVEA_ROTARY_INTERLEAVED;
  const int64_t count = interleaved ? 2 * piece->count : piece->count; /* elements that lie together */
  const int64_t first = interleaved ? 2 * piece->first : piece->first, second = first + rotary->dims / 2;
  float gathered[2 * FOVEA_ROTATE_PAIRS], rotated[2 * FOVEA_ROTATE_PAIRS];
  const fovea_rotate_args args = {
      .from = gathered,
      .to = rotated,
      .from_type = from_type,
      .to_type = to->type,
      .partner = interleaved ? 1 : FOVEA_ROTATE_PAIRS,
      .pair_count = piece->count,
      .cosines = angles->cosines,
      .sines = angles->sines,
  };
  if (piece->count > 0) {
    const size_t bytes = (size_t)fovea_bytes(from_type, count);
    memcpy(gathered, fovea_element(from, from_type, first), bytes);
    if (!interleaved) {
      memcpy(fovea_output_element(gathered, from_type, FOVEA_ROTATE_PAIRS), fovea_element(from, from_type, second),
             bytes);
    }
    piece->kernels->rotate(&args);
    fovea_panel_write(to->row, to->type, to->key, first, count, to->dim, rotated);
    if (!interleaved) {
      fovea_panel_write(to->row, to->type, to->key, second, count, to->dim,
                        fovea_element(rotated, to->type, FOVEA_ROTATE_PAIRS));
    }
  }
  if (piece->first == 0) {
    fovea_write_elements(piece->kernels, to, rotary->dims, to->dim, fovea_element(from, from_type, rotary->dims),
                         from_type);
  }
}

typedef struct append_job {
  const fovea_new_rows *rows;
  const new_side *side;
  fovea_row_batch batch;
  fovea_rotary_piece piece;
} append_job;

/* The rows of one batch element in a task. */
typedef struct entry_rows {
  const append_job *job;
  int64_t entry, first; /* the position of its first row */
  int64_t head;
  fovea_row_maker *maker;
} entry_rows;

static const void *new_row(const entry_rows *rows, int64_t head, int64_t position) {
  const new_side *side = rows->job->side;
  const int64_t offset = fovea_new_rows_offset(rows->job->rows, side->strides, rows->entry) +
                         head * side->strides.head + (position - rows->first) * side->strides.row;
  return fovea_element(side->from, side->type, offset);
}

static const float *make_rows(void *maker, int64_t position, int64_t count, float *room, int64_t *stride) {
  const entry_rows *rows = maker;
  return fovea_make_new_rows(rows->maker, new_row(rows, rows->head, position), rows->job->side->strides.row,
                             position, count, room, stride);
}

/* Appends rows from `position` on, and returns the position after them. Keys that are written at once belong to the
 * task that has the first of them. */
static int64_t append_codes(entry_rows *rows, const fovea_coded_side *to, int64_t position, int64_t end) {
  if (!FOVEA_BUILDS_FORMATS) return end;
  const int64_t keys = fovea_keys_at_once(&to->layout), last = to->segment->first + to->segment->rows;
  const append_job *job = rows->job;
  const int64_t past = (position - to->segment->first) % keys;
  if (past != 0) return position + keys - past;
  int64_t count = keys > 1 ? keys : fovea_kept_positions(rows->maker);
  if (count > last - position) count = last - position;
  if (keys == 1 && count > end - position) count = end - position;
  for (rows->head = 0; rows->head < job->rows->kv_heads; rows->head++) {
    fovea_write_coded(job->piece.kernels, to, job->rows->layer, rows->head, position, position + count, make_rows,
                      rows);
  }
  return position + count;
}

/* Elements that a Hadamard matrix has rotated. Not inlined: keeps its frame off the stack while codes are
 * written. */
__attribute__((noinline)) static void append_rotated(entry_rows *rows, const fovea_segment *segment,
                                                     int64_t position) {
  const new_side *side = rows->job->side;
  float room[FOVEA_QUANTISED_ROOM];
  for (rows->head = 0; rows->head < rows->job->rows->kv_heads; rows->head++) {
    int64_t stride;
    const float *row = make_rows(rows, position, 1, room, &stride);
    const fovea_cached_row to =
        fovea_find_cached_row(segment, side->values, side->dim, rows->job->rows->layer, rows->head, position);
    fovea_write_elements(rows->job->piece.kernels, &to, 0, side->dim, row, FOVEA_F32);
  }
}

/* Elements, for one piece of their pairs. */
static void append_elements(entry_rows *rows, const fovea_segment *segment, int64_t position) {
  const new_side *side = rows->job->side;
  const fovea_rotary_piece *piece = &rows->job->piece;
  fovea_rotary_angles angles;
  if (piece->count > 0) {
    const fovea_rotary_position rotated = fovea_rotated_position(rows->maker, position);
    fovea_rotary_at(piece, &rotated, &angles);
  }
  for (int64_t head = 0; head < rows->job->rows->kv_heads; head++) {
    const void *from = new_row(rows, head, position);
    const fovea_cached_row to =
        fovea_find_cached_row(segment, side->values, side->dim, rows->job->rows->layer, head, position);
    if (to.panels) {
      rotate_into_panel(piece, &angles, from, side->type, &to);
    } else {
      fovea_rotary_row(piece, &angles, from, side->type, to.row, to.type, side->dim);
    }
  }
}

/* Appends some rows of a batch element: for one piece of their pairs or, if they are made in f32, whole with the
 * first. */
static void append_rows(const append_job *job, int64_t entry, int64_t begin, int64_t end, fovea_row_maker *maker) {
  const new_side *side = job->side;
  entry_rows rows = {.job = job, .entry = entry, .first = fovea_new_position(job->rows, entry), .maker = maker};
  const fovea_sequence *sequence = &job->rows->sequences[entry];
  fovea_coded_side to = {.segment = NULL};
  maker->list = job->rows->rotary_positions;
  maker->list_count = fovea_new_positions(job->rows);
  maker->list_first = rows.first - fovea_new_positions_offset(job->rows, entry);
  for (int64_t position = rows.first + begin, last = rows.first + end; position < last;) {
    const fovea_segment *segment = to.segment;
    if (!fovea_segment_holds(segment, position)) {
      segment = segment ? fovea_segment_after(sequence, segment) : fovea_find_segment(sequence, position);
      fovea_open_side(segment, side->values, side->dim, &to);
    }
    if (FOVEA_BUILDS_FORMATS && to.format && job->piece.first == 0) {
      const int64_t after = append_codes(&rows, &to, position, last), all = segment->first + segment->rows;
      position = after < all ? after : all;
      continue;
    }
    if (!to.format && side->hadamard == 0) append_elements(&rows, segment, position);
    if (!to.format && side->hadamard > 0 && job->piece.first == 0) append_rotated(&rows, segment, position);
    position++;
  }
}

static void append_task(const void *data, int64_t task, int worker) {
  const append_job *job = data;
  fovea_row_maker maker;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  fovea_begin_rows(&maker, &job->piece, job->side->type, job->side->dim, job->side->hadamard);
  for (fovea_row_part part = {.entry = -1}; fovea_next_part(&job->batch, task, &part);) {
    const int64_t count = fovea_new_row_count(job->rows, part.entry);
    if (part.end > count) part.end = count;
    if (part.begin < part.end) append_rows(job, part.entry, part.begin, part.end, &maker);
  }
  fovea_float_end(caller);
}

/* The most rows that a batch element has: `rows` is only what row_lens may not exceed. */
static int64_t most_rows(const fovea_new_rows *rows) {
  int64_t most = 0;
  for (int64_t entry = 0; entry < rows->batch; entry++) {
    const int64_t count = fovea_new_row_count(rows, entry);
    if (count > most) most = count;
  }
  return most;
}

static void append_side(const fovea_new_rows *rows, const new_side *side, const fovea_rotary *rotary,
                        const fovea_kernels *kernels, const fovea_execution *execution) {
  append_job job = {
      .rows = rows, .side = side, .batch = fovea_make_row_batch(rows->batch, most_rows(rows), rows->cu_seqlens)};
  const double row_elements = (double)rows->kv_heads * (double)side->dim;
  fovea_rotary_begin(&job.piece, rotary, kernels);
  do {
    fovea_schedule_rows(append_task, &job, fovea_batch_tasks(&job.batch),
                        (double)fovea_batch_row_count(&job.batch) * row_elements, execution);
  } while (fovea_rotary_next(&job.piece));
}

static void append_all(const fovea_new_rows *rows, const fovea_rotary *rotary, const fovea_kernels *kernels,
                       const fovea_execution *execution) {
  fovea_rotary not_rotated;
  const new_side keys = {0, rows->k, rows->k_type, rows->k_strides, rows->qk_dim, rows->k_hadamard};
  const new_side values = {1, rows->v, rows->v_type, rows->v_strides, rows->v_dim, rows->v_hadamard};
  if (rows->rows == 0 || most_rows(rows) == 0) return; /* without rows the lists may be missing */
  fovea_rotary_init(&not_rotated, FOVEA_ROTARY_INTERLEAVED, 0);
  append_side(rows, &keys, rotary ? rotary : &not_rotated, kernels, execution);
  append_side(rows, &values, &not_rotated, kernels, execution);
}

fovea_status fovea_append(const fovea_new_rows *given, const fovea_rotary *given_rotary,
                          const fovea_execution *given_execution, fovea_error *error) {
  fovea_new_rows rows;
  fovea_rotary rotary;
  fovea_execution execution;
  const fovea_kernels *kernels;
  fovea_status status = fovea_read_new_rows(given, &rows, error);
  if (!status && given_rotary) status = fovea_read_rotary(given_rotary, &rotary, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  status = fovea_validate_new_rows(&rows, given_rotary ? &rotary : NULL, error);
  if (!status) status = fovea_dispatch_wanted(execution.isa, FOVEA_F32, &kernels, error);
  fovea_float_end(caller);
  if (!status) append_all(&rows, given_rotary ? &rotary : NULL, kernels, &execution);
  return status;
}
