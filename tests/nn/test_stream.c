/* Streams: the bits of the same layers over the whole utterance at once, however its frames are cut; memory that
 * does not grow. */
#include "nn/stream_model.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <stdlib.h>
#include <string.h>

static void test_windows(void **state) {
  (void)state;
  static const int64_t windows[][2] = {{0, 0}, {5, 0}, {0, 3}, {7, 4}, {140, 2}, {1, 130}};
  static const int64_t lengths[] = {0, 1, 2, 5, 13, 40, 290}, chunks[] = {1, 5, 16, 400};
  struct generator generator = {41};
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
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
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
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
  assert_int_equal(fovea_nn_stream_push(s.stream, 1, x, x, &written, NULL, &error), FOVEA_ERROR_ARGUMENT);
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
  execution.scratch_size = measured(fovea_nn_stream_scratch_size(s.stream, with_threads(1), measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  stream_all(&m, s.stream, (struct cut){0, {5}}, frames, x, y, &execution);
  assert_memory_equal(y, expected, (size_t)(frames * DIM) * sizeof *y);
  assert_int_equal(measured(fovea_nn_stream_scratch_size(s.stream, with_threads(1), measured_size(), NULL)),
                   execution.scratch_size);
  memcpy(y, x, (size_t)(frames * DIM) * sizeof *y); /* in place: rows come out after the frames */
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
  execution.allocator = (fovea_allocator){&count, count_allocation, release};
  struct stream s = stream_create(&m, GUARD_AT_END);
  stream_all(&m, s.stream, (struct cut){6, {0}}, 6, x, y, &execution);
  assert_int_equal(count, 2);
  assert_memory_equal(y, expected, sizeof y);
  execution.scratch_size = measured(fovea_nn_stream_scratch_size(s.stream, with_threads(1), measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
  execution.scratch = scratch.data;
  stream_all(&m, s.stream, (struct cut){1, {0}}, 6, x, y, &execution);
  assert_int_equal(count, 2);
  guarded_destroy(&scratch);
  stream_destroy(&s);
  execution.scratch = NULL;
  execution.scratch_size = 0;
  execution.allocator = (fovea_allocator){&count, allocate_nothing, release};
  s = stream_create(&m, GUARD_AT_END);
  assert_int_equal(fovea_nn_stream_push(s.stream, 6, x, y, &written, &execution, NULL), FOVEA_ERROR_MEMORY);
  assert_int_equal(fovea_nn_stream_pending(s.stream), 0);
  stream_destroy(&s);
}

/* An utterance that is dropped leaves nothing after. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),        cmocka_unit_test(test_random), cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_rows_of_chunks), cmocka_unit_test(test_long),   cmocka_unit_test(test_threads),
      cmocka_unit_test(test_allocations),    cmocka_unit_test(test_reset),
  };
  return cmocka_run_group_tests(tests, make_numbers, NULL);
}
