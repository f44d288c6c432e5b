#include "block.h"
#include "../../arch/args/outputs.h"

#include "../feature/shaw.h"
#include "../visible/visible_pairs.h"
#include "operand_maker.h"
#include "operand_values.h"
#include "scores.h"
#include "shaw_keys.h"
#include "shaw_values.h"
#include "tile_scores.h"
#include "tile_values.h"
#include "top_k.h"

/* Returns 1 if the state of the span begins with this block for all vectors. If some vector has no keys in the
 * block, the state is cleared instead, and all vectors merge into it. */
static int begin_state(const fovea_plan *plan, const fovea_tile *t, const fovea_tile_state *state,
                       const fovea_sliced_block *sliced) {
  for (int v = 0; v < t->visible.vectors; v++) {
    if (sliced->begin[v] != sliced->end[v]) continue;
    fovea_clear_state(state, plan->kernels->row_tile, plan->problem.v_dim);
    return 0;
  }
  return 1;
}

/* Copies scores that lie [key][row]. */
static void copy_scores(const fovea_kernels *kernels, const fovea_tile *t, const fovea_visible_block *visible,
                        fovea_interval keys, float *const *rows) {
  const fovea_keep_args args = {
      .scores = t->layout.scores,
      .rows = rows,
      .row_count = t->rows.count,
      .key_begin = (int)keys.begin,
      .key_end = (int)keys.end,
      .seen_begin = visible->sliced.begin,
      .seen_end = visible->sliced.end,
  };
  kernels->keep_scores(&args);
}

static fovea_scores_of_rows read_scores(const fovea_task_context *context, const fovea_tile *t,
                                        const fovea_visible_block *visible) {
  const int64_t base = visible->base, lanes = context->kernels->lanes;
  float *rows[FOVEA_ROW_TILE_LIMIT], *to = context->memory.row_scores;
  const fovea_interval met = fovea_intersect(t->visible.any, (fovea_interval){base, base + FOVEA_BLOCK_KEYS});
  const fovea_interval keys = {(met.begin - base) / lanes * lanes, (met.end - base + lanes - 1) / lanes * lanes};
  for (int i = 0; i < t->rows.count; i++) rows[i] = to + i * FOVEA_BLOCK_KEYS + keys.begin;
  copy_scores(context->kernels, t, visible, keys, rows);
  return (fovea_scores_of_rows){to, keys};
}

/* Scores of the block and the state of the softmax. Returns 1 if some row gets no state from the block. */
static int weigh_block(fovea_task_context *context, fovea_tile *t, const fovea_tile_state *state,
                       const fovea_visible_block *visible, fovea_position_block *positions, fovea_fetch *fetch,
                       int first) {
  const fovea_plan *plan = context->plan;
  const int scored = FOVEA_BUILDS_OUTPUTS && t->scored && fovea_block_is_scored(plan, visible->base);
  fovea_read_positions(&context->terms, t, visible->base,
                       fovea_keys_of_slices(&visible->sliced, t->visible.vectors), positions);
  if (FOVEA_BUILDS_OUTPUTS && scored && fovea_scores_again(plan)) {
    fovea_score_tile(context, t, visible, &plan->output_terms, positions, fetch);
    fovea_keep_block(fovea_score_rows_of(context), t, visible, copy_scores);
  }
  fovea_score_tile(context, t, visible, &plan->terms, positions, fetch);
  if (FOVEA_BUILDS_OUTPUTS && scored && fovea_keeps_weights(plan))
    fovea_keep_block(fovea_score_rows_of(context), t, visible, copy_scores);
  if (FOVEA_BUILDS_OUTPUTS && fovea_lists_keys(plan))
    fovea_list_keys(plan, t, visible->base, read_scores(context, t, visible));
  return fovea_weigh_tile(plan, &context->memory, state, visible, positions, t->visible.vectors, first);
}

static void compute_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                          int first) {
  const fovea_plan *plan = context->plan;
  const fovea_tile_state *state = fovea_span_current(&t->memory.tree);
  fovea_fetch fetch;
  fovea_position_block positions;
  fovea_plan_fetch(context, t, &visible->sliced, &fetch);
  first = first && begin_state(plan, t, state, &visible->sliced);
  const int stateless = weigh_block(context, t, state, visible, &positions, &fetch, first);
  const int careful = fovea_values_need_care(plan, &context->block, &visible->sliced, stateless || positions.hides);
  if (careful && positions.hides) fovea_hide_by_positions(&context->terms, t, visible, &positions);
  const fovea_value_args common =
      fovea_tile_value_args(&context->memory, &context->block, state, plan->problem.v_dim);
  const int shaw = FOVEA_BUILDS_TERMS && fovea_has_shaw_values(&plan->problem),
            last = first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE;
  fovea_add_tile_values(plan->kernels, &common, visible, &positions, &fetch, shaw ? 0 : last, careful);
  if (FOVEA_BUILDS_TERMS && shaw) { /* they end the chains */
    const fovea_shaw_block block = {&context->terms, t, visible, &positions, last};
    fovea_add_shaw_values(&block, &common);
  }
}

#if FOVEA_BUILDS_MODES
static void compute_mode_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                               int first) {
  const fovea_tile_state *state = fovea_span_current(&t->memory.tree);
  const fovea_operand_maker maker = fovea_operand_maker_of(context);
  fovea_fetch fetch;
  fovea_position_block positions;
  fovea_plan_fetch(context, t, &visible->sliced, &fetch);
  first = first && begin_state(context->plan, t, state, &visible->sliced);
  weigh_block(context, t, state, visible, &positions, &fetch, first);
  fovea_add_operand_values(&maker, &context->block, &context->terms, t, state, visible, &positions, &fetch.value,
                           first);
}
#endif

static void score_only(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible) {
  fovea_fetch none;
  fovea_position_block positions;
  fovea_plan_no_fetch(&none);
  fovea_read_positions(&context->terms, t, visible->base,
                       fovea_keys_of_slices(&visible->sliced, t->visible.vectors), &positions);
  fovea_score_tile(context, t, visible, &context->plan->terms, &positions, &none);
}

static void load_queries(fovea_task_context *context, fovea_tile *t) {
  const fovea_operand_maker maker = fovea_operand_maker_of(context);
  fovea_load_tile_queries(&maker, t);
  if (FOVEA_BUILDS_TERMS && fovea_has_shaw_keys(&context->plan->problem)) {
    fovea_widen_queries(&maker, t);
    fovea_multiply_shaw_keys(&context->terms, t, context->memory.unused);
  }
}

const fovea_engine fovea_tiled_engine = {.load_queries = load_queries,
                                         .compute_block = compute_block,
                                         .score_block = FOVEA_BUILDS_OUTPUTS ? score_only : NULL,
                                         .read_scores = FOVEA_BUILDS_OUTPUTS ? read_scores : NULL};

#if FOVEA_BUILDS_MODES
const fovea_engine fovea_mode_engine = {.load_queries = load_queries,
                                        .compute_block = compute_mode_block,
                                        .score_block = FOVEA_BUILDS_OUTPUTS ? score_only : NULL,
                                        .read_scores = FOVEA_BUILDS_OUTPUTS ? read_scores : NULL};
#endif
