/* Several streams at once: each is one task, on one worker. */
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/memory.h"
#include "../src/base/validate.h"
#include "matrix.h"
#include "stream.h"
#include "tasks.h"

/* The arguments of a call. */
typedef struct streams_call {
  fovea_nn_stream *const *streams;
  int64_t count;
  const int64_t *rows;
  const float *const *x;
  float *const *y;
  const int *ends;
} streams_call;

/* Parts of scratch: the calls of the streams, and memory of each worker. */
typedef struct streams_layout {
  size_t calls, workers, slice;
  fovea_nn_scratch all;
} streams_layout;

typedef struct streams_job {
  fovea_nn_stream_call *calls;
  char *memory;
  size_t slice;
} streams_job;

/* Call i, without the rows that it writes. */
static fovea_nn_stream_call given(const streams_call *s, int64_t i) {
  return (fovea_nn_stream_call){
      .stream = s->streams[i], .rows = s->rows[i], .x = s->x[i], .y = s->y[i], .ends = s->ends ? s->ends[i] : 0};
}

/* Call i, which has been checked by itself. */
static fovea_nn_stream_call call_of(const streams_call *s, int64_t i) {
  fovea_nn_stream_call call = given(s, i);
  call.y_rows = fovea_nn_stream_y_rows(call.stream, call.rows, call.ends);
  return call;
}

static fovea_status check_arrays(const streams_call *s, const int64_t *written, fovea_error *error) {
  const fovea_bounded count = {"count", s->count, 0, FOVEA_LENGTH_LIMIT};
  const struct {
    const char *name;
    const void *array;
  } arrays[] = {{"streams", s->streams}, {"rows", s->rows}, {"x", s->x}, {"y", s->y}, {"written", written}};
  const fovea_status status = fovea_validate_bounds(NULL, &count, 1, error);
  if (status || s->count == 0) return status;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    if (!arrays[i].array) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", arrays[i].name);
  return FOVEA_OK;
}

static fovea_nn_matrix frames(const char *name, const float *data, int64_t rows, int64_t dim) {
  return (fovea_nn_matrix){name, data, FOVEA_F32, rows, dim, dim};
}

static fovea_nn_matrix bytes_of(const char *name, const void *data, size_t size) {
  const int64_t floats = (int64_t)(size / sizeof(float));
  return (fovea_nn_matrix){name, data, FOVEA_F32, data ? 1 : 0, floats, floats};
}

/* Checks that what one stream writes is apart from all that another one reads and writes. */
static fovea_status check_pair(const fovea_nn_stream_call *a, const fovea_nn_stream_call *b, fovea_error *error) {
  const int64_t dim = b->stream->dim;
  const fovea_nn_matrix y = frames("y", a->y, a->y_rows, a->stream->dim);
  const fovea_nn_matrix others[] = {frames("y of another stream", b->y, b->y_rows, dim),
                                    frames("x of another stream", b->x, b->rows, dim),
                                    bytes_of("another stream", b->stream, b->stream->size)};
  fovea_status status = fovea_nn_stream_check_apart(b->stream, &y, error);
  for (int i = 0; i < 3 && !status; i++) status = fovea_nn_check_apart(&y, &others[i], error);
  return status;
}

/* The memory that scratch of the caller's must be apart from. */
static fovea_status check_scratch(const fovea_nn_stream_call *call, const fovea_nn_matrix *scratch,
                                  fovea_error *error) {
  const fovea_nn_stream *s = call->stream;
  const fovea_nn_matrix others[] = {frames("y", call->y, call->y_rows, s->dim),
                                    frames("x", call->x, call->rows, s->dim), bytes_of("stream", s, s->size)};
  fovea_status status = fovea_nn_stream_check_apart(s, scratch, error);
  for (int i = 0; i < 3 && !status; i++) status = fovea_nn_check_apart(scratch, &others[i], error);
  return status;
}

static fovea_status name_stream(int64_t i, fovea_status status, const fovea_error *why, fovea_error *error) {
  return status ? fovea_fail(error, status, "streams[%jd]%s%s", i, why->field[0] ? "." : ": ", why->text)
                : FOVEA_OK;
}

/* Checks each stream by itself, as one of a worker alone, and finds the scratch of a worker. */
static fovea_status check_each(const streams_call *s, const fovea_execution *execution, size_t *slice,
                               fovea_error *error) {
  const fovea_execution alone = fovea_nn_alone(execution);
  *slice = 0;
  for (int64_t i = 0; i < s->count; i++) {
    fovea_nn_stream_call call = given(s, i);
    fovea_error why = {.status = FOVEA_OK};
    const fovea_bounded ends = {"ends", call.ends, 0, 1};
    fovea_status status = fovea_validate_bounds(NULL, &ends, 1, &why);
    if (!status) status = fovea_nn_stream_check(&call, &alone, &why);
    if (status) return name_stream(i, status, &why, error);
    const size_t bytes = call.layout.all.saturated ? SIZE_MAX : call.layout.all.size;
    if (bytes > *slice) *slice = bytes;
  }
  return FOVEA_OK;
}

