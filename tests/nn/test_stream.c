/* Streams: the bits of the same layers over the whole utterance at once, however its frames are cut; memory that
 * does not grow; refusals. */
#include "support/check.h"
#include "support/executors.h"
#include "support/generator.h"
#include "support/guarded.h"
#include "support/trial.h"

#include <fovea/nn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  fovea_rotary rotary;
  fovea_nn_streaming streaming;
};

enum { NORM_FIRST = 1, GATE = 2, ROTARY = 4, SINKS = 8, CAUSAL = 16, SOFTCAP = 32, KINDS = 64 };

static float numbers[60000], sinks[MOST_LAYERS * HEADS];

static void make_layer(struct model *m, int layer, int kind, const char *isa) {
  static const int64_t sizes[7][2] = {{DIM, HEADS * QK_DIM},
                                      {DIM, KV_HEADS * QK_DIM},
                                      {DIM, KV_HEADS * V_DIM},
                                      {HEADS * V_DIM, DIM},
                                      {DIM, HIDDEN},
                                      {HIDDEN, DIM},
                                      {DIM, HIDDEN}};
  struct parts *p = &m->parts[layer];
  const float *next = numbers + layer * 20000;
  for (int i = 0; i < 7; i++) {
    fovea_nn_linear_init(&p->linears[i], sizes[i][0], sizes[i][1], next + 1000 * i);
    p->linears[i].bias = next + 8000 + 100 * i;
    p->linears[i].isa = isa;
  }
  p->linears[4].activation = FOVEA_NN_SILU;
  for (int i = 0; i < 2; i++) {
    fovea_nn_norm_init(&p->norms[i], FOVEA_NN_LAYER_NORM, DIM);
    p->norms[i].gamma = next + 9000 + 100 * i;
    p->norms[i].isa = isa;
  }
  fovea_nn_attention_init(&p->attention, &p->linears[0], &p->linears[1], &p->linears[2], &p->linears[3]);
  if (kind & ROTARY) p->attention.rotary = &m->rotary;
  fovea_nn_block_init(&p->block, &p->attention, &p->norms[0], &p->linears[4], &p->linears[5], &p->norms[1]);
  p->block.norm_first = kind & NORM_FIRST ? 1 : 0;
  if (kind & GATE) p->block.gate = &p->linears[6];
  m->blocks[layer] = &p->block;
}

static void make_model(struct model *m, int layers, int64_t left, int64_t right, int64_t chunk, int kind,
                       const char *isa) {
  memset(m, 0, sizeof *m);
  fovea_rotary_init(&m->rotary, FOVEA_ROTARY_HALVES, 4);
  m->rotary.isa = isa;
  for (int i = 0; i < layers; i++) make_layer(m, i, kind, isa);
  fovea_problem_init(&m->problem, 1, HEADS, KV_HEADS, 0, 0, QK_DIM, V_DIM);
  m->problem.window_left = left;
  m->problem.window_right = right;
  m->problem.isa = isa;
  if (kind & SINKS) m->problem.sink = FOVEA_SINK_PER_HEAD;
  if (kind & SOFTCAP) m->problem.softcap = 3;
  if (kind & CAUSAL) {
    m->problem.causal = 1;
    m->problem.window_right = FOVEA_UNLIMITED;
  }
  fovea_nn_streaming_init(&m->streaming, layers, m->blocks, &m->problem, chunk);
  if (kind & SINKS) m->streaming.sinks = sinks;
}

