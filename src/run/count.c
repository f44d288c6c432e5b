#include "count.h"

#include "../../arch/float_state.h"
#include "../visible/visible_pairs.h"
#include "engines.h"
#include "gather.h"
#include "scores.h"
#include "walk.h"

int64_t fovea_pairs_computed(const fovea_plan *plan, const fovea_visible_block *block, int keys_in_lanes) {
  const int lanes = plan->kernels->lanes;
  if (!keys_in_lanes) return fovea_pairs_of_slices(block, lanes);
  return fovea_rows_multiplied(plan, block->rows->count) * fovea_keys_of_vectors(block, lanes);
}

/* The pairs of a tile in the current block. */
static void count_block(const fovea_task_context *context, const fovea_tile *t, fovea_counts *counts) {
  fovea_visible_block visible;
  const int lanes = context->kernels->lanes,
            scored = FOVEA_BUILDS_OUTPUTS && t->scored && fovea_block_is_scored(context->plan, context->walk.block);
  if (!fovea_see_block(context, t, &visible)) return;
  counts->pairs_visible += fovea_visible_pairs(&visible, lanes);
  const int again = scored && fovea_scores_again(context->plan);
  counts->pairs_computed +=
      fovea_pairs_computed(context->plan, &visible, context->engine->keys_in_lanes) * (again ? 2 : 1);
}

static void count_task(fovea_task_context *context, void *worker_scratch, fovea_counts *counts) {
  context->engine = fovea_find_engine(context);
  fovea_tile *tiles = fovea_begin_walk(context, worker_scratch);
  if (FOVEA_BUILDS_LISTS && context->engine->compute_tile) {
    for (int i = 0; i < context->task->tiles; i++) {
      if (tiles[i].block != FOVEA_NO_BLOCK) fovea_count_gathered(&context->visibility, &tiles[i].visible, counts);
    }
    return;
  }
  while (fovea_next_block_of_walk(context, tiles)) {
    for (fovea_tile *t; (t = fovea_next_tile_of_walk(context, tiles)) != NULL;) count_block(context, t, counts);
  }
}

void fovea_count_run(const fovea_run *run, fovea_counts *counts) {
  fovea_found_segment found[2];
  fovea_float_state caller = fovea_float_begin(); /* masks are read by the kernels */
  *counts = (fovea_counts){0, 0};
  for (int64_t number = 0; number < run->plan->tasks; number++) {
    fovea_task task = fovea_plan_task(run->plan, number);
    fovea_task_context context;
    fovea_begin_task(run, &task, run->scratch, found, &context);
    count_task(&context, run->scratch, counts);
  }
  fovea_float_end(caller);
}
