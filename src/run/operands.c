#include "operands.h"

#include "vectors.h"
#include "wide_rows.h"

void fovea_widen_queries(const fovea_operand_maker *maker, fovea_tile *t) {
  const fovea_problem *problem = &maker->plan->problem;
  if (t->forms & FOVEA_FORM_F32) return;
  fovea_load_args args = {t->queries, problem->q_type, t->rows.count, problem->qk_dim, t->memory.queries};
  maker->plan->kernels->load_rows(&args);
  if (FOVEA_BUILDS_INT8) fovea_place_vectors(maker->plan, maker->channels, maker->scales, t);
  maker->score_half->load_queries(maker, t);
  t->forms |= FOVEA_FORM_F32;
}

void fovea_load_tile_queries(const fovea_operand_maker *maker, fovea_tile *t) {
  const fovea_problem *problem = &maker->plan->problem;
  if (maker->plan->paired) {
    fovea_load_args args = {t->queries, problem->q_type, t->rows.count, problem->qk_dim, t->memory.pairs};
    if (maker->plan->kernels->load_pairs(&args)) t->forms |= FOVEA_FORM_PAIRS;
  }
  if (!t->forms) fovea_widen_queries(maker, t);
}

/* A copy of a block pays if at least this many tiles share it. */
enum { TILES_WORTH_COPYING = 4 };

/* Rows at multiples of a kilobyte fall on at most four of the 64 sets of a first-level cache that is indexed by 4
 * KB. These sets have far fewer ways than a block has rows. */
static int crowds_sets(int64_t row_stride) {
  return row_stride * (int64_t)sizeof(float) % 1024 == 0;
}

static int panels_pay(const fovea_kernels *kernels, int tiles, int64_t row_stride) {
  if (tiles < TILES_WORTH_COPYING) return 0;
  return (kernels->panel_tiles > 0 && tiles >= kernels->panel_tiles) || crowds_sets(row_stride);
}

/* Whether the keys of the block may be multiplied as pairs. If one of their elements is not for pairs, the block is
 * converted to f32. */
static int keys_are_paired(const fovea_plan *plan, const fovea_row_run *run, int64_t count) {
  const fovea_problem *problem = &plan->problem;
  if (!plan->paired) return 0;
  fovea_widen_args args = {.rows = run->row,
                           .type = problem->k_type,
                           .row_stride = problem->k_strides.row,
                           .row_count = count,
                           .dim = problem->qk_dim};
  return plan->kernels->pairs_safe(&args);
}

static void widen_keys(const fovea_operand_maker *maker, fovea_block_rows *block) {
  block->keys = fovea_widen_rows(maker->keys, block->base, block->met, maker->memory->keys);
  block->key_stride = fovea_copied_stride(maker->keys->dim);
}

/* Whether the rows can be read where they lie. */
static int lies_well(const fovea_row_run *run, int64_t end) {
  return !run->codes && run->type == FOVEA_F32 && !run->panels && run->end >= end;
}

static void keep_queries(const fovea_operand_maker *maker, fovea_tile *t) {
  (void)maker, (void)t; /* exact mode multiplies them as they are */
}

static void place_keys(const fovea_operand_maker *maker, const fovea_row_run *run, fovea_block_rows *block,
                       fovea_fetch_list *fetch) {
  const fovea_interval met = block->met;
  (void)fetch;
  if (keys_are_paired(maker->plan, run, met.end - met.begin)) {
    block->key_forms = FOVEA_FORM_PAIRS;
    block->pairs = run->row - met.begin * run->step;
    return;
  }
  block->key_forms = FOVEA_FORM_F32;
  int64_t stride = run->step / (int64_t)sizeof(float);
  int crowded = block->tiles >= TILES_WORTH_COPYING && stride != maker->keys->dim && crowds_sets(stride);
  if (lies_well(run, block->base + met.end) && !crowded) {
    block->keys = (const float *)(const void *)run->row - met.begin * stride;
    block->key_stride = stride;
    return;
  }
  widen_keys(maker, block);
}

static fovea_score_operands operands_of(const fovea_operand_maker *maker, const fovea_block_rows *block,
                                        const fovea_tile *t) {
  return (fovea_score_operands){maker->plan->kernels->score, t->memory.queries, (const char *)block->keys,
                                block->key_stride, 4 * block->key_stride};
}

static void place_values(const fovea_operand_maker *maker, const fovea_row_run *run, fovea_block_rows *block,
                         fovea_fetch_list *fetch) {
  const fovea_kernels *kernels = maker->plan->kernels;
  const fovea_interval met = block->met;
  (void)fetch;
  if (lies_well(run, block->base + met.end)) {
    block->value_stride = run->step / (int64_t)sizeof(float);
    block->values = (const float *)(const void *)run->row - met.begin * block->value_stride;
  } else {
    block->values = fovea_widen_rows(maker->values, block->base, met, maker->memory->values);
    block->value_stride = fovea_copied_stride(maker->values->dim);
  }
  block->finite = -1;
  block->packed = panels_pay(kernels, block->tiles, block->value_stride);
  if (!block->packed) return;
  fovea_pack_args args = {
      .values = block->values + met.begin * block->value_stride,
      .value_stride = block->value_stride,
      .dim = maker->values->dim,
      .key_count = (int)(met.end - met.begin),
      .panel = maker->memory->panel + met.begin * kernels->panel_dims,
  };
  kernels->pack_values(&args);
}

const fovea_score_half fovea_exact_scores = {keep_queries, place_keys, operands_of};
const fovea_value_half fovea_exact_values = {place_values};

/* Once a block, for its first tile. */
static void place_block(const fovea_operand_maker *maker, fovea_block_rows *block, fovea_fetch *fetch) {
  const int64_t first = block->base + block->met.begin;
  if (block->key_forms) return;
  fovea_row_run key_run = fovea_rows_at(maker->keys, first);
  fovea_row_run value_run = fovea_rows_at(maker->values, first);
  maker->score_half->place_keys(maker, &key_run, block, &fetch->score);
  maker->value_half->place_values(maker, &value_run, block, &fetch->value);
}

fovea_score_operands fovea_operands_of(const fovea_operand_maker *maker, fovea_block_rows *block, fovea_tile *t,
                                       fovea_fetch *fetch) {
  place_block(maker, block, fetch);
  if (t->forms & block->key_forms & FOVEA_FORM_PAIRS) {
    int64_t stride = maker->plan->problem.k_strides.row;
    return (fovea_score_operands){maker->plan->kernels->score_pairs, t->memory.pairs, block->pairs, stride,
                                  2 * stride};
  }
  if (!(block->key_forms & FOVEA_FORM_F32)) {
    widen_keys(maker, block);
    block->key_forms |= FOVEA_FORM_F32;
  }
  fovea_widen_queries(maker, t);
  return maker->score_half->operands(maker, block, t);
}

int fovea_values_are_finite(const fovea_plan *plan, fovea_block_rows *block) {
  if (block->finite < 0) {
    block->finite =
        plan->kernels->all_finite(block->values + block->met.begin * block->value_stride, block->value_stride,
                                  block->met.end - block->met.begin, plan->problem.v_dim);
  }
  return block->finite;
}
