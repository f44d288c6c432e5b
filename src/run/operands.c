#include "operands.h"

#include "code_rows.h"
#include "vectors.h"
#include "wide_rows.h"

void fovea_widen_queries(const fovea_task_context *context, fovea_tile *t) {
  const fovea_problem *problem = &context->plan->problem;
  if (t->forms & FOVEA_FORM_F32) return;
  fovea_load_args args = {t->queries, problem->q_type, t->rows.count, problem->qk_dim, t->memory.queries};
  context->kernels->load_rows(&args);
  fovea_place_vectors(context, t);
  if (context->plan->scores) {
    const fovea_operand_args operands = {
        .rows = t->memory.queries, .dim = problem->qk_dim, .to = t->memory.query_operands};
    context->plan->scores->load_queries(&operands);
  }
  t->forms |= FOVEA_FORM_F32;
}

void fovea_load_queries(fovea_task_context *context, fovea_tile *t) {
  const fovea_problem *problem = &context->plan->problem;
  if (context->plan->paired) {
    fovea_load_args args = {t->queries, problem->q_type, t->rows.count, problem->qk_dim, t->memory.pairs};
    if (context->kernels->load_pairs(&args)) t->forms |= FOVEA_FORM_PAIRS;
  }
  if (!t->forms) fovea_widen_queries(context, t);
}

fovea_interval fovea_met_keys(const fovea_task_context *context, int64_t base) {
  int64_t begin = context->walk.keys_begin - base, end = context->walk.keys_end - base;
  return (fovea_interval){begin > 0 ? begin : 0, end < FOVEA_BLOCK_KEYS ? end : FOVEA_BLOCK_KEYS};
}

/* A copy of a block pays if at least this many tiles share it. */
enum { TILES_WORTH_COPYING = 4 };

/* Rows at multiples of a kilobyte fall on at most four of the 64 sets of a first-level cache that is indexed by 4
 * KB. These sets have far fewer ways than a block has rows. */
static int crowds_sets(int64_t row_stride) {
  return row_stride * (int64_t)sizeof(float) % 1024 == 0;
}

void fovea_widen_rows(const fovea_task_context *context, fovea_find_run *find, int64_t dim, int64_t base,
                      float *to) {
  fovea_interval keys = fovea_met_keys(context, base);
  fovea_widen_block_rows(context, find, dim, base, keys.begin, keys.end, to);
}

/* Whether the keys of the block may be multiplied as pairs. If one of their elements is not for pairs, the block is
 * widened. */
static int keys_are_paired(const fovea_task_context *context, const fovea_row_run *run, int64_t count) {
  const fovea_problem *problem = &context->plan->problem;
  if (!context->plan->paired) return 0;
  fovea_widen_args args = {.rows = run->row,
                           .type = problem->k_type,
                           .row_stride = problem->k_strides.row,
                           .row_count = count,
                           .dim = problem->qk_dim};
  return context->kernels->pairs_safe(&args);
}

static void widen_keys(fovea_task_context *context, int64_t base, int64_t begin, int64_t end) {
  int64_t dim = context->plan->problem.qk_dim;
  context->block.keys = fovea_widen_block_rows(context, fovea_key_run, dim, base, begin, end, context->memory.keys);
  context->block.key_stride = fovea_copied_stride(dim);
}

/* Whether the rows can be read where they lie. */
static int lies_well(const fovea_row_run *run, int64_t end) {
  return !run->codes && run->type == FOVEA_F32 && !run->panels && run->end >= end;
}

/* The rows of a block as another arithmetic reads them: where they lie, if they are f32 or bf16, or widened to
 * `to`. */
static fovea_operand_args operand_rows(const fovea_task_context *context, const fovea_row_run *run,
                                       fovea_find_run *find, int64_t dim, fovea_interval keys, float *to) {
  const int64_t base = context->walk.block;
  fovea_operand_args args = {.dim = dim, .first = (int)keys.begin, .end = (int)keys.end};
  if (run->codes || run->panels || run->end < base + keys.end || run->type == FOVEA_F16) {
    args.rows = fovea_widen_block_rows(context, find, dim, base, keys.begin, keys.end, to);
    args.stride = fovea_copied_stride(dim);
    return args;
  }
  args.bf16 = run->type == FOVEA_BF16;
  args.stride = fovea_elements(run->type, run->step);
  args.rows = run->row - keys.begin * run->step;
  return args;
}

/* Keys less the caller's centre, in scratch. */
static fovea_operand_args centred_rows(const fovea_task_context *context, fovea_interval keys) {
  const int64_t dim = context->plan->problem.qk_dim;
  fovea_widen_centred_rows(context, fovea_key_run, fovea_key_centre(context), dim, keys, context->memory.keys);
  return (fovea_operand_args){.rows = context->memory.keys,
                              .stride = fovea_copied_stride(dim),
                              .dim = dim,
                              .first = (int)keys.begin,
                              .end = (int)keys.end};
}

/* Prefetches while operands are made for a tile of `rows` rows. In the first block the list has its own rows. */
static void fetch_meanwhile(const fovea_task_context *context, const fovea_arithmetic *arithmetic, int rows,
                            fovea_operand_args *args, fovea_fetch_list *fetch) {
  if (!arithmetic->loads_fetch) return;
  if (!context->walk.first && rows > arithmetic->loads_fetch_rows) return;
  args->prefetch = fetch->rows;
  args->prefetch_count = fetch->count;
  fetch->count = 0;
}

