/* What encoder-decoders are refused for, without a change of caches. */
#include "nn/coding.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/guarded.h"

#include <stddef.h>
#include <string.h>

static fovea_rotary rotary;

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    struct call c;                                                                                                 \
    fovea_error error;                                                                                             \
    make_models(0);                                                                                                \
    make_call(&c, y);                                                                                              \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, NULL, &error), status);          \
    assert_error_says(&error, word);                                                                               \
    assert_memory_equal(y, zeros, sizeof zeros);                                                                   \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], zeros[BATCH * TARGET * OUT];
  REFUSED(c.model.struct_size--, FOVEA_ERROR_ARGUMENT, "model");
  REFUSED(c.model.encoder = NULL, FOVEA_ERROR_ARGUMENT, "encoder");
  REFUSED(c.model.decoder = NULL, FOVEA_ERROR_ARGUMENT, "decoder");
  REFUSED(c.source.struct_size--, FOVEA_ERROR_ARGUMENT, "source.struct_size");
  REFUSED(c.target.struct_size--, FOVEA_ERROR_ARGUMENT, "target.struct_size");
  REFUSED(c.target.cross = NULL, FOVEA_ERROR_ARGUMENT, "target.cross");
  REFUSED(c.tensors[2].memory = c.memory, FOVEA_ERROR_UNUSED, "target.cross.tensors.memory");
  REFUSED(c.problems[2].cache.segmented = 1, FOVEA_ERROR_UNUSED,
          "target.cross.problem.cache.segmented is set and would not be used");
  REFUSED(c.tensors[2].memory_stride = 30, FOVEA_ERROR_UNUSED,
          "target.cross.tensors.memory_stride is set and would not be used");
  REFUSED(make_problem(&c.problems[2], TARGET, SOURCE - 1), FOVEA_ERROR_ARGUMENT,
          "target.cross.problem has 10 rows of memory");
  REFUSED(make_problem(&c.problems[2], TARGET - 1, SOURCE), FOVEA_ERROR_ARGUMENT,
          "decoder.blocks[0].cross.problem has 8 rows");
  REFUSED(c.tensors[2].rows_first = 1, FOVEA_ERROR_ARGUMENT, "target.cross.tensors.rows_first is 1");
  REFUSED(for (int i = 1; i < 3; i++) decoder.layers[2].cross[i].in--, FOVEA_ERROR_ARGUMENT,
          "decoder.blocks[2].cross.key.in is 23");
  REFUSED(decoder.layers[1].block.cross = NULL;
          decoder.layers[1].block.cross_norm = NULL, FOVEA_ERROR_UNUSED, "cross");
  REFUSED(decoder.output.in--, FOVEA_ERROR_ARGUMENT, "output.in");
  REFUSED(c.target.y = NULL, FOVEA_ERROR_ARGUMENT, "target.y is NULL");
  REFUSED(encoder.layers[1].self[1].in--, FOVEA_ERROR_ARGUMENT, "encoder.blocks[1].self.key.in is 23");
  REFUSED(decoder.layers[1].self[1].in--, FOVEA_ERROR_ARGUMENT, "decoder.blocks[1].self.key.in is 23");
  REFUSED(encoder.encoder.count = 0, FOVEA_ERROR_ARGUMENT, "encoder.count is 0");
  REFUSED(decoder.encoder.count = 0, FOVEA_ERROR_ARGUMENT, "decoder.count is 0");
  REFUSED(c.problems[1].batch = 0, FOVEA_ERROR_ARGUMENT, "target.self.batch is 0");
  REFUSED(c.problems[0].batch = 0, FOVEA_ERROR_ARGUMENT, "source.self.batch is 0");
  REFUSED(c.tensors[1].struct_size = 8, FOVEA_ERROR_ARGUMENT, "target.self.tensors.struct_size is 8");
  REFUSED(c.source.id_type = 2, FOVEA_ERROR_ARGUMENT, "source.id_type is 2");
  REFUSED(decoder.embedding.tokens.stride = INT64_MAX, FOVEA_ERROR_ARGUMENT, "decoder.embedding.tokens.stride is");
  REFUSED(c.source.y = NULL, FOVEA_ERROR_ARGUMENT, "source.y");
  REFUSED(c.target.y = (float *)(void *)(uintptr_t)decoder.output.weights, FOVEA_ERROR_ARGUMENT, "y: weights");
  REFUSED(c.target.y = (float *)(void *)(uintptr_t)decoder.layers[0].cross[1].weights, FOVEA_ERROR_ARGUMENT,
          "y: weights");
  REFUSED(c.source.y = (float *)(void *)(uintptr_t)encoder.layers[0].up.weights, FOVEA_ERROR_ARGUMENT,
          "y: weights");
  REFUSED(c.problems[2].scores.kind = FOVEA_SCORES_WEIGHTS; c.tensors[2].scores = y;
          c.target.cross_score_layer = BATCH * STACK_HEADS * TARGET * SOURCE, FOVEA_ERROR_ARGUMENT, "scores");
}

