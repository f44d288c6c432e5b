#include "tile_scores.h"
#include "../../arch/args/outputs.h"

#include "operand_maker.h"

static void clear_maxima(float *maxima, int rows) {
  for (int i = 0; i < rows; i++) maxima[i] = -__builtin_inff();
}

/* Adjusts a slice's scores after the products: softcap, mask, rules, maxima. */
static void adjust_slice(const fovea_kernels *kernels, const fovea_score_args *scored,
                         const fovea_score_terms *terms, const fovea_block_slice *slice,
                         const fovea_mask_block *mask, const fovea_position_block *positions, float *maxima) {
  fovea_adjust_args args = {
      .scores = scored->scores,
      .terms = terms,
      .tile_terms = positions->present ? &positions->terms : NULL,
      .key = slice->begin,
      .key_count = scored->key_count,
      .vectors = slice->vectors,
      .mask = slice->masked ? &mask->tile : NULL,
      .seen_from = scored->seen_from,
      .seen_to = scored->seen_to,
      .maxima = maxima,
  };
  kernels->adjust(&args);
}

/* Hides the keys of a piece from one vector. */
static void hide_piece(const fovea_score_layout *layout, int vector, int lanes, int begin, int end) {
  for (int key = begin; key < end; key++) {
    float *scores = layout->scores + key * layout->key_step + vector * lanes;
    for (int i = 0; i < lanes; i++) scores[i] = -__builtin_inff();
  }
}

/* Hides from each vector the pieces that it does not see, between the first and the last of its keys. */
static void hide_holes(const fovea_tile *t, const fovea_visible_block *visible) {
  const int lanes = t->layout.rows / t->visible.vectors;
  const fovea_sliced_block *sliced = &visible->sliced;
  for (int v = 0; v < t->visible.vectors; v++) {
    for (int key = sliced->begin[v], next; key < sliced->end[v]; key = next) {
      next = (key / FOVEA_MASK_PIECE + 1) * FOVEA_MASK_PIECE;
      if (next > sliced->end[v]) next = sliced->end[v];
      if (!(visible->mask.pieces[v].seen >> key / FOVEA_MASK_PIECE & 1))
        hide_piece(&t->layout, v, lanes, key, next);
    }
  }
}

/* Whether softmax() multiplies scores by terms.c, in place of score(). */
static int factor_waits(const fovea_plan *plan, const fovea_sliced_block *sliced) {
  int masked = 0;
  for (int i = 0; i < sliced->count; i++) masked |= sliced->slices[i].masked;
  return FOVEA_BUILDS_MODES && plan->steps.factor_waits && !masked;
}

/* What score() is to add before it takes the maxima, so that softmax() need not pass over the scores for them: if
 * nothing else comes between. */
static const float *logs_of(const fovea_plan *plan, const float *value_operands, const fovea_visible_block *visible,
                            const fovea_position_block *positions) {
  if (!FOVEA_BUILDS_MODES || !plan->steps.logs || visible->mask.present || positions->present) return NULL;
  for (int i = 0; i < visible->sliced.count; i++)
    if (visible->sliced.slices[i].masked || visible->sliced.slices[i].limited) return NULL;
  return plan->steps.logs(value_operands, plan->problem.v_dim);
}

