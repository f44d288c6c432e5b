#include "walk.h"

#include "../feature/normaliser.h"
#include "../feature/score_terms.h"
#include "../plan/parts.h"
#include "holes.h"
#include "row_scales.h"
#include "scores.h"
#include "top_k.h"
#include "vectors.h"

#include <string.h>

/* Where the entry's keys or values lie is found when it is known that some row sees one. */
static void begin_source(const fovea_run *run, const fovea_task *task, int values, fovea_found_segment *found,
                         fovea_row_source *source) {
  const fovea_problem *problem = &run->plan->problem;
  found->segment = NULL;
  source->kernels = run->plan->kernels;
  source->dim = values ? problem->v_dim : problem->qk_dim;
  source->values = values;
  source->alike = run->read.alike;
  source->holes = problem->cache.holes;
  source->layer = run->tensors.cache.layer;
  source->head = task->kv_head;
  source->found = found;
}

void fovea_begin_task(const fovea_run *run, const fovea_task *task, char *worker_scratch,
                      fovea_found_segment found[2], fovea_task_context *context) {
  const fovea_plan *plan = run->plan;
  const fovea_problem *problem = &plan->problem;
  const fovea_tensors *tensors = &run->tensors;
  memset(context, 0, sizeof *context);
  context->plan = plan;
  context->kernels = plan->kernels;
  context->task = task;
  context->tensors = tensors;
  context->shared = (float *)(void *)(run->scratch + (size_t)run->workers * plan->worker_scratch);
  context->visibility = fovea_visibility_of(plan, task->entry, task->kv_head);
  context->visibility.mask = problem->mask.type == FOVEA_MASK_NONE ? NULL : tensors->mask;
  fovea_scratch_block(plan, worker_scratch, &context->memory);
  context->visibility.copies = context->memory.mask;
  if (FOVEA_BUILDS_INT8 && fovea_has_vectors(problem))
    context->channels = fovea_find_channel_scales(problem, tensors, task->kv_head);
  begin_source(run, task, 0, &found[0], &context->keys);
  begin_source(run, task, 1, &found[1], &context->values);
  context->keys.centre = context->channels.key_centre;
  context->terms.plan = plan;
  if (!fovea_rows_have_terms(problem, plan->features) && !problem->shaw.kind) return; /* the rest is not read */
  context->terms.by = &context->visibility;
  context->terms.numbers = tensors->terms;
  context->terms.room = fovea_block_array(plan, &context->memory, FOVEA_SCRATCH_TERMS);
  context->terms.scales = fovea_row_scales_of(problem, tensors, task->entry);
  context->terms.shaw_keys = tensors->shaw.keys;
  context->terms.shaw_values = tensors->shaw.values;
  context->terms.shaw_room = fovea_block_array(plan, &context->memory, FOVEA_SCRATCH_SHAW);
}

void fovea_begin_decoding(fovea_task_context *context, fovea_decode_state *decode, void *worker_scratch) {
  decode->memory = fovea_scratch_decode(context->plan, worker_scratch); /* the rest is set when a tile begins */
  context->decode = decode;
}

static const fovea_sequence *sequence_of(const fovea_task_context *context) {
  return &context->tensors->cache.sequences[context->task->entry->batch];
}

/* Finds where the entry's keys and values begin. */
static void find_keys(fovea_task_context *context) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_entry *entry = context->task->entry;
  fovea_row_source *keys = &context->keys, *values = &context->values;
  if (problem->cache.segmented) {
    keys->sequence = values->sequence = sequence_of(context);
    keys->met_from = values->met_from = context->walk.keys_begin;
    return;
  }
  int packed = problem->cu_seqlens_kv != NULL;
  int64_t head = context->task->kv_head;
  int64_t key = fovea_tensor_offset(problem->k_strides, entry, packed, head, entry->kv_first);
  int64_t value = fovea_tensor_offset(problem->v_strides, entry, packed, head, entry->kv_first);
  keys->type = problem->k_type;
  keys->stride = problem->k_strides.row;
  keys->first = fovea_element(context->tensors->k, problem->k_type, key);
  values->type = problem->v_type;
  values->stride = problem->v_strides.row;
  values->first = fovea_element(context->tensors->v, problem->v_type, value);
}

/* Finds the rows of a tile. Rows of a kv head are numbered row * group + head. */
static void find_rows(const fovea_task_context *context, fovea_tile *t, int sees) {
  const fovea_problem *problem = &context->plan->problem;
  const fovea_tensors *tensors = context->tensors;
  const fovea_entry *entry = context->task->entry;
  int64_t group = context->plan->group, head = t->rows.first % group, row = t->rows.first / group;
  for (int i = 0; i < t->rows.count; i++) {
    fovea_row_place place = {context->task->kv_head * group + head, row};
    t->places[i] = place;
    if (sees) {
      t->queries[i] =
          fovea_element(tensors->q, problem->q_type, fovea_place_offset(problem, entry, problem->q_strides, place));
    }
    if (!problem->state) {
      t->outputs[i] = fovea_output_element(tensors->o, problem->o_type,
                                           fovea_place_offset(problem, entry, problem->o_strides, place));
    }
    if (++head == group) head = 0, row++;
  }
}

