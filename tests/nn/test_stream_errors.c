/* What streams refuse, with texts; streams whose calls fail. */
#include "nn/stream_model.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    static _Alignas(64) unsigned char memory[1 << 20];                                                             \
    struct model m;                                                                                                \
    fovea_error error = {.text = ""};                                                                              \
    size_t size = sizeof memory;                                                                                   \
    fovea_nn_stream *stream = (fovea_nn_stream *)(void *)memory;                                                   \
    make_model(&m, 2, 5, 3, 4, NORM_FIRST | ROTARY, NULL);                                                         \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_stream_create_in(&m.streaming, memory, size, &stream, &error), status);              \
    assert_null(stream);                                                                                           \
    assert_error_says(&error, word);                                                                               \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static const int64_t list[2] = {0, 0};
  REFUSED(m.streaming.struct_size--, FOVEA_ERROR_ARGUMENT, "streaming");
  REFUSED(m.streaming.layers = 0, FOVEA_ERROR_ARGUMENT, "layers");
  REFUSED(m.streaming.chunk = 0, FOVEA_ERROR_ARGUMENT, "chunk");
  REFUSED(m.streaming.blocks = NULL, FOVEA_ERROR_ARGUMENT, "blocks");
  REFUSED(m.streaming.problem = NULL, FOVEA_ERROR_ARGUMENT, "problem");
  REFUSED(m.streaming.sink = sinks, FOVEA_ERROR_UNUSED, "sink");
  REFUSED(m.problem.sink = FOVEA_SINK_PER_HEAD, FOVEA_ERROR_ARGUMENT, "sink");
  REFUSED((m.problem.sink = FOVEA_SINK_PER_HEAD, m.streaming.sink = (float *)(void *)((char *)sinks + 1)),
          FOVEA_ERROR_ARGUMENT, "sink");
  REFUSED(m.problem.window_left = FOVEA_UNLIMITED, FOVEA_ERROR_ARGUMENT, "window_left");
  REFUSED(m.problem.window_right = FOVEA_UNLIMITED, FOVEA_ERROR_ARGUMENT, "window_right");
  REFUSED(m.problem.window_left = -2, FOVEA_ERROR_ARGUMENT, "window_left");
  REFUSED(m.problem.window_right = -2, FOVEA_ERROR_ARGUMENT, "window_right");
  REFUSED(m.problem.window_left = INT64_C(1) << 45, FOVEA_ERROR_SPACE, "size: the stream needs");
  REFUSED(m.problem.causal = 2, FOVEA_ERROR_ARGUMENT, "causal");
  REFUSED(m.problem.batch = 2, FOVEA_ERROR_ARGUMENT, "batch");
  REFUSED(m.problem.kv_heads = 3, FOVEA_ERROR_ARGUMENT, "key.out: kv_heads");
  REFUSED(m.problem.kv_len = 9, FOVEA_ERROR_UNUSED, "kv_len");
  REFUSED(m.problem.scores.kind = FOVEA_SCORES_WEIGHTS, FOVEA_ERROR_UNUSED, "scores.kind");
  REFUSED(m.problem.offset = 0, FOVEA_ERROR_UNUSED, "offset");
  REFUSED(m.problem.chunks.size = -1, FOVEA_ERROR_ARGUMENT, "chunks.size");
  REFUSED(m.problem.chunks.left = 8, FOVEA_ERROR_UNUSED, "problem.chunks.left is 8 and would not be used");
  REFUSED(m.problem.chunks.right = -1, FOVEA_ERROR_UNUSED, "problem.chunks.right is -1 and would not be used");
  REFUSED((m.problem.chunks.size = 8, m.problem.chunks.left = -2), FOVEA_ERROR_ARGUMENT, "chunks.left");
  REFUSED((m.problem.chunks.size = 8, m.problem.chunks.left = m.problem.window_left = FOVEA_UNLIMITED),
          FOVEA_ERROR_ARGUMENT, "window_left, or chunks.size and chunks.left");
  REFUSED((m.problem.chunks.size = 8, m.problem.chunks.right = m.problem.window_right = FOVEA_UNLIMITED),
          FOVEA_ERROR_ARGUMENT, "window_right, or chunks.size and chunks.right");
  REFUSED(m.problem.mask.type = FOVEA_MASK_BOOL, FOVEA_ERROR_UNUSED, "mask.type");
  REFUSED(m.problem.mask.keys = 1, FOVEA_ERROR_UNUSED, "mask.keys");
  REFUSED(m.problem.cache.segmented = 1, FOVEA_ERROR_UNUSED, "segmented");
  REFUSED(m.problem.kv_lens = list, FOVEA_ERROR_UNUSED, "kv_lens");
  REFUSED(m.problem.keys.begin = 1, FOVEA_ERROR_UNUSED, "keys.begin");
  REFUSED(m.problem.state = 1, FOVEA_ERROR_UNUSED, "state");
  REFUSED(m.problem.q_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "problem.q_type: type");
  REFUSED(m.problem.q_strides.row = 77, FOVEA_ERROR_UNUSED, "problem.q_strides");
  REFUSED(m.problem.scores.strides.row = 77, FOVEA_ERROR_UNUSED, "problem.scores.strides");
  REFUSED(m.problem.mask.strides.row = 77, FOVEA_ERROR_UNUSED, "problem.mask.strides");
  REFUSED(m.problem.scale = INFINITY, FOVEA_ERROR_ARGUMENT, "scale");
  REFUSED(size = 64, FOVEA_ERROR_SPACE, "size: the stream needs");
}

