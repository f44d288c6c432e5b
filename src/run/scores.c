#include "scores.h"

#include "../state/row_states.h"

/* The row's number for the key at `position`. */
static float *score_at(const fovea_task_context *context, const fovea_tile *t, int row, int64_t position) {
  return context->tensors->scores +
         fovea_place_offset(context, context->plan->problem.score_strides, t->places[row]) + position;
}

static void set(float *scores, int64_t begin, int64_t end, float score) {
  for (int64_t key = begin; key < end; key++) scores[key] = score;
}

/* Scores up to `end` that no block has given. */
static void fill(const fovea_task_context *context, fovea_tile *t, int64_t end) {
  for (int i = 0; i < t->rows.count && t->kept < end; i++) {
    set(score_at(context, t, i, 0), t->kept, end, -__builtin_inff());
  }
  if (t->kept < end) t->kept = end;
}

/* The keys of the current block that the tile meets, counted from the block's first. */
static fovea_interval begin_block(const fovea_task_context *context, fovea_tile *t) {
  const int64_t base = context->walk.block;
  const fovea_interval keys = fovea_intersect(t->view.any, (fovea_interval){base, base + FOVEA_BLOCK_KEYS});
  fill(context, t, keys.begin);
  t->kept = keys.end;
  return (fovea_interval){keys.begin - base, keys.end - base};
}

void fovea_keep_block(const fovea_task_context *context, fovea_tile *t, const fovea_sight *sight) {
  const fovea_interval keys = begin_block(context, t);
  float *rows[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < t->rows.count; i++) rows[i] = score_at(context, t, i, context->walk.block + keys.begin);
  const fovea_keep_args args = {
      .scores = context->memory.scores,
      .rows = rows,
      .row_count = t->rows.count,
      .key_begin = (int)keys.begin,
      .key_end = (int)keys.end,
      .seen_begin = sight->view.begin,
      .seen_end = sight->view.end,
  };
  context->kernels->keep_scores(&args);
}

void fovea_keep_decoded(const fovea_task_context *context, fovea_tile *t, fovea_interval scored) {
  const fovea_interval keys = begin_block(context, t);
  for (int i = 0; i < t->rows.count; i++) {
    const float *from = context->decode->memory.scores + i * FOVEA_BLOCK_KEYS;
    float *to = score_at(context, t, i, context->walk.block);
    for (int64_t key = keys.begin; key < keys.end; key++) {
      to[key] = key >= scored.begin && key < scored.end ? fovea_canonical(from[key]) : -__builtin_inff();
    }
  }
}

void fovea_keep_rest(const fovea_task_context *context, fovea_tile *t) {
  fill(context, t, t->view.any.end);
}

int64_t fovea_kept_scores(const fovea_task_context *context, const fovea_tile *t, float **rows) {
  const fovea_interval keys = t->keys.begin < t->keys.end ? t->keys : (fovea_interval){0, 0};
  const float unseen = fovea_keeps_weights(context) ? 0 : -__builtin_inff();
  for (int i = 0; i < t->rows.count; i++) {
    float *scores = score_at(context, t, i, 0);
    rows[i] = scores + keys.begin;
    set(scores, 0, keys.begin, unseen);
    set(scores, keys.end, context->plan->score_keys, unseen);
  }
  return keys.end - keys.begin;
}
