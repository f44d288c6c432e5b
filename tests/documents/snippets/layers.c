#include "around.h"

#include <fovea/embedding.h>
#include <fovea/encoder.h>
#include <fovea/stream.h>
#include <fovea/terms.h>
/* snippet 1 */

enum { batch = 2, heads = 8, head_dim = 8, dim = heads * head_dim, vocabulary = 30, length = 5, source_length = 6 };

static void linear(void) {
  const int64_t count = 3;
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  const float *weights = weights_of(384 * 1536), *bias = weights_of(1536), *x = numbers_of(count * 384);
  float *y = numbers_of(count * 1536);
  /* snippet 2 */
  computed(y, count * 1536);
}

static void quantised_weights(void) {
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  const float *weights = numbers_of(384 * 1536), *x = numbers_of(384); /* any bytes */
  float *y = numbers_of(1536);
  /* snippet 3 */
  need(status == FOVEA_OK, error.text);
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, &up, 1, x, y);
  need(fovea_nn_linear_run(&up, &rows, NULL, &error) == FOVEA_OK, error.text);
}

static void attention_and_block(void) {
  const int64_t rows_of_x = batch * length;
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  fovea_nn_linear up, down;
  const float *in_proj = weights_of(3 * 512 * 512), *out_proj = weights_of(512 * 512);
  float *x = numbers_of(rows_of_x * 512), *y = numbers_of(rows_of_x * 512);
  linear_layer(&up, 512, 2048);
  linear_layer(&down, 2048, 512);
  /* snippet 4 */
  computed(y, rows_of_x * 512);
  const int64_t pad[batch] = {0, 2}, minus_pad[batch] = {0, -2};
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 64);
  attention.rotary = &rotary;
  /* snippet 5 */
  computed(y, rows_of_x * 512);
  attention.rotary = NULL;
  tensors.first_positions = NULL;
  problem.kv_begins = NULL;
  /* snippet 6 */
  computed(y, rows_of_x * 512);
  fovea_problem_set_terms(&problem, NULL, 0);
  attention.terms = NULL;
  /* snippet 7 */
  computed(x, rows_of_x * 512);
}

/* A layer of `dim` numbers, and everything that it is made of. */
typedef struct whole_block {
  fovea_nn_linear projections[8], up, down;
  fovea_nn_attention self, cross;
  fovea_nn_norm norms[3];
  fovea_nn_block block;
} whole_block;

static const fovea_nn_block *make_block(whole_block *whole, int64_t width, int crossing) {
  fovea_nn_linear *p = whole->projections;
  for (int i = 0; i < 8; i++) linear_layer(&p[i], width, width);
  linear_layer(&whole->up, width, 2 * width);
  linear_layer(&whole->down, 2 * width, width);
  fovea_nn_attention_init(&whole->self, &p[0], &p[1], &p[2], &p[3]);
  fovea_nn_attention_init(&whole->cross, &p[4], &p[5], &p[6], &p[7]);
  for (int i = 0; i < 3; i++) fovea_nn_norm_init(&whole->norms[i], FOVEA_NN_LAYER_NORM, width);
  fovea_nn_block_init(&whole->block, &whole->self, &whole->norms[0], &whole->up, &whole->down, &whole->norms[1]);
  if (crossing) whole->block.cross = &whole->cross, whole->block.cross_norm = &whole->norms[2];
  return &whole->block;
}

static void whole_encoder(void) {
  enum { layers = 2 };
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  whole_block *made = malloc(layers * sizeof *made);
  fovea_nn_block blocks[layers];
  for (int i = 0; i < layers; i++) blocks[i] = *make_block(&made[i], dim, 0);
  fovea_nn_norm norm;
  fovea_nn_norm_init(&norm, FOVEA_NN_LAYER_NORM, dim);
  float *table = numbers_of(512 * dim), *y = numbers_of(batch * length * dim);
  const float *tokens = numbers_of(vocabulary * dim);
  const int32_t ids[batch * length] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 29};
  fovea_problem problem;
  fovea_problem_init(&problem, batch, heads, heads, length, length, head_dim, head_dim);
  fovea_nn_attention_tensors tensors;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  /* snippet 8 */
  computed(y, batch * length * dim);
}

