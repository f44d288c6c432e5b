/* Encoder-decoders: the bits of their steps by single calls; token by token over caches; memories that are padded,
 * packed, or lie row by row; PyTorch's nn.Transformer (transformer.py); scratch and refusals. */
#include "nn/stack.h"
#include "support/check.h"
#include "support/guarded.h"
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "transformer.inc"

enum {
  BATCH = 2,
  SOURCE = 6,
  TARGET = 5,
  SHORT = 4, /* rows of the second source */
  PACKED = SOURCE + SHORT,
  WIDTH = STACK_WIDTH,
  OUT = STACK_VOCABULARY,
  CACHE = STACK_LAYERS * BATCH * SOURCE * WIDTH
};

static const int32_t source_ids[BATCH * SOURCE] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 0, 0};
static const int32_t target_ids[BATCH * TARGET] = {8, 9, 7, 9, 3, 2, 3, 8, 4, 6};
static const int64_t source_lengths[BATCH] = {SOURCE, SHORT};
static const int32_t source_ends[BATCH + 1] = {0, SOURCE, PACKED};
static struct stack encoder, decoder;
static fovea_rotary rotary;

/* All that a call takes. */
struct call {
  fovea_nn_encoder_decoder model;
  fovea_problem problems[3]; /* of the source, of the target, across */
  fovea_nn_attention_tensors tensors[3];
  fovea_nn_attending over[3];
  fovea_nn_encoder_rows source, target;
  float memory[BATCH * SOURCE * WIDTH];
};

static void make_problem(fovea_problem *problem, int64_t rows, int64_t keys) {
  const fovea_problem before = *problem;
  fovea_problem_init(problem, BATCH, STACK_HEADS, STACK_HEADS, rows, keys, STACK_DIM, STACK_DIM);
  problem->isa = before.isa;
  problem->allocator = before.allocator;
}

static void make_models(int norm_first) {
  stack_create(&encoder, STACK_LAYERS, 0, norm_first, 1);
  stack_create(&decoder, STACK_LAYERS, 1, norm_first, stack_end(&encoder, 1));
}

/* All positions at once. The second source is shorter. */
static void make_call(struct call *c, float *y) {
  memset(c, 0, sizeof *c);
  make_problem(&c->problems[0], SOURCE, SOURCE);
  make_problem(&c->problems[1], TARGET, TARGET);
  make_problem(&c->problems[2], TARGET, SOURCE);
  c->problems[0].kv_lens = c->problems[2].kv_lens = source_lengths;
  c->problems[1].causal = 1;
  for (int i = 0; i < 3; i++) {
    fovea_nn_attention_tensors_init(&c->tensors[i], NULL, NULL);
    c->over[i] = (fovea_nn_attending){&c->problems[i], &c->tensors[i]};
  }
  fovea_nn_encoder_rows_init(&c->source, &c->over[0], source_ids, c->memory);
  fovea_nn_encoder_rows_init(&c->target, &c->over[1], target_ids, y);
  c->target.cross = &c->over[2];
  fovea_nn_encoder_decoder_init(&c->model, &encoder.encoder, &decoder.encoder);
  c->model.output = &decoder.output;
}

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

/* Caches of all entries and layers. */
struct cache {
  float k[CACHE], v[CACHE];
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
};

