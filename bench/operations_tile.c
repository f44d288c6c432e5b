/* Operations on a tile: all of its rows, 128 dims, up to 128 keys. */
#include "operations.h"

enum { DIM = 128 };

#define ARRAYS (&bench_operation_arrays)

static fovea_vector_range all_vectors(const operation_call *call) {
  return (fovea_vector_range){0, call->table->row_tile / call->table->lanes};
}

/* Floats of the piece for each row of a tile. */
static int per_row(const operation_call *call) {
  return (int)(call->bytes / sizeof(float)) / call->table->row_tile;
}

static void run_score(const operation_call *call) {
  call->table->score(&(fovea_score_args){.queries = ARRAYS->queries,
                                         .keys = call->piece,
                                         .key_stride = DIM,
                                         .dim = DIM,
                                         .key_count = (int)(call->bytes / (DIM * sizeof(float))),
                                         .c = 0.1f,
                                         .scores = ARRAYS->scores,
                                         .maxima = ARRAYS->maxima,
                                         .vectors = all_vectors(call),
                                         .prefetch = &(fovea_fetch_row){call->next, (int64_t)call->bytes},
                                         .prefetch_count = 1});
}

/* Rows of bf16. Queries of f32 with the same bits serve as pairs, too. */
static void run_score_pairs(const operation_call *call) {
  call->table->score_pairs(&(fovea_score_args){.queries = ARRAYS->queries,
                                               .keys = call->piece,
                                               .key_stride = DIM,
                                               .dim = DIM,
                                               .key_count = (int)(call->bytes / (DIM * sizeof(uint16_t))),
                                               .c = 0.1f,
                                               .scores = ARRAYS->scores,
                                               .maxima = ARRAYS->maxima,
                                               .vectors = all_vectors(call)});
}

static void run_value(const operation_call *call) {
  call->table->value(&(fovea_value_args){.weights = ARRAYS->scores,
                                         .values = (const float *)(const void *)call->piece,
                                         .value_stride = DIM,
                                         .dim = DIM,
                                         .key_count = (int)(call->bytes / (DIM * sizeof(float))),
                                         .flags = FOVEA_VALUE_START | FOVEA_VALUE_MERGE,
                                         .partial = ARRAYS->queries,
                                         .output = ARRAYS->outputs,
                                         .old_part = ARRAYS->old_part,
                                         .new_part = ARRAYS->new_part,
                                         .vectors = all_vectors(call)});
}

/* Each call replaces scores by weights. Weights of weights are numbers from 0 to 1 again. */
static void run_softmax(const operation_call *call) {
  const int zeros[FOVEA_CHANNELS_LIMIT] = {0}, count = per_row(call);
  const int ends[FOVEA_CHANNELS_LIMIT] = {count, count, count, count};
  for (int row = 0; row < call->table->row_tile; row++) ARRAYS->maxima[row] = 1.0f;
  call->table->softmax(&(fovea_softmax_args){.scores = (float *)(void *)call->piece,
                                             .maxima = ARRAYS->maxima,
                                             .row_max = ARRAYS->row_max,
                                             .row_sum = ARRAYS->row_sum,
                                             .block_sum = ARRAYS->block_sum,
                                             .old_part = ARRAYS->old_part,
                                             .new_part = ARRAYS->new_part,
                                             .first = 1,
                                             .vectors = all_vectors(call),
                                             .key_begin = zeros,
                                             .key_end = ends});
}

static const fovea_score_terms capped = {.c = 1.0f, .adjusted = 1, .capped = 1, .cap = 1.0f, .unit = 1.0f};
static const fovea_score_terms plain = {.c = 1.0f, .unit = 1.0f};

static void run_cap(const operation_call *call) {
  call->table->adjust(&(fovea_adjust_args){.scores = (float *)(void *)call->piece,
                                           .terms = &capped,
                                           .key_count = per_row(call),
                                           .vectors = all_vectors(call),
                                           .maxima = ARRAYS->maxima});
}

