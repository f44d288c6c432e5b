/* Layers with a window for the tests of streams, and utterances. */
#ifndef FOVEA_TESTS_NN_STREAM_MODEL_H
#define FOVEA_TESTS_NN_STREAM_MODEL_H

#include "support/generator.h"
#include "support/guarded.h"

#include <fovea/nn.h>
#include <fovea/stream.h>

enum { DIM = 20, HEADS = 4, KV_HEADS = 2, QK_DIM = 6, V_DIM = 5, HIDDEN = 28, MOST_LAYERS = 3 };

/* One layer with all its parts. */
struct parts {
  fovea_nn_linear linears[7]; /* query, key, value, output, up, down, gate */
  fovea_nn_norm norms[2];
  fovea_nn_attention attention;
  fovea_nn_block block;
};

/* Layers with a window. */
struct model {
  struct parts parts[MOST_LAYERS];
  const fovea_nn_block *blocks[MOST_LAYERS];
  fovea_problem problem;
  const char *isa; /* that it runs on; NULL: the default */
  fovea_rotary rotary;
  fovea_nn_streaming streaming;
};

enum { NORM_FIRST = 1, GATE = 2, ROTARY = 4, SINKS = 8, CAUSAL = 16, SOFTCAP = 32, KINDS = 64 };

extern float numbers[60000], sinks[MOST_LAYERS * HEADS];

/* Fills numbers and sinks, which models take as weights: a set-up of tests. */
int make_numbers(void **state);
/* A model of KINDS with a window; `isa` NULL: the default. */
void make_model(struct model *m, int layers, int64_t left, int64_t right, int64_t chunk, int kind, const char *isa);

/* Rules of models: window, chunks.size, chunks.left, chunks.right, causal. */
struct rules {
  int64_t left, right, size, chunk_left, chunk_right;
  int causal;
};

void set_rules(struct model *m, const struct rules *rules);

/* All layers over the whole utterance at once. */
void compute_whole(const struct model *m, int64_t frames, const float *x, float *y);

/* A stream in guarded memory. */
struct stream {
  struct guarded memory;
  fovea_nn_stream *stream;
};

struct stream stream_create(const struct model *m, enum guarded_edge edge);
void stream_destroy(struct stream *s);

/* How an utterance is cut: pushes of `step` frames, or if that is 0, of any numbers from 0 on. */
struct cut {
  int64_t step;
  struct generator generator;
};

/* The rows whose frames are all there, one by one from the frames that each layer's rows may see. */
int64_t rows_out(const struct model *m, int64_t frames);

/* Streams an utterance; the numbers of rows are as promised. */
void stream_all(const struct model *m, fovea_nn_stream *stream, struct cut cut, int64_t frames, const float *x,
                float *y, const fovea_execution *execution);

/* One of `special` numbers is NaN, infinite, zero, tiny or huge; 0: none. The caller frees them. */
float *frames_create(int64_t frames, int special, struct generator *generator);

/* Asserts that an utterance has the bits of compute_whole(), cut in several ways. */
void assert_streams(const struct model *m, int64_t frames, int special, struct generator *generator,
                    const fovea_execution *execution);

#endif