static void make_cache(struct cache *cache) {
  fovea_pages pages;
  memset(cache, 0, sizeof *cache);
  fovea_pages_init(&pages, BATCH, SOURCE, STACK_HEADS, STACK_DIM, STACK_DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.layers = STACK_LAYERS;
  pages.k = cache->k;
  pages.v = cache->v;
  for (int b = 0; b < BATCH; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &cache->segments[b], NULL), FOVEA_OK);
    cache->sequences[b] = fovea_sequence_of(&cache->segments[b], 1);
  }
}

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
  c->tensors[2].sequences = across.sequences;
  prepare(c, &c->problems[2], &c->tensors[2], execution);
  c->tensors[2].memory = NULL;
  c->tensors[1].sequences = past.sequences;
  for (int i = 0; i < TARGET; i++) {
    const int32_t ids[BATCH] = {target_ids[i], target_ids[TARGET + i]};
    make_problem(&c->problems[1], 1, i + 1);
    make_problem(&c->problems[2], 1, SOURCE);
    c->problems[1].causal = c->problems[1].segmented = c->problems[2].segmented = 1;
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
  for (int i = 0; i < 3; i++) c.problems[i].allocator = none;
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
  c.tensors[2].sequences = padded.sequences;
  prepare(&c, &c.problems[2], &c.tensors[2], NULL);
  for (int i = 0; i < SOURCE * STACK_DIM; i++) /* the second entry's first head, which has SHORT rows */
    assert_int_equal(padded.k[SOURCE * WIDTH + i] != 0, i < SHORT * STACK_DIM);

  make_cache(&other);
  memcpy(packed, c.memory, PACKED * row);
  make_problem(&c.problems[2], TARGET, PACKED);
  c.problems[2].cu_seqlens_kv = source_ends;
  c.tensors[2].memory = packed;
  c.tensors[2].sequences = other.sequences;
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
  for (const char *const *isa = usable_isas(); *isa; isa++) {
    if (strncmp(*isa, "avx512_", 7) == 0 || strncmp(*isa, "neon_", 5) == 0) continue; /* for pairs only */
    stack_use_isa(&encoder, *isa);
    stack_use_isa(&decoder, *isa);
    for (execution.threads = 1; execution.threads <= 3; execution.threads++) {
      memset(y, 0, sizeof y);
      make_call(&c, y);
      for (int i = 0; i < 3; i++) c.problems[i].isa = *isa;
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
  execution.scratch_size = fovea_nn_encoder_decoder_scratch_size(&c.model, &c.source, &c.target, 1);
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  for (int i = 0; i < 3; i++) c.problems[i].allocator = none;
  run(&c, 1, &execution);
  assert_memory_equal(y, expected, sizeof y);
  assert_true(guarded_slack_intact(&scratch));
  for (int i = 0; i < 2; i++) {
    execution.scratch_size = i == 0 ? execution.scratch_size - 1 : 64;
    assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, &execution, NULL),
                     FOVEA_ERROR_SCRATCH);
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
  c.tensors[2].sequences = expected.sequences;
  prepare(&c, &c.problems[2], &c.tensors[2], NULL);
  c.tensors[2].sequences = cache.sequences;
  c.problems[2].allocator = none;
  fovea_execution_init(&execution);
  execution.scratch_size = fovea_nn_encoder_decoder_prepare_size(&c.model, &c.over[2]);
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  prepare(&c, &c.problems[2], &c.tensors[2], &execution);
  assert_same_caches(&cache, &expected);
  assert_true(guarded_slack_intact(&scratch));
  execution.scratch_size--;
  assert_int_equal(fovea_nn_encoder_decoder_prepare(&c.model, &c.over[2], &execution, NULL), FOVEA_ERROR_SCRATCH);
  guarded_destroy(&scratch);
}

/* ---- Refusals ---- */

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    struct call c;                                                                                                 \
    fovea_error error;                                                                                             \
    make_models(0);                                                                                                \
    make_call(&c, y);                                                                                              \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, NULL, &error), status);          \
    if (!strstr(error.text, word)) fail_msg("%s: no %s", error.text, word);                                        \
    assert_memory_equal(y, zeros, sizeof zeros);                                                                   \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], zeros[BATCH * TARGET * OUT];
  REFUSED(c.model.struct_size--, FOVEA_ERROR_STRUCT_SIZE, "model");
  REFUSED(c.model.encoder = NULL, FOVEA_ERROR_NULL, "encoder");
  REFUSED(c.model.decoder = NULL, FOVEA_ERROR_NULL, "decoder");
  REFUSED(c.source.struct_size--, FOVEA_ERROR_STRUCT_SIZE, "rows");
  REFUSED(c.target.struct_size--, FOVEA_ERROR_STRUCT_SIZE, "rows");
  REFUSED(c.target.cross = NULL, FOVEA_ERROR_NULL, "cross");
  REFUSED(c.tensors[2].memory = c.memory, FOVEA_ERROR_UNUSED, "memory of cross");
  REFUSED(c.problems[2].segmented = 1, FOVEA_ERROR_UNUSED, "segmented of cross");
  REFUSED(c.tensors[2].memory_stride = 30, FOVEA_ERROR_UNUSED, "memory_stride of cross");
  REFUSED(make_problem(&c.problems[2], TARGET, SOURCE - 1), FOVEA_ERROR_SIZE, "10 rows; the source has 12");
  REFUSED(make_problem(&c.problems[2], TARGET - 1, SOURCE), FOVEA_ERROR_SIZE, "cross has 8 rows; self has 10");
  REFUSED(c.tensors[2].rows_first = 1, FOVEA_ERROR_RULE, "rows_first of cross");
  REFUSED(for (int i = 1; i < 3; i++) decoder.layers[2].cross[i].in--, FOVEA_ERROR_SIZE, "in of a key of block 2");
  REFUSED(decoder.layers[1].block.cross = NULL;
          decoder.layers[1].block.cross_norm = NULL, FOVEA_ERROR_UNUSED, "cross");
  REFUSED(decoder.output.in--, FOVEA_ERROR_SIZE, "in of output");
  REFUSED(c.target.y = NULL, FOVEA_ERROR_NULL, "y");
  REFUSED(c.source.y = NULL, FOVEA_ERROR_NULL, "y of the source");
  REFUSED(c.target.y = (float *)(void *)(uintptr_t)decoder.output.weights, FOVEA_ERROR_OVERLAP, "weights");
}

