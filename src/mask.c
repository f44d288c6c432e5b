#include "mask.h"

/* The bytes from a mask's first element to where a row's mask for the block begins. */
static int64_t mask_offset(const fovea_task_context *context, fovea_row_place place, int64_t base) {
  const fovea_problem *problem = &context->plan->problem;
  fovea_mask_strides strides = problem->mask_strides;
  int64_t head = context->task->kv_head * context->plan->group + place.head;
  int64_t element = context->task->entry->batch * strides.batch + head * strides.head + place.row * strides.row +
                    base * strides.key;
  return element * fovea_mask_type_bits(problem->mask_type) / 8; /* rows and blocks of bits begin at whole bytes */
}

int fovea_mask_block(const fovea_task_context *context, const fovea_tile *t, int64_t base,
                     fovea_mask_pieces pieces[FOVEA_VECTORS_LIMIT]) {
  const fovea_plan *plan = context->plan;
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  if (plan->problem.mask_type == FOVEA_MASK_NONE) return 0;
  fovea_row_place place = fovea_first_place(plan, t->rows);
  int count = 0, lanes = t->view.vectors * context->kernels->lanes;
  for (; count < t->rows.count; count++, place = fovea_next_place(plan, place)) {
    rows[count] = (const char *)context->tensors->mask + mask_offset(context, place, base);
  }
  for (; count < lanes; count++) rows[count] = rows[t->rows.count - 1]; /* padding sees what the last row sees */
  int64_t keys = t->view.any.end - base;
  fovea_mask_args args = {
      .rows = rows,
      .type = plan->problem.mask_type,
      .repeats = plan->problem.mask_strides.key == 0,
      .key_count = keys < FOVEA_BLOCK_KEYS ? (int)keys : FOVEA_BLOCK_KEYS,
      .vectors = t->view.vectors,
      .bias = context->memory.bias,
      .pieces = pieces,
  };
  context->kernels->load_mask(&args);
  return 1;
}

void fovea_mask_holes(const fovea_task_context *context, const fovea_tile *t, const fovea_mask_pieces *pieces,
                      const fovea_block_view *view) {
  int lanes = context->kernels->lanes, row_tile = context->kernels->row_tile;
  for (int v = 0; v < t->view.vectors; v++) {
    for (int key = view->begin[v]; key < view->end[v]; key++) {
      if (pieces[v].seen >> key / FOVEA_MASK_PIECE & 1) continue;
      float *scores = context->memory.scores + key * row_tile + v * lanes;
      for (int i = 0; i < lanes; i++) scores[i] = -__builtin_inff();
    }
  }
}
