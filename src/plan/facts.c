/* The facts that a plan tells: phases, tasks, scratch, counted pairs. */
#include "../visible/visible_rules.h"
#include "../visible/visible_tile.h"
#include "tiles.h"

size_t fovea_plan_scratch_size(const fovea_plan *plan, int workers) {
  size_t size;
  if (!plan || workers < 1) return 0;
  if (__builtin_mul_overflow(plan->worker_scratch, (size_t)workers, &size)) return SIZE_MAX;
  if (__builtin_add_overflow(size, plan->parts_scratch, &size)) return SIZE_MAX;
  return __builtin_add_overflow(size, plan->rows_scratch, &size) ? SIZE_MAX : size;
}

int fovea_plan_phases(const fovea_plan *plan) {
  return plan ? plan->phase_count : 0;
}

int64_t fovea_plan_tasks(const fovea_plan *plan, int phase) {
  if (!plan || phase < 0 || phase >= fovea_plan_phases(plan)) return 0;
  return plan->phases[phase].tasks;
}

const char *fovea_plan_isa(const fovea_plan *plan) {
  return plan ? plan->kernels->name : "";
}

/* pairs + more * times; INT64_MAX if that does not fit. */
static int64_t more_pairs(int64_t pairs, int64_t more, int64_t times) {
  int64_t sum;
  if (__builtin_mul_overflow(more, times, &more) || __builtin_add_overflow(pairs, more, &sum)) return INT64_MAX;
  return sum;
}

/* Pairs with some of the keys that a tile computes for one kv head. */
static int64_t tile_pairs(const fovea_plan *plan, const fovea_entry *given, fovea_tile_rows rows,
                          fovea_interval keys) {
  fovea_entry entry = *given;
  entry.pattern = NULL; /* as without a mask */
  int64_t lanes = plan->kernels->lanes, pairs = 0;
  fovea_visible_tile tile;
  const fovea_visibility by = fovea_visibility_of(plan, &entry, 0);
  fovea_find_visible_tile(&by, rows, NULL, &tile);
  if (fovea_is_decoded(plan, &entry, FOVEA_KEYS_LIE_IN_ROWS)) { /* keys are computed in whole vectors */
    keys = fovea_intersect(keys, tile.any);
    return fovea_rows_multiplied(plan, rows.count) * (fovea_divide_up(keys.end, lanes) - keys.begin / lanes) *
           lanes;
  }
  /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): `vectors` elements are set */
  for (int v = 0; v < tile.vectors; v++) {
    const fovea_interval some = fovea_intersect(keys, tile.some[v]);
    pairs += (some.end - some.begin) * lanes;
  }
  return pairs;
}

/* The keys of the blocks whose products are computed once more, for scores of other terms. */
static fovea_interval keys_scored_again(const fovea_plan *plan) {
  const fovea_range keys = plan->score_part.keys;
  if (!fovea_scores_again(plan) || keys.begin >= keys.end) return (fovea_interval){0, 0};
  return (fovea_interval){keys.begin / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS,
                          fovea_divide_up(keys.end, FOVEA_BLOCK_KEYS) * FOVEA_BLOCK_KEYS};
}

/* The kv heads for which a tile has rows whose scores are wanted. */
static int64_t heads_scored_again(const fovea_plan *plan, fovea_tile_rows rows) {
  int64_t heads = 0;
  for (int64_t kv_head = 0; kv_head < plan->problem.kv_heads; kv_head++) {
    int wanted = 0;
    for (int64_t i = rows.first; i < rows.first + rows.count && !wanted; i++) {
      wanted = fovea_row_is_scored(plan, kv_head * plan->group + i % plan->group, i / plan->group);
    }
    heads += wanted;
  }
  return heads;
}

fovea_status fovea_plan_counts(const fovea_plan *plan, fovea_counts *counts) {
  if (!plan || !counts) return FOVEA_ERROR_ARGUMENT;
  const fovea_interval all = {0, INT64_MAX}, again = keys_scored_again(plan);
  counts->pairs_visible = counts->pairs_computed = 0;
  for (int64_t b = 0; b < plan->problem.batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    for (int64_t row = 0; row < entry->q_seen; row++) {
      fovea_interval keys = fovea_visible_keys(&plan->problem, entry, row);
      counts->pairs_visible = more_pairs(counts->pairs_visible, keys.end - keys.begin, plan->problem.heads);
    }
    for (int64_t tile = 0, tiles = fovea_plan_tiles(plan, entry); tile < tiles; tile++) {
      const fovea_tile_rows rows = fovea_plan_tile_rows(plan, entry, tile);
      counts->pairs_computed =
          more_pairs(counts->pairs_computed, tile_pairs(plan, entry, rows, all), plan->problem.kv_heads);
      if (again.begin == again.end) continue;
      counts->pairs_computed =
          more_pairs(counts->pairs_computed, tile_pairs(plan, entry, rows, again), heads_scored_again(plan, rows));
    }
  }
  return FOVEA_OK;
}
