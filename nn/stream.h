/* A stream that was checked, in the caller's memory. */
#ifndef FOVEA_NN_STREAM_H
#define FOVEA_NN_STREAM_H

#include "layer_scratch.h"
#include "matrix.h"

#include <fovea/cache.h>
#include <fovea/nn.h>
#include <fovea/stream.h>

/* One layer. Frames that wait for frames on their right stay in `rows`, so that queries and residuals can be made
 * of them. */
typedef struct fovea_nn_stream_layer {
  fovea_nn_block block;
  fovea_nn_attention attention; /* without key and value: keys are in the ring before their queries come */
  const fovea_nn_linear *key, *value;
  float *rows;    /* (right + chunk, dim), of which the first `waiting` are there */
  int64_t length; /* frames that came */
  int64_t waiting;
} fovea_nn_stream_layer;

struct fovea_nn_stream {
  fovea_nn_streaming streaming;
  fovea_problem problem; /* what is used of the caller's */
  fovea_pages rings;     /* a page for each layer: the latest left + right + chunk positions */
  fovea_nn_stream_layer *layers;
  int64_t dim;
  int64_t left, right; /* the most frames that a row sees before and after its own */
  int64_t most;        /* frames of an utterance */
  int broken;          /* a call failed while it computed */
  size_t size;
  char *plan; /* memory for a plan, to ask how much scratch it needs */
  size_t plan_size;
};

/* How the problem's fields that a stream uses go to `rows` rows and `keys` keys. */
fovea_problem fovea_nn_stream_problem(const fovea_problem *problem, int64_t rows, int64_t keys);

/* How many of the first rows of a layer see no frame after the first `length`: they wait for no other. */
static inline int64_t fovea_nn_stream_ready(const fovea_nn_stream *stream, int64_t length) {
  const fovea_problem *p = &stream->problem;
  const int64_t window = p->causal ? 0 : p->window_right;
  int64_t ready = window != FOVEA_UNLIMITED && length > window ? length - window : 0;
  if (p->chunks.size > 0 && p->chunks.right != FOVEA_UNLIMITED && length > p->chunks.right) {
    const int64_t chunks = (length - p->chunks.right) / p->chunks.size * p->chunks.size;
    if (chunks > ready) ready = chunks;
  }
  return ready;
}

/* The sinks of all layers, as one matrix; it is empty if there are none. */
fovea_nn_matrix fovea_nn_stream_sinks(const fovea_nn_stream *stream);

/* Checks that an output shares no byte with what the layers read: weights, biases, norms, rotary tables, sinks. */
fovea_status fovea_nn_stream_check_apart(const fovea_nn_stream *stream, const fovea_nn_matrix *output,
                                         fovea_error *error);

/* The parts of scratch. What makes keys and values is done before the layer attends, and uses the same memory. */
typedef struct fovea_nn_stream_scratch {
  size_t normed, k, v; /* of one chunk */
  size_t layers;       /* of the linear layers that make them */
  size_t layers_size;
  fovea_nn_scratch all;
} fovea_nn_stream_scratch;

/* A push, or with `ends` the end of the utterance after it. */
typedef struct fovea_nn_stream_call {
  fovea_nn_stream *stream;
  int64_t rows; /* new frames */
  const float *x;
  float *y;
  int ends;
  int64_t y_rows; /* that the call writes, and that are written so far */
  int64_t written;
  fovea_execution execution;
  fovea_nn_stream_scratch layout;
  char *scratch;
  fovea_status status; /* of a call beside others */
} fovea_nn_stream_call;

/* The rows that a call writes. */
int64_t fovea_nn_stream_y_rows(const fovea_nn_stream *stream, int64_t rows, int ends);

/* Checks a call whose first five fields are set, and sets what it needs; nothing has changed if it is refused. */
fovea_status fovea_nn_stream_check(fovea_nn_stream_call *call, const fovea_execution *execution,
                                   fovea_error *error);
/* Computes a call that was checked, with its scratch. A stream whose call fails must be reset. */
fovea_status fovea_nn_stream_compute(fovea_nn_stream_call *call, fovea_error *error);

fovea_status fovea_nn_stream_lay_out(fovea_nn_stream *stream, const fovea_execution *execution,
                                     fovea_nn_stream_scratch *layout, fovea_error *error);

#endif
