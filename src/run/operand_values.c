#include "operand_values.h"

#include "operands.h"

/* The vectors that have keys in the block; the others keep their state. */
static void multiply(const fovea_task_context *context, const fovea_tile_state *state, const fovea_block_view *view,
                     int vectors, const fovea_fetch *fetch, int first) {
  const fovea_interval keys = fovea_met_keys(context, context->walk.block);
  fovea_value_args args = {
      .weights = context->memory.scores,
      .values = context->memory.value_operands,
      .dim = context->plan->problem.v_dim,
      .flags = first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE,
      .key = (int)keys.begin,
      .key_count = (int)(keys.end - keys.begin),
      .output = state->output,
      .old_part = context->memory.old_part,
      .new_part = context->memory.new_part,
      .prefetch = fetch->value.rows,
      .prefetch_count = fetch->value.count,
  };
  for (int v = 0; v < vectors; v++) {
    if (view->begin[v] == view->end[v]) continue;
    args.vectors = (fovea_vector_range){v, 1};
    while (v + 1 < vectors && view->begin[v + 1] != view->end[v + 1]) args.vectors.count++, v++;
    context->plan->values->value(&args);
    args.prefetch_count = 0;
  }
}

/* ---- Values that are not finite -------------------------------------------------------------------------------
 */

/* The operands have 0 in place of such values. 0 * Inf is NaN, so they are added afterwards, for the rows that see
 * them. This is rare, so the code is simple: portable C, one product at a time. */
typedef struct lost_values {
  fovea_task_context *context;
  const fovea_tile_state *state;
  int first;
} lost_values;

/* Whether f32 becomes Inf or NaN as an operand of bf16, whose numbers end earlier. */
static int is_lost(float x) {
  return !(__builtin_fabsf(x) < 0x1.ffp127f);
}

/* Adds a lost value: one step of a chain from +0, then the merge of the block. */
static void add_lost(const lost_values *lost, int row, int64_t dim, float weight, float value) {
  const int64_t row_tile = lost->context->kernels->row_tile;
  const float infinite = value > 0 ? __builtin_inff() : value < 0 ? -__builtin_inff() : value;
  float product = weight * infinite;
  if (!lost->first) product *= lost->context->memory.new_part[row];
  lost->state->output[dim * row_tile + row] += product;
}

static void add_key(const lost_values *lost, int row, int key) {
  const fovea_task_context *context = lost->context;
  const float *values = context->block.values + key * context->block.value_stride;
  const float weight = context->plan->values->weight(context->memory.scores, key, row);
  for (int64_t dim = 0; dim < context->plan->problem.v_dim; dim++) {
    if (is_lost(values[dim])) add_lost(lost, row, dim, weight, values[dim]);
  }
}

/* A row without state, which has neither a maximum nor a NaN, reads no value. */
static int has_state(const fovea_task_context *context, int row) {
  const float sum = context->memory.block_sum[row];
  return context->memory.maxima[row] > -__builtin_inff() || sum != sum;
}

static void add_lost_values(const lost_values *lost, const fovea_tile *t, const fovea_sight *sight,
                            const fovea_position_block *positions) {
  const fovea_task_context *context = lost->context;
  const int64_t lanes = context->kernels->lanes, block = context->walk.block;
  for (int i = 0; i < sight->view.count; i++) {
    const fovea_block_slice *slice = &sight->view.slices[i];
    const fovea_mask_tile *mask = positions->hides ? &positions->hidden : slice->masked ? &sight->mask.tile : NULL;
    const int64_t first = slice->vectors.first * lanes, end = first + slice->vectors.count * lanes;
    for (int row = (int)first; row < end && row < t->rows.count; row++) {
      const fovea_interval of_slice = {block + slice->begin, block + slice->end};
      const fovea_interval keys = fovea_intersect(sight->rows->rows[row], of_slice);
      if (!has_state(context, row)) continue;
      for (int64_t key = keys.begin - block; key < keys.end - block; key++) {
        if (!mask || fovea_mask_shows(mask, row, (int)key, (int)key + 1)) add_key(lost, row, (int)key);
      }
    }
  }
}

void fovea_add_operand_values(fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                              const fovea_sight *sight, fovea_position_block *positions, const fovea_fetch *fetch,
                              int first) {
  multiply(context, state, &sight->view, t->view.vectors, fetch, first);
  if (context->block.finite) return;
  const lost_values lost = {context, state, first};
  fovea_widen_values(context);
  if (positions->hides) fovea_hide_by_positions(context, t, sight, positions);
  add_lost_values(&lost, t, sight, positions);
}
