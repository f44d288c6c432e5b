#include "scores.h"

#include "../state/row_states.h"

/* Of the keys from `begin` to `end` - 1 those whose scores are wanted; empty keys stay in the wanted range. */
static fovea_interval wanted_keys(const fovea_task_context *context, int64_t begin, int64_t end) {
  const fovea_range keys = context->plan->score_part.keys;
  begin = fovea_least(fovea_most(begin, keys.begin), keys.end);
  end = fovea_least(fovea_most(end, begin), keys.end);
  return (fovea_interval){begin, end};
}

/* The row's number for a wanted key at `position`; NULL: the row is not wanted. */
static float *score_at(const fovea_task_context *context, const fovea_tile *t, int row, int64_t position) {
  const fovea_score_part *part = &context->plan->score_part;
  const fovea_entry *entry = context->task->entry;
  const fovea_row_place place = t->places[row];
  if (!fovea_row_is_scored(context->plan, place.head, place.row)) return NULL;
  const int packed = context->plan->problem.cu_seqlens_q && !part->by_entry;
  const int64_t from = packed ? entry->q_first : 0;
  return context->tensors->scores +
         fovea_tensor_offset(context->plan->problem.score_strides, entry, packed, place.head - part->heads.begin,
                             from + place.row - part->rows.begin) +
         (position - part->keys.begin);
}

int fovea_tile_is_scored(const fovea_task_context *context, const fovea_tile *t) {
  if (!context->tensors->scores) return 0;
  for (int i = 0; i < t->rows.count; i++) {
    if (fovea_row_is_scored(context->plan, t->places[i].head, t->places[i].row)) return 1;
  }
  return 0;
}

int fovea_block_is_scored(const fovea_task_context *context, const fovea_tile *t) {
  const int64_t base = context->walk.block;
  const fovea_interval keys = wanted_keys(context, base, base + FOVEA_BLOCK_KEYS);
  return t->scored && keys.begin < keys.end;
}

/* Sets a row's scores of keys `begin` to `end` - 1; nothing if it is not wanted. */
static void set(float *scores, int64_t begin, int64_t end, float score) {
  for (int64_t key = 0; scores && key < end - begin; key++) scores[key] = score;
}

/* Scores up to `end` that no block has given. */
static void fill(const fovea_task_context *context, fovea_tile *t, int64_t end) {
  const fovea_interval keys = wanted_keys(context, t->kept, end);
  for (int i = 0; i < t->rows.count && keys.begin < keys.end; i++) {
    set(score_at(context, t, i, keys.begin), keys.begin, keys.end, -__builtin_inff());
  }
  if (t->kept < end) t->kept = end;
}

/* The wanted keys of the current block that the tile meets, counted from the block's first. */
static fovea_interval begin_block(const fovea_task_context *context, fovea_tile *t) {
  const int64_t base = context->walk.block;
  fovea_interval keys = fovea_intersect(t->visible.any, (fovea_interval){base, base + FOVEA_BLOCK_KEYS});
  fill(context, t, keys.begin);
  t->kept = keys.end;
  keys = wanted_keys(context, keys.begin, keys.end);
  return (fovea_interval){keys.begin - base, keys.end - base};
}

void fovea_keep_block(const fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible) {
  const fovea_interval keys = begin_block(context, t);
  float *rows[FOVEA_ROW_TILE_LIMIT];
  if (keys.begin >= keys.end) return;
  for (int i = 0; i < t->rows.count; i++) rows[i] = score_at(context, t, i, context->walk.block + keys.begin);
  const fovea_keep_args args = {
      .scores = context->memory.scores,
      .rows = rows,
      .row_count = t->rows.count,
      .key_begin = (int)keys.begin,
      .key_end = (int)keys.end,
      .seen_begin = visible->sliced.begin,
      .seen_end = visible->sliced.end,
  };
  context->kernels->keep_scores(&args);
}

fovea_interval fovea_row_scores(const fovea_task_context *context, const fovea_tile *t,
                                const fovea_visible_block *visible) {
  const int64_t base = context->walk.block;
  const int lanes = context->kernels->lanes;
  float *rows[FOVEA_ROW_TILE_LIMIT];
  const fovea_interval keys = fovea_intersect(t->visible.any, (fovea_interval){base, base + FOVEA_BLOCK_KEYS});
  const int begin = (int)(keys.begin - base) / lanes * lanes;
  const int end = ((int)(keys.end - base) + lanes - 1) / lanes * lanes;
  for (int i = 0; i < t->rows.count; i++) rows[i] = context->memory.row_scores + i * FOVEA_BLOCK_KEYS + begin;
  const fovea_keep_args args = {
      .scores = context->memory.scores,
      .rows = rows,
      .row_count = t->rows.count,
      .key_begin = begin,
      .key_end = end,
      .seen_begin = visible->sliced.begin,
      .seen_end = visible->sliced.end,
  };
  context->kernels->keep_scores(&args);
  return (fovea_interval){begin, end};
}

void fovea_keep_decoded(const fovea_task_context *context, fovea_tile *t, fovea_interval scored) {
  const fovea_interval keys = begin_block(context, t);
  for (int i = 0; i < t->rows.count && keys.begin < keys.end; i++) {
    const float *from = context->decode->memory.scores + i * FOVEA_BLOCK_KEYS;
    float *to = score_at(context, t, i, context->walk.block + keys.begin);
    for (int64_t key = keys.begin; to && key < keys.end; key++) {
      to[key - keys.begin] =
          key >= scored.begin && key < scored.end ? fovea_canonical(from[key]) : -__builtin_inff();
    }
  }
}

void fovea_keep_rest(const fovea_task_context *context, fovea_tile *t) {
  fill(context, t, t->visible.any.end);
}

int64_t fovea_kept_scores(const fovea_task_context *context, const fovea_tile *t, float **rows) {
  const fovea_range all = context->plan->score_part.keys;
  const fovea_interval met = t->keys.begin < t->keys.end ? t->keys : (fovea_interval){0, 0};
  const fovea_interval keys = wanted_keys(context, met.begin, met.end);
  const float unseen = fovea_keeps_weights(context) ? 0 : -__builtin_inff();
  for (int i = 0; i < t->rows.count; i++) {
    rows[i] = score_at(context, t, i, keys.begin);
    set(score_at(context, t, i, all.begin), all.begin, keys.begin, unseen);
    set(score_at(context, t, i, keys.end), keys.end, all.end, unseen);
  }
  return keys.end - keys.begin;
}
