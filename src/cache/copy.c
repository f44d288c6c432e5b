#include "copy.h"

#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/row_tasks.h"
#include "../base/validate.h"
#include "../system/dispatch.h"
#include "../system/schedule.h"
#include "cached_rows.h"
#include "claims.h"
#include "coded_rows.h"
#include "panels.h"

#include <math.h>

typedef struct copy_job {
  const fovea_copy *copy;
  const fovea_kernels *kernels;
  int64_t task_rows, layer_tasks; /* rows of a task; tasks of a layer's keys, or values */
} copy_job;

/* One side of a layer. */
typedef struct copied_side {
  const copy_job *job;
  int64_t layer, head;
  fovea_coded_side from, to;
} copied_side;

static int64_t dim_of(const copied_side *side) {
  return side->to.values ? side->job->copy->shape->v_dim : side->job->copy->shape->qk_dim;
}

/* Goes on to the segment that holds a position. */
static void go_to(const copied_side *side, int number, fovea_coded_side *to, int64_t position) {
  const fovea_sequence *sequence = side->job->copy->sequences[number];
  if (fovea_segment_holds(to->segment, position)) return;
  fovea_open_side(fovea_find_segment(sequence, position), to->values, dim_of(side), to);
}

/* Where the row of a position that is written comes from. */
static int64_t source_of(const copied_side *side, int64_t position) {
  return position - side->job->copy->shift;
}

static int is_turned(const copied_side *side) {
  return side->job->copy->turn && !side->to.values;
}

/* Rotates a key on. */
static void turn_row(const copied_side *side, float *row) {
  const fovea_turn *turn = side->job->copy->turn;
  const int64_t dim = dim_of(side), pairs = turn->rotary->dims / 2;
  const fovea_hadamard_args hadamard = {row, dim, turn->hadamard};
  fovea_rotary_piece piece = {.rotary = turn->rotary, .kernels = side->job->kernels};
  if (turn->hadamard > 0) side->job->kernels->hadamard(&hadamard);
  for (int i = 0; piece.first < pairs; i++, piece.first += FOVEA_ROTATE_PAIRS) {
    piece.count = pairs - piece.first < FOVEA_ROTATE_PAIRS ? (int)(pairs - piece.first) : FOVEA_ROTATE_PAIRS;
    fovea_rotary_row(&piece, &turn->angles[i], row, FOVEA_F32, row, FOVEA_F32, dim);
  }
  if (turn->hadamard > 0) side->job->kernels->hadamard(&hadamard);
}

/* The row at a position, as f32. */
static void read_row(copied_side *side, int64_t position, float *room) {
  go_to(side, 0, &side->from, position);
  if (FOVEA_BUILDS_FORMATS && side->from.format) {
    fovea_read_coded(side->job->kernels, &side->from, side->layer, side->head, position, room);
    return;
  }
  fovea_cached_row from =
      fovea_find_cached_row(side->from.segment, side->from.values, dim_of(side), side->layer, side->head, position);
  if (!from.panels) {
    const fovea_widen_args args = {
        .rows = from.row, .type = from.type, .row_count = 1, .dim = from.dim, .to = room, .to_stride = from.dim};
    side->job->kernels->widen(&args);
    return;
  }
  float elements[FOVEA_MOVED_ELEMENTS];
  for (int64_t at = 0; at < from.dim; at += FOVEA_MOVED_ELEMENTS) {
    const int64_t count = from.dim - at < FOVEA_MOVED_ELEMENTS ? from.dim - at : FOVEA_MOVED_ELEMENTS;
    fovea_panel_read(from.row, from.type, from.key, at, count, elements);
    const fovea_widen_args args = {
        .rows = elements, .type = from.type, .row_count = 1, .dim = count, .to = room + at, .to_stride = count};
    side->job->kernels->widen(&args);
  }
}

/* The row to write at a position, as f32. */
static void make_row(copied_side *side, int64_t position, float *room) {
  read_row(side, source_of(side, position), room);
  if (is_turned(side)) turn_row(side, room);
}

