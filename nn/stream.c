/* Streams: frames go through the layers a chunk at a time. A layer first puts the keys and values of its new frames
 * into its ring, and then computes the rows that wait for no other frame, which are the new frames of the next. */
#include "stream.h"

#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "choose_table.h"
#include "linear.h"
#include "matrix.h"
#include "transformer_block.h"

#include <string.h>

static float *scratch_at(const fovea_nn_stream_call *call, size_t begin) {
  return (float *)(void *)(call->scratch + begin);
}

/* Where the next frame of a layer goes; after the last layer, its rows come out. */
static float *place_after(const fovea_nn_stream_call *call, int64_t index) {
  const fovea_nn_stream *s = call->stream;
  if (index + 1 == s->streaming.layers) return call->y ? call->y + call->written * s->dim : NULL;
  const fovea_nn_stream_layer *next = &s->layers[index + 1];
  return next->rows + next->waiting * s->dim;
}

/* Segments of the positions that a layer's ring holds once it has `end` of them. */
static fovea_status find_ring(const fovea_nn_stream *s, int64_t index, int64_t end, int64_t *begin,
                              fovea_segment segments[FOVEA_RING_SEGMENTS], fovea_sequence *sequence,
                              fovea_error *error) {
  *begin = end > s->rings.page_rows ? end - s->rings.page_rows : 0;
  return fovea_cache_ring(&s->rings, index, *begin, end, segments, sequence, error);
}

/* ---- Keys and values ---- */

static fovea_status project(const fovea_nn_stream_call *call, const fovea_nn_linear *linear, int64_t count,
                            const float *from, float *to, fovea_error *error) {
  const fovea_nn_stream_scratch *l = &call->layout;
  const fovea_execution execution =
      fovea_nn_with_scratch(&call->execution, call->scratch + l->layers, l->layers_size);
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, count, from, to);
  return fovea_nn_run_linear(linear, &rows, &execution, error);
}

static fovea_status append(const fovea_nn_stream_call *call, int64_t index, int64_t count, fovea_error *error) {
  const fovea_nn_stream *s = call->stream;
  const fovea_problem *p = &s->problem;
  const fovea_nn_stream_layer *layer = &s->layers[index];
  const fovea_execution execution = fovea_nn_without_scratch(&call->execution);
  fovea_segment segments[FOVEA_RING_SEGMENTS];
  fovea_sequence sequence;
  fovea_new_rows rows;
  int64_t begin;
  const fovea_status status = find_ring(s, index, layer->length + count, &begin, segments, &sequence, error);
  if (status) return status;
  fovea_new_rows_init(&rows, 1, p->kv_heads, count, p->qk_dim, p->v_dim, scratch_at(call, call->layout.k),
                      scratch_at(call, call->layout.v), &sequence);
  rows.k_strides = fovea_strides_rows_before_heads(count, p->kv_heads, p->qk_dim);
  rows.v_strides = fovea_strides_rows_before_heads(count, p->kv_heads, p->v_dim);
  rows.first_position = layer->length;
  return fovea_append(&rows, layer->attention.rotary, &execution, error);
}

/* Takes `count` frames that lie after the waiting frames: their keys and values go into the ring. */
static fovea_status take(const fovea_nn_stream_call *call, int64_t index, int64_t count, fovea_error *error) {
  const fovea_nn_stream *s = call->stream;
  fovea_nn_stream_layer *layer = &s->layers[index];
  const float *from = layer->rows + layer->waiting * s->dim;
  fovea_status status = FOVEA_OK;
  if (layer->block.norm_first) {
    const fovea_execution execution = fovea_nn_without_scratch(&call->execution);
    float *normed = scratch_at(call, call->layout.normed);
    fovea_nn_norm_rows rows;
    fovea_nn_norm_rows_init(&rows, layer->block.self_norm, count, from, normed);
    status = fovea_nn_norm_run(layer->block.self_norm, &rows, &execution, error);
    from = normed;
  }
  if (!status) status = project(call, layer->key, count, from, scratch_at(call, call->layout.k), error);
  if (!status) status = project(call, layer->value, count, from, scratch_at(call, call->layout.v), error);
  if (!status) status = append(call, index, count, error);
  if (status) return status;
  layer->length += count;
  layer->waiting += count;
  return FOVEA_OK;
}