#define UNPREPARED(change, status, word)                                                                           \
  do {                                                                                                             \
    struct call c;                                                                                                 \
    fovea_error error;                                                                                             \
    make_models(0);                                                                                                \
    make_call(&c, y);                                                                                              \
    fovea_execution e = *on_isa(NULL);                                                                             \
    make_cache(&cache);                                                                                            \
    c.tensors[2].memory = c.memory;                                                                                \
    c.tensors[2].cache.sequences = cache.sequences;                                                                \
    fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, 64);                                                      \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_encoder_decoder_prepare(&c.model, &c.over[2], &e, &error), status);                  \
    assert_error_says(&error, word);                                                                               \
    for (int i = 0; i < CACHE && strcmp(error.field, "layer") != 0; i++)                                           \
      assert_true(cache.k[i] == 0.0f && cache.v[i] == 0.0f);                                                       \
  } while (0)

static void test_unprepared(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], table[STACK_DIM];
  static struct cache cache;
  UNPREPARED(c.model.decoder = NULL, FOVEA_ERROR_ARGUMENT, "decoder");
  UNPREPARED(c.over[2].tensors = NULL, FOVEA_ERROR_ARGUMENT, "cross");
  UNPREPARED(decoder.layers[2].block.cross = NULL, FOVEA_ERROR_ARGUMENT, "decoder.blocks[2].cross is NULL");
  UNPREPARED(decoder.layers[2].cross_attention.key = NULL, FOVEA_ERROR_ARGUMENT,
             "decoder.blocks[2].cross.key is NULL");
  UNPREPARED(decoder.layers[1].cross[2].out--, FOVEA_ERROR_ARGUMENT, "decoder.blocks[1].cross.value.out is 23");
  UNPREPARED(decoder.layers[1].cross[2].in--, FOVEA_ERROR_ARGUMENT, "decoder.blocks[1].cross.value.in");
  UNPREPARED(decoder.layers[0].cross_attention.bias_key = y, FOVEA_ERROR_UNUSED,
             "decoder.blocks[0].cross.bias_key");
  UNPREPARED(c.problems[2].batch = 0, FOVEA_ERROR_ARGUMENT, "batch");
  UNPREPARED(c.tensors[2].memory = NULL, FOVEA_ERROR_ARGUMENT, "memory");
  UNPREPARED(c.tensors[2].cache.sequences = NULL, FOVEA_ERROR_ARGUMENT, "sequences");
  UNPREPARED(c.tensors[2].cache.layer = 1, FOVEA_ERROR_ARGUMENT, "layer");
  UNPREPARED(c.tensors[2].rows_first = 1; c.problems[2].kv_lens = NULL;
             c.problems[2].cu_seqlens_kv = source_ends, FOVEA_ERROR_UNUSED, "rows_first");
  UNPREPARED(c.problems[2].cu_seqlens_kv = source_ends, FOVEA_ERROR_ARGUMENT, "kv_lens is given together");
  UNPREPARED(e.isa = "nonsense", FOVEA_ERROR_ARGUMENT, "isa: nonsense");
  UNPREPARED(decoder.layers[1].cross_attention.rotary = &rotary, FOVEA_ERROR_ARGUMENT,
             "decoder.blocks[1].cross.rotary.dims is 64");
  UNPREPARED(rotary.cosines = rotary.sines = table; rotary.dims = STACK_DIM; rotary.table_rows = 5;
             decoder.layers[1].cross_attention.rotary = &rotary, FOVEA_ERROR_ARGUMENT,
             "decoder.blocks[1].cross.first_position: batch element 0 has 6 rows");
  UNPREPARED(c.tensors[2].memory_values = (char *)c.memory + 1, FOVEA_ERROR_ARGUMENT, "memory_values");
}

/* A problem at the end of memory, and with the encoder's rows as its memory. */
static void test_end_of_memory(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT], expected[BATCH * TARGET * OUT];
  struct guarded place = guarded_create(sizeof(fovea_problem), GUARD_AT_END);
  struct call c;
  make_models(0);
  make_call(&c, expected);
  assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, NULL, NULL), FOVEA_OK);
  make_call(&c, y);
  c.problems[2].struct_size = place.size;
  memcpy(place.data, &c.problems[2], place.size);
  c.over[2].problem = (const fovea_problem *)(const void *)place.data;
  assert_int_equal(fovea_nn_encoder_decoder_run(&c.model, &c.source, &c.target, NULL, NULL), FOVEA_OK);
  assert_memory_equal(y, expected, sizeof y);
  guarded_destroy(&place);
}

/* 0 bytes would say that the call is refused. */
static void test_no_memory(void **state) {
  (void)state;
  static float y[BATCH * TARGET * OUT];
  static struct cache cache;
  struct call c;
  make_models(0);
  make_call(&c, y);
  make_cache(&cache);
  make_problem(&c.problems[2], TARGET, 0);
  c.problems[2].kv_lens = NULL;
  c.tensors[2].cache.sequences = cache.sequences;
  assert_int_equal(fovea_nn_encoder_decoder_prepare(&c.model, &c.over[2], NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_nn_encoder_decoder_prepare_scratch_size(&c.model, &c.over[2], NULL, measured_size(), NULL),
                   FOVEA_OK);
  assert_int_equal(*measured_size(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_unprepared),
      cmocka_unit_test(test_end_of_memory),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
