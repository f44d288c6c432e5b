#include "block.h"

#include "../feature/shaw.h"
#include "operand_values.h"
#include "operands.h"
#include "positions.h"
#include "scores.h"
#include "shaw_values.h"
#include "top_k.h"

void fovea_clear_state(const fovea_task_context *context, const fovea_tile_state *state) {
  int64_t row_tile = context->kernels->row_tile;
  for (int64_t i = 0; i < row_tile; i++) {
    state->row_max[i] = -__builtin_inff();
    state->row_sum[i] = 0;
    if (state->row_spread) state->row_spread[i] = 0;
  }
  for (int64_t i = 0; i < row_tile * context->plan->problem.v_dim; i++) state->output[i] = 0;
}

static void clear_maxima(float *maxima, int rows) {
  for (int i = 0; i < rows; i++) maxima[i] = -__builtin_inff();
}

/* Adjusts a slice's scores after the products: softcap, mask, rules, maxima. */
static void adjust_slice(const fovea_task_context *context, const fovea_score_args *scored,
                         const fovea_score_terms *terms, const fovea_block_slice *slice,
                         const fovea_mask_block *mask, const fovea_position_block *positions) {
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
      .maxima = context->memory.maxima,
  };
  context->kernels->adjust(&args);
}

/* Hides the keys of a piece from one vector. */
static void hide_piece(const fovea_task_context *context, int vector, int begin, int end) {
  int lanes = context->kernels->lanes, row_tile = context->kernels->row_tile;
  for (int key = begin; key < end; key++) {
    float *scores = context->memory.scores + key * row_tile + vector * lanes;
    for (int i = 0; i < lanes; i++) scores[i] = -__builtin_inff();
  }
}

/* Hides from each vector the pieces that it does not see, between the first and the last of its keys. */
static void hide_holes(const fovea_task_context *context, const fovea_tile *t, const fovea_visible_block *visible) {
  const fovea_sliced_block *sliced = &visible->sliced;
  for (int v = 0; v < t->visible.vectors; v++) {
    for (int key = sliced->begin[v], next; key < sliced->end[v]; key = next) {
      next = (key / FOVEA_MASK_PIECE + 1) * FOVEA_MASK_PIECE;
      if (next > sliced->end[v]) next = sliced->end[v];
      if (!(visible->mask.pieces[v].seen >> key / FOVEA_MASK_PIECE & 1)) hide_piece(context, v, key, next);
    }
  }
}

/* The limits of a slice's rows as kernels want them: counted from the slice's first key. */
static void limits_of(const fovea_sliced_block *sliced, const fovea_block_slice *slice, int lanes, int32_t *from,
                      int32_t *to) {
  const int first = slice->vectors.first * lanes, end = first + slice->vectors.count * lanes, key = slice->begin;
  for (int i = first; i < end; i++) {
    from[i] = sliced->from[i] > key ? sliced->from[i] - key : 0;
    to[i] = sliced->to[i] > key ? sliced->to[i] - key : 0;
  }
}

/* Whether the weights multiply scores by terms->c, in place of the products: then some products need not be touched
 * between AMX and the weights. The bits are the same. */
static int scales_later(const fovea_task_context *context, const fovea_score_terms *terms,
                        const fovea_sliced_block *sliced) {
  int adjusted = terms->adjusted;
  for (int i = 0; i < sliced->count; i++) adjusted |= sliced->slices[i].masked;
  const fovea_arithmetic *scores = context->plan->scores, *values = context->plan->values;
  return values && values->has_factor && !(scores && scores->scales_rows) && terms->c > 0 && !adjusted;
}

/* What score() is to add before it takes the maxima, so that softmax() need not pass over the scores for them: if
 * nothing else comes between. */
