#include "nearby.h"

fovea_interval fovea_met_keys(const fovea_task_context *context, int64_t base) {
  int64_t begin = context->walk.keys_begin - base, end = context->walk.keys_end - base;
  return (fovea_interval){begin > 0 ? begin : 0, end < FOVEA_BLOCK_KEYS ? end : FOVEA_BLOCK_KEYS};
}

/* Tiles that must share a copy of a block for it to pay. */
enum { TILES_WORTH_COPYING = 4 };

/* Rows at multiples of a kilobyte fall on at most four of the 64 sets of a 4 KB-indexed first cache, far fewer ways
 * than a block has rows. */
static int crowds_sets(int64_t row_stride) {
  return row_stride * (int64_t)sizeof(float) % 1024 == 0;
}

/* Rows `begin` to `end` - 1 of the block, as f32 in scratch. Returns the row of the block's first key there. */
static const float *widen(const fovea_task_context *context, fovea_find_run *find, int64_t dim, int64_t base,
                          int64_t begin, int64_t end, float *to) {
  int64_t stride = fovea_copied_stride(dim);
  while (begin < end) {
    fovea_row_run run = find(context, base + begin);
    int64_t count = (run.end - base < end ? run.end - base : end) - begin;
    if (run.panels) {
      int64_t first = (base + begin) % FOVEA_PANEL_ROWS;
      fovea_widen_panel_args args = {run.row - first * run.step, run.type, (int)first, (int)count, dim,
                                     to + begin * stride,        stride};
      context->kernels->widen_panel(&args);
    } else {
      fovea_widen_args args = {
          run.row, run.type, fovea_elements(run.type, run.step), count, dim, to + begin * stride, stride};
      context->kernels->widen(&args);
    }
    begin += count;
  }
  return to;
}

void fovea_widen_rows(const fovea_task_context *context, fovea_find_run *find, int64_t dim, int64_t base,
                      float *to) {
  fovea_interval keys = fovea_met_keys(context, base);
  widen(context, find, dim, base, keys.begin, keys.end, to);
}

/* Keys for products of pairs are read where they lie, those of a block that has others are widened. */
static int keys_are_paired(const fovea_task_context *context, int64_t base, int64_t begin, int64_t end) {
  const fovea_problem *problem = &context->plan->problem;
  if (!context->plan->paired) return 0;
  fovea_widen_args args = {.rows = fovea_key_run(context, base + begin).row,
                           .type = problem->k_type,
                           .row_stride = problem->k_strides.row,
                           .row_count = end - begin,
                           .dim = problem->qk_dim};
  return context->kernels->pairs_safe(&args);
}

static void widen_keys(fovea_task_context *context, int64_t base, int64_t begin, int64_t end) {
  int64_t dim = context->plan->problem.qk_dim;
  context->block.keys = widen(context, fovea_key_run, dim, base, begin, end, context->memory.keys);
  context->block.key_stride = fovea_copied_stride(dim);
}

/* Whether the rows may be read where they lie. */
static int lies_well(const fovea_row_run *run, int64_t end) {
  return run->type == FOVEA_F32 && !run->panels && run->end >= end;
}

static void place_keys(fovea_task_context *context, int64_t base, int64_t begin, int64_t end) {
  fovea_block_rows *block = &context->block;
  block->key_forms = keys_are_paired(context, base, begin, end) ? FOVEA_FORM_PAIRS : FOVEA_FORM_F32;
  if (block->key_forms & FOVEA_FORM_PAIRS) return;
  fovea_row_run run = fovea_key_run(context, base + begin);
  int64_t stride = run.step / (int64_t)sizeof(float);
  int crowded =
      context->walk.tiles >= TILES_WORTH_COPYING && stride != context->plan->problem.qk_dim && crowds_sets(stride);
  if (lies_well(&run, base + end) && !crowded) {
    block->keys = (const float *)(const void *)run.row - begin * stride;
    block->key_stride = stride;
    return;
  }
  widen_keys(context, base, begin, end);
}

static void place_values(fovea_task_context *context, int64_t base, int64_t begin, int64_t end) {
  int64_t dim = context->plan->problem.v_dim;
  fovea_row_run run = fovea_value_run(context, base + begin);
  if (lies_well(&run, base + end)) {
    context->block.value_stride = run.step / (int64_t)sizeof(float);
    context->block.values = (const float *)(const void *)run.row - begin * context->block.value_stride;
  } else {
    context->block.values = widen(context, fovea_value_run, dim, base, begin, end, context->memory.values);
    context->block.value_stride = fovea_copied_stride(dim);
  }
  context->block.finite = -1;
  context->block.packed = context->walk.tiles >= TILES_WORTH_COPYING &&
                          (context->kernels->panel_always || crowds_sets(context->block.value_stride));
  if (!context->block.packed) return;
  fovea_pack_args args = {
      .values = context->block.values + begin * context->block.value_stride,
      .value_stride = context->block.value_stride,
      .dim = dim,
      .key_count = (int)(end - begin),
      .panel = context->memory.panel + begin * context->kernels->panel_dims,
  };
  context->kernels->pack_values(&args);
}

void fovea_place_block(fovea_task_context *context) {
  int64_t base = context->walk.block;
  fovea_interval keys = fovea_met_keys(context, base);
  if (context->block.key_forms) return;
  place_keys(context, base, keys.begin, keys.end);
  place_values(context, base, keys.begin, keys.end);
}

void fovea_widen_block(fovea_task_context *context) {
  if (context->block.key_forms & FOVEA_FORM_F32) return;
  fovea_interval keys = fovea_met_keys(context, context->walk.block);
  widen_keys(context, context->walk.block, keys.begin, keys.end);
  context->block.key_forms |= FOVEA_FORM_F32;
}

int fovea_block_is_finite(fovea_task_context *context) {
  fovea_interval keys = fovea_met_keys(context, context->walk.block);
  fovea_block_rows *block = &context->block;
  if (block->finite < 0) {
    block->finite =
        context->kernels->all_finite(block->values + keys.begin * block->value_stride, block->value_stride,
                                     keys.end - keys.begin, context->plan->problem.v_dim);
  }
  return block->finite;
}
