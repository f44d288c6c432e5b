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

static void copy_rows(const copy_job *job, int values, int64_t layer, int64_t begin, int64_t end) {
  const int64_t dim = values ? job->shape->v_dim : job->shape->qk_dim;
  const fovea_segment *segment[2];
  for (int i = 0; i < 2; i++) {
    segment[i] = fovea_find_segment(job->copy->sequences[i], begin);
  }
  for (int64_t position = begin; position < end; position++) {
    for (int i = 0; i < 2; i++) {
      if (position == segment[i]->first + segment[i]->rows)
        segment[i] = fovea_segment_after(job->copy->sequences[i], segment[i]);
    }
    for (int64_t head = 0; head < job->shape->kv_heads; head++) {
      const fovea_cached_row from = fovea_find_cached_row(segment[0], values, dim, layer, head, position);
      const fovea_cached_row to = fovea_find_cached_row(segment[1], values, dim, layer, head, position);
      fovea_copy_cached_row(job->kernels, &from, &to);
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
  if (!status) status = fovea_check_claims(&claims, error);
  if (status || begin == end) return status;
  const copy_job job = {&copy, &claims.shape, fovea_dispatch_default(FOVEA_F32), fovea_row_tasks(end - begin)};
  const double rows = (double)(end - begin) * (double)layers * (double)kv_heads;
  fovea_schedule_rows(copy_task, &job, 2 * layers * job.layer_tasks, rows * (double)(qk_dim + v_dim), &execution);
  return FOVEA_OK;
}