static const float *logs_of(const fovea_task_context *context, const fovea_score_terms *terms,
                            const fovea_visible_block *visible, const fovea_position_block *positions) {
  const fovea_arithmetic *scores = context->plan->scores, *values = context->plan->values;
  int plain = !terms->adjusted && !visible->mask.present && !positions->present;
  for (int i = 0; i < visible->sliced.count; i++)
    plain &= !visible->sliced.slices[i].masked && !visible->sliced.slices[i].limited;
  if (!plain || !scores || !scores->scales_rows || !values || !values->logs) return NULL;
  return values->logs(context->memory.value_operands, context->plan->problem.v_dim);
}

static void score_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                        const fovea_score_terms *terms, fovea_position_block *positions, fovea_fetch *fetch) {
  const fovea_sliced_block *sliced = &visible->sliced;
  const fovea_plan *plan = context->plan;
  const fovea_score_operands source = fovea_operands_of(context, t, fetch);
  int row_tile = context->kernels->row_tile, rows = t->visible.vectors * context->kernels->lanes;
  int32_t seen_from[FOVEA_ROW_TILE_LIMIT], seen_to[FOVEA_ROW_TILE_LIMIT];
  const float c = scales_later(context, terms, sliced) ? 1.0f : terms->c;
  const float *logs = logs_of(context, terms, visible, positions);
  clear_maxima(context->memory.maxima, rows);
  const float *row_scales = NULL;
  if (positions->present) fovea_read_scales(context, t, terms, positions);
  if (positions->present && plan->scores && plan->scores->scales_rows) {
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
        .scores = context->memory.scores + slice->begin * row_tile,
        .maxima = context->memory.maxima,
        .vectors = slice->vectors,
    };
    if (i == fetch->slice) {
      args.prefetch = fetch->score.rows;
      args.prefetch_count = fetch->score.count;
    }
    if (adjusted) { /* these maxima are not used: adjust_slice() hides keys and takes the maxima */
      clear_maxima(context->memory.unused, rows);
      args.maxima = context->memory.unused;
      source.score(&args);
    }
    if (slice->limited) {
      limits_of(sliced, slice, context->kernels->lanes, seen_from, seen_to);
      args.seen_from = seen_from;
      args.seen_to = seen_to;
    }
    if (adjusted) {
      adjust_slice(context, &args, terms, slice, &visible->mask, positions);
    } else {
      source.score(&args);
    }
  }
  fovea_hide_again(context, t, visible, positions);
}

/* Merges the block into the sums of the entropy, for the vectors of a softmax. */
static void spread_block(const fovea_task_context *context, const fovea_tile_state *state,
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
  context->kernels->spread(&args);
}

typedef int softmax_function(const fovea_softmax_args *args);

static softmax_function *softmax_of(const fovea_plan *plan, const fovea_kernels *kernels) {
  if (plan->values) return plan->values->softmax;
  return plan->weighting.normaliser ? kernels->normalise : kernels->softmax;
}

/* The softmax, or what stands for it, of every vector that has keys in this block. Returns 1 if some row gets no
 * state from the block. */
static int softmax_block(const fovea_task_context *context, const fovea_tile_state *state,
                         const fovea_visible_block *visible, const fovea_position_block *positions, int vectors,
                         int first) {
  const fovea_plan *plan = context->plan;
  const fovea_sliced_block *sliced = &visible->sliced;
  const float factor = scales_later(context, &plan->terms, sliced) ? plan->terms.c : 1.0f;
  int stateless = 0;
  for (int v = 0; v < vectors; v++) {
    if (sliced->begin[v] == sliced->end[v]) continue;
    int run = 1;
    while (v + run < vectors && sliced->begin[v + run] != sliced->end[v + run]) run++;
    fovea_softmax_args args = {
        .scores = context->memory.scores,
        .factor = factor,
        .values = context->memory.value_operands,
        .v_dim = plan->problem.v_dim,
        .folded = logs_of(context, &plan->terms, visible, positions) != NULL,
        .maxima = context->memory.maxima,
        .row_max = state->row_max,
        .row_sum = state->row_sum,
        .block_sum = context->memory.block_sum,
        .old_part = context->memory.old_part,
        .new_part = context->memory.new_part,
        .first = first,
        .vectors = {v, run},
        .key_begin = sliced->begin,
        .key_end = sliced->end,
        .weighting = &plan->weighting,
    };
    if (state->row_spread) spread_block(context, state, &args);
    stateless |= softmax_of(context->plan, context->kernels)(&args);
    v += run;
  }
  return stateless;
}

