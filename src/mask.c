#include "mask.h"

#include <string.h>

const char *fovea_mask_row(const fovea_task_context *context, fovea_row_place place, int64_t base) {
  const fovea_problem *problem = &context->plan->problem;
  fovea_mask_strides strides = problem->mask_strides;
  int64_t head = context->task->kv_head * context->plan->group + place.head;
  int64_t element = context->task->entry->batch * strides.batch + head * strides.head + place.row * strides.row +
                    base * strides.key;
  /* Rows and blocks of bits begin at whole bytes. */
  return (const char *)context->tensors->mask + element * fovea_mask_type_bits(problem->mask_type) / 8;
}

void fovea_read_mask(const fovea_task_context *context, const fovea_tile *t, int64_t base, fovea_mask_block *mask) {
  const fovea_plan *plan = context->plan;
  mask->present = plan->problem.mask_type != FOVEA_MASK_NONE;
  if (!mask->present) return;
  fovea_row_place place = fovea_first_place(plan, t->rows);
  int count = 0, lanes = t->view.vectors * context->kernels->lanes;
  for (; count < t->rows.count; count++, place = fovea_next_place(plan, place)) {
    mask->rows[count] = fovea_mask_row(context, place, base);
  }
  for (; count < lanes; count++)
    mask->rows[count] = mask->rows[t->rows.count - 1]; /* padding sees what that sees */
  int64_t keys = t->view.any.end - base;
  mask->tile = (fovea_mask_tile){
      .rows = mask->rows,
      .type = plan->problem.mask_type,
      .repeats = plan->problem.mask_strides.key == 0,
      .key_count = keys < FOVEA_BLOCK_KEYS ? (int)keys : FOVEA_BLOCK_KEYS,
  };
  context->kernels->scan_mask(&mask->tile, t->view.vectors, mask->pieces);
}

/* Scores of one vector for the keys of one piece. */
static void hide_piece(const fovea_task_context *context, int vector, int begin, int end) {
  int lanes = context->kernels->lanes, row_tile = context->kernels->row_tile;
  for (int key = begin; key < end; key++) {
    float *scores = context->memory.scores + key * row_tile + vector * lanes;
    for (int i = 0; i < lanes; i++) scores[i] = -__builtin_inff();
  }
}

void fovea_mask_holes(const fovea_task_context *context, const fovea_tile *t, const fovea_mask_block *mask,
                      const fovea_block_view *view) {
  for (int v = 0; v < t->view.vectors; v++) {
    for (int key = view->begin[v], next; key < view->end[v]; key = next) {
      next = (key / FOVEA_MASK_PIECE + 1) * FOVEA_MASK_PIECE;
      if (next > view->end[v]) next = view->end[v];
      if (!(mask->pieces[v].seen >> key / FOVEA_MASK_PIECE & 1)) hide_piece(context, v, key, next);
    }
  }
}

int fovea_mask_hides(const fovea_mask_tile *mask, int row, int key) {
  const char *elements = mask->rows[row];
  uint32_t wide;
  uint16_t half;
  if (mask->repeats) key = 0;
  switch (mask->type) {
  case FOVEA_MASK_BITS:
    return !(elements[key / 8] >> key % 8 & 1);
  case FOVEA_MASK_F32:
    memcpy(&wide, elements + 4 * key, sizeof wide);
    return wide == 0xff800000u;
  case FOVEA_MASK_F16:
    memcpy(&half, elements + 2 * key, sizeof half);
    return half == 0xfc00u;
  case FOVEA_MASK_BF16:
    memcpy(&half, elements + 2 * key, sizeof half);
    return half == 0xff80u;
  default:
    return elements[key] == 0;
  }
}
