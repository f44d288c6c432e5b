#include "walk.h"

#include "../feature/normaliser.h"
#include "../plan/parts.h"
#include "holes.h"
#include "scores.h"
#include "top_k.h"

#include <string.h>

fovea_task_context fovea_begin_task(const fovea_run *run, const fovea_task *task, char *worker_scratch,
                                    fovea_found_segment found[2]) {
  const fovea_plan *plan = run->plan;
  found[0].segment = found[1].segment = NULL;
  fovea_task_context context = {
      .plan = plan,
      .kernels = plan->kernels,
      .task = task,
      .tensors = &run->tensors,
      .shared = (float *)(void *)(run->scratch + (size_t)run->workers * plan->worker_scratch),
      .memory = fovea_scratch_block(plan, worker_scratch),
      .source = {.found = found, .alike = run->alike},
      .visibility = fovea_visibility_of(plan, task->entry, task->kv_head),
  };
  context.visibility.mask = plan->problem.mask_type == FOVEA_MASK_NONE ? NULL : run->tensors.mask;
  context.visibility.copies = context.memory.mask;
  return context;
}

/* How the keys of the task's entry lie. Of segments that are not alike, reads the first only: whatever is said
 * here, the bits are the same. If no key is wanted, segments have not been checked and may be missing. */
static fovea_key_places find_places(const fovea_task_context *context) {
  const fovea_entry *entry = context->task->entry;
  if (!context->plan->problem.segmented || entry->q_seen == 0 || entry->kv_begin >= entry->kv_len)
    return FOVEA_KEYS_LIE_IN_ROWS;
  const fovea_sequence *sequence = &context->tensors->sequences[entry->batch];
  const fovea_segment *first = sequence->segments, *last = fovea_segment_at(sequence, sequence->count - 1);
  if (first->k_layout == FOVEA_KEYS_IN_PANELS) return FOVEA_KEYS_LIE_IN_PANELS;
  const int64_t rows = last->first + last->rows - first->first;
  return context->source.alike && rows / FOVEA_BLOCK_KEYS < sequence->count - 1 ? FOVEA_KEYS_LIE_IN_PAGES
                                                                                : FOVEA_KEYS_LIE_IN_ROWS;
}

/* Finds where the entry's keys and values begin. */
static void find_keys(fovea_task_context *context) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_entry *entry = context->task->entry;
  fovea_row_source *source = &context->source;
  if (problem->segmented) {
    source->sequence = context->tensors->sequences[entry->batch];
    return;
  }
  int packed = problem->cu_seqlens_kv != NULL;
  int64_t head = context->task->kv_head;
  int64_t key = fovea_tensor_offset(problem->k_strides, entry, packed, head, entry->kv_first);
  int64_t value = fovea_tensor_offset(problem->v_strides, entry, packed, head, entry->kv_first);
  source->keys = fovea_element(context->tensors->k, problem->k_type, key);
  source->values = fovea_element(context->tensors->v, problem->v_type, value);
}

/* Finds the rows of a tile. Rows of a kv head are numbered row * group + head. */
static void find_rows(const fovea_task_context *context, fovea_tile *t, int sees) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_tensors *tensors = context->tensors;
  int64_t group = context->plan->group, head = t->rows.first % group, row = t->rows.first / group;
  for (int i = 0; i < t->rows.count; i++) {
    fovea_row_place place = {context->task->kv_head * group + head, row};
    t->places[i] = place;
    if (sees) {
      t->queries[i] =
          fovea_element(tensors->q, problem->q_type, fovea_place_offset(context, problem->q_strides, place));
    }
    if (!problem->to_state) {
      t->outputs[i] =
          fovea_output_element(tensors->o, problem->o_type, fovea_place_offset(context, problem->o_strides, place));
    }
    if (++head == group) head = 0, row++;
  }
}

_Static_assert(sizeof(fovea_tile) <= FOVEA_TILE_FLOATS * sizeof(float), "scratch has room for the tiles of a task");

