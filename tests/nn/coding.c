#include "nn/coding.h"

#include "support/check.h"

#include <string.h>

const int32_t source_ids[BATCH * SOURCE] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 0, 0};
const int32_t target_ids[BATCH * TARGET] = {8, 9, 7, 9, 3, 2, 3, 8, 4, 6};
const int64_t source_lengths[BATCH] = {SOURCE, SHORT};
const int32_t source_ends[BATCH + 1] = {0, SOURCE, PACKED};
struct stack encoder, decoder;

void make_problem(fovea_problem *problem, int64_t rows, int64_t keys) {
  fovea_problem_init(problem, BATCH, STACK_HEADS, STACK_HEADS, rows, keys, STACK_DIM, STACK_DIM);
}

void make_models(int norm_first) {
  stack_create(&encoder, STACK_LAYERS, 0, norm_first, 1);
  stack_create(&decoder, STACK_LAYERS, 1, norm_first, stack_end(&encoder, 1));
}

void make_call(struct call *c, float *y) {
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

void make_cache(struct cache *cache) {
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
