#include "block.h"

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
static void hide_holes(const fovea_task_context *context, const fovea_tile *t, const fovea_sight *sight) {
  const fovea_block_view *view = &sight->view;
  for (int v = 0; v < t->view.vectors; v++) {
    for (int key = view->begin[v], next; key < view->end[v]; key = next) {
      next = (key / FOVEA_MASK_PIECE + 1) * FOVEA_MASK_PIECE;
      if (next > view->end[v]) next = view->end[v];
      if (!(sight->mask.pieces[v].seen >> key / FOVEA_MASK_PIECE & 1)) hide_piece(context, v, key, next);
    }
  }
}

/* The limits of rows as kernels want them: counted from key `key` of the block. */
static void limits_from(const fovea_block_view *view, int key, int rows, int32_t *from, int32_t *to) {
  for (int i = 0; i < rows; i++) {
    from[i] = view->from[i] > key ? view->from[i] - key : 0;
    to[i] = view->to[i] > key ? view->to[i] - key : 0;
  }
}

static void score_block(fovea_task_context *context, fovea_tile *t, const fovea_sight *sight,
                        const fovea_score_terms *terms, fovea_position_block *positions, const fovea_fetch *fetch) {
  const fovea_block_view *view = &sight->view;
  const fovea_plan *plan = context->plan;
  const fovea_score_operands source = fovea_operands_of(context, t);
  int row_tile = context->kernels->row_tile, rows = t->view.vectors * context->kernels->lanes;
  int32_t seen_from[FOVEA_ROW_TILE_LIMIT], seen_to[FOVEA_ROW_TILE_LIMIT];
  clear_maxima(context->memory.maxima, rows);
  if (positions->present) fovea_read_scales(context, t, terms, positions);
  for (int i = 0; i < view->count; i++) {
    const fovea_block_slice *slice = &view->slices[i];
    int adjusted = slice->masked || terms->adjusted;
    fovea_score_args args = {
        .queries = source.queries,
        .keys = source.keys + slice->begin * source.key_bytes,
        .key_stride = source.key_stride,
        .dim = plan->problem.qk_dim,
        .key_count = slice->end - slice->begin,
        .c = terms->c,
        .scores = context->memory.scores + slice->begin * row_tile,
        .maxima = context->memory.maxima,
        .vectors = slice->vectors,
    };
    if (i == 0) {
      args.prefetch = fetch->score.rows;
      args.prefetch_count = fetch->score.count;
    }
    if (adjusted) { /* these maxima are not used: adjust_slice() hides keys and takes the maxima */
      clear_maxima(context->memory.unused, rows);
      args.maxima = context->memory.unused;
      source.score(&args);
    }
    if (slice->limited) {
      limits_from(view, slice->begin, rows, seen_from, seen_to);
      args.seen_from = seen_from;
      args.seen_to = seen_to;
    }
    if (adjusted) {
      adjust_slice(context, &args, terms, slice, &sight->mask, positions);
    } else {
      source.score(&args);
    }
  }
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

/* The softmax, or what stands for it, of every vector that has keys in this block. Returns 1 if some row gets no
 * state from the block. */
static int softmax_block(const fovea_task_context *context, const fovea_tile_state *state,
                         const fovea_block_view *view, int vectors, int first) {
  const fovea_weighting *weighting = &context->plan->weighting;
  int stateless = 0;
  for (int v = 0; v < vectors; v++) {
    if (view->begin[v] == view->end[v]) continue;
    int run = 1;
    while (v + run < vectors && view->begin[v + run] != view->end[v + run]) run++;
    fovea_softmax_args args = {
        .scores = context->memory.scores,
        .maxima = context->memory.maxima,
        .row_max = state->row_max,
        .row_sum = state->row_sum,
        .block_sum = context->memory.block_sum,
        .old_part = context->memory.old_part,
        .new_part = context->memory.new_part,
        .first = first,
        .vectors = {v, run},
        .key_begin = view->begin,
        .key_end = view->end,
        .weighting = weighting,
    };
    if (state->row_spread) spread_block(context, state, &args);
    stateless |= (weighting->normaliser ? context->kernels->normalise : context->kernels->softmax)(&args);
    v += run;
  }
  return stateless;
}

/* Whether V has a NaN or Inf that weight 0 would not hide: some row does not see all keys, or has no state.
 * `stateless` is 1 if that is known already. */
static int needs_care(fovea_task_context *context, const fovea_block_view *view, int stateless) {
  for (int i = 0; i < view->count; i++) {
    const fovea_block_slice *slice = &view->slices[i];
    if (slice->limited || slice->masked || stateless) return !fovea_block_is_finite(context);
  }
  return 0;
}

static void value_block(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                        const fovea_sight *sight, const fovea_position_block *positions, const fovea_fetch *fetch,
                        int first, int careful) {
  const fovea_block_view *view = &sight->view;
  const fovea_problem *problem = &context->plan->problem;
  int row_tile = context->kernels->row_tile, rows = t->view.vectors * context->kernels->lanes;
  int32_t seen_from[FOVEA_ROW_TILE_LIMIT], seen_to[FOVEA_ROW_TILE_LIMIT];
  /* Shaw's values follow, and end the chains. */
  const int last = fovea_has_shaw_values(problem) ? 0 : first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE;
  for (int i = 0; i < view->count; i++) {
    const fovea_block_slice *slice = &view->slices[i];
    /* The slice may be the first or the last of some of its vectors only: one call for each case. */
    for (int v = slice->vectors.first, end = v + slice->vectors.count; v < end;) {
      int starts = view->begin[v] == slice->begin, ends = view->end[v] == slice->end, run = 1;
      while (v + run < end && (view->begin[v + run] == slice->begin) == starts &&
             (view->end[v + run] == slice->end) == ends) {
        run++;
      }
      fovea_value_args args = {
          .weights = context->memory.scores + slice->begin * row_tile,
          .values = context->block.values + slice->begin * context->block.value_stride,
          .value_stride = context->block.value_stride,
          .panel =
              context->block.packed ? context->memory.panel + slice->begin * context->kernels->panel_dims : NULL,
          .dim = problem->v_dim,
          .key_count = slice->end - slice->begin,
          .flags = (starts ? FOVEA_VALUE_START : 0) | (ends ? last : 0),
          .partial = context->memory.partial,
          .output = state->output,
          .old_part = context->memory.old_part,
          .new_part = context->memory.new_part,
          .vectors = {v, run},
          .maxima = context->memory.maxima,
          .block_sum = context->memory.block_sum,
          .mask = careful && positions->hides ? &positions->hidden
                  : slice->masked             ? &sight->mask.tile
                                              : NULL,
          .key = slice->begin,
          .prefetch = fetch->value.rows,
          .prefetch_count = i == 0 ? fetch->value.count : 0,
      };
      if (careful && slice->limited) {
        limits_from(view, slice->begin, rows, seen_from, seen_to);
        args.seen_from = seen_from;
        args.seen_to = seen_to;
      }
      (careful ? context->kernels->value_careful : context->kernels->value)(&args);
      v += run;
    }
  }
}

/* Returns 1 if the state of the span begins with this block for all vectors. If some vector has no keys in the
 * block, the state is cleared instead, and all vectors merge into it. */
static int begin_state(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state,
                       const fovea_block_view *view) {
  for (int v = 0; v < t->view.vectors; v++) {
    if (view->begin[v] != view->end[v]) continue;
    fovea_clear_state(context, state);
    return 0;
  }
  return 1;
}

void fovea_run_block(fovea_task_context *context, fovea_tile *t, const fovea_sight *sight, const fovea_fetch *fetch,
                     int first) {
  const fovea_tile_state *state = fovea_span_current(&t->memory.tree);
  fovea_position_block positions;
  fovea_read_positions(context, t, fovea_keys_of_view(&sight->view, t->view.vectors), &positions);
  first = first && begin_state(context, t, state, &sight->view);
  const int scored = fovea_block_is_scored(context, t);
  if (scored && fovea_keeps_scores(context)) {
    score_block(context, t, sight, &context->plan->output_terms, &positions, fetch);
    if (sight->mask.present) hide_holes(context, t, sight);
    fovea_keep_block(context, t, sight);
  }
  score_block(context, t, sight, &context->plan->terms, &positions, fetch);
  if (sight->mask.present) hide_holes(context, t, sight);
  if (scored && fovea_keeps_weights(context)) fovea_keep_block(context, t, sight);
  if (fovea_lists_keys(context)) fovea_list_block(context, t, sight);
  int stateless = softmax_block(context, state, &sight->view, t->view.vectors, first);
  const int careful = needs_care(context, &sight->view, stateless || positions.hides);
  if (careful && positions.hides) fovea_hide_by_positions(context, t, sight, &positions);
  value_block(context, t, state, sight, &positions, fetch, first, careful);
  if (fovea_has_shaw_values(&context->plan->problem))
    fovea_add_shaw_values(context, t, state, sight, &positions, first);
}

void fovea_score_block(fovea_task_context *context, fovea_tile *t, const fovea_sight *sight) {
  fovea_fetch none;
  fovea_position_block positions;
  none.score = none.value = (fovea_fetch_list){0, NULL};
  fovea_read_positions(context, t, fovea_keys_of_view(&sight->view, t->view.vectors), &positions);
  score_block(context, t, sight, &context->plan->terms, &positions, &none);
  if (sight->mask.present) hide_holes(context, t, sight);
}
