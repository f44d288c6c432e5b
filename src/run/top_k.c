#include "top_k.h"

#include "../plan/parts.h"
#include "scores.h"

#include <string.h>

/* The lists of a tile's rows; their candidates follow. */
static fovea_top_list *lists_of(const fovea_task_context *context, const fovea_tile *t) {
  return (fovea_top_list *)(void *)fovea_tile_array(context->plan, t, FOVEA_SCRATCH_TOP_K);
}

void fovea_begin_top_k(const fovea_task_context *context, fovea_tile *t) {
  if (!fovea_lists_keys(context)) return;
  const uint64_t room = (uint64_t)FOVEA_TOP_ROOM(context->plan->problem.top_k);
  fovea_top_list *lists = lists_of(context, t);
  float *next = (float *)(void *)lists + fovea_top_rows_floats(context->kernels);
  for (int i = 0; i < t->rows.count; i++, next += 2 * room) {
    lists[i] = (fovea_top_list){next, (int32_t *)(void *)(next + room), 0, -__builtin_inff()};
  }
}

static void add(const fovea_task_context *context, fovea_tile *t, const float *scores, int64_t first, int count) {
  const fovea_top_filter_args args = {
      .scores = scores,
      .row_stride = FOVEA_BLOCK_KEYS,
      .row_count = t->rows.count,
      .key_count = count,
      .first = (int32_t)first,
      .lists = lists_of(context, t),
      .k = (int)context->plan->problem.top_k,
  };
  context->kernels->top_filter(&args);
}

void fovea_list_block(const fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible) {
  const fovea_interval keys = fovea_row_scores(context, t, visible);
  add(context, t, context->memory.row_scores + keys.begin, context->walk.block + keys.begin,
      (int)(keys.end - keys.begin));
}

void fovea_list_decoded(const fovea_task_context *context, fovea_tile *t, int begin, int end) {
  add(context, t, context->decode->memory.scores + begin, context->walk.block + begin, end - begin);
}

void fovea_keep_part_top_k(const fovea_task_context *context, fovea_tile *t, float *kept) {
  const int k = (int)context->plan->problem.top_k;
  if (!fovea_lists_keys(context)) return;
  for (int i = 0; i < t->rows.count; i++, kept += fovea_part_top_floats(context->plan)) {
    fovea_top_list *list = &lists_of(context, t)[i];
    context->kernels->top_select(list, k);
    const int32_t count = list->count;
    memcpy(kept, &count, sizeof count);
    memcpy(kept + 1, list->scores, (size_t)count * sizeof *list->scores);
    memcpy(kept + 1 + k, list->keys, (size_t)count * sizeof *list->keys);
  }
}

/* A row's candidates, piece by piece: a list has room for a block. */
static void add_candidates(const fovea_task_context *context, fovea_top_list *list, const float *kept) {
  const int k = (int)context->plan->problem.top_k;
  int32_t count, keys[FOVEA_BLOCK_KEYS];
  float scores[FOVEA_BLOCK_KEYS];
  memcpy(&count, kept, sizeof count);
  for (int first = 0; first < count; first += FOVEA_BLOCK_KEYS) {
    const int piece = count - first < FOVEA_BLOCK_KEYS ? count - first : FOVEA_BLOCK_KEYS;
    memcpy(scores, kept + 1 + first, (size_t)piece * sizeof *scores);
    memcpy(keys, kept + 1 + k + first, (size_t)piece * sizeof *keys);
    for (int i = piece; i < FOVEA_BLOCK_KEYS; i++) scores[i] = -__builtin_inff(), keys[i] = -1;
    const fovea_top_filter_args args = {
        .scores = scores, .row_count = 1, .key_count = piece, .keys = keys, .lists = list, .k = k};
    context->kernels->top_filter(&args);
  }
}

void fovea_merge_part_top_k(const fovea_task_context *context, fovea_tile *t, const float *kept) {
  if (!fovea_lists_keys(context)) return;
  for (int i = 0; i < t->rows.count; i++, kept += fovea_part_top_floats(context->plan)) {
    add_candidates(context, &lists_of(context, t)[i], kept);
  }
}

void fovea_write_top_k(const fovea_task_context *context, fovea_tile *t) {
  const fovea_tensors *tensors = context->tensors;
  if (!fovea_lists_keys(context)) return;
  const fovea_strides strides = context->plan->problem.top_k_strides;
  for (int i = 0; i < t->rows.count; i++) {
    const int64_t row = fovea_place_offset(context, strides, t->places[i]);
    const fovea_top_finish_args args = {
        .list = &lists_of(context, t)[i],
        .k = (int)context->plan->problem.top_k,
        .order = (uint64_t *)(void *)fovea_block_array(context, FOVEA_SCRATCH_TOP_K),
        .keys = tensors->top_keys + row,
        .scores = tensors->top_scores ? tensors->top_scores + row : NULL,
    };
    context->kernels->top_finish(&args);
  }
}