/* Rows that were made before the first of them is written. */
typedef struct kept_rows {
  copied_side *side;
  int64_t first, stride;
  int kept; /* 0: they do not fit, and are made when they are asked for */
  float numbers[FOVEA_QUANTISED_ROOM];
} kept_rows;

static const float *make_rows(void *maker, int64_t position, int64_t count, float *room, int64_t *stride) {
  kept_rows *rows = maker;
  *stride = rows->stride;
  if (rows->kept) return rows->numbers + (position - rows->first) * rows->stride;
  for (int64_t row = 0; row < count; row++) make_row(rows->side, position + row, room + row * rows->stride);
  return room;
}

/* Codes may take the place of the codes that they are made from, so all are made first, if there is room. */
static void write_codes(copied_side *side, int64_t begin, int64_t end) {
  if (!FOVEA_BUILDS_FORMATS) return;
  kept_rows rows = {.side = side, .first = begin, .stride = (dim_of(side) + 15) / 16 * 16};
  rows.kept = (end - begin) * rows.stride <= FOVEA_QUANTISED_DIMS;
  for (int64_t at = begin; rows.kept && at < end; at++)
    make_row(side, at, rows.numbers + (at - begin) * rows.stride);
  fovea_write_coded(side->job->kernels, &side->to, side->layer, side->head, begin, end, make_rows, &rows);
}

/* Keys that are written at once belong to the task that has the first of them. */
static void copy_to_codes(copied_side *side, int64_t position) {
  if (!FOVEA_BUILDS_FORMATS) return;
  const fovea_segment *segment = side->to.segment;
  const int64_t keys = fovea_keys_at_once(&side->to.layout), last = segment->first + segment->rows;
  const int64_t end = position + keys < last ? position + keys : last, shift = side->job->copy->shift;
  if ((position - segment->first) % keys != 0) return;
  for (side->head = 0; side->head < side->job->copy->shape->kv_heads; side->head++) {
    go_to(side, 0, &side->from, source_of(side, position));
    if (is_turned(side) || !fovea_move_coded(&side->from, &side->to, side->layer, side->head, position, end, shift))
      write_codes(side, position, end);
  }
}

/* Numbers of a format are NaN with any sign and bits, which differ from CPU to CPU; elements have one NaN. */
static void unify_nans(float *row, int64_t dim) {
  for (int64_t d = 0; d < dim; d++) row[d] = isnan(row[d]) ? NAN : row[d];
}

/* Not inlined: keeps its frame off the stack while codes are written. */
__attribute__((noinline)) static void copy_to_elements(copied_side *side, int64_t position) {
  float room[FOVEA_QUANTISED_ROOM];
  const int values = side->to.values;
  for (int64_t head = 0; head < side->job->copy->shape->kv_heads; head++) {
    const fovea_cached_row to =
        fovea_find_cached_row(side->to.segment, values, dim_of(side), side->layer, head, position);
    if (side->from.format || is_turned(side)) {
      side->head = head;
      make_row(side, position, room);
      unify_nans(room, to.dim);
      fovea_write_elements(side->job->kernels, &to, 0, to.dim, room, FOVEA_F32);
    } else {
      const fovea_cached_row from =
          fovea_find_cached_row(side->from.segment, values, to.dim, side->layer, head, source_of(side, position));
      fovea_copy_cached_row(side->job->kernels, &from, &to);
    }
  }
}

/* Rows of a sequence that move to later positions go last row first. */
static void copy_side(const copy_job *job, int values, int64_t layer, int64_t begin, int64_t end) {
  copied_side side = {.job = job, .layer = layer, .from = {.values = values}, .to = {.values = values}};
  const int backwards = job->copy->in_place && job->copy->shift > 0;
  if (job->copy->in_place && job->copy->shift == 0 && values) return; /* they are there */
  for (int64_t i = 0; i < end - begin; i++) {
    const int64_t position = backwards ? end - 1 - i : begin + i;
    go_to(&side, 1, &side.to, position);
    go_to(&side, 0, &side.from, source_of(&side, position));
    if (FOVEA_BUILDS_FORMATS && side.to.format) {
      copy_to_codes(&side, position);
    } else {
      copy_to_elements(&side, position);
    }
  }
}