static void test_refused_layers(void **state) {
  (void)state;
  REFUSED(m.blocks[1] = NULL, FOVEA_ERROR_ARGUMENT, "blocks[1]");
  REFUSED(m.parts[1].block.self = NULL, FOVEA_ERROR_ARGUMENT, "blocks[1].self is NULL");
  REFUSED(m.parts[1].block.cross = &m.parts[0].attention, FOVEA_ERROR_UNUSED,
          "blocks[1].cross is set and would not be used");
  REFUSED(m.parts[0].attention.key = NULL, FOVEA_ERROR_ARGUMENT, "blocks[0].self.key");
  REFUSED(m.parts[1].attention.key = m.parts[1].attention.value = NULL, FOVEA_ERROR_ARGUMENT, "key");
  REFUSED(m.parts[1].attention.bias_key = m.parts[1].attention.bias_value = sinks, FOVEA_ERROR_UNUSED,
          "blocks[1].self.bias_key");
  REFUSED(m.parts[1].linears[1].in--, FOVEA_ERROR_ARGUMENT, "blocks[1].self.key.in");
  REFUSED(m.parts[1].linears[2].out--, FOVEA_ERROR_ARGUMENT, "blocks[1].self.value.out");
  REFUSED(m.parts[1].linears[5].weights = NULL, FOVEA_ERROR_ARGUMENT, "blocks[1].down.weights");
  REFUSED(m.parts[0].norms[0].eps = -1, FOVEA_ERROR_ARGUMENT, "blocks[0].self_norm.eps");
  REFUSED(m.parts[1].norms[1].dim++, FOVEA_ERROR_ARGUMENT, "blocks[1].feed_norm.dim");
  REFUSED(m.parts[1].block.norm_first = 2, FOVEA_ERROR_ARGUMENT, "blocks[1].norm_first");
  REFUSED(m.parts[1].block.struct_size = 3, FOVEA_ERROR_ARGUMENT, "blocks[1].struct_size");
  REFUSED(m.rotary.dims = 8, FOVEA_ERROR_ARGUMENT, "dims");
  assert_int_equal(measured(fovea_nn_stream_scratch_size(NULL, with_threads(1), measured_size(), NULL)), 0);
}

#define SIZE_REFUSED(change, word)                                                                                 \
  do {                                                                                                             \
    struct model m;                                                                                                \
    fovea_error error = {.text = ""};                                                                              \
    size_t size = 7;                                                                                               \
    make_model(&m, 2, 5, 3, 4, NORM_FIRST | ROTARY, NULL);                                                         \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_stream_size(&m.streaming, &size, &error), FOVEA_ERROR_ARGUMENT);                     \
    assert_int_equal(size, 0);                                                                                     \
    assert_error_says(&error, word);                                                                               \
  } while (0)

