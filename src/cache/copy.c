/* Copies rows of one cache to another. */
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

typedef struct copy_call {
  const fovea_sequence *sequences[2]; /* from, to */
  int64_t layers;
  int64_t begin, end;
} copy_call;

static fovea_claimed_rows claimed_rows(const void *call, int64_t index) {
  const copy_call *copy = call;
  int64_t side = index % 2;
  return (fovea_claimed_rows){copy->sequences[side], copy->begin, copy->end, side == 1, side, index / 2};
}

static fovea_status check_sizes(const fovea_segment_shape *shape, const copy_call *copy, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"layers", copy->layers, 1, FOVEA_LENGTH_LIMIT}, {"kv_heads", shape->kv_heads, 1, FOVEA_LENGTH_LIMIT},
      {"qk_dim", shape->qk_dim, 1, FOVEA_DIM_LIMIT},   {"v_dim", shape->v_dim, 1, FOVEA_DIM_LIMIT},
      {"begin", copy->begin, 0, FOVEA_LENGTH_LIMIT},   {"end", copy->end, copy->begin, FOVEA_LENGTH_LIMIT}};
  return fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], FOVEA_ERROR_SIZE, error);
}

typedef struct copy_job {
  const copy_call *copy;
  const fovea_segment_shape *shape;
  const fovea_kernels *kernels;
  int64_t layer_tasks; /* tasks of a layer's keys, or values */
} copy_job;

/* One side of a layer. */
typedef struct copied_side {
  const copy_job *job;
  int64_t layer, head;
  fovea_coded_side from, to;
} copied_side;

static int64_t dim_of(const copied_side *side) {
  return side->to.values ? side->job->shape->v_dim : side->job->shape->qk_dim;
}

/* Goes on to the segment that holds a position. */
static void go_to(const copied_side *side, int number, fovea_coded_side *to, int64_t position) {
  const fovea_sequence *sequence = side->job->copy->sequences[number];
  if (fovea_segment_holds(to->segment, position)) return;
  *to = fovea_open_side(sequence, fovea_find_segment(sequence, position), to->values, dim_of(side));
}

/* The row to copy, as f32. */
static const float *make_row(copied_side *side, int64_t position, float *room) {
  go_to(side, 0, &side->from, position);
  if (side->from.format) {
    fovea_read_coded(side->job->kernels, &side->from, side->layer, side->head, position, room);
    return room;
  }
  fovea_cached_row from =
      fovea_find_cached_row(side->from.segment, side->from.values, dim_of(side), side->layer, side->head, position);
  if (!from.panels) {
    const fovea_widen_args args = {
        .rows = from.row, .type = from.type, .row_count = 1, .dim = from.dim, .to = room, .to_stride = from.dim};
    side->job->kernels->widen(&args);
    return room;
  }
  float elements[FOVEA_MOVED_ELEMENTS];
  for (int64_t at = 0; at < from.dim; at += FOVEA_MOVED_ELEMENTS) {
    const int64_t count = from.dim - at < FOVEA_MOVED_ELEMENTS ? from.dim - at : FOVEA_MOVED_ELEMENTS;
    fovea_panel_read(from.row, from.type, from.key, at, count, elements);
    const fovea_widen_args args = {
        .rows = elements, .type = from.type, .row_count = 1, .dim = count, .to = room + at, .to_stride = count};
    side->job->kernels->widen(&args);
  }
  return room;
}

static const float *make_rows(void *maker, int64_t position, int64_t count, float *room, int64_t *stride) {
  copied_side *side = maker;
  *stride = (dim_of(side) + 15) / 16 * 16;
  for (int64_t row = 0; row < count; row++) make_row(side, position + row, room + row * *stride);
  return room;
}

/* Keys that are written at once belong to the task that has the first of them. */
static void copy_to_codes(copied_side *side, int64_t position) {
  const fovea_segment *segment = side->to.segment;
  const int64_t keys = fovea_keys_at_once(&side->to.layout), last = segment->first + segment->rows;
  const int64_t end = position + keys < last ? position + keys : last;
  if ((position - segment->first) % keys != 0) return;
  for (side->head = 0; side->head < side->job->shape->kv_heads; side->head++) {
    go_to(side, 0, &side->from, position);
    if (!fovea_move_coded(&side->from, &side->to, side->layer, side->head, position, end))
      fovea_write_coded(side->job->kernels, &side->to, side->layer, side->head, position, end, make_rows, side);
  }
}

