/* Encoder-decoders: the bits of their steps by single calls; token by token over caches; memories that are padded,
 * packed, or lie row by row; PyTorch's nn.Transformer (transformer.py); scratch. */
#include "nn/coding.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/guarded.h"
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "transformer.inc"

static fovea_rotary rotary;

static void run(const struct call *c, int with_source, const fovea_execution *execution) {
  fovea_error error;
  if (fovea_nn_encoder_decoder_run(&c->model, with_source ? &c->source : NULL, &c->target, execution, &error))
    fail_msg("%s", error.text);
}

/* ---- Single calls ---- */

static void compute(const struct call *c, float *memory, float *logits) {
  static float rows[BATCH * TARGET * WIDTH];
  fovea_nn_encoder_rows source = c->source;
  fovea_nn_attention_tensors across = c->tensors[2];
  const fovea_nn_attending cross = {&c->problems[2], &across};
  fovea_nn_norm_rows norm_rows;
  fovea_nn_linear_rows output_rows;
  source.y = memory;
  across.memory = memory;
  assert_int_equal(fovea_nn_encoder_run(&encoder.encoder, &source, NULL, NULL), FOVEA_OK);
  for (int b = 0; b < BATCH; b++) {
    fovea_nn_embedding_rows call;
    fovea_nn_embedding_rows_init(&call, &decoder.embedding, TARGET, target_ids + b * TARGET,
                                 rows + b * TARGET * WIDTH);
    assert_int_equal(fovea_nn_embed(&decoder.embedding, &call, NULL, NULL), FOVEA_OK);
  }
  for (int i = 0; i < STACK_LAYERS; i++) {
    const fovea_status status =
        fovea_nn_block_run(&decoder.layers[i].block, &c->over[1], &cross, rows, rows, NULL, NULL);
    assert_int_equal(status, FOVEA_OK);
  }
  fovea_nn_norm_rows_init(&norm_rows, &decoder.final_norm, BATCH * TARGET, rows, rows);
  assert_int_equal(fovea_nn_norm_run(&decoder.final_norm, &norm_rows, NULL, NULL), FOVEA_OK);
  fovea_nn_linear_rows_init(&output_rows, &decoder.output, BATCH * TARGET, rows, logits);
  assert_int_equal(fovea_nn_linear_run(&decoder.output, &output_rows, NULL, NULL), FOVEA_OK);
}

static void test_single_calls(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT], memory[BATCH * SOURCE * WIDTH];
  static float rows[BATCH * TARGET * WIDTH];
  struct call c;
  for (int norm_first = 0; norm_first < 2; norm_first++) {
    make_models(norm_first);
    make_call(&c, y);
    compute(&c, memory, expected);
    run(&c, 1, NULL);
    assert_memory_equal(y, expected, sizeof y);
    assert_memory_equal(c.memory, memory, sizeof memory);
    memset(y, 0, sizeof y);
    c.tensors[2].memory = memory; /* that the target names itself */
    run(&c, 0, NULL);
    assert_memory_equal(y, expected, sizeof y);
    c.model.output = NULL; /* rows */
    c.target.y = rows;
    run(&c, 0, NULL);
    fovea_nn_linear_rows output_rows;
    fovea_nn_linear_rows_init(&output_rows, &decoder.output, BATCH * TARGET, rows, y);
    assert_int_equal(fovea_nn_linear_run(&decoder.output, &output_rows, NULL, NULL), FOVEA_OK);
    assert_memory_equal(y, expected, sizeof y);
  }
}

/* ---- Steps ---- */

static void *refuse_to_allocate(void *context, size_t size, size_t alignment) {
  (void)context;
  (void)alignment;
  fail_msg("%d bytes were allocated", (int)size);
  return NULL;
}

static void free_nothing(void *context, void *memory) {
  (void)context;
  (void)memory;
}

static const fovea_allocator none = {.allocate = refuse_to_allocate, .release = free_nothing};

static void prepare(const struct call *c, const fovea_problem *problem, const fovea_nn_attention_tensors *tensors,
                    const fovea_execution *execution) {
  const fovea_nn_attending cross = {problem, tensors};
  fovea_error error;
  if (fovea_nn_encoder_decoder_prepare(&c->model, &cross, execution, &error)) fail_msg("%s", error.text);
}