/* The size of a stream says why there is none. */
static void test_size_refused(void **state) {
  (void)state;
  struct model m;
  size_t size = 7;
  fovea_error error;
  SIZE_REFUSED(m.streaming.struct_size--, "streaming.struct_size");
  SIZE_REFUSED(m.streaming.layers = 0, "layers");
  SIZE_REFUSED(m.problem.window_left = FOVEA_UNLIMITED, "problem.window_left is FOVEA_UNLIMITED");
  SIZE_REFUSED(m.parts[0].block.self = NULL, "blocks[0].self is NULL");
  make_model(&m, 2, 5, 3, 4, NORM_FIRST | ROTARY, NULL);
  assert_int_equal(fovea_nn_stream_size(&m.streaming, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "size is NULL");
  assert_int_equal(fovea_nn_stream_size(NULL, &size, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(size, 0);
  assert_int_equal(fovea_nn_stream_size(&m.streaming, &size, NULL), FOVEA_OK);
  assert_true(size > 0);
}

#define PUSH_REFUSED(rows, from, to, with, status, word)                                                           \
  do {                                                                                                             \
    fovea_error error = {.text = ""};                                                                              \
    int64_t count = 7;                                                                                             \
    assert_int_equal(fovea_nn_stream_push(s.stream, rows, from, to, &count, with, &error), status);                \
    assert_int_equal(count, 0);                                                                                    \
    assert_error_says(&error, word);                                                                               \
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
  PUSH_REFUSED(-1, x, y, NULL, FOVEA_ERROR_ARGUMENT, "rows");
  PUSH_REFUSED(1, NULL, y, NULL, FOVEA_ERROR_ARGUMENT, "x");
  PUSH_REFUSED(1, x, NULL, NULL, FOVEA_ERROR_ARGUMENT, "y");
  PUSH_REFUSED(11, x, y, NULL, FOVEA_ERROR_ARGUMENT, "rows: 40");
  PUSH_REFUSED(3, x, x + DIM, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with x");
  PUSH_REFUSED(3, x, (float *)(void *)s.memory.data, NULL, FOVEA_ERROR_ARGUMENT, "y: stream");
  PUSH_REFUSED(1, (float *)(void *)((char *)x + 1), y, NULL, FOVEA_ERROR_ARGUMENT, "x");
  execution.scratch = s.memory.data;
  execution.scratch_size = 64;
  PUSH_REFUSED(1, x, y, &execution, FOVEA_ERROR_SPACE, "scratch_size");
  execution.scratch_size = SIZE_MAX / 2;
  PUSH_REFUSED(1, x, y, &execution, FOVEA_ERROR_ARGUMENT, "scratch");
  assert_int_equal(fovea_nn_stream_push(s.stream, 1, x, y, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_stream_push(NULL, 1, x, y, &written, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_stream_finish(s.stream, NULL, &written, NULL, NULL), FOVEA_ERROR_ARGUMENT);
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
  m.streaming.sink = numbers + 59000;
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
      PUSH_REFUSED(1, x, next + 1000 * i, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with weights");
      PUSH_REFUSED(1, x, next + 8000 + 100 * i, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with bias");
    }
    for (int i = 0; i < 2; i++) {
      PUSH_REFUSED(1, x, next + 9000 + 100 * i, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with gamma");
      m.parts[layer].norms[i].beta = y;
      PUSH_REFUSED(1, x, y + DIM - 1, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with beta");
      m.parts[layer].norms[i].beta = NULL;
    }
  }
  PUSH_REFUSED(1, x, numbers + 58000 + 79, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with cosines");
  PUSH_REFUSED(1, x, numbers + 58500 + 79, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with sines");
  PUSH_REFUSED(1, x, numbers + 59000 + 11, NULL, FOVEA_ERROR_ARGUMENT, "y shares memory with sink");
  execution.threads = 1;
  execution.scratch_size = measured(fovea_nn_stream_scratch_size(s.stream, with_threads(1), measured_size(), NULL));
  execution.scratch = (void *)((uintptr_t)(numbers + 100) / 64 * 64);
  PUSH_REFUSED(1, x, y, &execution, FOVEA_ERROR_ARGUMENT, "scratch shares memory with weights");
  assert_memory_equal(numbers, before, sizeof before);
  stream_all(&m, s.stream, (struct cut){9, {0}}, 40, x, y, NULL);
  assert_memory_equal(y, expected, sizeof y);
  stream_destroy(&s);
  m.rotary.cosines = m.rotary.sines = NULL;
  m.rotary.table_rows = 0;
  static double frequencies[2] = {1, 0.5};
  m.rotary.frequencies = frequencies;
  s = stream_create(&m, GUARD_AT_END);
  PUSH_REFUSED(1, x, (float *)(void *)(frequencies + 1), NULL, FOVEA_ERROR_ARGUMENT,
               "y shares memory with frequencies");
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
  PUSH_REFUSED(1, x, y, on_isa("pdp11"), FOVEA_ERROR_ARGUMENT, "isa: pdp11"); /* before all else */
  static const float angles[2] = {1, 0};
  m.rotary.cosines = m.rotary.sines = angles;
  m.rotary.table_rows = 0;
  PUSH_REFUSED(1, x, y, NULL, FOVEA_ERROR_ARGUMENT, "first_position: position");
  m.rotary.cosines = m.rotary.sines = NULL;
  PUSH_REFUSED(1, x, y, NULL, FOVEA_ERROR_ARGUMENT, "stream: reset");
  fovea_nn_stream_reset(s.stream);
  stream_all(&m, s.stream, (struct cut){9, {0}}, 40, x, y, NULL);
  assert_memory_equal(y, expected, sizeof y);
  stream_destroy(&s);
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),         cmocka_unit_test(test_size_refused),
      cmocka_unit_test(test_refused_layers),  cmocka_unit_test(test_refused_pushes),
      cmocka_unit_test(test_refused_outputs), cmocka_unit_test(test_broken),
  };
  return cmocka_run_group_tests(tests, make_numbers, NULL);
}