/* All layers over the whole utterance at once. */
static void compute_whole(const struct model *m, int64_t frames, const float *x, float *y) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, frames, frames, QK_DIM, V_DIM);
  problem.window_left = m->problem.window_left;
  problem.window_right = m->problem.window_right;
  problem.causal = m->problem.causal;
  problem.chunk_size = m->problem.chunk_size;
  problem.chunk_left = m->problem.chunk_left;
  problem.chunk_right = m->problem.chunk_right;
  problem.softcap = m->problem.softcap;
  problem.sink = m->problem.sink;
  problem.isa = m->problem.isa;
  memcpy(y, x, (size_t)(frames * DIM) * sizeof *y);
  for (int64_t i = 0; i < m->streaming.layers; i++) {
    fovea_nn_attention_tensors tensors;
    fovea_error error;
    fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
    if (m->streaming.sinks) tensors.sinks = sinks + i * HEADS;
    const fovea_nn_attending self = {&problem, &tensors};
    if (fovea_nn_block_run(m->blocks[i], &self, NULL, y, y, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  }
}

/* A stream in guarded memory. */
struct stream {
  struct guarded memory;
  fovea_nn_stream *stream;
};

static struct stream stream_create(const struct model *m, enum guarded_edge edge) {
  struct stream s;
  fovea_error error;
  s.memory = guarded_create(fovea_nn_stream_size(&m->streaming), edge);
  if (fovea_nn_stream_create_in(&m->streaming, s.memory.data, s.memory.size, &s.stream, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  return s;
}

static void stream_destroy(struct stream *s) {
  assert_true(guarded_slack_intact(&s->memory));
  guarded_destroy(&s->memory);
}

/* How an utterance is cut: pushes of `step` frames, or if that is 0, of any numbers from 0 on. */
struct cut {
  int64_t step;
  struct generator generator;
};

static int64_t next_rows(struct cut *cut, int64_t left) {
  const int64_t rows = cut->step ? cut->step : generator_below(&cut->generator, 12);
  return rows < left ? rows : left;
}

/* The last frame that a row of one layer may see. */
static int64_t last_seen(const fovea_problem *p, int64_t row) {
  int64_t last = INT64_MAX;
  if (p->causal) last = row;
  if (p->window_right != FOVEA_UNLIMITED && row + p->window_right < last) last = row + p->window_right;
  if (p->chunk_size > 0 && p->chunk_right != FOVEA_UNLIMITED) {
    int64_t end = row;
    while ((end + 1) % p->chunk_size != 0) end++;
    if (end + p->chunk_right < last) last = end + p->chunk_right;
  }
  return last;
}

/* The rows whose frames are all there, one by one from the frames that each layer's rows may see. */
static int64_t rows_out(const struct model *m, int64_t frames) {
  int64_t rows = 0;
  for (; rows < frames; rows++) {
    int64_t last = rows;
    for (int64_t layer = 0; layer < m->streaming.layers; layer++) last = last_seen(&m->problem, last);
    if (last >= frames) break;
  }
  return rows;
}

/* Streams an utterance; the numbers of rows are as promised. */
static void stream_all(const struct model *m, fovea_nn_stream *stream, struct cut cut, int64_t frames,
                       const float *x, float *y, const fovea_execution *execution) {
  fovea_error error;
  int64_t done = 0, out = 0, written;
  while (done < frames) {
    const int64_t rows = next_rows(&cut, frames - done), wanted = fovea_nn_stream_rows(stream, rows);
    if (fovea_nn_stream_push(stream, rows, x + done * DIM, y + out * DIM, &written, execution, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
    done += rows;
    out += written;
    assert_int_equal(written, wanted);
    if (frames < 1000 || done % 97 == 0) assert_int_equal(out, rows_out(m, done));
    assert_int_equal(fovea_nn_stream_pending(stream), done - out);
  }
  if (fovea_nn_stream_finish(stream, y + out * DIM, &written, execution, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_int_equal(out + written, frames);
  assert_int_equal(fovea_nn_stream_pending(stream), 0);
}

static float *frames_create(int64_t frames, int special, struct generator *generator) {
  float *x = malloc((size_t)(frames * DIM + 1) * sizeof *x);
  static const float specials[] = {NAN, INFINITY, -0.0F, 0x1p-140F, 1e30F};
  assert_non_null(x);
  for (int64_t i = 0; i < frames * DIM; i++) {
    x[i] = generator_uniform(generator);
    if (special && generator_below(generator, special) == 0) x[i] = specials[generator_below(generator, 5)];
  }
  return x;
}

static void assert_streams(const struct model *m, int64_t frames, int special, struct generator *generator,
                           const fovea_execution *execution) {
  const int64_t steps[] = {1, 3, 7, frames > 0 ? frames : 1, 0};
  float *x = frames_create(frames, special, generator);
  float *expected = malloc((size_t)(frames * DIM + 1) * sizeof *expected);
  assert_non_null(expected);
  compute_whole(m, frames, x, expected);
  struct stream s = stream_create(m, frames % 2 ? GUARD_AT_END : GUARD_AT_START);
  for (int i = 0; i < 5; i++) { /* the same stream, again and again */
    struct guarded y = guarded_create((size_t)(frames * DIM) * sizeof(float), GUARD_AT_END);
    const struct cut cut = {steps[i], {generator_bits(generator)}};
    stream_all(m, s.stream, cut, frames, x, (float *)(void *)y.data, execution);
    if (memcmp(y.data, expected, y.size) != 0)
      fail_msg("other bits: %s, window %d %d, chunks %d %d %d, chunk %d, %d layers, %d frames, step %d",
               m->problem.isa ? m->problem.isa : "", (int)m->problem.window_left, (int)m->problem.window_right,
               (int)m->problem.chunk_size, (int)m->problem.chunk_left, (int)m->problem.chunk_right,
               (int)m->streaming.chunk, (int)m->streaming.layers, (int)frames, (int)steps[i]);
    guarded_destroy(&y);
  }
  stream_destroy(&s);
  free(x);
  free(expected);
}

static int is_partial(const char *isa) {
  return strncmp(isa, "avx512_", 7) == 0 || strncmp(isa, "neon_", 5) == 0;
}

static void test_windows(void **state) {
  (void)state;
  static const int64_t windows[][2] = {{0, 0}, {5, 0}, {0, 3}, {7, 4}, {140, 2}, {1, 130}};
  static const int64_t lengths[] = {0, 1, 2, 5, 13, 40, 290}, chunks[] = {1, 5, 16, 400};
  struct generator generator = {41};
  for (const char *const *isa = usable_isas(); *isa; isa++) {
    if (is_partial(*isa)) continue;
    for (int w = 0; w < 6; w++) {
      for (int length = 0; length < USUAL_OR_LONG(6, 7); length++) {
        for (int c = lengths[length] > 100 ? 2 : 0; c < 4; c++) {
          struct model m;
          make_model(&m, 1 + (w + length + c) % MOST_LAYERS, windows[w][0], windows[w][1], chunks[c],
                     (int)generator_below(&generator, KINDS), *isa);
          assert_streams(&m, lengths[length], generator_below(&generator, 3) ? 0 : 500, &generator, NULL);
        }
      }
    }
  }
}

static void test_random(void **state) {
  (void)state;
  struct generator generator = {43};
  for (int i = 0; i < USUAL_OR_LONG(60, 1000); i++) {
    struct model m;
    const int layers = 1 + (int)generator_below(&generator, MOST_LAYERS);
    const int64_t left = generator_below(&generator, 20), right = generator_below(&generator, 9);
    make_model(&m, layers, left, right, 1 + generator_below(&generator, 20),
               (int)generator_below(&generator, KINDS), NULL);
    assert_streams(&m, generator_below(&generator, 80), 0, &generator, NULL);
  }
}

/* Rules of models: window, chunk_size, chunk_left, chunk_right, causal. */
struct rules {
  int64_t left, right, size, chunk_left, chunk_right;
  int causal;
};

static void set_rules(struct model *m, const struct rules *rules) {
  m->problem.window_left = rules->left;
  m->problem.window_right = rules->right;
  m->problem.chunk_size = rules->size;
  m->problem.chunk_left = rules->chunk_left;
  m->problem.chunk_right = rules->chunk_right;
  m->problem.causal = rules->causal;
}

/* Chunks larger and smaller than what is computed at once. */
static void test_chunks(void **state) {
  (void)state;
  enum { NONE = FOVEA_UNLIMITED };
  static const struct rules rules[] = {
      {NONE, NONE, 4, 8, 0, 0},     /* WeNet: two chunks to the left */
      {NONE, NONE, 16, 0, 0, 0},    /* chunks by themselves */
      {NONE, NONE, 5, 7, 3, 0},     /* Emformer's look-ahead; left context that cuts a chunk */
      {NONE, NONE, 1, 3, 2, 0},     /* chunks of one frame are a window */
      {9, NONE, 6, NONE, 1, 0},     /* a window to the left, chunks to the right */
      {NONE, 2, 6, 12, NONE, 0},    /* and the other way round */
      {4, 3, 6, 2, 2, 0},           /* both */
      {NONE, NONE, 7, 14, NONE, 1}, /* causal within chunks of the left */
      {NONE, NONE, 50, 100, 60, 0}, /* longer than utterances */
  };
  static const int64_t lengths[] = {5, 41, 16, 0, 1, 4, 130}, chunks[] = {3, 200, 1, 8};
  struct generator generator = {73};
  for (const char *const *isa = usable_isas(); *isa; isa++) {
    if (is_partial(*isa)) continue;
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
      for (int length = 0; length < USUAL_OR_LONG(3, 7); length++)
        for (int c = 0; c < USUAL_OR_LONG(2, 4); c++) {
          struct model m;
          make_model(&m, 1 + ((int)r + length + c) % MOST_LAYERS, 0, 0, chunks[c],
                     (int)generator_below(&generator, KINDS) & ~CAUSAL, *isa);
          set_rules(&m, &rules[r]);
          assert_streams(&m, lengths[length], generator_below(&generator, 3) ? 0 : 500, &generator, NULL);
        }
  }
}

/* The end of a chunk lets more rows out than are pushed, so they may not lie over the frames. */
static void test_rows_of_chunks(void **state) {
  (void)state;
  static float x[20 * DIM], y[20 * DIM];
  struct model m;
  int64_t written;
  fovea_error error;
  memcpy(x, numbers, sizeof x);
  make_model(&m, 2, 0, 0, 3, NORM_FIRST, NULL);
  set_rules(&m, &(struct rules){FOVEA_UNLIMITED, FOVEA_UNLIMITED, 8, 8, 0, 0});
  struct stream s = stream_create(&m, GUARD_AT_END);
  assert_int_equal(fovea_nn_stream_rows(s.stream, 7), 0);
  assert_int_equal(fovea_nn_stream_rows(s.stream, 17), 16);
  assert_int_equal(fovea_nn_stream_push(s.stream, 7, x, NULL, &written, NULL, NULL), FOVEA_OK);
  assert_int_equal(written, 0);
  assert_int_equal(fovea_nn_stream_rows(s.stream, 1), 8);
  assert_int_equal(fovea_nn_stream_push(s.stream, 1, x, x, &written, NULL, &error), FOVEA_ERROR_OVERLAP);
  assert_int_equal(fovea_nn_stream_pending(s.stream), 7);
  assert_int_equal(fovea_nn_stream_push(s.stream, 1, x + 7 * DIM, y, &written, NULL, &error), FOVEA_OK);
  assert_int_equal(written, 8);
  assert_int_equal(fovea_nn_stream_rows(s.stream, -1), 0);
  assert_int_equal(fovea_nn_stream_rows(s.stream, INT64_MAX), 0);
  assert_int_equal(fovea_nn_stream_rows(NULL, 1), 0);
  stream_destroy(&s);
}

/* Exact scratch, from start to end of a long utterance: neither it nor the stream grows. */
static void test_long(void **state) {
  (void)state;
  const int64_t frames = 10000;
  struct generator generator = {47};
  struct model m;
  fovea_execution execution;
  make_model(&m, 2, 9, 4, 8, NORM_FIRST | ROTARY, NULL);
  float *x = frames_create(frames, 0, &generator), *y = malloc((size_t)(frames * DIM) * sizeof *y);
  float *expected = malloc((size_t)(frames * DIM) * sizeof *expected);
  assert_non_null(y);
  assert_non_null(expected);
  compute_whole(&m, frames, x, expected);
  struct stream s = stream_create(&m, GUARD_AT_START);
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch_size = fovea_nn_stream_scratch_size(s.stream, 1);
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  stream_all(&m, s.stream, (struct cut){0, {5}}, frames, x, y, &execution);
  assert_memory_equal(y, expected, (size_t)(frames * DIM) * sizeof *y);
  assert_int_equal(fovea_nn_stream_scratch_size(s.stream, 1), execution.scratch_size);
  memcpy(y, x, (size_t)(frames * DIM) * sizeof *y); /* in place: rows come out behind the frames */
  stream_all(&m, s.stream, (struct cut){7, {0}}, frames, y, y, &execution);
  assert_memory_equal(y, expected, (size_t)(frames * DIM) * sizeof *y);
  assert_true(guarded_slack_intact(&scratch));
  guarded_destroy(&scratch);
  stream_destroy(&s);
  free(x);
  free(y);
  free(expected);
}

static void test_threads(void **state) {
  (void)state;
  struct generator generator = {53};
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {.order = (enum task_order)order};
    struct model m;
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = 3;
    make_model(&m, 3, 30, 5, 150, GATE | order, NULL);
    assert_streams(&m, 300, 0, &generator, &execution); /* OpenMP */
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_streams(&m, 300, 0, &generator, &execution);
  }
}

enum { STREAMS = 5, FRAMES = 90 };

/* Streams of several models, which begin and end when they like, at once: the bits of each by itself. */
static void check_several(const fovea_execution *execution, uint64_t seed) {
  static const struct rules rules[STREAMS] = {{5, 3, 0, 0, 0, 0},
                                              {FOVEA_UNLIMITED, FOVEA_UNLIMITED, 8, 16, 0, 0},
                                              {5, 3, 0, 0, 0, 0},
                                              {9, FOVEA_UNLIMITED, 6, FOVEA_UNLIMITED, 1, 0},
                                              {4, FOVEA_UNLIMITED, 0, 0, 0, 1}};
  static float expected[STREAMS][FRAMES * DIM], y[STREAMS][FRAMES * DIM];
  struct generator generator = {seed};
  struct model m[STREAMS];
  struct stream s[STREAMS];
  fovea_nn_stream *streams[STREAMS];
  float *x[STREAMS];
  int64_t lengths[STREAMS], begins[STREAMS], done[STREAMS] = {0}, out[STREAMS] = {0}, utterances = 0;
  for (int i = 0; i < STREAMS; i++) {
    make_model(&m[i], 1 + i % MOST_LAYERS, 0, 0, 4 + i, i % 2 ? NORM_FIRST | ROTARY : GATE, NULL);
    set_rules(&m[i], &rules[i]);
    s[i] = stream_create(&m[i], i % 2 ? GUARD_AT_END : GUARD_AT_START);
    streams[i] = s[i].stream;
    lengths[i] = FRAMES - 17 * i;
    begins[i] = 3 * i;
    x[i] = frames_create(FRAMES, 0, &generator);
    compute_whole(&m[i], lengths[i], x[i], expected[i]);
  }
  for (int round = 0; utterances < 2 * STREAMS; round++) {
    int64_t rows[STREAMS], written[STREAMS];
    const float *from[STREAMS];
    float *to[STREAMS];
    int ends[STREAMS];
    fovea_error error;
    for (int i = 0; i < STREAMS; i++) {
      const int64_t left = lengths[i] - done[i], most = generator_below(&generator, 20);
      rows[i] = round < begins[i] ? 0 : most < left ? most : left;
      ends[i] = round >= begins[i] && done[i] + rows[i] == lengths[i];
      from[i] = x[i] + done[i] * DIM;
      to[i] = y[i] + out[i] * DIM;
    }
    if (fovea_nn_streams_push(streams, STREAMS, rows, from, to, ends, written, execution, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
    for (int i = 0; i < STREAMS; i++) {
      done[i] += rows[i];
      out[i] += written[i];
      assert_int_equal(out[i], ends[i] ? lengths[i] : rows_out(&m[i], done[i]));
      if (!ends[i]) continue;
      assert_memory_equal(y[i], expected[i], (size_t)(lengths[i] * DIM) * sizeof(float));
      memset(y[i], 0xff, sizeof y[i]);
      done[i] = out[i] = 0; /* the next utterance */
      utterances++;
    }
  }
  for (int i = 0; i < STREAMS; i++) {
    stream_destroy(&s[i]);
    free(x[i]);
  }
}

static void test_several(void **state) {
  (void)state;
  fovea_execution execution;
  fovea_execution_init(&execution);
  for (int threads = 1; threads <= 3; threads += 2) {
    execution.threads = threads;
    check_several(&execution, 79);
  }
  struct executor executor = {.order = (enum task_order)1};
  execution.parallel_for = threads_for;
  execution.parallel_context = &executor;
  check_several(&execution, 83);
}

/* What several streams at once refuse. No stream has changed then, and nothing is written. */
static void test_several_refused(void **state) {
  (void)state;
  static float x[2][9 * DIM], y[2][20 * DIM], untouched[2][20 * DIM], expected[9 * DIM];
  struct model m;
  fovea_error error;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 2;
  memcpy(x, numbers, sizeof x);
  memset(y, 0x3a, sizeof y);
  memset(untouched, 0x3a, sizeof untouched);
  make_model(&m, 2, 3, 1, 4, ROTARY, NULL);
  struct stream s[2] = {stream_create(&m, GUARD_AT_END), stream_create(&m, GUARD_AT_END)};
  fovea_nn_stream *streams[2] = {s[0].stream, s[1].stream}, *twice[2] = {s[0].stream, s[0].stream};
  fovea_nn_stream *missing[2] = {s[0].stream, NULL};
  int64_t rows[2] = {9, 9}, negative[2] = {9, -1}, written[2];
  const float *from[2] = {x[0], x[1]}, *no_frames[2] = {x[0], NULL};
  float *to[2] = {y[0], y[1]}, *one[2] = {y[0], y[0] + DIM}, *over_x[2] = {x[1], y[1]};
  float *over_stream[2] = {(float *)(void *)s[1].memory.data, y[1]}, *over_weights[2] = {y[0], numbers};
  const int ends[2] = {1, 0}, wrong[2] = {0, 2};
#define SEVERAL_REFUSED(streams_, rows_, from_, to_, ends_, status_, word_)                                        \
  do {                                                                                                             \
    written[0] = written[1] = 7;                                                                                   \
    assert_int_equal(fovea_nn_streams_push(streams_, 2, rows_, from_, to_, ends_, written, &execution, &error),    \
                     status_);                                                                                     \
    if (!strstr(error.text, word_)) fail_msg("%s: no %s", error.text, word_);                                      \
    assert_memory_equal(y, untouched, sizeof y);                                                                   \
    assert_int_equal(fovea_nn_stream_pending(streams[0]) + fovea_nn_stream_pending(streams[1]), 0);                \
    assert_int_equal(written[0] + written[1], 0);                                                                  \
  } while (0)
  SEVERAL_REFUSED(twice, rows, from, to, NULL, FOVEA_ERROR_OVERLAP, "streams[1] is the same stream as streams[0]");
  SEVERAL_REFUSED(missing, rows, from, to, NULL, FOVEA_ERROR_NULL, "streams[1]: stream is NULL");
  SEVERAL_REFUSED(streams, negative, from, to, NULL, FOVEA_ERROR_SIZE, "streams[1]: rows is -1");
  SEVERAL_REFUSED(streams, rows, no_frames, to, ends, FOVEA_ERROR_NULL, "streams[1]: x is NULL");
  SEVERAL_REFUSED(streams, rows, from, one, ends, FOVEA_ERROR_OVERLAP, "y shares memory with y of another stream");
  SEVERAL_REFUSED(streams, rows, from, over_x, NULL, FOVEA_ERROR_OVERLAP,
                  "y shares memory with x of another stream");
  SEVERAL_REFUSED(streams, rows, from, over_stream, NULL, FOVEA_ERROR_OVERLAP,
                  "y shares memory with another stream");
  SEVERAL_REFUSED(streams, rows, from, over_weights, NULL, FOVEA_ERROR_OVERLAP, "y shares memory with weights");
  SEVERAL_REFUSED(streams, rows, from, to, wrong, FOVEA_ERROR_SIZE, "streams[1]: ends is 2");
  execution.scratch_size = fovea_nn_streams_scratch_size(streams, 2, 2);
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
  execution.scratch = scratch.data;
  execution.scratch_size--;
  SEVERAL_REFUSED(streams, rows, from, to, NULL, FOVEA_ERROR_SCRATCH, "scratch");
  execution.scratch_size++;
  to[1] = (float *)(void *)scratch.data;
  SEVERAL_REFUSED(streams, rows, from, to, NULL, FOVEA_ERROR_OVERLAP, "scratch shares memory with y");
  to[1] = y[1];
  assert_int_equal(fovea_nn_streams_push(streams, 2, rows, from, to, ends, written, &execution, &error), FOVEA_OK);
  assert_true(written[0] == 9 && written[1] == 7);
  compute_whole(&m, 9, x[0], expected);
  assert_memory_equal(y[0], expected, sizeof expected);
  assert_int_equal(fovea_nn_streams_push(NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, &error), FOVEA_OK);
  assert_int_equal(fovea_nn_streams_push(NULL, 1, rows, from, to, NULL, written, NULL, &error), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_nn_streams_scratch_size(NULL, 2, 1), 0);
  guarded_destroy(&scratch);
  stream_destroy(&s[0]);
  stream_destroy(&s[1]);
}

static void *count_allocation(void *context, size_t size, size_t alignment) {
  const size_t before = sizeof(void *);
  char *memory = malloc(size + alignment + before);
  (*(int *)context)++;
  if (!memory) return NULL;
  char *aligned = memory + before;
  aligned += (alignment - (uintptr_t)aligned % alignment) % alignment;
  memcpy(aligned - before, &memory, before);
  return aligned;
}

static void release(void *context, void *pointer) {
  char *memory;
  (void)context;
  memcpy(&memory, (char *)pointer - sizeof memory, sizeof memory);
  free(memory);
}

static void *allocate_nothing(void *context, size_t size, size_t alignment) {
  (void)context, (void)size, (void)alignment;
  return NULL;
}

/* One allocation a call, and none with scratch. Without memory a call fails, and can be tried again. */
static void test_allocations(void **state) {
  (void)state;
  static float x[6 * DIM], y[6 * DIM], expected[6 * DIM];
  struct model m;
  int count = 0;
  int64_t written;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  make_model(&m, 2, 3, 1, 6, ROTARY, NULL);
  memcpy(x, numbers, sizeof x);
  compute_whole(&m, 6, x, expected);
  m.problem.allocator = (fovea_allocator){&count, count_allocation, release};
  struct stream s = stream_create(&m, GUARD_AT_END);
  stream_all(&m, s.stream, (struct cut){6, {0}}, 6, x, y, &execution);
  assert_int_equal(count, 2);
  assert_memory_equal(y, expected, sizeof y);
  execution.scratch_size = fovea_nn_stream_scratch_size(s.stream, 1);
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
  execution.scratch = scratch.data;
  stream_all(&m, s.stream, (struct cut){1, {0}}, 6, x, y, &execution);
  assert_int_equal(count, 2);
  guarded_destroy(&scratch);
  stream_destroy(&s);
  m.problem.allocator = (fovea_allocator){&count, allocate_nothing, release};
  s = stream_create(&m, GUARD_AT_END);
  assert_int_equal(fovea_nn_stream_push(s.stream, 6, x, y, &written, NULL, NULL), FOVEA_ERROR_MEMORY);
  assert_int_equal(fovea_nn_stream_pending(s.stream), 0);
  stream_destroy(&s);
}

/* An utterance that is dropped leaves nothing behind. */
static void test_reset(void **state) {
  (void)state;
  struct generator generator = {59};
  struct model m;
  int64_t written;
  make_model(&m, 3, 4, 3, 6, ROTARY, NULL);
  float *x = frames_create(50, 0, &generator), *nan = frames_create(50, 1, &generator);
  static float y[50 * DIM], expected[50 * DIM];
  compute_whole(&m, 50, x, expected);
  struct stream s = stream_create(&m, GUARD_AT_END);
  for (int64_t frames = 0; frames < 50; frames += 7) {
    assert_int_equal(fovea_nn_stream_push(s.stream, frames, nan, y, &written, NULL, NULL), FOVEA_OK);
    fovea_nn_stream_reset(s.stream);
    assert_int_equal(fovea_nn_stream_pending(s.stream), 0);
    stream_all(&m, s.stream, (struct cut){5, {0}}, 50, x, y, NULL);
    assert_memory_equal(y, expected, sizeof y);
  }
  fovea_nn_stream_reset(NULL);
  assert_int_equal(fovea_nn_stream_pending(NULL), 0);
  stream_destroy(&s);
  free(x);
  free(nan);
}

/* ---- Refusals ---- */

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    static _Alignas(64) unsigned char memory[1 << 20];                                                             \
    struct model m;                                                                                                \
    fovea_error error = {FOVEA_OK, ""};                                                                            \
    size_t size = sizeof memory;                                                                                   \
    fovea_nn_stream *stream = (fovea_nn_stream *)(void *)memory;                                                   \
    make_model(&m, 2, 5, 3, 4, NORM_FIRST | ROTARY, NULL);                                                         \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_stream_create_in(&m.streaming, memory, size, &stream, &error), status);              \
    assert_null(stream);                                                                                           \
    if (!strstr(error.text, word)) fail_msg("%s: no %s", error.text, word);                                        \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static const int64_t list[2] = {0, 0};
  REFUSED(m.streaming.struct_size--, FOVEA_ERROR_STRUCT_SIZE, "streaming");
  REFUSED(m.streaming.layers = 0, FOVEA_ERROR_SIZE, "layers");
  REFUSED(m.streaming.chunk = 0, FOVEA_ERROR_SIZE, "chunk");
  REFUSED(m.streaming.blocks = NULL, FOVEA_ERROR_NULL, "blocks");
  REFUSED(m.streaming.problem = NULL, FOVEA_ERROR_NULL, "problem");
  REFUSED(m.streaming.sinks = sinks, FOVEA_ERROR_UNUSED, "sinks");
  REFUSED(m.problem.sink = FOVEA_SINK_PER_HEAD, FOVEA_ERROR_NULL, "sinks");
  REFUSED((m.problem.sink = FOVEA_SINK_PER_HEAD, m.streaming.sinks = (float *)(void *)((char *)sinks + 1)),
          FOVEA_ERROR_ALIGNMENT, "sinks");
  REFUSED(m.problem.window_left = FOVEA_UNLIMITED, FOVEA_ERROR_RULE, "window_left");
  REFUSED(m.problem.window_right = FOVEA_UNLIMITED, FOVEA_ERROR_RULE, "window_right");
  REFUSED(m.problem.window_left = -2, FOVEA_ERROR_RULE, "window_left");
  REFUSED(m.problem.window_right = -2, FOVEA_ERROR_RULE, "window_right");
  REFUSED(m.problem.window_left = INT64_C(1) << 45, FOVEA_ERROR_SIZE, "the stream needs");
  REFUSED(m.problem.causal = 2, FOVEA_ERROR_RULE, "causal");
  REFUSED(m.problem.batch = 2, FOVEA_ERROR_SIZE, "batch");
  REFUSED(m.problem.kv_heads = 3, FOVEA_ERROR_SIZE, "kv_heads");
  REFUSED(m.problem.kv_len = 9, FOVEA_ERROR_UNUSED, "kv_len");
  REFUSED(m.problem.score_output = FOVEA_SCORES_WEIGHTS, FOVEA_ERROR_UNUSED, "score_output");
  REFUSED(m.problem.offset = 0, FOVEA_ERROR_UNUSED, "offset");
  REFUSED(m.problem.chunk_size = -1, FOVEA_ERROR_RULE, "chunk_size");
  REFUSED(m.problem.chunk_left = 8, FOVEA_ERROR_UNUSED, "chunk_left of the problem is 8 and would not be used");
  REFUSED(m.problem.chunk_right = -1, FOVEA_ERROR_UNUSED, "chunk_right of the problem is -1 and would not be used");
  REFUSED((m.problem.chunk_size = 8, m.problem.chunk_left = -2), FOVEA_ERROR_RULE, "chunk_left");
  REFUSED((m.problem.chunk_size = 8, m.problem.chunk_left = m.problem.window_left = FOVEA_UNLIMITED),
          FOVEA_ERROR_RULE, "window_left, or chunk_size and chunk_left");
  REFUSED((m.problem.chunk_size = 8, m.problem.chunk_right = m.problem.window_right = FOVEA_UNLIMITED),
          FOVEA_ERROR_RULE, "window_right, or chunk_size and chunk_right");
  REFUSED(m.problem.mask_type = FOVEA_MASK_BOOL, FOVEA_ERROR_UNUSED, "mask_type");
  REFUSED(m.problem.mask_keys = 1, FOVEA_ERROR_UNUSED, "mask_keys");
  REFUSED(m.problem.segmented = 1, FOVEA_ERROR_UNUSED, "segmented");
  REFUSED(m.problem.kv_lens = list, FOVEA_ERROR_UNUSED, "kv_lens");
  REFUSED(m.problem.keys_begin = 1, FOVEA_ERROR_UNUSED, "keys_begin");
  REFUSED(m.problem.to_state = 1, FOVEA_ERROR_UNUSED, "to_state");
  REFUSED(m.problem.q_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "type");
  REFUSED(m.problem.q_strides.row = 77, FOVEA_ERROR_UNUSED, "stride");
  REFUSED(m.problem.score_strides.row = 77, FOVEA_ERROR_UNUSED, "stride");
  REFUSED(m.problem.mask_strides.row = 77, FOVEA_ERROR_UNUSED, "stride");
  REFUSED(m.problem.scale = INFINITY, FOVEA_ERROR_SCALE, "scale");
  REFUSED(m.problem.isa = "pdp11", FOVEA_ERROR_ISA_UNKNOWN, "pdp11");
  REFUSED(size = 64, FOVEA_ERROR_SIZE, "the stream needs");
}

static void test_refused_layers(void **state) {
  (void)state;
  REFUSED(m.blocks[1] = NULL, FOVEA_ERROR_NULL, "blocks[1]");
  REFUSED(m.parts[1].block.self = NULL, FOVEA_ERROR_NULL, "blocks[1]");
  REFUSED(m.parts[1].block.cross = &m.parts[0].attention, FOVEA_ERROR_UNUSED, "cross of blocks[1]");
  REFUSED(m.parts[0].attention.key = NULL, FOVEA_ERROR_NULL, "key");
  REFUSED(m.parts[1].attention.key = m.parts[1].attention.value = NULL, FOVEA_ERROR_NULL, "key");
  REFUSED(m.parts[1].attention.bias_key = m.parts[1].attention.bias_value = sinks, FOVEA_ERROR_UNUSED, "bias_key");
  REFUSED(m.parts[1].linears[1].in--, FOVEA_ERROR_SIZE, "in of key");
  REFUSED(m.parts[1].linears[2].out--, FOVEA_ERROR_SIZE, "out of value");
  REFUSED(m.parts[1].linears[5].weights = NULL, FOVEA_ERROR_NULL, "weights");
  REFUSED(m.parts[1].linears[4].isa = "pdp11", FOVEA_ERROR_ISA_UNKNOWN, "pdp11");
  REFUSED(m.parts[0].norms[0].eps = -1, FOVEA_ERROR_SCALE, "eps");
  REFUSED(m.parts[1].norms[1].dim++, FOVEA_ERROR_SIZE, "norm");
  REFUSED(m.parts[1].block.norm_first = 2, FOVEA_ERROR_RULE, "norm_first");
  REFUSED(m.parts[1].block.struct_size = 3, FOVEA_ERROR_STRUCT_SIZE, "block");
  REFUSED(m.rotary.dims = 8, FOVEA_ERROR_ROTARY, "dims");
  assert_int_equal(fovea_nn_stream_size(NULL), 0);
  assert_int_equal(fovea_nn_stream_scratch_size(NULL, 1), 0);
}

#define PUSH_REFUSED(rows, from, to, with, status, word)                                                           \
  do {                                                                                                             \
    fovea_error error = {FOVEA_OK, ""};                                                                            \
    int64_t count = 7;                                                                                             \
    assert_int_equal(fovea_nn_stream_push(s.stream, rows, from, to, &count, with, &error), status);                \
    assert_int_equal(count, 0);                                                                                    \
    if (!strstr(error.text, word)) fail_msg("%s: no %s", error.text, word);                                        \
  } while (0)

/* A refused push changes nothing. */
static void test_refused_pushes(void **state) {
  (void)state;
  static float y[40 * DIM], expected[40 * DIM];
  struct generator generator = {61};
  struct model m;
  int64_t written;
  fovea_execution execution;
  fovea_execution_init(&execution);
  make_model(&m, 1, 5, 2, 4, ROTARY, NULL);
  float cosines[40 * 2], sines[40 * 2];
  memcpy(cosines, numbers, sizeof cosines);
  memcpy(sines, numbers + 100, sizeof sines);
  m.rotary.cosines = cosines;
  m.rotary.sines = sines;
  m.rotary.table_rows = 40;
  float *x = frames_create(40, 0, &generator);
  compute_whole(&m, 40, x, expected);
  struct stream s = stream_create(&m, GUARD_AT_END);
  assert_int_equal(fovea_nn_stream_push(s.stream, 30, x, y, &written, NULL, NULL), FOVEA_OK);
  PUSH_REFUSED(-1, x, y, NULL, FOVEA_ERROR_SIZE, "rows");
  PUSH_REFUSED(1, NULL, y, NULL, FOVEA_ERROR_NULL, "x");
  PUSH_REFUSED(1, x, NULL, NULL, FOVEA_ERROR_NULL, "y");
  PUSH_REFUSED(11, x, y, NULL, FOVEA_ERROR_POSITION, "40");
  PUSH_REFUSED(3, x, x + DIM, NULL, FOVEA_ERROR_OVERLAP, "x");
  PUSH_REFUSED(3, x, (float *)(void *)s.memory.data, NULL, FOVEA_ERROR_OVERLAP, "stream");
  PUSH_REFUSED(1, (float *)(void *)((char *)x + 1), y, NULL, FOVEA_ERROR_ALIGNMENT, "x");
  execution.scratch = s.memory.data;
  execution.scratch_size = 64;
  PUSH_REFUSED(1, x, y, &execution, FOVEA_ERROR_SCRATCH, "scratch");
  execution.scratch_size = SIZE_MAX / 2;
  PUSH_REFUSED(1, x, y, &execution, FOVEA_ERROR_OVERLAP, "scratch");
  assert_int_equal(fovea_nn_stream_push(s.stream, 1, x, y, NULL, NULL, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_nn_stream_push(NULL, 1, x, y, &written, NULL, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_nn_stream_finish(s.stream, NULL, &written, NULL, NULL), FOVEA_ERROR_NULL);
  assert_int_equal(fovea_nn_stream_push(s.stream, 0, NULL, NULL, &written, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_nn_stream_push(s.stream, 10, x + 30 * DIM, y + 28 * DIM, &written, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_nn_stream_finish(s.stream, y + 38 * DIM, &written, NULL, NULL), FOVEA_OK);
  assert_memory_equal(y, expected, sizeof y);
  stream_destroy(&s);
  free(x);
}

/* Neither rows nor scratch may lie over anything that the layers read; nothing has changed then. */
static void test_refused_outputs(void **state) {
  (void)state;
  static float before[sizeof numbers / sizeof *numbers], y[40 * DIM], expected[40 * DIM];
  struct generator generator = {71};
  struct model m;
  fovea_execution execution;
  fovea_execution_init(&execution);
  make_model(&m, 3, 5, 0, 4, NORM_FIRST | GATE | ROTARY | SINKS, NULL);
  m.streaming.sinks = numbers + 59000;
  m.rotary.cosines = numbers + 58000;
  m.rotary.sines = numbers + 58500;
  m.rotary.table_rows = 40;
  memcpy(before, numbers, sizeof before);
  float *x = frames_create(40, 0, &generator);
  struct stream s = stream_create(&m, GUARD_AT_END);
  stream_all(&m, s.stream, (struct cut){9, {0}}, 40, x, expected, NULL);
  for (int layer = 0; layer < 3; layer++) {
    float *next = numbers + layer * 20000;
    for (int i = 0; i < 7; i++) {
      PUSH_REFUSED(1, x, next + 1000 * i, NULL, FOVEA_ERROR_OVERLAP, "y shares memory with weights");
      PUSH_REFUSED(1, x, next + 8000 + 100 * i, NULL, FOVEA_ERROR_OVERLAP, "y shares memory with bias");
    }
    for (int i = 0; i < 2; i++) {
      PUSH_REFUSED(1, x, next + 9000 + 100 * i, NULL, FOVEA_ERROR_OVERLAP, "y shares memory with gamma");
      m.parts[layer].norms[i].beta = y;
      PUSH_REFUSED(1, x, y + DIM - 1, NULL, FOVEA_ERROR_OVERLAP, "y shares memory with beta");
      m.parts[layer].norms[i].beta = NULL;
    }
  }
  PUSH_REFUSED(1, x, numbers + 58000 + 79, NULL, FOVEA_ERROR_OVERLAP, "y shares memory with cosines");
  PUSH_REFUSED(1, x, numbers + 58500 + 79, NULL, FOVEA_ERROR_OVERLAP, "y shares memory with sines");
  PUSH_REFUSED(1, x, numbers + 59000 + 11, NULL, FOVEA_ERROR_OVERLAP, "y shares memory with sinks");
  execution.threads = 1;
  execution.scratch_size = fovea_nn_stream_scratch_size(s.stream, 1);
  execution.scratch = (void *)((uintptr_t)(numbers + 100) / 64 * 64);
  PUSH_REFUSED(1, x, y, &execution, FOVEA_ERROR_OVERLAP, "scratch shares memory with weights");
  assert_memory_equal(numbers, before, sizeof before);
  stream_all(&m, s.stream, (struct cut){9, {0}}, 40, x, y, NULL);
  assert_memory_equal(y, expected, sizeof y);
  stream_destroy(&s);
  m.rotary.cosines = m.rotary.sines = NULL;
  m.rotary.table_rows = 0;
  static double frequencies[2] = {1, 0.5};
  m.rotary.frequencies = frequencies;
  s = stream_create(&m, GUARD_AT_END);
  PUSH_REFUSED(1, x, (float *)(void *)(frequencies + 1), NULL, FOVEA_ERROR_OVERLAP, "memory with frequencies");
  stream_destroy(&s);
  free(x);
}

/* A call that fails while it computes, as after a change of a layer, leaves a stream that must be reset. */
static void test_broken(void **state) {
  (void)state;
  static float y[40 * DIM], expected[40 * DIM];
  struct generator generator = {67};
  struct model m;
  make_model(&m, 2, 5, 0, 4, NORM_FIRST | ROTARY, NULL);
  float *x = frames_create(40, 0, &generator);
  compute_whole(&m, 40, x, expected);
  struct stream s = stream_create(&m, GUARD_AT_END);
  m.parts[1].linears[5].isa = "pdp11"; /* seen before anything is computed */
  PUSH_REFUSED(1, x, y, NULL, FOVEA_ERROR_ISA_UNKNOWN, "pdp11");
  m.parts[1].linears[5].isa = NULL;
  static const float angles[2] = {1, 0};
  m.rotary.cosines = m.rotary.sines = angles;
  m.rotary.table_rows = 0;
  PUSH_REFUSED(1, x, y, NULL, FOVEA_ERROR_POSITION, "position");
  m.rotary.cosines = m.rotary.sines = NULL;
  PUSH_REFUSED(1, x, y, NULL, FOVEA_ERROR_STATE, "reset");
  fovea_nn_stream_reset(s.stream);
  stream_all(&m, s.stream, (struct cut){9, {0}}, 40, x, y, NULL);
  assert_memory_equal(y, expected, sizeof y);
  stream_destroy(&s);
  free(x);
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {37};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = generator_uniform(&generator);
  for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) sinks[i] = generator_uniform(&generator);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_rows_of_chunks),
      cmocka_unit_test(test_several),
      cmocka_unit_test(test_several_refused),
      cmocka_unit_test(test_long),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_reset),
      cmocka_unit_test(test_allocations),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_broken),
      cmocka_unit_test(test_refused_layers),
      cmocka_unit_test(test_refused_pushes),
      cmocka_unit_test(test_refused_outputs),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