/* Numbers of a format are NaN with any sign and bits, which differ from CPU to CPU; elements have one NaN. */
static void unify_nans(float *row, int64_t dim) {
  for (int64_t d = 0; d < dim; d++) row[d] = isnan(row[d]) ? NAN : row[d];
}

static void copy_to_elements(copied_side *side, int64_t position) {
  float room[FOVEA_QUANTISED_ROOM];
  const int values = side->to.values;
  for (int64_t head = 0; head < side->job->shape->kv_heads; head++) {
    const fovea_cached_row to =
        fovea_find_cached_row(side->to.segment, values, dim_of(side), side->layer, head, position);
    if (side->from.format) {
      side->head = head;
      make_row(side, position, room);
      unify_nans(room, to.dim);
      fovea_write_elements(side->job->kernels, &to, 0, to.dim, room, FOVEA_F32);
    } else {
      const fovea_cached_row from =
          fovea_find_cached_row(side->from.segment, values, to.dim, side->layer, head, position);
      fovea_copy_cached_row(side->job->kernels, &from, &to);
    }
  }
}

static void copy_rows(const copy_job *job, int values, int64_t layer, int64_t begin, int64_t end) {
  copied_side side = {.job = job, .layer = layer, .from = {.values = values}, .to = {.values = values}};
  for (int64_t position = begin; position < end; position++) {
    go_to(&side, 1, &side.to, position);
    go_to(&side, 0, &side.from, position);
    if (side.to.format) {
      copy_to_codes(&side, position);
    } else {
      copy_to_elements(&side, position);
    }
  }
}

static void copy_task(const void *data, int64_t task, int worker) {
  const copy_job *job = data;
  const int64_t side = task / job->layer_tasks; /* keys of layer 0, values of layer 0, keys of layer 1, ... */
  const int64_t begin = job->copy->begin + task % job->layer_tasks * FOVEA_TASK_ROWS;
  const int64_t end = begin + FOVEA_TASK_ROWS < job->copy->end ? begin + FOVEA_TASK_ROWS : job->copy->end;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  copy_rows(job, (int)(side % 2), side / 2, begin, end);
  fovea_float_end(caller);
}

fovea_status fovea_sequence_copy(const fovea_sequence *from, const fovea_sequence *to, int64_t layers,
                                 int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t begin, int64_t end,
                                 const fovea_execution *given_execution, fovea_error *error) {
  fovea_execution execution;
  const copy_call copy = {{from, to}, layers, begin, end};
  const fovea_claims claims = {.shape = {kv_heads, qk_dim, v_dim, layers - 1}, /* all must have the last layer */
                               .sequence_count = 2 * layers,
                               .call = &copy,
                               .sequence = claimed_rows};
  if (!from || !to) return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", from ? "to" : "from");
  fovea_status status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = check_sizes(&claims.shape, &copy, error);
  if (!status) status = fovea_check_sequence(from, &claims.shape, 0, begin, end, error);
  if (!status) status = fovea_check_sequence(to, &claims.shape, 1, begin, end, error);
  if (!status) status = fovea_check_written_sequence(to, &claims.shape, 1, begin, end, error);
  for (int i = 0; i < 2 && !status; i++)
    status = fovea_check_coded_rows(copy.sequences[i], &claims.shape, i, i, begin, end, error);
  if (!status) status = fovea_check_claims(&claims, error);
  if (status || begin == end) return status;
  const copy_job job = {&copy, &claims.shape, fovea_dispatch_default(FOVEA_F32), fovea_row_tasks(end - begin)};
  const double rows = (double)(end - begin) * (double)layers * (double)kv_heads;
  fovea_schedule_rows(copy_task, &job, 2 * layers * job.layer_tasks, rows * (double)(qk_dim + v_dim), &execution);
  return FOVEA_OK;
}
