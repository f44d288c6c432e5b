#include "mode_operands.h"

#include "code_rows.h"
#include "vectors.h"
#include "wide_rows.h"

#if FOVEA_BUILDS_MODES

static void load_queries(const fovea_operand_maker *maker, fovea_tile *t) {
  const fovea_operand_args operands = {
      .rows = t->memory.queries, .dim = maker->plan->problem.qk_dim, .to = t->memory.query_operands};
  maker->plan->scores->load_queries(&operands);
}

static fovea_score_operands operands_of(const fovea_operand_maker *maker, const fovea_block_rows *block,
                                        const fovea_tile *t) {
  (void)block;
  return (fovea_score_operands){maker->plan->scores->score, t->memory.query_operands,
                                (const char *)maker->memory->key_operands, 0, 0};
}

/* The rows of a block as an arithmetic reads them: where they lie, if they are f32 or bf16, or as f32 in `to`. */
static fovea_operand_args operand_rows(const fovea_row_source *source, const fovea_row_run *run,
                                       const fovea_block_rows *block, float *to) {
  const fovea_interval keys = block->met;
  fovea_operand_args args = {.dim = source->dim, .first = (int)keys.begin, .end = (int)keys.end};
  if (run->codes || run->panels || run->end < block->base + keys.end || run->type == FOVEA_F16) {
    args.rows = fovea_widen_rows(source, block->base, keys, to);
    args.stride = fovea_copied_stride(source->dim);
    return args;
  }
  args.bf16 = run->type == FOVEA_BF16;
  args.stride = fovea_elements(run->type, run->step);
  args.rows = run->row - keys.begin * run->step;
  return args;
}

/* Keys less the caller's centre, at `to`. */
static fovea_operand_args centred_rows(const fovea_row_source *source, const fovea_block_rows *block, float *to) {
  if (!FOVEA_BUILDS_INT8) return (fovea_operand_args){.rows = NULL};
  fovea_widen_centred_rows(source, block->base, block->met, to);
  return (fovea_operand_args){.rows = to,
                              .stride = fovea_copied_stride(source->dim),
                              .dim = source->dim,
                              .first = (int)block->met.begin,
                              .end = (int)block->met.end};
}

/* The rows of a side of the block. `room` is for rows as f32. */
static fovea_operand_args rows_of(const fovea_operand_maker *maker, const fovea_row_source *source,
                                  const fovea_arithmetic *arithmetic, const fovea_row_run *run,
                                  const fovea_block_rows *block, float *room) {
  const fovea_code_side side = {source, arithmetic, block->base, room};
  fovea_operand_args args = {.to = NULL};
  if (FOVEA_BUILDS_INT8 && fovea_read_codes(&side, block->met, maker->memory->codes, &args)) return args;
  return FOVEA_BUILDS_INT8 && source->centre ? centred_rows(source, block, room)
                                             : operand_rows(source, run, block, room);
}

/* Prefetches while operands are made, in place of the products. */
static void fetch_meanwhile(fovea_fetch_list *fetch, fovea_operand_args *args) {
  if (!fetch->with_loads) return;
  args->prefetch = fetch->rows;
  args->prefetch_count = fetch->count;
  fetch->count = 0;
}

static void place_keys(const fovea_operand_maker *maker, const fovea_row_run *run, fovea_block_rows *block,
                       fovea_fetch_list *fetch) {
  const fovea_arithmetic *scores = maker->plan->scores;
  fovea_operand_args args = rows_of(maker, maker->keys, scores, run, block, maker->memory->keys);
  args.to = maker->memory->key_operands;
  fetch_meanwhile(fetch, &args);
  scores->load_keys(&args);
  block->key_forms = FOVEA_FORM_F32;
}

static void place_values(const fovea_operand_maker *maker, const fovea_row_run *run, fovea_block_rows *block,
                         fovea_fetch_list *fetch) {
  const fovea_arithmetic *values = maker->plan->values;
  fovea_operand_args args = rows_of(maker, maker->values, values, run, block, maker->memory->values);
  args.to = maker->memory->value_operands;
  fetch_meanwhile(fetch, &args);
  block->finite = values->load_values(&args);
  block->packed = 0;
  block->values = args.bf16 || args.codes ? NULL : args.rows;
  block->value_stride = args.stride;
}

void fovea_widen_values(const fovea_operand_maker *maker, fovea_block_rows *block) {
  if (block->values) return;
  block->values = fovea_widen_rows(maker->values, block->base, block->met, maker->memory->values);
  block->value_stride = fovea_copied_stride(maker->values->dim);
}

const fovea_score_half fovea_mode_scores = {load_queries, place_keys, operands_of};
const fovea_value_half fovea_mode_values = {place_values};
#endif
