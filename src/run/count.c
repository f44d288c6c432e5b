#include "count.h"

#include "../../arch/float_state.h"
#include "gather.h"
#include "scores.h"
#include "sight.h"
#include "walk.h"

/* Counts the keys of a slice that a row sees. */
static int64_t keys_seen(const fovea_task_context *context, const fovea_sight *sight,
                         const fovea_block_slice *slice, int row) {
  const fovea_interval slice_keys = {context->walk.block + slice->begin, context->walk.block + slice->end};
  const fovea_interval keys = fovea_intersect(sight->rows->rows[row], slice_keys);
  if (!slice->masked || keys.begin == keys.end) return keys.end - keys.begin;
  return fovea_mask_shows(&sight->mask.tile, row, (int)(keys.begin - context->walk.block),
                          (int)(keys.end - context->walk.block));
}

int64_t fovea_pairs_seen(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight) {
  int64_t pairs = 0, lanes = context->kernels->lanes;
  for (int i = 0; i < sight->view.count; i++) {
    const fovea_block_slice *slice = &sight->view.slices[i];
    int64_t first = slice->vectors.first * lanes, end = first + slice->vectors.count * lanes;
    for (int64_t row = first; row < end && row < t->rows.count; row++) {
      pairs += keys_seen(context, sight, slice, (int)row);
    }
  }
  return pairs;
}

void fovea_count_seen(const fovea_task_context *context, fovea_tile *t, const fovea_sight *sight) {
  const int64_t lanes = context->kernels->lanes;
  int64_t *counts = fovea_seen_counts(context->plan, t);
  for (int i = 0; i < sight->view.count; i++) {
    const fovea_block_slice *slice = &sight->view.slices[i];
    const int64_t first = slice->vectors.first * lanes, end = first + slice->vectors.count * lanes;
    for (int64_t row = first; row < end && row < t->rows.count; row++) {
      counts[row] += keys_seen(context, sight, slice, (int)row);
    }
  }
}

int64_t fovea_pairs_computed(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight) {
  int64_t pairs = 0, lanes = context->kernels->lanes;
  if (t->decoded) {
    fovea_interval keys = fovea_keys_of_view(&sight->view, t->view.vectors);
    return t->rows.count * (fovea_divide_up(keys.end, lanes) - keys.begin / lanes) * lanes;
  }
  for (int i = 0; i < sight->view.count; i++) {
    const fovea_block_slice *slice = &sight->view.slices[i];
    pairs += (slice->end - slice->begin) * slice->vectors.count * lanes;
  }
  return pairs;
}

static void count_task(fovea_task_context *context, void *worker_scratch, fovea_counts *counts) {
  fovea_tile *tiles = fovea_begin_walk(context, worker_scratch);
  for (int i = 0; context->task->entry->gathered && i < context->task->tiles; i++) {
    if (tiles[i].block != FOVEA_NO_BLOCK) fovea_count_gathered(context, &tiles[i], counts);
  }
  if (context->task->entry->gathered) return;
  while (fovea_next_block_of_walk(context, tiles)) {
    for (fovea_tile *t; (t = fovea_next_tile_of_walk(context, tiles)) != NULL;) {
      fovea_sight sight;
      if (!fovea_look(context, t, &sight)) continue;
      counts->pairs_seen += fovea_pairs_seen(context, t, &sight);
      const int again = fovea_keeps_scores(context) && fovea_block_is_scored(context, t);
      counts->pairs_computed += fovea_pairs_computed(context, t, &sight) * (again ? 2 : 1);
    }
  }
}

void fovea_count_run(const fovea_run *run, fovea_counts *counts) {
  fovea_found_segment found[2];
  fovea_float_state caller = fovea_float_begin(); /* masks are read by the kernels */
  *counts = (fovea_counts){0, 0};
  for (int64_t number = 0; number < run->plan->tasks; number++) {
    fovea_task task = fovea_plan_task(run->plan, number);
    fovea_task_context context = fovea_begin_task(run, &task, run->scratch, found);
    count_task(&context, run->scratch, counts);
  }
  fovea_float_end(caller);
}
