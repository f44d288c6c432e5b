#include "hadamard.h"

#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/groups.h"
#include "../base/row_tasks.h"
#include "../base/types.h"
#include "../base/validate.h"
#include "../rotary/rotary.h"
#include "../system/dispatch.h"
#include "../system/schedule.h"
#include "quantisers.h"

fovea_status fovea_check_hadamard(const char *name, int64_t block, int64_t dim, fovea_error *error) {
  if (block == 0) return FOVEA_OK;
  if (!FOVEA_BUILDS_FORMATS) return fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
  if (block < 2 || block > FOVEA_QUANTISED_DIMS || (block & (block - 1)) != 0 || dim % block != 0)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "%s is %jd; it must be a power of 2 from 2 to 4096 that divides the dim, which is %jd", name,
                      block, dim);
  if (dim > FOVEA_QUANTISED_DIMS)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is set; the dim is %jd, and must be at most %jd", name, dim,
                      (int64_t)FOVEA_QUANTISED_DIMS);
  return FOVEA_OK;
}

#if FOVEA_BUILDS_FORMATS
static fovea_status check_sizes(const fovea_hadamard *h, fovea_error *error) {
  const fovea_bounded sizes[] = {{"batch", h->batch, 1, FOVEA_LENGTH_LIMIT},
                                 {"heads", h->heads, 1, FOVEA_LENGTH_LIMIT},
                                 {"rows", h->rows, 0, FOVEA_LENGTH_LIMIT},
                                 {"dim", h->dim, 1, FOVEA_DIM_LIMIT},
                                 {"block", h->block, 2, FOVEA_QUANTISED_DIMS}};
  const fovea_bounded types[] = {fovea_bounded_type("from_type", h->from_type),
                                 fovea_bounded_type("to_type", h->to_type)};
  int64_t rows;
  fovea_status status = fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], error);
  if (!status) status = fovea_validate_bounds(NULL, types, sizeof types / sizeof types[0], error);
  if (!status && (__builtin_mul_overflow(h->batch, h->rows, &rows) || rows > FOVEA_LENGTH_LIMIT))
    status = fovea_fail(error, FOVEA_ERROR_ARGUMENT, "batch %jd times rows %jd is more than %jd", h->batch, h->rows,
                        FOVEA_LENGTH_LIMIT);
  return status ? status : fovea_check_hadamard("block", h->block, h->dim, error);
}

static fovea_status check_memory(const fovea_hadamard *h, fovea_error *error) {
  const fovea_shape from =
      fovea_make_shape("from", h->batch, h->heads, h->rows, h->dim, h->from_strides, fovea_type_bits(h->from_type));
  const fovea_shape to =
      fovea_make_shape("to", h->batch, h->heads, h->rows, h->dim, h->to_strides, fovea_type_bits(h->to_type));
  fovea_reach from_reach, to_reach;
  fovea_status status = fovea_validate_strides(&from, 0, &from_reach, error);
  if (!status) status = fovea_validate_strides(&to, 1, &to_reach, error);
  if (!status) status = fovea_validate_pointer(&from_reach, h->from, error);
  if (!status) status = fovea_validate_pointer(&to_reach, h->to, error);
  int in_place = h->from == h->to && h->from_type == h->to_type;
  for (int axis = 0; axis < 3; axis++) in_place = in_place && from.stride[axis] == to.stride[axis];
  if (!status && !in_place) status = fovea_validate_apart(&to_reach, h->to, &from_reach, h->from, error);
  return status;
}

typedef struct hadamard_job {
  const fovea_hadamard *hadamard;
  const fovea_kernels *kernels;
  fovea_row_batch batch;
} hadamard_job;

static void rotate_row(const hadamard_job *job, int64_t from, int64_t to) {
  const fovea_hadamard *h = job->hadamard;
  float room[FOVEA_QUANTISED_DIMS + 16];
  const fovea_widen_args widen = {.rows = fovea_element(h->from, h->from_type, from),
                                  .type = h->from_type,
                                  .row_count = 1,
                                  .dim = h->dim,
                                  .to = room,
                                  .to_stride = h->dim};
  const fovea_hadamard_args args = {room, h->dim, h->block};
  job->kernels->widen(&widen);
  job->kernels->hadamard(&args);
  fovea_pass_on(job->kernels, room, FOVEA_F32, fovea_output_element(h->to, h->to_type, to), h->to_type, h->dim);
}

static void hadamard_task(const void *data, int64_t task, int worker) {
  const hadamard_job *job = data;
  const fovea_strides *from = &job->hadamard->from_strides, *to = &job->hadamard->to_strides;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (fovea_row_part part = {.entry = -1}; fovea_next_part(&job->batch, task, &part);) {
    for (int64_t row = part.begin; row < part.end; row++) {
      for (int64_t head = 0; head < job->hadamard->heads; head++) {
        rotate_row(job, part.entry * from->batch + row * from->row + head * from->head,
                   part.entry * to->batch + row * to->row + head * to->head);
      }
    }
  }
  fovea_float_end(caller);
}

fovea_status fovea_hadamard_apply(const fovea_hadamard *given, const fovea_execution *given_execution,
                                  fovea_error *error) {
  fovea_hadamard hadamard;
  fovea_execution execution;
  const fovea_kernels *kernels;
  fovea_status status = fovea_read_hadamard(given, &hadamard, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = check_sizes(&hadamard, error);
  if (!status && hadamard.rows > 0) status = check_memory(&hadamard, error);
  if (!status) status = fovea_dispatch_wanted(execution.isa, FOVEA_F32, &kernels, error);
  if (status || hadamard.rows == 0) return status;
  const hadamard_job job = {&hadamard, kernels, fovea_make_row_batch(hadamard.batch, hadamard.rows, NULL)};
  const double elements = (double)hadamard.heads * (double)hadamard.dim;
  fovea_schedule_rows(hadamard_task, &job, fovea_batch_tasks(&job.batch),
                      (double)fovea_batch_row_count(&job.batch) * elements, &execution);
  return FOVEA_OK;
}
#else
fovea_status fovea_hadamard_apply(const fovea_hadamard *hadamard, const fovea_execution *execution,
                                  fovea_error *error) {
  (void)hadamard, (void)execution;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
}
#endif