/* ---- Rows ---- */

/* Computes the first `count` frames that wait, over the keys that are there. */
static fovea_status compute(const fovea_nn_stream_call *call, int64_t index, int64_t count, fovea_error *error) {
  const fovea_nn_stream *s = call->stream;
  fovea_nn_stream_layer *layer = &s->layers[index];
  const int64_t done = layer->length - layer->waiting;
  fovea_problem problem = fovea_nn_stream_problem(&s->problem, count, layer->length);
  fovea_execution execution = call->execution;
  fovea_nn_attention_tensors tensors;
  fovea_segment segments[FOVEA_RING_SEGMENTS];
  fovea_sequence sequence;
  int64_t begin;
  fovea_status status = find_ring(s, index, layer->length, &begin, segments, &sequence, error);
  if (status) return status;
  problem.cache.segmented = 1;
  problem.kv_begins = &begin;
  problem.offset = done;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.cache.sequences = &sequence;
  if (s->streaming.sink) tensors.sink = s->streaming.sink + index * problem.heads;
  if (layer->attention.rotary) tensors.first_position = done;
  execution.scratch = call->scratch;
  execution.scratch_size = call->layout.all.size;
  const fovea_nn_attending self = {&problem, &tensors};
  status = fovea_nn_block_run(&layer->block, &self, NULL, layer->rows, place_after(call, index), &execution, error);
  if (status) return fovea_nn_fail_in_layer(index, status, error);
  layer->waiting -= count;
  memmove(layer->rows, layer->rows + count * s->dim, (size_t)(layer->waiting * s->dim) * sizeof(float));
  return FOVEA_OK;
}

/* Computes `count` frames of a layer, and hands them to the next one, or out. */
static fovea_status advance(fovea_nn_stream_call *call, int64_t index, int64_t count, fovea_error *error) {
  const fovea_status status = compute(call, index, count, error);
  if (status) return status;
  if (index + 1 < call->stream->streaming.layers) return take(call, index + 1, count, error);
  call->written += count;
  return FOVEA_OK;
}

/* How many frames of a layer wait for no other frame; no more than are computed at once. */
static int64_t ready_of(const fovea_nn_stream *s, int64_t index) {
  const fovea_nn_stream_layer *layer = &s->layers[index];
  const int64_t ready = fovea_nn_stream_ready(s, layer->length) - (layer->length - layer->waiting);
  return ready < s->streaming.chunk ? ready : s->streaming.chunk;
}

/* Passes the frames of a layer on, as far as they come. The end of a chunk frees more frames than are computed at
 * once: each part goes through all further layers before the next one, so that no layer has more to keep. */
static fovea_status pass(fovea_nn_stream_call *call, int64_t first, fovea_error *error) {
  const fovea_nn_stream *s = call->stream;
  fovea_status status = FOVEA_OK;
  for (int64_t index = first; index >= first && index < s->streaming.layers && !status;) {
    const int64_t count = ready_of(s, index);
    if (count > 0) status = advance(call, index, count, error);
    if (count == 0) index--;
    if (count > 0 && index + 1 < s->streaming.layers) index++;
  }
  return status;
}

/* Computes what waits in a layer that gets no more frames. */
static fovea_status flush(fovea_nn_stream_call *call, int64_t index, fovea_error *error) {
  const fovea_nn_stream *s = call->stream;
  const fovea_nn_stream_layer *layer = &s->layers[index];
  fovea_status status = FOVEA_OK;
  while (layer->waiting > 0 && !status) {
    const int64_t count = layer->waiting < s->streaming.chunk ? layer->waiting : s->streaming.chunk;
    status = advance(call, index, count, error);
    if (!status) status = pass(call, index + 1, error);
  }
  return status;
}

/* ---- Calls ---- */