static streams_layout lay_out(int64_t count, size_t slice, int workers) {
  streams_layout l = {.slice = slice};
  l.calls = fovea_nn_reserve(&l.all, fovea_nn_product((uint64_t)count, sizeof(fovea_nn_stream_call)));
  l.workers = fovea_nn_reserve(&l.all, fovea_nn_product(slice, (uint64_t)workers));
  return l;
}

/* Checks streams that are right by themselves against each other and against scratch. */
static fovea_status check_together(const streams_call *s, const streams_layout *l, const fovea_execution *execution,
                                   fovea_error *error) {
  const fovea_nn_matrix scratch = bytes_of("scratch", execution->scratch, l->all.size);
  for (int64_t i = 0; i < s->count; i++) {
    const fovea_nn_stream_call call = call_of(s, i);
    fovea_error why = {.status = FOVEA_OK};
    fovea_status status = check_scratch(&call, &scratch, &why);
    for (int64_t j = 0; j < i && !status; j++) {
      const fovea_nn_stream_call other = call_of(s, j);
      if (other.stream == call.stream)
        return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "streams[%jd] is the same stream as streams[%jd]", i, j);
      status = check_pair(&call, &other, &why);
      if (!status) status = check_pair(&other, &call, &why);
    }
    if (status) return name_stream(i, status, &why, error);
  }
  return FOVEA_OK;
}

/* Sets the calls, which have been checked. */
static fovea_status prepare(const streams_call *s, fovea_nn_stream_call *calls, const fovea_execution *execution,
                            fovea_error *error) {
  const fovea_execution alone = fovea_nn_alone(execution);
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; i < s->count && !status; i++) {
    calls[i] = call_of(s, i);
    status = fovea_nn_stream_check(&calls[i], &alone, error);
  }
  return status;
}

static void run_stream(const void *data, int64_t task, int worker) {
  const streams_job *job = data;
  fovea_nn_stream_call *call = &job->calls[task];
  call->scratch = job->memory + (size_t)worker * job->slice;
  call->status = fovea_nn_stream_compute(call, NULL);
}

static fovea_status compute(const streams_call *s, const streams_layout *l, char *memory, int64_t *written,
                            const fovea_execution *execution, fovea_error *error) {
  const streams_job data = {(fovea_nn_stream_call *)(void *)(memory + l->calls), memory + l->workers, l->slice};
  const fovea_execution shared = fovea_nn_without_scratch(execution);
  const double work = 1e12; /* a stream is worth a worker, even if its layers multiply little */
  fovea_nn_run_tasks(run_stream, &data, s->count, work, INT_MAX, &shared);
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; i < s->count; i++) {
    written[i] = data.calls[i].written;
    if (data.calls[i].status && !status)
      status = fovea_fail(error, data.calls[i].status, "streams[%jd] failed while it computed: reset it", i);
  }
  return status;
}

fovea_status fovea_nn_streams_push(fovea_nn_stream *const *streams, int64_t count, const int64_t *rows,
                                   const float *const *x, float *const *y, const int *ends, int64_t *written,
                                   const fovea_execution *execution, fovea_error *error) {
  const streams_call s = {streams, count, rows, x, y, ends};
  fovea_execution shared;
  size_t slice;
  char *memory;
  void *allocated;
  fovea_status status = check_arrays(&s, written, error);
  for (int64_t i = 0; i < count && !status; i++) written[i] = 0;
  if (!status) status = fovea_read_execution(execution, &shared, error);
  if (!status) status = check_each(&s, &shared, &slice, error);
  if (status || count == 0) return status;
  const streams_layout l = lay_out(count, slice, fovea_nn_workers(&shared));
  const size_t needed = l.all.saturated ? SIZE_MAX : l.all.size;
  if (shared.scratch) status = fovea_validate_scratch(shared.scratch, shared.scratch_size, needed, error);
  if (!status) status = check_together(&s, &l, &shared, error);
  if (!status) status = fovea_nn_obtain(&l.all, &shared, &memory, &allocated, error);
  if (status) return status;
  status = prepare(&s, (fovea_nn_stream_call *)(void *)(memory + l.calls), &shared, error);
  if (!status) status = compute(&s, &l, memory, written, &shared, error);
  fovea_release(&shared.allocator, allocated);
  return status;
}

fovea_status fovea_nn_streams_scratch_size(fovea_nn_stream *const *streams, int64_t count,
                                           const fovea_execution *execution, size_t *size, fovea_error *error) {
  const fovea_bounded bounds = {"count", count, 0, FOVEA_LENGTH_LIMIT};
  fovea_execution measured;
  size_t slice = 0;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_validate_bounds(NULL, &bounds, 1, error);
  if (status || count == 0) return status;
  if (!streams) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "streams is NULL");
  const fovea_execution alone = fovea_nn_alone(&measured);
  for (int64_t i = 0; i < count; i++) {
    fovea_error why = {.status = FOVEA_OK};
    size_t bytes;
    status = fovea_nn_stream_scratch_size(streams[i], &alone, &bytes, &why);
    if (status) return name_stream(i, status, &why, error);
    if (bytes > slice) slice = bytes;
  }
  const streams_layout l = lay_out(count, slice, fovea_nn_workers(&measured));
  *size = fovea_nn_size_of(&l.all);
  return FOVEA_OK;
}