/* Projects a memory that was made already, and decodes from step to step. */
static void decode(struct call *c, const fovea_execution *execution, float *logits) {
  static struct cache past, across;
  static float y[BATCH * OUT];
  make_cache(&past);
  make_cache(&across);
  c->tensors[2].memory = c->memory;
  c->tensors[2].cache.sequences = across.sequences;
  prepare(c, &c->problems[2], &c->tensors[2], execution);
  c->tensors[2].memory = NULL;
  c->tensors[1].cache.sequences = past.sequences;
  for (int i = 0; i < TARGET; i++) {
    const int32_t ids[BATCH] = {target_ids[i], target_ids[TARGET + i]};
    make_problem(&c->problems[1], 1, i + 1);
    make_problem(&c->problems[2], 1, SOURCE);
    c->problems[1].causal = c->problems[1].cache.segmented = c->problems[2].cache.segmented = 1;
    c->problems[2].kv_lens = source_lengths;
    c->tensors[1].first_position = i;
    if (decoder.layers[0].cross_attention.rotary) c->tensors[2].first_position = i;
    c->target.ids = ids;
    c->target.y = y;
    run(c, 0, execution);
    for (int b = 0; b < BATCH; b++) memcpy(logits + (b * TARGET + i) * OUT, y + b * OUT, OUT * sizeof *y);
  }
}

/* Turns queries and keys of all attentions of the decoder. */
static void rotate(void) {
  fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, STACK_DIM);
  for (int i = 0; i < STACK_LAYERS; i++)
    decoder.layers[i].self_attention.rotary = decoder.layers[i].cross_attention.rotary = &rotary;
}

static void test_steps(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT];
  struct call c;
  for (int kind = 0; kind < 4; kind++) {
    make_models(kind % 2);
    if (kind / 2) rotate();
    make_call(&c, expected);
    run(&c, 1, NULL);
    decode(&c, NULL, y);
    assert_memory_equal(y, expected, sizeof y);
  }
}

/* With the caller's scratch, nothing is allocated. */
static void test_steps_in_scratch(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT];
  struct call c;
  fovea_execution execution;
  make_models(0);
  make_call(&c, expected);
  run(&c, 1, NULL);
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch_size = 1 << 21;
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  execution.allocator = none;
  decode(&c, &execution, y);
  assert_memory_equal(y, expected, sizeof y);
  guarded_destroy(&scratch);
}

/* A target without rows, and a source without rows. */
static void test_no_rows(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], zeros[BATCH * TARGET * OUT];
  struct call c;
  make_models(0);
  make_call(&c, y);
  make_problem(&c.problems[1], 0, 0);
  make_problem(&c.problems[2], 0, SOURCE);
  run(&c, 1, NULL);
  assert_memory_equal(y, zeros, sizeof y);
  make_call(&c, y);
  make_problem(&c.problems[0], 0, 0);
  make_problem(&c.problems[2], TARGET, 0);
  run(&c, 1, NULL);
  assert_memory_not_equal(y, zeros, sizeof y);
}

/* ---- Memories ---- */

static void assert_same_caches(const struct cache *a, const struct cache *b) {
  assert_memory_equal(a->k, b->k, sizeof a->k);
  assert_memory_equal(a->v, b->v, sizeof a->v);
}

/* Caches get the same rows, however the memory lies. Padding stays out of them. */
static void test_memories(void **state) {
  (void)state;
  static struct cache padded, other;
  static float y[BATCH * TARGET * OUT], packed[PACKED * WIDTH], turned[BATCH * SOURCE * WIDTH];
  const size_t row = WIDTH * sizeof *packed;
  struct call c;
  make_models(0);
  make_call(&c, y);
  run(&c, 1, NULL);
  make_cache(&padded);
  c.tensors[2].memory = c.memory;
  c.tensors[2].cache.sequences = padded.sequences;
  prepare(&c, &c.problems[2], &c.tensors[2], NULL);
  for (int i = 0; i < SOURCE * STACK_DIM; i++) /* the second batch element's first head, which has SHORT rows */
    assert_int_equal(padded.k[SOURCE * WIDTH + i] != 0, i < SHORT * STACK_DIM);

  make_cache(&other);
  memcpy(packed, c.memory, PACKED * row);
  make_problem(&c.problems[2], TARGET, PACKED);
  c.problems[2].cu_seqlens_kv = source_ends;
  c.tensors[2].memory = packed;
  c.tensors[2].cache.sequences = other.sequences;
  prepare(&c, &c.problems[2], &c.tensors[2], NULL);
  assert_same_caches(&padded, &other);

  make_cache(&other);
  for (int i = 0; i < BATCH * SOURCE; i++)
    memcpy(turned + i * WIDTH, c.memory + (i % BATCH * SOURCE + i / BATCH) * WIDTH, row);
  make_problem(&c.problems[2], TARGET, SOURCE);
  c.problems[2].kv_lens = source_lengths;
  c.tensors[2].memory = turned;
  c.tensors[2].rows_first = 1;
  prepare(&c, &c.problems[2], &c.tensors[2], NULL);
  assert_same_caches(&padded, &other);
}