static void run_mask(const operation_call *call) {
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  const int count = per_row(call);
  for (int row = 0; row < call->table->row_tile; row++)
    rows[row] = call->piece + (size_t)(row * count) * sizeof(float);
  const fovea_mask_tile mask = {rows, FOVEA_MASK_F32, 0, count};
  call->table->adjust(&(fovea_adjust_args){.scores = ARRAYS->scores,
                                           .terms = &plain,
                                           .key_count = count,
                                           .vectors = all_vectors(call),
                                           .mask = &mask,
                                           .maxima = ARRAYS->maxima});
}

/* No byte is zero, so the scan cannot stop after the first rows. */
static void run_scan(const operation_call *call) {
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  const int count = (int)call->bytes / call->table->row_tile;
  fovea_mask_pieces pieces[FOVEA_CHANNELS_LIMIT];
  for (int row = 0; row < call->table->row_tile; row++) rows[row] = call->piece + (size_t)(row * count);
  const fovea_mask_tile mask = {rows, FOVEA_MASK_BOOL, 0, count};
  call->table->scan_mask(&mask, all_vectors(call).count, pieces);
}

static void run_merge(const operation_call *call) {
  const fovea_tile_state left = {ARRAYS->row_max, ARRAYS->row_sum, ARRAYS->outputs, NULL};
  const fovea_tile_state right = {ARRAYS->maxima, ARRAYS->block_sum, (float *)(void *)call->piece, NULL};
  call->table->merge(&(fovea_merge_args){left, right, per_row(call), all_vectors(call).count});
}

static void run_store(const operation_call *call) {
  void *rows[FOVEA_ROW_TILE_LIMIT];
  const int dim = per_row(call);
  for (int row = 0; row < call->table->row_tile; row++) rows[row] = ARRAYS->scores + row * dim;
  const fovea_tile_state state = {ARRAYS->row_max, ARRAYS->row_sum, (float *)(void *)call->piece, NULL};
  call->table->store(
      &(fovea_store_args){.state = state, .dim = dim, .row_count = call->table->row_tile, .rows = rows});
}

static void load(const operation_call *call, fovea_type type, size_t size) {
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  const size_t dim = call->bytes / size / (size_t)call->table->row_tile;
  for (int row = 0; row < call->table->row_tile; row++) rows[row] = call->piece + (size_t)row * dim * size;
  call->table->load_rows(&(fovea_load_args){rows, type, call->table->row_tile, (int64_t)dim, ARRAYS->queries});
}

static void run_load(const operation_call *call) {
  load(call, FOVEA_F32, 4);
}

static void run_load_f16(const operation_call *call) {
  load(call, FOVEA_F16, 2);
}

/* 2^x takes eleven: the difference, r and f, six steps of Horner's rule, the scaling, the sum. The softcap takes
 * 24: the operations of tanh, a product, a maximum. */
const bench_operation bench_tile_operations[] = {
    {"score/d128", FOVEA_F32, 0, 65536, 1, 0, run_score},
    {"value/d128", FOVEA_F32, 0, 65536, 1, 0, run_value},
    {"softmax", FOVEA_F32, 1, 512, 0, 11, run_softmax},
    {"adjust_softcap", FOVEA_F32, 1, 512, 0, 24, run_cap},
    {"adjust_mask", FOVEA_F32, 1, 512, 0, 2, run_mask},
    {"scan_mask", FOVEA_F32, 1, 128, 0, 0, run_scan},
    {"merge", FOVEA_F32, 1, 512, 0, 2, run_merge},
    {"store", FOVEA_F32, 1, 512, 0, 3, run_store},
    {"load", FOVEA_F32, 1, 512, 0, 0, run_load},
    {"load_f16", FOVEA_F16, 1, 256, 0, 0, run_load_f16},
    {NULL, FOVEA_F32, 0, 0, 0, 0, NULL},
};

const bench_operation bench_pair_operations[] = {
    {"score_pairs/d128", FOVEA_BF16, 0, 32768, 1, 0, run_score_pairs},
    {NULL, FOVEA_F32, 0, 0, 0, 0, NULL},
};