static void load_keys(fovea_task_context *context, const fovea_row_run *run, fovea_interval keys, int rows,
                      fovea_fetch_list *fetch) {
  const int64_t dim = context->plan->problem.qk_dim;
  const fovea_code_side side = {context, context->plan->scores, fovea_key_run, dim, 0, context->memory.keys};
  fovea_operand_args args = {.to = NULL};
  if (!fovea_read_codes(&side, keys, &args))
    args = fovea_key_centre(context) ? centred_rows(context, keys)
                                     : operand_rows(context, run, fovea_key_run, dim, keys, context->memory.keys);
  args.to = context->memory.key_operands;
  fetch_meanwhile(context, context->plan->scores, rows, &args, fetch);
  context->plan->scores->load_keys(&args);
  context->block.key_forms = FOVEA_FORM_F32;
}

static void load_values(fovea_task_context *context, const fovea_row_run *run, fovea_interval keys, int rows,
                        fovea_fetch_list *fetch) {
  fovea_block_rows *block = &context->block;
  const int64_t dim = context->plan->problem.v_dim;
  const fovea_code_side side = {context, context->plan->values, fovea_value_run, dim, 1, context->memory.values};
  fovea_operand_args args = {.to = NULL};
  if (!fovea_read_codes(&side, keys, &args))
    args = operand_rows(context, run, fovea_value_run, dim, keys, context->memory.values);
  args.to = context->memory.value_operands;
  fetch_meanwhile(context, context->plan->values, rows, &args, fetch);
  block->finite = context->plan->values->load_values(&args);
  block->packed = 0;
  block->values = args.bf16 || args.codes ? NULL : args.rows;
  block->value_stride = args.stride;
}

void fovea_widen_values(fovea_task_context *context) {
  const int64_t dim = context->plan->problem.v_dim;
  if (context->block.values) return;
  fovea_widen_rows(context, fovea_value_run, dim, context->walk.block, context->memory.values);
  context->block.values = context->memory.values;
  context->block.value_stride = fovea_copied_stride(dim);
}

static void place_keys(fovea_task_context *context, const fovea_row_run *run, int64_t base, int64_t begin,
                       int64_t end) {
  fovea_block_rows *block = &context->block;
  if (keys_are_paired(context, run, end - begin)) {
    block->key_forms = FOVEA_FORM_PAIRS;
    block->pairs = run->row - begin * run->step;
    return;
  }
  block->key_forms = FOVEA_FORM_F32;
  int64_t stride = run->step / (int64_t)sizeof(float);
  int crowded =
      context->walk.tiles >= TILES_WORTH_COPYING && stride != context->plan->problem.qk_dim && crowds_sets(stride);
  if (lies_well(run, base + end) && !crowded) {
    block->keys = (const float *)(const void *)run->row - begin * stride;
    block->key_stride = stride;
    return;
  }
  widen_keys(context, base, begin, end);
}

static void place_values(fovea_task_context *context, const fovea_row_run *run, int64_t base, int64_t begin,
                         int64_t end) {
  int64_t dim = context->plan->problem.v_dim;
  if (lies_well(run, base + end)) {
    context->block.value_stride = run->step / (int64_t)sizeof(float);
    context->block.values = (const float *)(const void *)run->row - begin * context->block.value_stride;
  } else {
    context->block.values =
        fovea_widen_block_rows(context, fovea_value_run, dim, base, begin, end, context->memory.values);
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

/* Once a block, for its first tile, of `rows` rows. */
static void place_block(fovea_task_context *context, int rows, fovea_fetch *fetch) {
  int64_t base = context->walk.block;
  fovea_interval keys = fovea_met_keys(context, base);
  if (context->block.key_forms) return;
  fovea_row_run key_run = fovea_key_run(context, base + keys.begin);
  fovea_row_run value_run = fovea_value_run(context, base + keys.begin);
  if (context->plan->scores)
    load_keys(context, &key_run, keys, rows, &fetch->score);
  else
    place_keys(context, &key_run, base, keys.begin, keys.end);
  if (context->plan->values)
    load_values(context, &value_run, keys, rows, &fetch->value);
  else
    place_values(context, &value_run, base, keys.begin, keys.end);
}

fovea_score_operands fovea_operands_of(fovea_task_context *context, fovea_tile *t, fovea_fetch *fetch) {
  const fovea_kernels *kernels = context->kernels;
  fovea_block_rows *block = &context->block;
  place_block(context, t->rows.count, fetch);
  if (t->forms & block->key_forms & FOVEA_FORM_PAIRS) {
    int64_t stride = context->plan->problem.k_strides.row;
    return (fovea_score_operands){kernels->score_pairs, t->memory.pairs, block->pairs, stride, 2 * stride};
  }
  if (!(block->key_forms & FOVEA_FORM_F32)) {
    fovea_interval keys = fovea_met_keys(context, context->walk.block);
    widen_keys(context, context->walk.block, keys.begin, keys.end);
    block->key_forms |= FOVEA_FORM_F32;
  }
  fovea_widen_queries(context, t);
  if (context->plan->scores)
    return (fovea_score_operands){context->plan->scores->score, t->memory.query_operands,
                                  (const char *)context->memory.key_operands, 0, 0};
  return (fovea_score_operands){kernels->score, t->memory.queries, (const char *)block->keys, block->key_stride,
                                4 * block->key_stride};
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