/* Whether V has a NaN or Inf that weight 0 would not hide: some row does not see all keys, or has no state.
 * `stateless` is 1 if that is known already. */
static int needs_care(fovea_task_context *context, const fovea_sliced_block *sliced, int stateless) {
  for (int i = 0; i < sliced->count; i++) {
    const fovea_block_slice *slice = &sliced->slices[i];
    if (slice->limited || slice->masked || stateless) return !fovea_block_is_finite(context);
  }
  return 0;
}

/* What a call of the value tile does for all slices of a block. */
static fovea_value_args value_args(const fovea_task_context *context, const fovea_tile_state *state,
                                   int64_t v_dim) {
  return (fovea_value_args){
      .weights = context->memory.scores,
      .values = context->block.values,
      .value_stride = context->block.value_stride,
      .panel = context->block.packed ? context->memory.panel : NULL,
      .dim = v_dim,
      .partial = context->memory.partial,
      .output = state->output,
      .old_part = context->memory.old_part,
      .new_part = context->memory.new_part,
      .maxima = context->memory.maxima,
      .block_sum = context->memory.block_sum,
  };
}

/* Vectors whose chains do not start, or do not end, together with those of all vectors of their slice. */
typedef struct lone_vectors {
  int starts, ends; /* bits */
} lone_vectors;

static lone_vectors find_lone_vectors(const fovea_sliced_block *sliced) {
  lone_vectors lone = {0, 0};
  for (int i = 0; i < sliced->count; i++) {
    const fovea_block_slice *slice = &sliced->slices[i];
    const int all = ((1 << slice->vectors.count) - 1) << slice->vectors.first;
    int starts = 0, ends = 0;
    for (int v = slice->vectors.first; v < slice->vectors.first + slice->vectors.count; v++) {
      starts |= (sliced->begin[v] == slice->begin) << v;
      ends |= (sliced->end[v] == slice->end) << v;
    }
    if (starts != all) lone.starts |= starts;
    if (ends != all) lone.ends |= ends;
  }
  return lone;
}

/* Calls the value tile without keys for these vectors, neighbours together. */
static void value_without_keys(const fovea_task_context *context, const fovea_value_args *common, int vectors,
                               int flags) {
  fovea_value_args args = *common;
  args.flags = flags;
  for (int v = 0; vectors >> v; v++) {
    if (!(vectors >> v & 1)) continue;
    int run = 1;
    while (vectors >> (v + run) & 1) run++;
    args.vectors = (fovea_vector_range){v, run};
    context->kernels->value(&args);
    v += run;
  }
}

/* All vectors of a slice go through its keys together: chains that start or end alone do so in calls of their own,
 * since products of one vector are much slower than those of several. */
