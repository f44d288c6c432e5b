/* Several streams at once: the bits of each by itself; what is refused. */
#include "nn/stream_model.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"

#include <stdlib.h>
#include <string.h>

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
    assert_error_says(&error, word_);                                                                              \
    assert_memory_equal(y, untouched, sizeof y);                                                                   \
    assert_int_equal(fovea_nn_stream_pending(streams[0]) + fovea_nn_stream_pending(streams[1]), 0);                \
    assert_int_equal(written[0] + written[1], 0);                                                                  \
  } while (0)
  SEVERAL_REFUSED(twice, rows, from, to, NULL, FOVEA_ERROR_ARGUMENT, "streams[1] is the same stream as streams[0]");
  SEVERAL_REFUSED(missing, rows, from, to, NULL, FOVEA_ERROR_ARGUMENT, "streams[1]: stream is NULL");
  SEVERAL_REFUSED(streams, negative, from, to, NULL, FOVEA_ERROR_ARGUMENT, "streams[1]: rows is -1");
  SEVERAL_REFUSED(streams, rows, no_frames, to, ends, FOVEA_ERROR_ARGUMENT, "streams[1]: x is NULL");
  SEVERAL_REFUSED(streams, rows, from, one, ends, FOVEA_ERROR_ARGUMENT, "y shares memory with y of another stream");
  SEVERAL_REFUSED(streams, rows, from, over_x, NULL, FOVEA_ERROR_ARGUMENT,
                  "y shares memory with x of another stream");
  SEVERAL_REFUSED(streams, rows, from, over_stream, NULL, FOVEA_ERROR_ARGUMENT,
                  "y shares memory with another stream");
  SEVERAL_REFUSED(streams, rows, from, over_weights, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with weights");
  SEVERAL_REFUSED(streams, rows, from, to, wrong, FOVEA_ERROR_ARGUMENT, "streams[1]: ends is 2");
  execution.scratch_size =
      measured(fovea_nn_streams_scratch_size(streams, 2, with_threads(2), measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
  execution.scratch = scratch.data;
  execution.scratch_size--;
  SEVERAL_REFUSED(streams, rows, from, to, NULL, FOVEA_ERROR_SPACE, "scratch_size");
  execution.scratch_size++;
  to[1] = (float *)(void *)scratch.data;
  SEVERAL_REFUSED(streams, rows, from, to, NULL, FOVEA_ERROR_ARGUMENT, "scratch shares memory with y");
  to[1] = y[1];
  assert_int_equal(fovea_nn_streams_push(streams, 2, rows, from, to, ends, written, &execution, &error), FOVEA_OK);
  assert_true(written[0] == 9 && written[1] == 7);
  compute_whole(&m, 9, x[0], expected);
  assert_memory_equal(y[0], expected, sizeof expected);
  assert_int_equal(fovea_nn_streams_push(NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, &error), FOVEA_OK);
  assert_int_equal(fovea_nn_streams_push(NULL, 1, rows, from, to, NULL, written, NULL, &error),
                   FOVEA_ERROR_ARGUMENT);
  assert_int_equal(measured(fovea_nn_streams_scratch_size(NULL, 2, with_threads(1), measured_size(), NULL)), 0);
  guarded_destroy(&scratch);
  stream_destroy(&s[0]);
  stream_destroy(&s[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_several),
      cmocka_unit_test(test_several_refused),
  };
  return cmocka_run_group_tests(tests, make_numbers, NULL);
}
