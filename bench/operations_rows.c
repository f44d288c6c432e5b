/* Operations on rows where they lie: decoding one row of 128 dims over up to 128 keys, and copies. */
#include "../arch/args/decode.h"
#include "operations.h"

enum { DIM = 128, MOST = FOVEA_BLOCK_KEYS };

#define ARRAYS (&bench_operation_arrays)

typedef struct row_list {
  const void *rows[MOST], *prefetch[MOST];
  int count;
} row_list;

/* A pointer for each key, as a cache has them, and for each of the next piece. */
static void list_rows(const operation_call *call, fovea_type type, row_list *list) {
  const size_t bytes = (size_t)fovea_bytes(type, DIM);
  list->count = (int)(call->bytes / bytes);
  for (int i = 0; i < list->count; i++) {
    list->rows[i] = call->piece + (size_t)i * bytes;
    list->prefetch[i] = call->next + (size_t)i * bytes;
  }
}

static void decode_score(const operation_call *call, fovea_type type) {
  row_list list;
  list_rows(call, type, &list);
  call->table->decode_score(&(fovea_decode_score_args){.queries = ARRAYS->queries,
                                                       .query_stride = DIM,
                                                       .row_count = 1,
                                                       .keys = list.rows,
                                                       .prefetch = list.prefetch,
                                                       .type = type,
                                                       .dim = DIM,
                                                       .key_count = list.count,
                                                       .c = 0.1f,
                                                       .scores = ARRAYS->scores});
}

static void run_decode_score(const operation_call *call) {
  decode_score(call, FOVEA_F32);
}

static void run_decode_score_f16(const operation_call *call) {
  decode_score(call, FOVEA_F16);
}

static void run_decode_score_bf16(const operation_call *call) {
  decode_score(call, FOVEA_BF16);
}

static void decode_value(const operation_call *call, fovea_type type) {
  row_list list;
  list_rows(call, type, &list);
  call->table->decode_value(&(fovea_decode_value_args){.weights = ARRAYS->scores,
                                                       .row_count = 1,
                                                       .values = list.rows,
                                                       .prefetch = list.prefetch,
                                                       .type = type,
                                                       .dim = DIM,
                                                       .key_count = list.count,
                                                       .flags = FOVEA_VALUE_START | FOVEA_VALUE_MERGE,
                                                       .partial = ARRAYS->queries,
                                                       .output = ARRAYS->outputs,
                                                       .output_stride = DIM,
                                                       .old_part = ARRAYS->old_part,
                                                       .new_part = ARRAYS->new_part});
}

static void run_decode_value(const operation_call *call) {
  decode_value(call, FOVEA_F32);
}

static void run_decode_value_f16(const operation_call *call) {
  decode_value(call, FOVEA_F16);
}

static void run_decode_value_bf16(const operation_call *call) {
  decode_value(call, FOVEA_BF16);
}

/* Four rows of a block. */
static void run_decode_softmax(const operation_call *call) {
  call->table->decode_softmax(&(fovea_decode_softmax_args){.scores = (float *)(void *)call->piece,
                                                           .row_count = 4,
                                                           .key_end = FOVEA_BLOCK_KEYS,
                                                           .block_max = ARRAYS->maxima,
                                                           .block_sum = ARRAYS->block_sum,
                                                           .row_max = ARRAYS->row_max,
                                                           .row_sum = ARRAYS->row_sum,
                                                           .old_part = ARRAYS->old_part,
                                                           .new_part = ARRAYS->new_part,
                                                           .first = 1});
}

/* Sixteen rows of f32, or more of 16 bits. */
static void widen(const operation_call *call, fovea_type type) {
  const int64_t rows = (int64_t)call->bytes / fovea_bytes(type, DIM);
  call->table->widen(&(fovea_widen_args){call->piece, type, DIM, rows, DIM, ARRAYS->scores, DIM});
}

static void run_widen_f16(const operation_call *call) {
  widen(call, FOVEA_F16);
}

static void run_widen_bf16(const operation_call *call) {
  widen(call, FOVEA_BF16);
}

/* Rows of 64 pairs in place: rotated by 53 degrees each time. */
static void run_rotate(const operation_call *call) {
  float cosines[FOVEA_ROTATE_PAIRS], sines[FOVEA_ROTATE_PAIRS];
  for (int i = 0; i < FOVEA_ROTATE_PAIRS; i++) cosines[i] = 0.6f, sines[i] = 0.8f;
  for (char *row = call->piece; row < call->piece + call->bytes; row += DIM * sizeof(float))
    call->table->rotate(&(fovea_rotate_args){
        .from = row, .to = row, .partner = DIM / 2, .pair_count = DIM / 2, .cosines = cosines, .sines = sines});
}

static void run_convert(const operation_call *call) {
  call->table->convert(&(fovea_convert_args){.from = call->piece,
                                             .to = ARRAYS->scores,
                                             .to_type = FOVEA_F16,
                                             .count = (int64_t)(call->bytes / sizeof(float))});
}

static void run_all_finite(const operation_call *call) {
  call->table->all_finite((const float *)(const void *)call->piece, DIM,
                          (int64_t)(call->bytes / (DIM * sizeof(float))), DIM);
}

const bench_operation bench_row_operations[] = {
    {"decode_score/d128", FOVEA_F32, 0, 65536, 0, 1, run_decode_score},
    {"decode_score_f16/d128", FOVEA_F16, 0, 32768, 0, 1, run_decode_score_f16},
    {"decode_score_bf16/d128", FOVEA_BF16, 0, 32768, 0, 1, run_decode_score_bf16},
    {"decode_value/d128", FOVEA_F32, 0, 65536, 0, 1, run_decode_value},
    {"decode_value_f16/d128", FOVEA_F16, 0, 32768, 0, 1, run_decode_value_f16},
    {"decode_value_bf16/d128", FOVEA_BF16, 0, 32768, 0, 1, run_decode_value_bf16},
    {"decode_softmax", FOVEA_F32, 0, 2048, 0, 12, run_decode_softmax},
    {"widen_f16/d128", FOVEA_F16, 0, 16384, 0, 0, run_widen_f16},
    {"widen_bf16/d128", FOVEA_BF16, 0, 16384, 0, 0, run_widen_bf16},
    {"rotate/d128", FOVEA_F32, 0, 8192, 0, 2, run_rotate},
    {"convert_f32_f16", FOVEA_F32, 0, 16384, 0, 0, run_convert},
    {"all_finite/d128", FOVEA_F32, 0, 65536, 0, 1, run_all_finite},
    {NULL, FOVEA_F32, 0, 0, 0, 0, NULL},
};
