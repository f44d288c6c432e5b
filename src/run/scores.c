#include "scores.h"

#if FOVEA_BUILDS_OUTPUTS

/* The keys from `begin` to `end` - 1 whose scores are wanted; empty keys stay in the wanted range. */
static fovea_interval wanted_keys(const fovea_plan *plan, int64_t begin, int64_t end) {
  const fovea_range keys = plan->score_part.keys;
  begin = fovea_least(fovea_most(begin, keys.begin), keys.end);
  end = fovea_least(fovea_most(end, begin), keys.end);
  return (fovea_interval){begin, end};
}

/* The row's number for a wanted key at `position`; NULL: the row is not wanted. */
static float *score_at(fovea_score_rows output, const fovea_tile *t, int row, int64_t position) {
  const fovea_plan *plan = output.plan;
  const fovea_score_part *part = &plan->score_part;
  const fovea_entry *entry = output.entry;
  const fovea_row_place place = t->places[row];
  if (!fovea_row_is_scored(plan, place.head, place.row)) return NULL;
  const int packed = plan->problem.cu_seqlens_q && !part->by_entry;
  const int64_t from = packed ? entry->q_first : 0;
  return output.scores +
         fovea_tensor_offset(plan->problem.scores.strides, entry, packed, place.head - part->heads.begin,
                             from + place.row - part->rows.begin) +
         (position - part->keys.begin);
}

int fovea_tile_is_scored(const fovea_plan *plan, const fovea_tile *t) {
  for (int i = 0; i < t->rows.count; i++) {
    if (fovea_row_is_scored(plan, t->places[i].head, t->places[i].row)) return 1;
  }
  return 0;
}

int fovea_block_is_scored(const fovea_plan *plan, int64_t base) {
  const fovea_interval keys = wanted_keys(plan, base, base + FOVEA_BLOCK_KEYS);
  return keys.begin < keys.end;
}

/* Sets a row's scores of keys `begin` to `end` - 1; nothing if it is not wanted. */
static void set(float *scores, int64_t begin, int64_t end, float score) {
  for (int64_t key = 0; scores && key < end - begin; key++) scores[key] = score;
}

/* Scores up to `end` that no block has given. */
static void fill(fovea_score_rows output, fovea_tile *t, int64_t end) {
  const fovea_interval keys = wanted_keys(output.plan, t->kept, end);
  for (int i = 0; i < t->rows.count && keys.begin < keys.end; i++) {
    set(score_at(output, t, i, keys.begin), keys.begin, keys.end, -__builtin_inff());
  }
  if (t->kept < end) t->kept = end;
}

void fovea_keep_block(fovea_score_rows output, fovea_tile *t, const fovea_visible_block *visible,
                      fovea_copy_scores *copy) {
  const int64_t base = visible->base;
  const fovea_interval met = fovea_intersect(t->visible.any, (fovea_interval){base, base + FOVEA_BLOCK_KEYS});
  fill(output, t, met.begin);
  t->kept = met.end;
  const fovea_interval keys = wanted_keys(output.plan, met.begin, met.end);
  float *rows[FOVEA_ROW_TILE_LIMIT];
  if (keys.begin >= keys.end) return;
  for (int i = 0; i < t->rows.count; i++) rows[i] = score_at(output, t, i, keys.begin);
  copy(output.plan->kernels, t, visible, (fovea_interval){keys.begin - base, keys.end - base}, rows);
}

void fovea_keep_rest(fovea_score_rows output, fovea_tile *t) {
  fill(output, t, t->visible.any.end);
}

int64_t fovea_kept_scores(fovea_score_rows output, const fovea_tile *t, float **rows) {
  const fovea_range all = output.plan->score_part.keys;
  const fovea_interval met = t->keys.begin < t->keys.end ? t->keys : (fovea_interval){0, 0};
  const fovea_interval keys = wanted_keys(output.plan, met.begin, met.end);
  const float unseen = fovea_keeps_weights(output.plan) ? 0 : -__builtin_inff();
  for (int i = 0; i < t->rows.count; i++) {
    rows[i] = score_at(output, t, i, keys.begin);
    set(score_at(output, t, i, all.begin), all.begin, keys.begin, unseen);
    set(score_at(output, t, i, keys.end), keys.end, all.end, unseen);
  }
  return keys.end - keys.begin;
}
#endif