static fovea_nn_matrix bytes_of(const char *name, const void *data, size_t size) {
  const int64_t floats = (int64_t)(size / sizeof(float));
  return (fovea_nn_matrix){name, data, FOVEA_F32, data ? 1 : 0, floats, floats};
}

static fovea_status check_tensors(const fovea_nn_stream_call *call, int64_t rows, const float *from,
                                  int64_t written, fovea_error *error) {
  const fovea_nn_stream *s = call->stream;
  const fovea_nn_matrix x = {"x", from, FOVEA_F32, rows, s->dim, s->dim};
  const fovea_nn_matrix y = {"y", call->y, FOVEA_F32, written, s->dim, s->dim};
  const fovea_nn_matrix memory = bytes_of("stream", s, s->size);
  const fovea_nn_matrix scratch = bytes_of("scratch", call->execution.scratch, call->layout.all.size);
  fovea_status status = fovea_nn_check_matrix(&x, 0, error);
  if (!status) status = fovea_nn_check_matrix(&y, 1, error);
  /* The end of a chunk lets more rows out than were read. */
  const int in_place = call->y == from && s->problem.chunks.size == 0;
  if (!status && !in_place) status = fovea_nn_check_apart(&y, &x, error);
  if (!status) status = fovea_nn_check_apart(&y, &memory, error);
  if (!status) status = fovea_nn_stream_check_apart(s, &y, error);
  if (!status) status = fovea_nn_stream_check_apart(s, &scratch, error);
  if (!status) status = fovea_nn_check_apart(&scratch, &memory, error);
  if (!status) status = fovea_nn_check_apart(&scratch, &x, error);
  return status ? status : fovea_nn_check_apart(&scratch, &y, error);
}

/* Checks a call; nothing has changed if it is refused. */
static fovea_status check_call(fovea_nn_stream_call *call, const fovea_execution *execution, fovea_error *error) {
  fovea_nn_stream *s = call->stream;
  const fovea_execution *e = &call->execution;
  if (!s) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "stream is NULL");
  if (s->broken) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "stream failed in an earlier call while it computed: reset it");
  }
  fovea_status status = fovea_nn_read_execution(execution, &call->execution, error);
  if (!status) status = fovea_nn_stream_lay_out(s, e, &call->layout, error);
  if (status || !e->scratch) return status;
  const size_t needed = call->layout.all.saturated ? SIZE_MAX : call->layout.all.size;
  return fovea_validate_scratch(e->scratch, e->scratch_size, needed, error);
}

/* Rows that have come out of all layers after so many frames. */
static int64_t rows_out(const fovea_nn_stream *s, int64_t frames) {
  for (int64_t i = 0; i < s->streaming.layers && frames > 0; i++) frames = fovea_nn_stream_ready(s, frames);
  return frames;
}

static fovea_status push_chunks(fovea_nn_stream_call *call, int64_t rows, const float *x, fovea_error *error) {
  fovea_nn_stream_layer *first = &call->stream->layers[0];
  const int64_t dim = call->stream->dim, chunk = call->stream->streaming.chunk;
  fovea_status status = FOVEA_OK;
  while (rows > 0 && !status) {
    const int64_t count = rows < chunk ? rows : chunk;
    memcpy(first->rows + first->waiting * dim, x, (size_t)(count * dim) * sizeof(float));
    status = take(call, 0, count, error);
    if (!status) status = pass(call, 0, error);
    rows -= count;
    x += count * dim;
  }
  return status;
}

int64_t fovea_nn_stream_y_rows(const fovea_nn_stream *stream, int64_t rows, int ends) {
  const int64_t length = stream->layers[0].length, now = length + rows;
  return (ends ? now : rows_out(stream, now)) - rows_out(stream, length);
}

