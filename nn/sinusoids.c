/* Sinusoidal positions. A call goes over its rows once for each piece of the waves: the turns of a piece, how far
 * its waves go from one position to the next, lie on the stack. */
#include "../arch/float_state.h"
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/resolve.h"
#include "../src/base/row_tasks.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"
#include "../src/rotary/angle.h"
#include "choose_table.h"
#include "defaults.h"
#include "ids.h"
#include "tasks.h"

#define WAVE_DIM_LIMIT (INT64_C(1) << 20)
#define POSITION_LIMIT (INT64_C(1) << 40)

/* Waves of a piece. */
enum { PIECE_WAVES = 128 };
/* An angle costs as much as this many elements that are moved. */
static const double elements_of_angle = 64;

typedef struct sinusoid_job {
  const fovea_nn_sinusoid_rows *rows;
  const fovea_nn_kernels *kernels;
  int64_t sines, cosines; /* of a row; after them a zero, if that is less than dim */
  fovea_fraction ratio;   /* of the turns of neighbours */
  int64_t first;          /* the first wave of the piece */
  int count;
  fovea_fraction turns[PIECE_WAVES];
} sinusoid_job;

void fovea_nn_sinusoid_rows_init_sized(fovea_nn_sinusoid_rows *rows, size_t struct_size, int64_t row_count,
                                       int64_t dim, void *y) {
  const fovea_nn_sinusoid_rows defaults = {.struct_size = struct_size,
                                           .rows = row_count,
                                           .dim = dim,
                                           .y = y,
                                           .y_stride = FOVEA_CONTIGUOUS,
                                           .base = 10000.0,
                                           .x_stride = FOVEA_CONTIGUOUS,
                                           .scale = 1.0f};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

static fovea_status check_settings(const fovea_nn_sinusoid_rows *r, fovea_error *error) {
  const fovea_bounded sizes[] = {{"rows", r->rows, 0, FOVEA_LENGTH_LIMIT}, {"dim", r->dim, 1, WAVE_DIM_LIMIT}};
  const fovea_bounded kinds[] = {{"layout", (int)r->layout, 0, FOVEA_NN_WAVES_IN_HALVES},
                                 {"exponent", (int)r->exponent, 0, FOVEA_NN_WAVES_TO_BASE}};
  fovea_status status = fovea_validate_bounds(NULL, sizes, 2, error);
  if (!status) status = fovea_validate_bounds(NULL, kinds, 2, error);
  if (status) return status;
  if (!(r->base >= 1) || r->base - r->base != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "base is %g; it must be finite and at least 1", r->base);
  }
  if (r->scale - r->scale != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scale is %g; it must be finite", (double)r->scale);
  }
  if (!r->x && (r->x_type != FOVEA_F32 || r->x_stride != r->dim || r->scale != 1.0f)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: x is NULL",
                      r->x_type != FOVEA_F32  ? "x_type"
                      : r->x_stride != r->dim ? "x_stride"
                                              : "scale");
  }
  if (r->positions && r->first_position != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "first_position is %jd and would not be used: positions is not NULL", r->first_position);
  }
  return FOVEA_OK;
}

static fovea_nn_ids positions_of(const fovea_nn_sinusoid_rows *r) {
  return (fovea_nn_ids){"positions", r->positions, FOVEA_NN_INT64, r->positions ? r->rows : 0};
}

static fovea_status check_positions(const fovea_nn_sinusoid_rows *r, fovea_error *error) {
  const fovea_nn_ids positions = positions_of(r);
  const int64_t last = POSITION_LIMIT - (r->rows > 0 ? r->rows - 1 : 0);
  if (r->rows == 0 || r->positions) {
    return fovea_nn_check_id_range(&positions, -POSITION_LIMIT, POSITION_LIMIT, "", error);
  }
  if (r->first_position >= -POSITION_LIMIT && r->first_position <= last) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "first_position is %jd for %jd rows; positions must be from %jd to %jd", r->first_position,
                    r->rows, -POSITION_LIMIT, POSITION_LIMIT);
}

static fovea_status check_rows(const fovea_nn_sinusoid_rows *r, fovea_error *error) {
  const fovea_nn_matrix y = {"y", r->y, r->y_type, r->rows, r->dim, r->y_stride};
  const fovea_nn_matrix x = {"x", r->x, r->x_type, r->x ? r->rows : 0, r->dim, r->x_stride};
  const fovea_nn_ids positions = positions_of(r);
  fovea_status status = check_settings(r, error);
  if (!status) status = fovea_nn_check_matrix(&y, 1, error);
  if (!status) status = fovea_nn_check_matrix(&x, 0, error);
  if (!status && !fovea_nn_is_same(&x, &y)) status = fovea_nn_check_apart(&y, &x, error);
  if (!status) status = fovea_nn_check_ids(&positions, &y, error);
  return status ? status : check_positions(r, error);
}