void fovea_score_tile(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                      const fovea_score_terms *terms, fovea_position_block *positions, fovea_fetch *fetch) {
  const fovea_sliced_block *sliced = &visible->sliced;
  const fovea_plan *plan = context->plan;
  const fovea_kernels *kernels = plan->kernels;
  const fovea_block_memory *memory = &context->memory;
  const fovea_operand_maker maker = fovea_operand_maker_of(context);
  const fovea_score_operands source = fovea_operands_of(&maker, &context->block, t, fetch);
  int row_tile = kernels->row_tile, rows = t->layout.rows;
  int32_t seen_from[FOVEA_ROW_TILE_LIMIT], seen_to[FOVEA_ROW_TILE_LIMIT];
  const float c = factor_waits(plan, sliced) ? 1.0f : terms->c;
  const float *logs = logs_of(plan, memory->value_operands, visible, positions);
  clear_maxima(memory->maxima, rows);
  const float *row_scales = NULL;
  if (positions->present) fovea_read_scales(&context->terms, t, terms, positions);
  if (FOVEA_BUILDS_MODES && positions->present && plan->steps.scales_rows) {
    row_scales = positions->terms.scales; /* score() multiplies by them */
    positions->terms.scales = NULL;
  }
  for (int i = 0; i < sliced->count; i++) {
    const fovea_block_slice *slice = &sliced->slices[i];
    int adjusted = slice->masked || terms->adjusted;
    /* score() has multiplied by scales of rows, and nothing is left. */
    if (row_scales && !slice->masked && !terms->capped && positions->terms.count == 0) adjusted = 0;
    fovea_score_args args = {
        .queries = source.queries,
        .keys = source.keys + slice->begin * source.key_bytes,
        .key = slice->begin,
        .rows = t->rows.count,
        .key_stride = source.key_stride,
        .dim = plan->problem.qk_dim,
        .key_count = slice->end - slice->begin,
        .c = c,
        .row_scales = row_scales,
        .key_logs = logs ? logs + slice->begin : NULL,
        .scores = memory->scores + slice->begin * row_tile,
        .maxima = memory->maxima,
        .vectors = slice->vectors,
    };
    if (i == fetch->slice) {
      args.prefetch = fetch->score.rows;
      args.prefetch_count = fetch->score.count;
    }
    if (adjusted) { /* these maxima are not used: adjust_slice() hides keys and takes the maxima */
      clear_maxima(memory->unused, rows);
      args.maxima = memory->unused;
      source.score(&args);
    }
    if (slice->limited) {
      fovea_limits_of_slice(sliced, slice, kernels->lanes, seen_from, seen_to);
      args.seen_from = seen_from;
      args.seen_to = seen_to;
    }
    if (adjusted) {
      adjust_slice(kernels, &args, terms, slice, &visible->mask, positions, memory->maxima);
    } else {
      source.score(&args);
    }
  }
  fovea_hide_again(t, visible, positions);
  if (visible->mask.present) hide_holes(t, visible);
}

/* Merges the block into the sums of the entropy, for the vectors of a softmax. */
static void spread_block(const fovea_kernels *kernels, const fovea_tile_state *state,
                         const fovea_softmax_args *softmax) {
  const fovea_spread_args args = {
      .scores = softmax->scores,
      .maxima = softmax->maxima,
      .row_max = state->row_max,
      .row_sum = state->row_sum,
      .row_spread = state->row_spread,
      .first = softmax->first,
      .vectors = softmax->vectors,
      .key_begin = softmax->key_begin,
      .key_end = softmax->key_end,
  };
  kernels->spread(&args);
}

int fovea_weigh_tile(const fovea_plan *plan, const fovea_block_memory *memory, const fovea_tile_state *state,
                     const fovea_visible_block *visible, const fovea_position_block *positions, int vectors,
                     int first) {
  const fovea_sliced_block *sliced = &visible->sliced;
  const float factor = factor_waits(plan, sliced) ? plan->terms.c : 1.0f;
  const int folded = logs_of(plan, memory->value_operands, visible, positions) != NULL;
  int stateless = 0;
  for (int v = 0; v < vectors; v++) {
    if (sliced->begin[v] == sliced->end[v]) continue;
    int run = 1;
    while (v + run < vectors && sliced->begin[v + run] != sliced->end[v + run]) run++;
    fovea_softmax_args args = {
        .scores = memory->scores,
        .factor = factor,
        .values = memory->value_operands,
        .v_dim = plan->problem.v_dim,
        .folded = folded,
        .maxima = memory->maxima,
        .row_max = state->row_max,
        .row_sum = state->row_sum,
        .block_sum = memory->block_sum,
        .old_part = memory->old_part,
        .new_part = memory->new_part,
        .first = first,
        .vectors = {v, run},
        .key_begin = sliced->begin,
        .key_end = sliced->end,
        .weighting = &plan->weighting,
    };
    if (FOVEA_BUILDS_OUTPUTS && state->row_spread) spread_block(plan->kernels, state, &args);
    stateless |= plan->steps.softmax(&args);
    v += run;
  }
  return stateless;
}