static void copy_task(const void *data, int64_t task, int worker) {
  const copy_job *job = data;
  const int64_t side = task / job->layer_tasks; /* keys of layer 0, values of layer 0, keys of layer 1, ... */
  const int64_t begin = job->copy->begin + task % job->layer_tasks * job->task_rows;
  const int64_t end = begin + job->task_rows < job->copy->end ? begin + job->task_rows : job->copy->end;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  copy_side(job, (int)(side % 2), side / 2, begin, end);
  fovea_float_end(caller);
}

void fovea_copy_rows(const fovea_copy *copy, const fovea_kernels *kernels, const fovea_execution *execution) {
  const fovea_segment_shape *shape = copy->shape;
  const int64_t count = copy->end - copy->begin;
  const double rows = (double)count * (double)copy->layers * (double)shape->kv_heads;
  const copy_job job = {copy, kernels, copy->in_place ? count : FOVEA_TASK_ROWS,
                        copy->in_place ? 1 : fovea_row_tasks(count)};
  fovea_schedule_rows(copy_task, &job, 2 * copy->layers * job.layer_tasks,
                      rows * (double)(shape->qk_dim + shape->v_dim), execution);
}

static fovea_claimed_rows claimed_rows(const void *call, int64_t index) {
  const fovea_copy *copy = call;
  int64_t side = index % 2;
  return (fovea_claimed_rows){copy->sequences[side], copy->begin, copy->end, side == 1, side, index / 2};
}

static fovea_status check_sizes(const fovea_copy *copy, fovea_error *error) {
  const fovea_segment_shape *shape = copy->shape;
  const fovea_bounded sizes[] = {
      {"layers", copy->layers, 1, FOVEA_LENGTH_LIMIT}, {"kv_heads", shape->kv_heads, 1, FOVEA_LENGTH_LIMIT},
      {"qk_dim", shape->qk_dim, 1, FOVEA_DIM_LIMIT},   {"v_dim", shape->v_dim, 1, FOVEA_DIM_LIMIT},
      {"begin", copy->begin, 0, FOVEA_LENGTH_LIMIT},   {"end", copy->end, copy->begin, FOVEA_LENGTH_LIMIT}};
  return fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], error);
}

fovea_status fovea_sequence_copy(const fovea_sequence *from, const fovea_sequence *to, int64_t layers,
                                 int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t begin, int64_t end,
                                 const fovea_execution *given_execution, fovea_error *error) {
  fovea_execution execution;
  const fovea_segment_shape shape = {kv_heads, qk_dim, v_dim, layers - 1}; /* all must have the last layer */
  const fovea_copy copy = {.sequences = {from, to}, .shape = &shape, .layers = layers, .begin = begin, .end = end};
  const fovea_claims claims = {
      .shape = shape, .sequence_count = 2 * layers, .call = &copy, .sequence = claimed_rows};
  if (!from || !to) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", from ? "to" : "from");
  fovea_status status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = check_sizes(&copy, error);
  if (!status) status = fovea_check_layers_of_sequence(from, &shape, layers, 0, begin, end, error);
  if (!status) status = fovea_check_layers_of_sequence(to, &shape, layers, 1, begin, end, error);
  if (!status) status = fovea_check_written_sequence(to, &shape, 1, begin, end, error);
  for (int i = 0; FOVEA_BUILDS_FORMATS && i < 2 && !status; i++)
    status = fovea_check_coded_rows(copy.sequences[i], &shape, i, i, begin, end, error);
  if (!status) status = fovea_check_claims(&claims, error);
  if (!status && begin < end) fovea_copy_rows(&copy, fovea_dispatch_default(FOVEA_F32), &execution);
  return status;
}
