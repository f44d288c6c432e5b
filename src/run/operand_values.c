#include "operand_values.h"

#include <string.h>

#if FOVEA_BUILDS_MODES

/* The vectors that have keys in the block; the others keep their state. Neighbouring vectors go together, from the
 * first key that one of them sees to the last: register tiles are largest then, and weights of keys that a vector
 * does not see are 0. */
static void multiply(const fovea_operand_maker *maker, const fovea_tile *t, const fovea_tile_state *state,
                     const fovea_sliced_block *sliced, const fovea_fetch_list *fetch, int first) {
  const fovea_block_memory *memory = maker->memory;
  const int vectors = t->visible.vectors;
  fovea_value_args args = {
      .weights = memory->scores,
      .values = memory->value_operands,
      .dim = maker->plan->problem.v_dim,
      .flags = first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE,
      .rows = t->rows.count,
      .output = state->output,
      .old_part = memory->old_part,
      .new_part = memory->new_part,
      .block_sum = memory->block_sum,
      .prefetch = fetch->rows,
      .prefetch_count = fetch->count,
  };
  for (int v = 0; v < vectors; v++) {
    if (sliced->begin[v] == sliced->end[v]) continue;
    int begin = sliced->begin[v], end = sliced->end[v];
    args.vectors = (fovea_vector_range){v, 1};
    for (; v + 1 < vectors && sliced->begin[v + 1] != sliced->end[v + 1]; v++, args.vectors.count++) {
      if (sliced->begin[v + 1] < begin) begin = sliced->begin[v + 1];
      if (sliced->end[v + 1] > end) end = sliced->end[v + 1];
    }
    args.key = begin;
    args.key_count = end - begin;
    maker->plan->values->value(&args);
    args.prefetch_count = 0;
  }
}

/* ---- Values that are not finite ------------------------------------------------------------------------------ */

/* The operands have 0 in place of such values, since 0 * Inf is NaN. Outputs of rows that see one are computed
 * again. */
typedef struct lost_values {
  const fovea_plan *plan;
  const fovea_block_memory *memory;
  const fovea_block_rows *block;
  const fovea_tile_state *state;
  const float *before; /* outputs before this block */
  int merges;
} lost_values;

/* Whether f32 becomes Inf or NaN as an operand of bf16, whose numbers end earlier. */
static int is_lost(float x) {
  return !(__builtin_fabsf(x) < 0x1.ffp127f);
}

/* A row without state, which has neither a maximum nor a NaN, reads no value. */
static int has_state(const fovea_block_memory *memory, int row) {
  const float sum = memory->block_sum[row];
  return memory->maxima[row] > -__builtin_inff() || sum != sum;
}

/* The keys of the block that a row sees. */
static void find_seen_keys(int64_t lanes, const fovea_visible_block *visible, const fovea_position_block *positions,
                           int row, unsigned char seen[FOVEA_BLOCK_KEYS]) {
  const int64_t base = visible->base;
  memset(seen, 0, FOVEA_BLOCK_KEYS);
  for (int i = 0; i < visible->sliced.count; i++) {
    const fovea_block_slice *slice = &visible->sliced.slices[i];
    const fovea_mask_tile *mask = positions->hides ? &positions->hidden
                                  : slice->masked  ? &visible->mask.tile
                                                   : NULL;
    const fovea_interval of_slice = {base + slice->begin, base + slice->end};
    const fovea_interval keys = fovea_intersect(visible->rows->rows[row], of_slice);
    if (row < slice->vectors.first * lanes || row >= (slice->vectors.first + slice->vectors.count) * lanes)
      continue;
    for (int64_t key = keys.begin - base; key < keys.end - base; key++)
      seen[key] = !mask || fovea_mask_shows(mask, row, (int)key, (int)key + 1);
  }
}

/* Computes a dim of a row again, if the row sees a value that is not finite there. */
static void compute_dim(const lost_values *lost, int row, int64_t dim, fovea_lost_args *args) {
  const int64_t at = dim * lost->plan->kernels->row_tile + row;
  int any = 0;
  args->values = lost->block->values + dim;
  for (int key = 0; key < FOVEA_BLOCK_KEYS && !any; key++)
    any = args->seen[key] && is_lost(args->values[key * args->value_stride]);
  if (!any) return;
  if (args->merges) args->before = lost->before[at];
  if (FOVEA_BUILDS_BF16) lost->state->output[at] = fovea_bf16_lost(args);
}

static void compute_row(const lost_values *lost, int row, const unsigned char *seen) {
  const fovea_block_memory *memory = lost->memory;
  float weights[FOVEA_BLOCK_KEYS];
  fovea_lost_args args = {.weights = weights,
                          .value_stride = lost->block->value_stride,
                          .seen = seen,
                          .merges = lost->merges,
                          .old_part = memory->old_part[row],
                          .new_part = memory->new_part[row]};
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++)
    weights[key] = seen[key] ? lost->plan->values->weight(memory->scores, key, row) : 0;
  for (int64_t dim = 0; dim < lost->plan->problem.v_dim; dim++) compute_dim(lost, row, dim, &args);
}

static void compute_again(const lost_values *lost, const fovea_tile *t, const fovea_visible_block *visible,
                          const fovea_position_block *positions) {
  const int lanes = lost->plan->kernels->lanes;
  for (int row = 0; row < t->rows.count; row++) {
    const int v = row / lanes;
    unsigned char seen[FOVEA_BLOCK_KEYS];
    if (visible->sliced.begin[v] == visible->sliced.end[v] || !has_state(lost->memory, row)) continue;
    find_seen_keys(lanes, visible, positions, row, seen);
    compute_row(lost, row, seen);
  }
}

void fovea_add_operand_values(const fovea_operand_maker *maker, fovea_block_rows *block,
                              const fovea_row_terms *terms, const fovea_tile *t, const fovea_tile_state *state,
                              const fovea_visible_block *visible, fovea_position_block *positions,
                              const fovea_fetch_list *fetch, int first) {
  const fovea_plan *plan = maker->plan;
  float *before = maker->memory->partial;
  const int64_t outputs = plan->problem.v_dim * plan->kernels->row_tile;
  const lost_values lost = {plan, maker->memory, block, state, before, !first};
  if (!block->finite && !first) memcpy(before, state->output, (size_t)outputs * sizeof(float));
  multiply(maker, t, state, &visible->sliced, fetch, first);
  if (block->finite) return;
  fovea_widen_values(maker, block);
  if (positions->hides) fovea_hide_by_positions(terms, t, visible, positions);
  compute_again(&lost, t, visible, positions);
}
#endif
