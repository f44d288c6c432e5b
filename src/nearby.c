#include "nearby.h"

#include <string.h>

/* Keys by which K is fetched ahead within the first block of a task: what the products of a few register tiles take
 * covers the latency of L3. */
enum { FETCH_AHEAD = 24 };
static void fetch_keys(const fovea_task_context *context, int64_t key, int64_t value, int64_t count,
                       fovea_fetch_list *list) {
  const fovea_problem *problem = &context->plan->problem;
  for (int64_t i = 0; i < count; i++) {
    if (key + i < context->keys_end) {
      list->rows[list->count++] =
          (fovea_fetch_row){context->keys + (key + i) * problem->k_strides.row, problem->qk_dim};
    }
    if (value + i < context->keys_end) {
      list->rows[list->count++] =
          (fovea_fetch_row){context->values + (value + i) * problem->v_strides.row, problem->v_dim};
    }
  }
}

/* Keys and values come from far away once and are then met by
 * every tile of the task: each asks for its share of the next block, so that the fetches are spread over the whole
 * time that this block takes, since a core has too few of them in flight to fetch a block within one tile. In the
 * first block of a task the first tile fetches for itself. A tile that begins asks for the next tile's queries, and
 * one that ends for its own output rows. */
void fovea_plan_fetch(const fovea_task_context *context, const fovea_tile *t, int64_t base, int64_t key,
                      int key_count, fovea_fetch_list *list) {
  const fovea_plan *plan = context->plan;
  list->count = 0;
  if (context->first_block) {
    fetch_keys(context, key + FETCH_AHEAD, key, key_count, list);
  } else {
    int64_t first = context->next_block + (int64_t)context->tile * FOVEA_BLOCK_KEYS / context->tiles;
    int64_t end = context->next_block + (int64_t)(context->tile + 1) * FOVEA_BLOCK_KEYS / context->tiles;
    fetch_keys(context, first, first, end - first, list);
  }
  if (context->unbegun) {
    for (int i = 0; i < context->unbegun->rows.count; i++) {
      list->rows[list->count++] = (fovea_fetch_row){
          (const float *)context->tensors->q +
              fovea_row_offset(plan, plan->problem.q_strides, context->task, context->unbegun->rows.first + i),
          plan->problem.qk_dim};
    }
  }
  if (t->view.any.end <= base + FOVEA_BLOCK_KEYS) {
    for (int i = 0; i < t->rows.count; i++) {
      list->rows[list->count++] =
          (fovea_fetch_row){(float *)context->tensors->o +
                                fovea_row_offset(plan, plan->problem.o_strides, context->task, t->rows.first + i),
                            plan->problem.v_dim};
    }
  }
}

void fovea_fetch_first_keys(const fovea_task_context *context, int64_t first) {
  const fovea_problem *problem = &context->plan->problem;
  const int64_t line = 64 / sizeof(float);
  int64_t end = first + FETCH_AHEAD < context->keys_end ? first + FETCH_AHEAD : context->keys_end;
  for (int64_t key = first; key < end; key++) {
    const float *row = context->keys + key * problem->k_strides.row;
    for (int64_t d = 0; d < problem->qk_dim; d += line) __builtin_prefetch(row + d, 0, 2);
  }
}

/* Tiles that must share a copy of a block for it to pay. */
enum { TILES_WORTH_COPYING = 4 };

/* Rows at multiples of a kilobyte fall on at most four of the 64 sets of a 4 KB-indexed first cache, far fewer ways
 * than a block has rows. */
static int crowds_sets(int64_t row_stride) {
  return row_stride * (int64_t)sizeof(float) % 1024 == 0;
}

void fovea_copy_block(fovea_task_context *context, int64_t base) {
  const fovea_problem *problem = &context->plan->problem;
  int64_t begin = base > context->keys_begin ? base : context->keys_begin, end = base + FOVEA_BLOCK_KEYS;
  int64_t key_stride = problem->k_strides.row, value_stride = problem->v_strides.row, dim = problem->qk_dim;
  if (end > context->keys_end) end = context->keys_end;
  context->keys_copied = context->tiles >= TILES_WORTH_COPYING && key_stride != dim && crowds_sets(key_stride);
  for (int64_t key = begin; context->keys_copied && key < end; key++) {
    memcpy(context->block.keys + (key - base) * dim, context->keys + key * key_stride, (size_t)dim * sizeof(float));
  }
  context->packed =
      context->tiles >= TILES_WORTH_COPYING && (context->kernels->panel_always || crowds_sets(value_stride));
  if (!context->packed) return;
  fovea_pack_args args = {
      .values = context->values + begin * value_stride,
      .value_stride = value_stride,
      .dim = problem->v_dim,
      .key_count = (int)(end - begin),
      .panel = context->block.panel + (begin - base) * context->kernels->panel_dims,
  };
  context->kernels->pack_values(&args);
}
