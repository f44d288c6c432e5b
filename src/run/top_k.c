#include "top_k.h"
#include "../../arch/args/outputs.h"

#include "../plan/parts.h"

#include <string.h>

#if FOVEA_BUILDS_OUTPUTS

/* The lists of a tile's rows; their candidates follow. */
static fovea_top_list *lists_of(const fovea_plan *plan, const fovea_tile *t) {
  return (fovea_top_list *)(void *)fovea_tile_array(plan, &t->memory, FOVEA_SCRATCH_TOP_K);
}

void fovea_begin_top_k(const fovea_plan *plan, fovea_tile *t) {
  if (!fovea_lists_keys(plan)) return;
  const uint64_t room = (uint64_t)FOVEA_TOP_ROOM(plan->problem.top.k);
  fovea_top_list *lists = lists_of(plan, t);
  float *next = (float *)(void *)lists + fovea_top_rows_floats(plan->kernels);
  for (int i = 0; i < t->rows.count; i++, next += 2 * room) {
    lists[i] = (fovea_top_list){next, (int32_t *)(void *)(next + room), 0, -__builtin_inff()};
  }
}

void fovea_list_keys(const fovea_plan *plan, fovea_tile *t, int64_t base, fovea_scores_of_rows scores) {
  const fovea_top_filter_args args = {
      .scores = scores.scores + scores.keys.begin,
      .row_stride = FOVEA_BLOCK_KEYS,
      .row_count = t->rows.count,
      .key_count = (int)(scores.keys.end - scores.keys.begin),
      .first = (int32_t)(base + scores.keys.begin),
      .lists = lists_of(plan, t),
      .k = (int)plan->problem.top.k,
  };
  plan->kernels->top_filter(&args);
}

void fovea_keep_part_top_k(const fovea_plan *plan, fovea_tile *t, float *kept) {
  const int k = (int)plan->problem.top.k;
  if (!fovea_lists_keys(plan)) return;
  for (int i = 0; i < t->rows.count; i++, kept += fovea_part_top_floats(plan)) {
    fovea_top_list *list = &lists_of(plan, t)[i];
    plan->kernels->top_select(list, k);
    const int32_t count = list->count;
    memcpy(kept, &count, sizeof count);
    memcpy(kept + 1, list->scores, (size_t)count * sizeof *list->scores);
    memcpy(kept + 1 + k, list->keys, (size_t)count * sizeof *list->keys);
  }
}

/* A row's candidates, piece by piece: a list has room for a block. */
static void add_candidates(const fovea_plan *plan, fovea_top_list *list, const float *kept) {
  const int k = (int)plan->problem.top.k;
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
    plan->kernels->top_filter(&args);
  }
}

void fovea_merge_part_top_k(const fovea_plan *plan, fovea_tile *t, const float *kept) {
  if (!fovea_lists_keys(plan)) return;
  for (int i = 0; i < t->rows.count; i++, kept += fovea_part_top_floats(plan)) {
    add_candidates(plan, &lists_of(plan, t)[i], kept);
  }
}

void fovea_write_top_k(const fovea_plan *plan, const fovea_entry *entry, fovea_tile *t,
                       const fovea_tensors *tensors, uint64_t *order) {
  if (!fovea_lists_keys(plan)) return;
  const fovea_strides strides = plan->problem.top.strides;
  for (int i = 0; i < t->rows.count; i++) {
    const int64_t row = fovea_place_offset(&plan->problem, entry, strides, t->places[i]);
    const fovea_top_finish_args args = {
        .list = &lists_of(plan, t)[i],
        .k = (int)plan->problem.top.k,
        .order = order,
        .keys = tensors->top.keys + row,
        .scores = tensors->top.scores ? tensors->top.scores + row : NULL,
    };
    plan->kernels->top_finish(&args);
  }
}
#endif
