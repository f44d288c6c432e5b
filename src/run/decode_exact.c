/* Decoding in exact mode. */
#include "../../arch/args/decode.h"
#include "../feature/shaw.h"
#include "decode_way.h"
#include "shaw_values.h"
#include "wide_rows.h"

#include <string.h>

#if FOVEA_BUILDS_DECODE

/* The queries are f32, as they are. Those of a row that is padding are 0, and its results are not used. */
static void keep_queries(const fovea_plan *plan, fovea_decode_state *state, int rows) {
  const int64_t stride = fovea_decode_stride(plan->problem.qk_dim);
  if (fovea_rows_multiplied(plan, rows) > rows)
    memset(state->memory.queries + rows * stride, 0, (size_t)stride * sizeof(float));
}

/* Copies rows that differ in type or layout, as f32. */
static void gather_rows(const fovea_row_source *source, fovea_interval met, fovea_row_list *list, float *scratch) {
  fovea_widen_rows(source, list->base, met, scratch);
  list->uniform = 1;
  list->type = FOVEA_F32;
  list->panels = list->coded = 0;
  for (int64_t key = 0; key < FOVEA_BLOCK_KEYS; key++) {
    int64_t row = key < met.begin ? met.begin : key >= met.end ? met.end - 1 : key;
    list->rows[key] = scratch + row * fovea_copied_stride(source->dim);
  }
}

static void read_rows(const fovea_task_context *context, fovea_decode_state *state) {
  const fovea_interval met = context->block.met;
  fovea_row_list *keys = &state->keys[state->slot], *values = &state->values[state->slot];
  if (!keys->uniform) gather_rows(&context->keys, met, keys, context->memory.keys);
  if (!values->uniform) gather_rows(&context->values, met, values, context->memory.values);
}

static void score(const fovea_plan *plan, const fovea_decode_state *state, fovea_position_block *positions,
                  fovea_decode_score_args *args) {
  (void)state, (void)positions;
  args->row_count = fovea_rows_multiplied(plan, args->row_count);
  plan->kernels->decode_score(args);
}

/* Computes one row from the keys that it sees only: 0 * Inf is NaN, so weight 0 does not hide a value. */
static void value_of_row(const fovea_decode_block *block, const fovea_decode_state *state, int row,
                         fovea_decode_value_args args) {
  const fovea_kernels *kernels = block->plan->kernels;
  const fovea_visible_block *visible = block->visible;
  const fovea_row_list *values = &state->values[state->slot];
  int stateless = state->block_max[row] == -__builtin_inff() && state->block_sum[row] == 0;
  args.row_count = 1;
  args.partial += row * args.output_stride;
  args.key_count = 0;
  args.flags = FOVEA_VALUE_START;
  kernels->decode_value(&args);
  for (int key = visible->sliced.from[row]; key < visible->sliced.to[row] && !stateless; key++) {
    if (!fovea_row_sees_with(block->tile, visible, block->positions, row, key)) continue;
    args.weights = state->memory.scores + row * FOVEA_BLOCK_KEYS + key;
    args.values = args.prefetch = values->rows + key;
    args.coded = fovea_coded_keys_at(values, key);
    args.key_count = 1;
    args.flags = 0;
    kernels->decode_value(&args);
  }
}

/* Values that are NaN or Inf make sums that are not finite, even at weight 0. So only such sums need care. */
static void add_values(const fovea_decode_block *block, const fovea_decode_state *state, int stateless) {
  const fovea_plan *plan = block->plan;
  const fovea_kernels *kernels = plan->kernels;
  const fovea_row_list *values = &state->values[state->slot];
  const fovea_visible_block *visible = block->visible;
  const fovea_interval keys = block->keys;
  const int64_t dim = plan->problem.v_dim;
  const int rows = block->tile->rows.count, last = block->first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE;
  const int shaw = FOVEA_BUILDS_TERMS && fovea_has_shaw_values(&plan->problem);
  const int careful =
      stateless || !fovea_all_see(visible, keys) || visible->mask.present || block->positions->hides;
  fovea_decode_value_args args = {
      .weights = state->memory.scores + keys.begin,
      .row_count = fovea_rows_multiplied(plan, rows),
      .values = values->rows + keys.begin,
      .prefetch = fovea_plain_rows_to_prefetch(&plan->problem, values, &state->keys[!state->slot],
                                               &state->values[!state->slot], keys.begin),
      .coded = fovea_coded_keys_at(values, keys.begin),
      .type = values->type,
      .dim = dim,
      .key_count = (int)(keys.end - keys.begin),
      .flags = FOVEA_VALUE_START | (careful || shaw ? 0 : last),
      .partial = state->memory.partial,
      .output = state->memory.output,
      .output_stride = fovea_decode_stride(dim),
      .old_part = state->old_part,
      .new_part = state->new_part,
  };
  kernels->decode_value(&args);
  if (!careful && !shaw) return;
  if (careful && !kernels->all_finite(args.partial, args.output_stride, rows, dim)) {
    for (int row = 0; row < rows; row++) value_of_row(block, state, row, args);
  }
  if (FOVEA_BUILDS_TERMS && shaw) {
    const fovea_shaw_block of_shaw = {block->terms, block->tile, visible, block->positions, last};
    fovea_decode_shaw_values(&of_shaw, state, keys);
    return;
  }
  args.key_count = 0;
  args.flags = last;
  kernels->decode_value(&args);
}

const fovea_decode_way fovea_exact_way = {keep_queries, read_rows, score, add_values};
#endif
