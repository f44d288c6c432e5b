#include "tile_values.h"

#include "operands.h"

int fovea_values_need_care(const fovea_plan *plan, fovea_block_rows *block, const fovea_sliced_block *sliced,
                           int stateless) {
  for (int i = 0; i < sliced->count; i++) {
    const fovea_block_slice *slice = &sliced->slices[i];
    if (slice->limited || slice->masked || stateless) return !fovea_values_are_finite(plan, block);
  }
  return 0;
}

fovea_value_args fovea_tile_value_args(const fovea_block_memory *memory, const fovea_block_rows *block,
                                       const fovea_tile_state *state, int64_t v_dim) {
  return (fovea_value_args){
      .weights = memory->scores,
      .values = block->values,
      .value_stride = block->value_stride,
      .panel = block->packed ? memory->panel : NULL,
      .dim = v_dim,
      .partial = memory->partial,
      .output = state->output,
      .old_part = memory->old_part,
      .new_part = memory->new_part,
      .maxima = memory->maxima,
      .block_sum = memory->block_sum,
  };
}

/* Vectors whose chains do not start, or do not end, together with the chains of all vectors of their slice. */
typedef struct lone_vectors {
  int starts, ends; /* bits */
} lone_vectors;

static lone_vectors find_lone_vectors(const fovea_sliced_block *sliced) {
  lone_vectors lone = {0, 0};
  for (int i = 0; i < sliced->count; i++) {
    const fovea_block_slice *slice = &sliced->slices[i];
    const int all = ((1 << slice->vectors.count) - 1) << slice->vectors.first;
    int starts = 0, ends = 0;
    for (int v = slice->vectors.first; v < slice->vectors.first + slice->vectors.count; v++) {
      starts |= (sliced->begin[v] == slice->begin) << v;
      ends |= (sliced->end[v] == slice->end) << v;
    }
    if (starts != all) lone.starts |= starts;
    if (ends != all) lone.ends |= ends;
  }
  return lone;
}

/* Calls the value tile without keys for these vectors, neighbours together. */
static void value_without_keys(const fovea_kernels *kernels, const fovea_value_args *common, int vectors,
                               int flags) {
  fovea_value_args args = *common;
  args.flags = flags;
  for (int v = 0; vectors >> v; v++) {
    if (!(vectors >> v & 1)) continue;
    int run = 1;
    while (vectors >> (v + run) & 1) run++;
    args.vectors = (fovea_vector_range){v, run};
    kernels->value(&args);
    v += run;
  }
}

/* All vectors of a slice go through its keys together: chains that start or end alone do so in calls of their own,
 * since products of one vector are much slower than products of several. */
void fovea_add_tile_values(const fovea_kernels *kernels, const fovea_value_args *common,
                           const fovea_visible_block *visible, const fovea_position_block *positions,
                           const fovea_fetch *fetch, int end_flag, int careful) {
  const fovea_sliced_block *sliced = &visible->sliced;
  const int row_tile = kernels->row_tile;
  const lone_vectors lone = find_lone_vectors(sliced);
  int32_t seen_from[FOVEA_ROW_TILE_LIMIT], seen_to[FOVEA_ROW_TILE_LIMIT];
  value_without_keys(kernels, common, lone.starts, FOVEA_VALUE_START);
  for (int i = 0; i < sliced->count; i++) {
    const fovea_block_slice *slice = &sliced->slices[i];
    const int v = slice->vectors.first;
    const int starts = sliced->begin[v] == slice->begin && !(lone.starts >> v & 1);
    const int ends = sliced->end[v] == slice->end && !(lone.ends >> v & 1);
    fovea_value_args args = *common;
    args.weights += slice->begin * row_tile;
    args.values += slice->begin * common->value_stride;
    if (args.panel) args.panel += slice->begin * kernels->panel_dims;
    args.key_count = slice->end - slice->begin;
    args.flags = (starts ? FOVEA_VALUE_START : 0) | (ends ? end_flag : 0);
    args.vectors = slice->vectors;
    args.mask = careful && positions->hides ? &positions->hidden : slice->masked ? &visible->mask.tile : NULL;
    args.key = slice->begin;
    args.prefetch = fetch->value.rows;
    args.prefetch_count = i == fetch->slice ? fetch->value.count : 0;
    if (careful && slice->limited) {
      fovea_limits_of_slice(sliced, slice, kernels->lanes, seen_from, seen_to);
      args.seen_from = seen_from;
      args.seen_to = seen_to;
    }
    (careful ? kernels->value_careful : kernels->value)(&args);
  }
  if (end_flag) value_without_keys(kernels, common, lone.ends, end_flag);
}