fovea_tile *fovea_begin_tile(const fovea_task_context *context, int number, void *worker_scratch) {
  const fovea_plan *plan = context->plan;
  const fovea_task *task = context->task;
  fovea_tile *t = &context->memory.tiles[number];
  t->rows = fovea_plan_tile_rows(plan, task->entry, task->first_tile + number);
  fovea_scratch_tile(plan, worker_scratch, number, &t->memory);
  t->span = -1;
  t->forms = 0;
  fovea_find_visible_tile(&context->visibility, t->rows, t->places, &t->visible);
  t->keys = t->visible.any;
  if (fovea_has_parts(plan) && task->part >= 0)
    t->visible.any = fovea_intersect(t->visible.any, fovea_part_keys(plan, task));
  t->kept = t->visible.any.begin;
  if (fovea_counts_keys(&plan->problem))
    memset(fovea_seen_counts(plan, t), 0, (size_t)plan->kernels->row_tile * sizeof(int64_t));
  t->block = fovea_next_held_block(context, &t->visible, 0);
  find_rows(context, t, t->block != FOVEA_NO_BLOCK);
  t->scored = fovea_tile_is_scored(context, t);
  fovea_begin_top_k(context, t);
  return t;
}

fovea_tile *fovea_begin_walk(fovea_task_context *context, void *worker_scratch) {
  const fovea_plan *plan = context->plan;
  const fovea_task *task = context->task;
  fovea_walk *walk = &context->walk;
  int decoded = fovea_is_decoded(plan, task->entry, find_places(context));
  *walk = (fovea_walk){.keys_begin = INT64_MAX, .first = 1, .next_block = FOVEA_NO_BLOCK};
  for (int i = 0; i < task->tiles; i++) {
    fovea_tile *t = fovea_begin_tile(context, i, worker_scratch);
    t->decoded = decoded;
    if (t->block == FOVEA_NO_BLOCK) continue;
    walk->keys_begin = fovea_least(walk->keys_begin, t->visible.any.begin);
    walk->keys_end = fovea_most(walk->keys_end, t->visible.any.end);
    walk->next_block = fovea_least(walk->next_block, t->block);
  }
  if (walk->keys_end > 0) find_keys(context); /* else K and V may be NULL */
  return context->memory.tiles;
}

int fovea_next_block_of_walk(fovea_task_context *context, fovea_tile *tiles) {
  fovea_walk *walk = &context->walk;
  walk->block = walk->next_block;
  walk->next_block = FOVEA_NO_BLOCK;
  walk->tiles = 0;
  walk->tile = -1;
  context->block.key_forms = 0; /* nothing is set until a tile needs the rows: a mask may hide the whole block */
  if (walk->block == FOVEA_NO_BLOCK) return 0;
  for (int i = 0; i < context->task->tiles; i++) {
    fovea_tile *t = &tiles[i];
    if (t->block == walk->block) {
      walk->meeting[walk->tiles++] = t;
      t->block = fovea_next_held_block(context, &t->visible, walk->block + FOVEA_BLOCK_KEYS);
    }
    walk->next_block = fovea_least(walk->next_block, t->block);
  }
  return 1;
}

/* Finds the tile after the current one: of the tiles that meet this block, or the first that meets the next block.
 */
static void find_next_tile(fovea_task_context *context, const fovea_tile *tiles) {
  fovea_walk *walk = &context->walk;
  int last = walk->tile + 1 == walk->tiles;
  walk->next_tile = last ? NULL : walk->meeting[walk->tile + 1];
  walk->next_tile_block = last ? walk->next_block : walk->block;
  if (!last || walk->next_block == FOVEA_NO_BLOCK) return;
  while (tiles->block != walk->next_block) tiles++;
  walk->next_tile = tiles;
}

fovea_tile *fovea_next_tile_of_walk(fovea_task_context *context, fovea_tile *tiles) {
  fovea_walk *walk = &context->walk;
  if (walk->tile >= 0) walk->first = 0;
  if (++walk->tile == walk->tiles) return NULL;
  fovea_tile *t = walk->meeting[walk->tile];
  find_next_tile(context, tiles);
  int loads = walk->next_tile && !walk->next_tile->forms;
  walk->unloaded = loads ? walk->next_tile : NULL;
  return t;
}