/* Where the scores of a tile of `rows` rows will lie. */
static fovea_score_layout layout_of(const fovea_task_context *context, int rows, void *worker_scratch) {
  const fovea_kernels *kernels = context->kernels;
  if (context->engine->keys_in_lanes)
    return (fovea_score_layout){fovea_scratch_decode_scores(context->plan, worker_scratch), FOVEA_BLOCK_KEYS, 1,
                                rows};
  return (fovea_score_layout){context->memory.scores, 1, kernels->row_tile,
                              (rows + kernels->lanes - 1) / kernels->lanes * kernels->lanes};
}

/* fovea_next_block() among blocks that hold a key. */
static int64_t next_block(const fovea_task_context *context, const fovea_visible_tile *visible, int64_t from) {
  const int64_t block = fovea_next_block(visible, from);
  return context->plan->problem.cache.holes ? fovea_skip_holes(sequence_of(context), visible, block) : block;
}

_Static_assert(sizeof(fovea_tile) <= FOVEA_TILE_FLOATS * sizeof(float), "scratch has room for the tiles of a task");

fovea_tile *fovea_begin_tile(const fovea_task_context *context, int number, void *worker_scratch) {
  const fovea_plan *plan = context->plan;
  const fovea_task *task = context->task;
  fovea_tile *t = &context->memory.tiles[number];
  t->rows = fovea_plan_tile_rows(plan, task->entry, task->first_tile + number);
  fovea_scratch_tile(plan, worker_scratch, number, &t->memory);
  t->layout = layout_of(context, t->rows.count, worker_scratch);
  t->span = -1;
  t->forms = 0;
  fovea_find_visible_tile(&context->visibility, t->rows, t->places, &t->visible);
  t->keys = t->visible.any;
  if (fovea_has_parts(plan) && task->part >= 0)
    t->visible.any = fovea_intersect(t->visible.any, fovea_part_keys(plan, task));
  t->kept = t->visible.any.begin;
  if (FOVEA_BUILDS_TERMS && fovea_counts_keys(&plan->problem))
    memset(fovea_seen_counts(plan, &t->memory), 0, (size_t)plan->kernels->row_tile * sizeof(int64_t));
  t->block = next_block(context, &t->visible, 0);
  find_rows(context, t, t->block != FOVEA_NO_BLOCK);
  t->scored = FOVEA_BUILDS_OUTPUTS && context->tensors->scores && fovea_tile_is_scored(plan, t);
  if (FOVEA_BUILDS_OUTPUTS) fovea_begin_top_k(plan, t);
  return t;
}

fovea_tile *fovea_begin_walk(fovea_task_context *context, void *worker_scratch) {
  const fovea_task *task = context->task;
  fovea_walk *walk = &context->walk;
  *walk = (fovea_walk){.keys_begin = INT64_MAX, .first = 1, .next_block = FOVEA_NO_BLOCK};
  for (int i = 0; i < task->tiles; i++) {
    fovea_tile *t = fovea_begin_tile(context, i, worker_scratch);
    if (t->block == FOVEA_NO_BLOCK) continue;
    walk->keys_begin = fovea_least(walk->keys_begin, t->visible.any.begin);
    walk->keys_end = fovea_most(walk->keys_end, t->visible.any.end);
    walk->next_block = fovea_least(walk->next_block, t->block);
  }
  if (walk->keys_end > 0) find_keys(context); /* else K and V may be NULL */
  return context->memory.tiles;
}

void fovea_narrow_walk(fovea_task_context *context, fovea_tile *t, fovea_interval keys) {
  fovea_walk *walk = &context->walk;
  t->visible.any = fovea_intersect(t->keys, keys);
  t->block = next_block(context, &t->visible, 0);
  walk->next_block = t->block;
  walk->keys_begin = context->keys.met_from = context->values.met_from = t->visible.any.begin;
  walk->keys_end = t->visible.any.end;
}

int fovea_next_block_of_walk(fovea_task_context *context, fovea_tile *tiles) {
  fovea_walk *walk = &context->walk;
  walk->block = walk->next_block;
  walk->next_block = FOVEA_NO_BLOCK;
  walk->tiles = 0;
  walk->tile = -1;
  if (walk->block == FOVEA_NO_BLOCK) return 0;
  for (int i = 0; i < context->task->tiles; i++) {
    fovea_tile *t = &tiles[i];
    if (t->block == walk->block) {
      walk->meeting[walk->tiles++] = t;
      t->block = next_block(context, &t->visible, walk->block + FOVEA_BLOCK_KEYS);
    }
    walk->next_block = fovea_least(walk->next_block, t->block);
  }
  context->block.base = walk->block;
  context->block.met = fovea_met_keys(walk, walk->block);
  context->block.tiles = walk->tiles;
  context->block.key_forms = 0; /* nothing is set until a tile needs the rows: a mask may hide the whole block */
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

int fovea_see_block(const fovea_task_context *context, const fovea_tile *t, fovea_visible_block *visible) {
  fovea_row_words held;
  const int64_t base = context->walk.block;
  const int whole =
      !context->plan->problem.cache.holes || fovea_holds_block(sequence_of(context), t->visible.any, base, &held);
  return fovea_find_visible_block(&context->visibility, &t->visible, base, t->layout.rows, whole ? NULL : &held,
                                  visible);
}

int fovea_enter_block(fovea_task_context *context, fovea_tile *t, fovea_visible_block *visible) {
  if (!t->forms) context->engine->load_queries(context, t);
  return fovea_see_block(context, t, visible);
}
