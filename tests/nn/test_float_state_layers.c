/* Callers and threads in other floating-point environments than the contract's get the same bits from every call of
 * fovea_nn, and keep their environment. This is about attention, layers, stacks and streams. */
#include "nn/surroundings.h"
#include "support/execution.h"

#include <fovea/cache.h>
#include <fovea/embedding.h>
#include <fovea/encoder.h>
#include <fovea/stream.h>
#include <stdlib.h>
#include <string.h>

static void act_attention(void) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_problem_init(&problem, batch, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  execution.isa = everywhere_isa;
  problem.causal = 1;
  fovea_nn_attention_tensors_init(&tensors, x, room_for_rows());
  tensors.y_type = output_type;
  everywhere_keep(fovea_nn_attention_run(&attention, &problem, &tensors, &execution, NULL));
  const size_t size =
      measured(fovea_nn_attention_scratch_size(&attention, &problem, with_threads(2), measured_size(), NULL));
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

static void act_block(void) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_problem_init(&problem, batch, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  execution.isa = everywhere_isa;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  everywhere_keep(fovea_nn_block_run(
      &block, &self, NULL, x, everywhere_room((size_t)(rows_now() * WIDTH) * sizeof(float)), &execution, NULL));
  const size_t size =
      measured(fovea_nn_block_scratch_size(&block, &self, NULL, with_threads(2), measured_size(), NULL));
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

static void act_scores(void) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_attention averaged = attention;
  fovea_problem_init(&problem, batch, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  execution.isa = everywhere_isa;
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  averaged.average_scores = 1;
  fovea_nn_attention_tensors_init(&tensors, x, room_for_rows());
  tensors.y_type = output_type;
  tensors.scores = everywhere_room((size_t)(rows_now() * LENGTH) * sizeof(float));
  everywhere_keep(fovea_nn_attention_run(&averaged, &problem, &tensors, &execution, NULL));
  const size_t size =
      measured(fovea_nn_attention_scratch_size(&averaged, &problem, with_threads(2), measured_size(), NULL));
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

/* Sizes that no double has exactly. */
static void act_sizes(void) {
  static const int64_t lengths[] = {INT64_C(100000000003), (INT64_C(1) << 47) + 1, 94906267};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    fovea_problem problem;
    fovea_nn_attention averaged = attention;
    fovea_problem_init(&problem, 3, HEADS, HEADS, lengths[i], lengths[i], DIM, DIM);
    problem.scores.kind = FOVEA_SCORES_WEIGHTS;
    averaged.average_scores = 1;
    const size_t size =
        measured(fovea_nn_attention_scratch_size(&averaged, &problem, with_threads(2), measured_size(), NULL));
    memcpy(everywhere_room(sizeof size), &size, sizeof size);
  }
}

static void test_attention(void **state) {
  (void)state;
  assert_everywhere(act_attention);
  assert_everywhere(act_block);
  assert_everywhere(act_scores);
  assert_same_everywhere(act_sizes);
}

/* ---- Stacks and streams ---- */

static fovea_nn_block blocks[2];
static fovea_nn_embedding embedding;
static fovea_nn_encoder encoder, decoder;

/* A stack from ids; the decoder has cross-attention. */
static void make_stacks(void) {
  blocks[0] = blocks[1] = block;
  blocks[1].cross = &attention;
  blocks[1].cross_norm = &norms[0];
  fovea_nn_embedding_init(&embedding, WIDTH, 4, plain);
  embedding.positions = (fovea_nn_table){plain, LENGTH, FOVEA_F32, WIDTH};
  fovea_nn_encoder_init(&encoder, &blocks[0], 1);
  fovea_nn_encoder_init(&decoder, &blocks[1], 1);
  encoder.embedding = decoder.embedding = &embedding;
  encoder.embedding_norm = encoder.final_norm = &norms[1];
}

static void make_problem(fovea_problem *problem) {
  fovea_problem_init(problem, batch, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  execution.isa = everywhere_isa;
}

static void act_encoder(void) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_rows rows;
  make_problem(&problem);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_nn_encoder_rows_init(&rows, &self, ids, everywhere_room((size_t)(rows_now() * WIDTH) * sizeof(float)));
  everywhere_keep(fovea_nn_encoder_run(&encoder, &rows, &execution, NULL));
  const size_t size =
      measured(fovea_nn_encoder_scratch_size(&encoder, &rows, with_threads(2), measured_size(), NULL));
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

/* Logits of two numbers, so that there is room for many rows. */
static void act_encoder_decoder(void) {
  static float memory[NUMBERS];
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_rows source, target;
  fovea_nn_encoder_decoder model;
  fovea_nn_linear output = layers[0];
  output.out = 2;
  execution.isa = everywhere_isa;
  fovea_nn_encoder_decoder_init(&model, &encoder, &decoder);
  model.output = &output;
  make_problem(&problem);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_nn_encoder_rows_init(&source, &self, ids, memory);
  fovea_nn_encoder_rows_init(&target, &self, ids, everywhere_room((size_t)rows_now() * 2 * sizeof(float)));
  target.cross = &self;
  everywhere_keep(fovea_nn_encoder_decoder_run(&model, &source, &target, &execution, NULL));
  const size_t size = measured(
      fovea_nn_encoder_decoder_scratch_size(&model, &source, &target, with_threads(2), measured_size(), NULL));
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

static void act_prepare(void) {
  static fovea_segment segments[MANY];
  static fovea_sequence sequences[MANY];
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_decoder model;
  fovea_pages pages;
  const fovea_type type = output_type == FOVEA_F32 ? FOVEA_F32 : FOVEA_F16;
  const size_t bytes = (size_t)(rows_now() * WIDTH) * (type == FOVEA_F32 ? 4 : 2);
  static unsigned char values[NUMBERS * 4];
  fovea_pages_init(&pages, batch, LENGTH, HEADS, DIM, DIM, type, FOVEA_KEYS_IN_ROWS);
  pages.k = everywhere_room(bytes);
  pages.v = values;
  for (int64_t b = 0; b < batch; b++) {
    everywhere_keep(fovea_cache_contiguous(&pages, b, &segments[b], NULL));
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  make_problem(&problem);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.memory = x;
  tensors.cache.sequences = sequences;
  const fovea_nn_attending cross = {&problem, &tensors};
  fovea_nn_encoder_decoder_init(&model, NULL, &decoder);
  everywhere_keep(fovea_nn_encoder_decoder_prepare(&model, &cross, &execution, NULL));
  const size_t size =
      measured(fovea_nn_encoder_decoder_prepare_scratch_size(&model, &cross, &execution, measured_size(), NULL));
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

/* A stream is made, fed and finished in the environment. */
static void act_stream(void) {
  enum { FRAMES = 40, CHUNK = 6 };
  static _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory[1 << 20];
  const fovea_nn_block *const stacked[] = {&block, &block};
  fovea_problem problem;
  fovea_nn_streaming streaming;
  fovea_nn_stream *stream;
  int64_t written = 0, all = 0;
  float *y = everywhere_room(FRAMES * WIDTH * sizeof *y);
  fovea_problem_init(&problem, 1, HEADS, HEADS, 0, 0, DIM, DIM);
  execution.isa = everywhere_isa;
  problem.window_left = 7;
  problem.window_right = 2;
  fovea_nn_streaming_init(&streaming, 2, stacked, &problem, CHUNK);
  size_t size;
  if (fovea_nn_stream_size(&streaming, &size, NULL) != FOVEA_OK || size > sizeof memory) abort();
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
  everywhere_keep(fovea_nn_stream_create_in(&streaming, memory, sizeof memory, &stream, NULL));
  for (int64_t i = 0; i < FRAMES; i += 10) {
    everywhere_keep(fovea_nn_stream_push(stream, 10, x + i * WIDTH, y + all * WIDTH, &written, &execution, NULL));
    all += written;
  }
  everywhere_keep(fovea_nn_stream_finish(stream, y + all * WIDTH, &written, &execution, NULL));
  const size_t scratch = measured(fovea_nn_stream_scratch_size(stream, with_threads(2), measured_size(), NULL));
  memcpy(everywhere_room(sizeof scratch), &scratch, sizeof scratch);
}

static void test_stacks(void **state) {
  (void)state;
  make_stacks();
  assert_everywhere(act_encoder);
  assert_everywhere(act_encoder_decoder);
  assert_everywhere(act_prepare);
  assert_same_everywhere_on_isas(act_stream);
}

int main(void) {
  many = USUAL_OR_LONG(400, MANY); /* stacks of layers have much work */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_stacks),
  };
  return cmocka_run_group_tests(tests, surroundings_set_up, NULL);
}