/* A packed source, and targets that lie packed, too. */
static void test_packed(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT];
  const int32_t target_ends[BATCH + 1] = {0, TARGET, 2 * TARGET};
  struct call c;
  make_models(1);
  make_call(&c, expected);
  run(&c, 1, NULL);
  make_call(&c, y);
  make_problem(&c.problems[0], PACKED, PACKED);
  make_problem(&c.problems[1], 2 * TARGET, 2 * TARGET);
  make_problem(&c.problems[2], 2 * TARGET, PACKED);
  c.problems[1].causal = 1;
  c.problems[0].cu_seqlens_q = c.problems[0].cu_seqlens_kv = c.problems[2].cu_seqlens_kv = source_ends;
  c.problems[1].cu_seqlens_q = c.problems[1].cu_seqlens_kv = c.problems[2].cu_seqlens_q = target_ends;
  run(&c, 1, NULL);
  assert_memory_equal(y, expected, sizeof y);
}

/* ---- Scratch, threads, instruction sets ---- */

static void test_everywhere(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT];
  struct call c;
  fovea_execution execution;
  make_models(0);
  make_call(&c, expected);
  run(&c, 1, NULL);
  fovea_execution_init(&execution);
  for (const char *const *isa = whole_isas(); *isa; isa++) {
    execution.isa = *isa;
    for (execution.threads = 1; execution.threads <= 3; execution.threads++) {
      memset(y, 0, sizeof y);
      make_call(&c, y);
      run(&c, 1, &execution);
      assert_memory_equal(y, expected, sizeof y);
      memset(y, 0, sizeof y);
      decode(&c, &execution, y);
      assert_memory_equal(y, expected, sizeof y);
    }
  }
}

static void test_scratch(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT];
  struct call c;
  fovea_execution execution;
  make_models(0);
  make_call(&c, expected);
  run(&c, 1, NULL);
  make_call(&c, y);
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch_size = measured(fovea_nn_encoder_decoder_scratch_size(&c.model, &c.source, &c.target,
                                                                          with_threads(1), measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  execution.allocator = none;
  run(&c, 1, &execution);
  assert_memory_equal(y, expected, sizeof y);
  assert_true(guarded_slack_intact(&scratch));
  for (int i = 0; i < 2; i++) {
    execution.scratch_size = i == 0 ? execution.scratch_size - 1 : 64;
    assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, &execution, NULL),
                     FOVEA_ERROR_SPACE);
  }
  guarded_destroy(&scratch);
}

static void test_scratch_of_memory(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT];
  static struct cache cache, expected;
  struct call c;
  fovea_execution execution;
  make_models(0);
  make_call(&c, y);
  run(&c, 1, NULL);
  make_cache(&expected);
  make_cache(&cache);
  c.tensors[2].memory = c.memory;
  c.tensors[2].cache.sequences = expected.sequences;
  prepare(&c, &c.problems[2], &c.tensors[2], NULL);
  c.tensors[2].cache.sequences = cache.sequences;
  fovea_execution_init(&execution);
  execution.allocator = none;
  execution.scratch_size = measured(
      fovea_nn_encoder_decoder_prepare_scratch_size(&c.model, &c.over[2], &execution, measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  prepare(&c, &c.problems[2], &c.tensors[2], &execution);
  assert_same_caches(&cache, &expected);
  assert_true(guarded_slack_intact(&scratch));
  execution.scratch_size--;
  assert_int_equal(fovea_nn_encoder_decoder_prepare(&c.model, &c.over[2], &execution, NULL), FOVEA_ERROR_SPACE);
  guarded_destroy(&scratch);
}

/* ---- PyTorch ---- */

static void test_torch(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT];
  struct call c;
  for (int norm_first = 0; norm_first < 2; norm_first++) {
    const double *expected = norm_first ? logits_pre : logits_post;
    make_models(norm_first);
    make_call(&c, y);
    run(&c, 1, NULL);
    for (int i = 0; i < BATCH * TARGET * OUT; i++)
      if (!(fabs((double)y[i] - expected[i]) <= 4e-6)) fail_msg("%d: %g, not %g", i, (double)y[i], expected[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_single_calls),      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_steps_in_scratch),  cmocka_unit_test(test_no_rows),
      cmocka_unit_test(test_memories),          cmocka_unit_test(test_packed),
      cmocka_unit_test(test_everywhere),        cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_scratch_of_memory), cmocka_unit_test(test_torch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