#define UNPREPARED(change, status, word)                                                                           \
  do {                                                                                                             \
    struct call c;                                                                                                 \
    fovea_error error;                                                                                             \
    make_models(0);                                                                                                \
    make_call(&c, y);                                                                                              \
    make_cache(&cache);                                                                                            \
    c.tensors[2].memory = c.memory;                                                                                \
    c.tensors[2].sequences = cache.sequences;                                                                      \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_encoder_decoder_prepare(&c.model, &c.over[2], NULL, &error), status);                \
    if (!strstr(error.text, word)) fail_msg("%s: no %s", error.text, word);                                        \
  } while (0)

static void test_unprepared(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT];
  static struct cache cache;
  UNPREPARED(c.model.decoder = NULL, FOVEA_ERROR_NULL, "decoder");
  UNPREPARED(c.over[2].tensors = NULL, FOVEA_ERROR_NULL, "cross");
  UNPREPARED(decoder.layers[2].block.cross = NULL, FOVEA_ERROR_NULL, "cross of block 2");
  UNPREPARED(decoder.layers[2].cross_attention.key = NULL, FOVEA_ERROR_NULL, "key");
  UNPREPARED(decoder.layers[1].cross[2].out--, FOVEA_ERROR_SIZE, "out of value is 23");
  UNPREPARED(decoder.layers[1].cross[2].in--, FOVEA_ERROR_SIZE, "in of value");
  UNPREPARED(decoder.layers[0].cross_attention.bias_key = y, FOVEA_ERROR_UNUSED, "bias_key");
  UNPREPARED(c.problems[2].batch = 0, FOVEA_ERROR_SIZE, "batch");
  UNPREPARED(c.tensors[2].memory = NULL, FOVEA_ERROR_NULL, "x");
  UNPREPARED(c.tensors[2].sequences = NULL, FOVEA_ERROR_NULL, "sequences");
  UNPREPARED(c.tensors[2].layer = 1, FOVEA_ERROR_SEGMENTS, "layer");
  UNPREPARED(c.tensors[2].rows_first = 1;
             c.problems[2].cu_seqlens_kv = source_ends, FOVEA_ERROR_UNUSED, "rows_first");
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
      cmocka_unit_test(test_scratch_of_memory), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_unprepared),        cmocka_unit_test(test_torch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