fovea_status fovea_nn_stream_check(fovea_nn_stream_call *call, const fovea_execution *execution,
                                   fovea_error *error) {
  const fovea_bounded count = {"rows", call->rows, 0, FOVEA_LENGTH_LIMIT};
  fovea_status status = check_call(call, execution, error);
  if (!status) status = fovea_validate_bounds(NULL, &count, 1, error);
  if (status) return status;
  const fovea_nn_stream *s = call->stream;
  const int64_t length = s->layers[0].length, now = length + call->rows;
  if (now > s->most) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "rows is %jd, and the utterance has %jd frames already; %jd is the limit", call->rows, length,
                      s->most);
  }
  call->y_rows = fovea_nn_stream_y_rows(s, call->rows, call->ends);
  return check_tensors(call, call->rows, call->x, call->y_rows, error);
}

fovea_status fovea_nn_stream_compute(fovea_nn_stream_call *call, fovea_error *error) {
  fovea_nn_stream *s = call->stream;
  fovea_status status = push_chunks(call, call->rows, call->x, error);
  for (int64_t i = 0; i < s->streaming.layers && call->ends && !status; i++) status = flush(call, i, error);
  if (status) {
    s->broken = 1;
    call->written = 0;
  } else if (call->ends) {
    fovea_nn_stream_reset(s);
  }
  return status;
}

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  fovea_nn_stream_call *call = data;
  call->execution = *execution;
  call->scratch = memory;
  return fovea_nn_stream_compute(call, error);
}

/* About as many multiply-adds as the layers make, if they are four times as wide inside. */
static double work_of(const fovea_nn_stream_call *call) {
  const int64_t rows = call->rows > call->y_rows ? call->rows : call->y_rows;
  const double layer = 12.0 * (double)call->stream->dim * (double)call->stream->dim;
  return (double)rows * (double)call->stream->streaming.layers * layer;
}

/* Checks and runs a call of one stream. */
static fovea_status run(fovea_nn_stream_call *call, int64_t *written, const fovea_execution *execution,
                        fovea_error *error) {
  if (!written) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "written is NULL");
  *written = 0;
  fovea_status status = fovea_nn_stream_check(call, execution, error);
  if (status) return status;
  if (call->rows == 0 && call->y_rows == 0) {
    if (call->ends) fovea_nn_stream_reset(call->stream);
    return FOVEA_OK;
  }
  status = fovea_nn_run_steps(run_steps, call, &call->layout.all, work_of(call), &call->execution, error);
  *written = call->written;
  return status;
}

fovea_status fovea_nn_stream_push(fovea_nn_stream *stream, int64_t rows, const float *x, float *y, int64_t *written,
                                  const fovea_execution *execution, fovea_error *error) {
  fovea_nn_stream_call call = {.stream = stream, .rows = rows, .x = x, .y = y};
  return run(&call, written, execution, error);
}

fovea_status fovea_nn_stream_finish(fovea_nn_stream *stream, float *y, int64_t *written,
                                    const fovea_execution *execution, fovea_error *error) {
  fovea_nn_stream_call call = {.stream = stream, .y = y, .ends = 1};
  return run(&call, written, execution, error);
}

void fovea_nn_stream_reset(fovea_nn_stream *stream) {
  if (!stream) return;
  for (int64_t i = 0; i < stream->streaming.layers; i++) stream->layers[i].length = stream->layers[i].waiting = 0;
  stream->broken = 0;
}

int64_t fovea_nn_stream_pending(const fovea_nn_stream *stream) {
  if (!stream) return 0;
  const int64_t length = stream->layers[0].length;
  return length - rows_out(stream, length);
}

int64_t fovea_nn_stream_rows(const fovea_nn_stream *stream, int64_t rows) {
  if (!stream || rows < 0) return 0;
  if (rows > stream->most - stream->layers[0].length) return 0;
  return fovea_nn_stream_y_rows(stream, rows, 0);
}

fovea_status fovea_nn_stream_scratch_size(fovea_nn_stream *stream, const fovea_execution *execution, size_t *size,
                                          fovea_error *error) {
  fovea_execution measured;
  fovea_nn_stream_scratch layout;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (status) return status;
  if (!stream) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "stream is NULL");
  status = fovea_nn_stream_lay_out(stream, &measured, &layout, error);
  if (!status) *size = fovea_nn_size_of(&layout.all);
  return status;
}