static void caches_of(fovea_segment *segments, fovea_sequence *sequences, int64_t rows) {
  for (int b = 0; b < batch; b++) {
    segments[b] = (fovea_segment){.rows = rows,
                                  .k = numbers_of(heads * rows * head_dim),
                                  .v = numbers_of(heads * rows * head_dim),
                                  .k_row = head_dim,
                                  .v_row = head_dim,
                                  .k_head = rows * head_dim,
                                  .v_head = rows * head_dim};
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
}

static void encoder_and_decoder(void) {
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  whole_block *made = malloc(2 * sizeof *made);
  const fovea_nn_block *encoding = make_block(&made[0], dim, 0), *decoding = make_block(&made[1], dim, 1);
  fovea_nn_embedding embedding;
  fovea_nn_encoder encoder, decoder;
  fovea_nn_linear output;
  const int32_t source_ids[batch * source_length] = {7, 2, 9, 4, 1, 0, 3, 3, 8, 29, 5, 6};
  const int32_t target_ids[batch * length] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 29};
  float *memory = numbers_of(batch * source_length * dim), *logits = numbers_of(batch * length * vocabulary);
  fovea_nn_embedding_init(&embedding, dim, vocabulary, numbers_of(vocabulary * dim));
  fovea_nn_encoder_init(&encoder, encoding, 1);
  fovea_nn_encoder_init(&decoder, decoding, 1);
  encoder.embedding = decoder.embedding = &embedding;
  linear_layer(&output, dim, vocabulary);

  fovea_problem source_problem, target_problem, cross_problem;
  fovea_nn_attention_tensors source_tensors, target_tensors, cross_tensors;
  fovea_problem_init(&source_problem, batch, heads, heads, source_length, source_length, head_dim, head_dim);
  fovea_problem_init(&target_problem, batch, heads, heads, length, length, head_dim, head_dim);
  fovea_problem_init(&cross_problem, batch, heads, heads, length, source_length, head_dim, head_dim);
  target_problem.causal = 1;
  fovea_nn_attention_tensors_init(&source_tensors, NULL, NULL);
  fovea_nn_attention_tensors_init(&target_tensors, NULL, NULL);
  fovea_nn_attention_tensors_init(&cross_tensors, NULL, NULL);
  const fovea_nn_attending source_self = {&source_problem, &source_tensors};
  const fovea_nn_attending target_self = {&target_problem, &target_tensors},
                           cross = {&cross_problem, &cross_tensors};
  fovea_nn_encoder_rows source, target;
  /* snippet 9 */
  computed(logits, batch * length * vocabulary);

  /* The last step has the bits of the last rows. */
  const int64_t source_lengths[batch] = {source_length, source_length};
  float *last = numbers_of(batch * vocabulary);
  int32_t tokens[batch];
  fovea_segment segments[batch], memory_segments[batch];
  fovea_sequence self_caches[batch], memory_caches[batch];
  caches_of(segments, self_caches, length);
  caches_of(memory_segments, memory_caches, source_length);
  cross_problem.cache.segmented = 1;
  target_tensors.cache.sequences = self_caches;
  target.y = last;
#define tokens (tokens[0] = target_ids[i], tokens[1] = target_ids[length + i], tokens)
  /* snippet 10 */
#undef tokens
  for (int b = 0; b < batch; b++)
    same_bits(last + b * vocabulary, logits + (b * length + length - 1) * vocabulary, vocabulary * sizeof(float),
              "the last step has other bits than all rows at once");
}

enum { width = 256 };

static int64_t next_frames(float *x) {
  static int64_t came;
  const int64_t count = came < 50 ? 10 : 0;
  for (int64_t i = 0; i < count * width; i++) x[i] = (float)((came * width + i) % 37 - 18) / 16;
  came += count;
  return count;
}

static void stream_of_frames(void) {
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  whole_block *made = malloc(3 * sizeof *made);
  const fovea_nn_block block0 = *make_block(&made[0], width, 0), block1 = *make_block(&made[1], width, 0);
  const fovea_nn_block block2 = *make_block(&made[2], width, 0);
  float *x = numbers_of(10 * width), *y = numbers_of(28 * width);
  int64_t count = 0, written = 0;
  /* snippet 11 */
  need(written == fovea_nn_stream_pending(stream) + written && written > 0, "the last frames did not come");
  computed(y, written * width);

  /* snippet 12 */
  worked(fovea_nn_stream_size(&streaming, &size, &error), error.text, __LINE__);
  fovea_nn_stream *first, *second;
  worked(fovea_nn_stream_create_in(&streaming, aligned_alloc(FOVEA_SCRATCH_ALIGNMENT, size), size, &first, &error),
         error.text, __LINE__);
  worked(fovea_nn_stream_create_in(&streaming, aligned_alloc(FOVEA_SCRATCH_ALIGNMENT, size), size, &second, &error),
         error.text, __LINE__);
  const float *x_first = numbers_of(16 * width), *x_second = numbers_of(5 * width);
  float *y_first = numbers_of(64 * width), *y_second = numbers_of(64 * width);
  {
    /* snippet 13 */
    need(written[1] == 5, "the second utterance did not end");
    computed(y_second, 5 * width);
  }
}

int main(void) {
  linear();
  quantised_weights();
  attention_and_block();
  whole_encoder();
  encoder_and_decoder();
  stream_of_frames();
  return 0;
}