static void value_block(const fovea_task_context *context, const fovea_tile_state *state,
                        const fovea_visible_block *visible, const fovea_position_block *positions,
                        const fovea_fetch *fetch, int first, int careful) {
  const fovea_sliced_block *sliced = &visible->sliced;
  const int row_tile = context->kernels->row_tile;
  const fovea_problem *problem = &context->plan->problem;
  /* Shaw's values follow, and end the chains. */
  const int end_flag = fovea_has_shaw_values(problem) ? 0 : first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE;
  const fovea_value_args common = value_args(context, state, problem->v_dim);
  const lone_vectors lone = find_lone_vectors(sliced);
  int32_t seen_from[FOVEA_ROW_TILE_LIMIT], seen_to[FOVEA_ROW_TILE_LIMIT];
  value_without_keys(context, &common, lone.starts, FOVEA_VALUE_START);
  for (int i = 0; i < sliced->count; i++) {
    const fovea_block_slice *slice = &sliced->slices[i];
    const int v = slice->vectors.first;
    const int starts = sliced->begin[v] == slice->begin && !(lone.starts >> v & 1);
    const int ends = sliced->end[v] == slice->end && !(lone.ends >> v & 1);
    fovea_value_args args = common;
    args.weights += slice->begin * row_tile;
    args.values += slice->begin * common.value_stride;
    if (args.panel) args.panel += slice->begin * context->kernels->panel_dims;
    args.key_count = slice->end - slice->begin;
    args.flags = (starts ? FOVEA_VALUE_START : 0) | (ends ? end_flag : 0);
    args.vectors = slice->vectors;
    args.mask = careful && positions->hides ? &positions->hidden : slice->masked ? &visible->mask.tile : NULL;
    args.key = slice->begin;
    args.prefetch = fetch->value.rows;
    args.prefetch_count = i == fetch->slice ? fetch->value.count : 0;
    if (careful && slice->limited) {
      limits_of(sliced, slice, context->kernels->lanes, seen_from, seen_to);
      args.seen_from = seen_from;
      args.seen_to = seen_to;
    }
    (careful ? context->kernels->value_careful : context->kernels->value)(&args);
  }
  if (end_flag) value_without_keys(context, &common, lone.ends, end_flag);
}

/* Returns 1 if the state of the span begins with this block for all vectors. If some vector has no keys in the
 * block, the state is cleared instead, and all vectors merge into it. */
static int begin_state(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                       const fovea_sliced_block *sliced) {
  for (int v = 0; v < t->visible.vectors; v++) {
    if (sliced->begin[v] != sliced->end[v]) continue;
    fovea_clear_state(context, state);
    return 0;
  }
  return 1;
}

void fovea_run_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                     fovea_fetch *fetch, int first) {
  const fovea_tile_state *state = fovea_span_current(&t->memory.tree);
  fovea_position_block positions;
  fovea_read_positions(context, t, fovea_keys_of_slices(&visible->sliced, t->visible.vectors), &positions);
  first = first && begin_state(context, t, state, &visible->sliced);
  const int scored = fovea_block_is_scored(context, t);
  if (scored && fovea_keeps_scores(context)) {
    score_block(context, t, visible, &context->plan->output_terms, &positions, fetch);
    if (visible->mask.present) hide_holes(context, t, visible);
    fovea_keep_block(context, t, visible);
  }
  score_block(context, t, visible, &context->plan->terms, &positions, fetch);
  if (visible->mask.present) hide_holes(context, t, visible);
  if (scored && fovea_keeps_weights(context)) fovea_keep_block(context, t, visible);
  if (fovea_lists_keys(context)) fovea_list_block(context, t, visible);
  int stateless = softmax_block(context, state, visible, &positions, t->visible.vectors, first);
  if (context->plan->values) {
    fovea_add_operand_values(context, t, state, visible, &positions, fetch, first);
    return;
  }
  const int careful = needs_care(context, &visible->sliced, stateless || positions.hides);
  if (careful && positions.hides) fovea_hide_by_positions(context, t, visible, &positions);
  value_block(context, state, visible, &positions, fetch, first, careful);
  if (fovea_has_shaw_values(&context->plan->problem))
    fovea_add_shaw_values(context, t, state, visible, &positions, first);
}

void fovea_score_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible) {
  fovea_fetch none;
  fovea_position_block positions;
  none.slice = 0;
  none.score = none.value = (fovea_fetch_list){0, NULL};
  fovea_read_positions(context, t, fovea_keys_of_slices(&visible->sliced, t->visible.vectors), &positions);
  score_block(context, t, visible, &context->plan->terms, &positions, &none);
  if (visible->mask.present) hide_holes(context, t, visible);
}