/* Numbers of a row, from element `first` on: written, or added to x. */
static void put(const sinusoid_job *job, int64_t row, int64_t first, const float *numbers, int64_t count) {
  const fovea_nn_sinusoid_rows *r = job->rows;
  fovea_nn_embed_args args = {.count = count,
                              .x = numbers,
                              .scale = 1.0f,
                              .y = fovea_output_element(r->y, r->y_type, row * r->y_stride + first),
                              .y_type = r->y_type};
  if (r->x) {
    args.x = fovea_element(r->x, r->x_type, row * r->x_stride + first);
    args.x_type = r->x_type;
    args.scale = r->scale;
    args.addends[0] = numbers;
  }
  if (count > 0) job->kernels->embed(&args);
}

static int64_t at_most(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void put_row(const sinusoid_job *job, int64_t row) {
  const fovea_nn_sinusoid_rows *r = job->rows;
  const int64_t position = r->positions ? r->positions[row] : r->first_position + row;
  const int interleaved = r->layout == FOVEA_NN_WAVES_INTERLEAVED;
  const int step = interleaved ? 2 : 1, cosines = interleaved ? 1 : PIECE_WAVES;
  float numbers[2 * PIECE_WAVES] = {0};
  for (int i = 0; i < job->count; i++) {
    fovea_angle_at(job->turns[i], position, &numbers[step * i + cosines], &numbers[step * i]);
  }
  const int64_t cosine_count = at_most(job->count, job->cosines - job->first);
  if (interleaved) {
    put(job, row, 2 * job->first, numbers, job->count + cosine_count);
  } else {
    put(job, row, job->first, numbers, job->count);
    put(job, row, job->sines + job->first, numbers + cosines, cosine_count);
  }
  if (job->first == 0 && job->sines + job->cosines < r->dim) put(job, row, r->dim - 1, &(float){0.0f}, 1);
}

static void put_rows(const void *data, int64_t task, int worker) {
  const sinusoid_job *job = data;
  const int64_t end = at_most((task + 1) * FOVEA_TASK_ROWS, job->rows->rows);
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (int64_t row = task * FOVEA_TASK_ROWS; row < end; row++) put_row(job, row);
  fovea_float_end(caller);
}

/* The turns of the waves of a piece. `turn` is the turn of the wave before it. */
static void find_turns(sinusoid_job *job, fovea_fraction turn) {
  job->count = (int)at_most(job->sines - job->first, PIECE_WAVES);
  for (int i = 0; i < job->count; i++) {
    turn = job->first + i == 0 ? fovea_angle_turn(1.0) : fovea_fraction_multiply(turn, job->ratio);
    job->turns[i] = turn;
  }
}

static sinusoid_job make_job(const fovea_nn_sinusoid_rows *rows, const fovea_nn_kernels *kernels) {
  sinusoid_job job = {.rows = rows, .kernels = kernels, .cosines = rows->dim / 2};
  const int by_dim = rows->exponent == FOVEA_NN_WAVES_BY_DIM, odd = rows->dim % 2 != 0;
  fovea_float_state caller = fovea_float_begin();
  job.sines = job.cosines + (by_dim && odd);
  if (job.sines > 1) {
    const int64_t whole = !by_dim ? job.sines - 1 : odd ? rows->dim : rows->dim / 2;
    job.ratio = fovea_angle_ratio(rows->base, whole);
    if (by_dim && odd) job.ratio = fovea_fraction_multiply(job.ratio, job.ratio);
  }
  find_turns(&job, job.ratio);
  fovea_float_end(caller);
  return job;
}

static fovea_status read_rows(const fovea_nn_sinusoid_rows *given, fovea_nn_sinusoid_rows *rows,
                              fovea_error *error) {
  const fovea_status status = fovea_nn_read_struct("rows", given, rows, sizeof *rows, error);
  if (status) return status;
  fovea_resolve_stride(&rows->x_stride, rows->dim);
  fovea_resolve_stride(&rows->y_stride, rows->dim);
  return FOVEA_OK;
}

fovea_status fovea_nn_sinusoids(const fovea_nn_sinusoid_rows *given, const fovea_execution *given_execution,
                                fovea_error *error) {
  fovea_nn_sinusoid_rows rows;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  fovea_status status = read_rows(given, &rows, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  status = check_rows(&rows, error);
  fovea_float_end(caller);
  if (!status) status = fovea_nn_dispatch(execution.isa, &kernels, error);
  if (status || rows.rows == 0) return status;
  sinusoid_job job = make_job(&rows, kernels);
  for (;;) {
    const double elements = (double)rows.rows * (job.count + 1) * elements_of_angle;
    fovea_nn_run_tasks(put_rows, &job, fovea_row_tasks(rows.rows), elements * FOVEA_NN_WORK_TO_MOVE, INT_MAX,
                       &execution);
    if (job.sines - job.first <= PIECE_WAVES) return FOVEA_OK;
    job.first += PIECE_WAVES;
    find_turns(&job, job.turns[PIECE_WAVES - 1]);
  }
}
