#include "part_states.h"

#include "../feature/normaliser.h"
#include "../plan/parts.h"
#include "top_k.h"
#include "vectors.h"

#include <string.h>

/* The memory of a part's state. States are numbered like tasks. */
static float *part_memory(const fovea_task_context *context, int64_t part) {
  int64_t task = context->task->number - context->task->part + part;
  return context->shared + (uint64_t)task * fovea_part_floats(context->plan, fovea_part_rows(context->plan));
}

/* After the state of a part: its rows' keys with the largest scores. */
static float *top_memory(const fovea_plan *plan, float *part) {
  return part + fovea_part_state_floats(plan, fovea_part_rows(plan));
}

/* Copies a tile's state to `kept`, or back. Rows of a tile are row_tile apart; `kept` has whole vectors of the
 * tile's rows. */
static void copy_state(const fovea_plan *plan, const fovea_tile *t, const fovea_tile_state *state, float *kept,
                       int keeping) {
  size_t rows = (size_t)t->visible.vectors * (size_t)plan->kernels->lanes, bytes = rows * sizeof(float);
  float *row_max = kept + 1, *row_sum = row_max + rows, *output = row_sum + rows, *of_tile = state->output;
  memcpy(keeping ? row_max : state->row_max, keeping ? state->row_max : row_max, bytes);
  memcpy(keeping ? row_sum : state->row_sum, keeping ? state->row_sum : row_sum, bytes);
  if (state->row_spread) {
    float *spread = output + (uint64_t)plan->problem.v_dim * rows;
    memcpy(keeping ? spread : state->row_spread, keeping ? state->row_spread : spread, bytes);
  }
  for (int64_t d = 0; d < plan->problem.v_dim; d++, output += rows, of_tile += plan->kernels->row_tile) {
    memcpy(keeping ? output : of_tile, keeping ? of_tile : output, bytes);
  }
}

/* The same for the keys that rows see, after the state. They are added up. */
static void copy_counts(const fovea_plan *plan, fovea_tile *t, float *kept, int keeping) {
  const size_t rows = (size_t)t->visible.vectors * (size_t)plan->kernels->lanes;
  float *counts = kept + 1 + rows * (2 + (size_t)plan->problem.v_dim);
  int64_t *total = fovea_seen_counts(plan, &t->memory), seen[FOVEA_ROW_TILE_LIMIT];
  if (!FOVEA_BUILDS_TERMS || !fovea_counts_keys(&plan->problem)) return;
  memcpy(keeping ? (void *)counts : seen, keeping ? (void *)total : counts, rows * sizeof seen[0]);
  for (size_t i = 0; !keeping && i < rows; i++) total[i] += seen[i];
}

static void push_leaf(const fovea_task_context *context, fovea_tile *t, int64_t leaf) {
  fovea_span_tree *tree = &t->memory.tree;
  if (FOVEA_BUILDS_INT8 && fovea_has_part_spans(context->plan))
    fovea_finish_span(context->plan, &context->channels, t, fovea_span_current(tree));
  fovea_span_push(tree, leaf, context->kernels, context->plan->problem.v_dim, t->visible.vectors);
}

void fovea_keep_part(const fovea_task_context *context, fovea_tile *t, const fovea_tile_state *state) {
  float *kept = part_memory(context, context->task->part);
  kept[0] = state != NULL;
  if (!state) return;
  copy_state(context->plan, t, state, kept, 1);
  copy_counts(context->plan, t, kept, 1);
  if (FOVEA_BUILDS_OUTPUTS) fovea_keep_part_top_k(context->plan, t, top_memory(context->plan, kept));
}

fovea_tile_state *fovea_merge_parts(const fovea_task_context *context, fovea_tile *t) {
  const fovea_plan *plan = context->plan;
  const fovea_entry *entry = context->task->entry;
  fovea_span_tree *tree = &t->memory.tree;
  int64_t dim = plan->problem.v_dim;
  /* The leaves of the tree: spans, into which parts of single blocks merge, or the parts themselves. */
  int64_t parts_of_leaf = plan->part_keys < FOVEA_SPAN_KEYS ? FOVEA_SPAN_KEYS / plan->part_keys : 1, leaf = -1;
  fovea_tile_state next = {context->memory.maxima, context->memory.block_sum, context->memory.partial,
                           plan->problem.entropy ? context->memory.spread : NULL};
  for (int64_t part = 0; part < entry->parts; part++) {
    float *kept = part_memory(context, part);
    if (kept[0] == 0) continue;
    copy_counts(plan, t, kept, 0);
    if (FOVEA_BUILDS_OUTPUTS) fovea_merge_part_top_k(plan, t, top_memory(context->plan, kept));
    int64_t index = (entry->first_part + part) / parts_of_leaf;
    if (index == leaf) {
      copy_state(plan, t, &next, kept, 0);
      fovea_merge_args args = {*fovea_span_current(tree), next, dim, t->visible.vectors};
      context->kernels->merge(&args);
      continue;
    }
    if (leaf >= 0) push_leaf(context, t, leaf);
    leaf = index;
    copy_state(plan, t, fovea_span_current(tree), kept, 0);
  }
  if (leaf < 0) return NULL;
  push_leaf(context, t, leaf);
  return fovea_span_root(tree, context->kernels, dim, t->visible.vectors);
}
