#include "count.h"

#include "../../arch/float_state.h"
#include "../visible/visible_pairs.h"
#include "gather.h"
#include "holes.h"
#include "scores.h"
#include "walk.h"

static void count_task(fovea_task_context *context, void *worker_scratch, fovea_counts *counts) {
  fovea_tile *tiles = fovea_begin_walk(context, worker_scratch);
  for (int i = 0; context->task->entry->gathered && i < context->task->tiles; i++) {
    if (tiles[i].block != FOVEA_NO_BLOCK) fovea_count_gathered(&context->visibility, &tiles[i].visible, counts);
  }
  if (context->task->entry->gathered) return;
  while (fovea_next_block_of_walk(context, tiles)) {
    for (fovea_tile *t; (t = fovea_next_tile_of_walk(context, tiles)) != NULL;) {
      fovea_visible_block visible;
      const int lanes = context->kernels->lanes, limited = t->visible.vectors * lanes;
      if (!fovea_find_held_block(context, t, limited, &visible))
        continue;
      counts->pairs_seen += fovea_visible_pairs(&visible, lanes);
      const int again = fovea_keeps_scores(context) && fovea_block_is_scored(context, t);
      counts->pairs_computed +=
          (t->decoded ? fovea_pairs_of_key_vectors : fovea_pairs_of_slices)(&visible, lanes) * (again ? 2 : 1);
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
