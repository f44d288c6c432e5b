#include "decode.h"

#include "../feature/shaw.h"
#include "decode_codes.h"
#include "operands.h"
#include "positions.h"
#include "scores.h"
#include "shaw_values.h"
#include "top_k.h"
#include "vectors.h"

void fovea_begin_decode_task(fovea_task_context *context, fovea_decode_state *decode, void *worker_scratch) {
  decode->memory = fovea_scratch_decode(context->plan, worker_scratch); /* the rest is set when a tile begins */
  context->decode = decode;
}

void fovea_begin_decoding(fovea_task_context *context, fovea_tile *t) {
  const fovea_problem *problem = &context->plan->problem;
  int64_t stride = fovea_decode_stride(problem->qk_dim);
  for (int i = 0; i < t->rows.count; i++) {
    fovea_widen_args args = {
        .rows = t->queries[i],
        .type = problem->q_type,
        .row_count = 1,
        .dim = problem->qk_dim,
        .to = context->decode->memory.queries + i * stride,
        .to_stride = stride,
    };
    context->kernels->widen(&args);
  }
  fovea_place_decoded_vectors(context, t);
  if (context->plan->decoding) {
    const fovea_query_codes_args codes = {context->decode->memory.queries,
                                          stride,
                                          t->rows.count,
                                          problem->qk_dim,
                                          context->decode->memory.queries,
                                          context->decode->query_scales,
                                          context->decode->query_starts};
    context->plan->decoding->load_queries(&codes);
  }
  t->forms = FOVEA_FORM_F32;
  context->decode->keys[0].base = context->decode->keys[1].base = -1;
  context->decode->values[0].base = context->decode->values[1].base = -1;
  context->decode->slot = 0;
}

/* Lists the rows of K and V of a block, as fovea_list_rows() does: of the next block, which is only prefetched, or
 * of this one. */
static void list_block(fovea_task_context *context, int64_t base, int next, int slot) {
  fovea_decode_state *state = context->decode;
  const fovea_problem *problem = &context->plan->problem;
  fovea_interval keys = fovea_met_keys(context, base);
  keys = (fovea_interval){base + keys.begin, base + keys.end};
  state->keys[slot].scales = state->key_scales[slot];
  state->values[slot].scales = state->value_scales[slot];
  fovea_list_rows(context, fovea_key_run, problem->qk_dim, base, keys, next, &state->keys[slot]);
  fovea_list_rows(context, fovea_value_run, problem->v_dim, base, keys, next, &state->values[slot]);
}

/* Copies rows that differ in type or layout, as f32. */
static void gather_rows(fovea_task_context *context, fovea_find_run *find, int64_t dim, fovea_row_list *list,
                        float *scratch) {
  if (list->uniform) return;
  fovea_interval keys = fovea_met_keys(context, list->base);
  fovea_widen_rows(context, find, dim, list->base, scratch);
  list->uniform = 1;
  list->type = FOVEA_F32;
  list->panels = list->coded = 0;
  for (int64_t key = 0; key < FOVEA_BLOCK_KEYS; key++) {
    int64_t row = key < keys.begin ? keys.begin : key >= keys.end ? keys.end - 1 : key;
    list->rows[key] = scratch + row * fovea_copied_stride(dim);
  }
}

/* Finds the rows of this block, and those of the next block for prefetching. */
static void find_rows(fovea_task_context *context) {
  const fovea_problem *problem = &context->plan->problem;
  fovea_decode_state *state = context->decode;
  int64_t base = context->walk.block, next = context->walk.next_block;
  if (state->keys[!state->slot].base == base) {
    state->slot = !state->slot;
  } else {
    list_block(context, base, 0, state->slot);
  }
  if (context->plan->decoding) {
    fovea_list_codes(context, &state->keys[state->slot], 0, state->memory.key_codes);
    fovea_list_codes(context, &state->values[state->slot], 1, state->memory.value_codes);
  } else {
    gather_rows(context, fovea_key_run, problem->qk_dim, &state->keys[state->slot], context->memory.keys);
    gather_rows(context, fovea_value_run, problem->v_dim, &state->values[state->slot], context->memory.values);
  }
  state->keys[!state->slot].base = state->values[!state->slot].base = -1;
  if (next != FOVEA_NO_BLOCK) list_block(context, next, 1, !state->slot);
}

/* The rows to prefetch, from key `key` of the next block on. If these are not known, not uniform, or in another
 * layout: the rows of this block. */
static const void *const *rows_to_prefetch(const fovea_row_list *list, const fovea_row_list *next, int key) {
  return next->base >= 0 && next->uniform && next->panels == list->panels && next->coded == list->coded
             ? next->rows + key
             : list->rows + key;
}

/* In int8: `rows` of the next block; or `none`, the rows that are multiplied, which tells the kernel to prefetch
 * nothing: if they are not of codes, if they are panels that are not multiplied as such, or if the CPU sees them
 * coming. */
static const void *const *codes_to_prefetch(const fovea_task_context *context, const fovea_row_list *list,
                                            int panels, const void *const *rows, int count, int64_t dim,
                                            const void *const *none) {
  if (!list->uniform || !list->coded || list->panels != panels) return none;
  const int step = panels ? FOVEA_PANEL_ROWS : 1, last = (count - 1) / step * step; /* of a row, or of a panel */
  const int64_t bytes = panels ? (dim + 3) / 4 * 4 : dim;
  const uintptr_t reach = (uintptr_t)rows[last] - (uintptr_t)rows[0];
  return context->plan->follows_rows && reach == (uintptr_t)(last * bytes) ? none : rows;
}

/* The rows from key `key` on, if they have a format. */
static fovea_coded_keys coded_keys(const fovea_row_list *list, int key) {
  if (!list->coded) return (fovea_coded_keys){0};
  return (fovea_coded_keys){&list->codes, list->scales + key, list->has_zeros, list->zeros_at, list->scale_step};
}

static void score_block(fovea_task_context *context, const fovea_tile *t, const fovea_visible_block *visible,
                        const fovea_score_terms *terms, fovea_position_block *positions, int begin, int end) {
  int64_t base = context->walk.block;
  const fovea_plan *plan = context->plan;
  const fovea_decode_state *state = context->decode;
  const fovea_row_list *keys = &state->keys[state->slot];
  fovea_decode_score_args args = {
      .queries = state->memory.queries,
      .query_stride = fovea_decode_stride(plan->problem.qk_dim),
      .row_count = t->rows.count,
      .keys = keys->rows + begin,
      .prefetch = rows_to_prefetch(keys, &state->keys[!state->slot], begin),
      .panels = keys->panels,
      .coded = coded_keys(keys, begin),
      .type = keys->type,
      .dim = plan->problem.qk_dim,
      .key_count = end - begin,
      .c = terms->c,
      .scores = state->memory.scores + begin,
  };
  const int scaled = positions->present && plan->decoding;
  if (scaled) fovea_read_scales(context, t, terms, positions);
  if (plan->decoding) {
    args.keys = state->memory.key_codes->rows + begin;
    args.panels = state->memory.key_codes->panels;
    args.prefetch = codes_to_prefetch(context, keys, args.panels, args.prefetch, end - begin, args.dim, args.keys);
    args.query_scales = state->query_scales;
    args.query_starts = state->query_starts;
    args.key_scales = state->memory.key_codes->scales + begin;
    args.row_scales = scaled ? positions->terms.scales : NULL;
    plan->decoding->score(&args);
    if (scaled) positions->terms.scales = NULL;
  } else {
    context->kernels->decode_score(&args);
  }
  int all_seen = visible->rows->all.begin <= base + begin && base + end <= visible->rows->all.end;
  if (all_seen && !visible->mask.present && !terms->adjusted) return;
  if (positions->present && !scaled) fovea_read_scales(context, t, terms, positions);
  fovea_decode_adjust_args adjust = {
      .scores = state->memory.scores,
      .row_count = t->rows.count,
      .key_begin = begin,
      .key_end = end,
      .terms = terms,
      .tile_terms = positions->present ? &positions->terms : NULL,
      .mask = visible->mask.present ? &visible->mask.tile : NULL,
      .seen_from = visible->sliced.from,
      .seen_to = visible->sliced.to,
  };
  context->kernels->decode_adjust(&adjust);
  fovea_hide_again(context, t, visible, positions);
}

/* Computes one row from the keys that it sees only: 0 * Inf is NaN, so weight 0 does not hide a value. */
static void value_of_row(const fovea_task_context *context, const fovea_tile *t, const fovea_visible_block *visible,
                         const fovea_position_block *positions, int row, fovea_decode_value_args args) {
  const fovea_decode_state *state = context->decode;
  const fovea_row_list *values = &state->values[state->slot];
  int stateless = state->block_max[row] == -__builtin_inff() && state->block_sum[row] == 0;
  args.row_count = 1;
  args.partial += row * args.output_stride;
  args.key_count = 0;
  args.flags = FOVEA_VALUE_START;
  context->kernels->decode_value(&args);
  for (int key = visible->sliced.from[row]; key < visible->sliced.to[row] && !stateless; key++) {
    if (visible->mask.present && fovea_mask_hides(&visible->mask.tile, row, key)) continue;
    if (positions->hides && fovea_positions_hide(t, positions, row, key)) continue;
    args.weights = state->memory.scores + row * FOVEA_BLOCK_KEYS + key;
    args.values = args.prefetch = values->rows + key;
    args.coded = coded_keys(values, key);
    args.key_count = 1;
    args.flags = 0;
    context->kernels->decode_value(&args);
  }
}

/* Values that are NaN or Inf make sums that are not finite, even at weight 0. So only such sums need care. */
static void value_block(const fovea_task_context *context, const fovea_tile *t, const fovea_visible_block *visible,
                        const fovea_position_block *positions, fovea_interval keys, int first, int careful) {
  const fovea_decode_state *state = context->decode;
  const fovea_row_list *values = &state->values[state->slot];
  int64_t dim = context->plan->problem.v_dim;
  int begin = (int)keys.begin, end = (int)keys.end, last = first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE;
  const int shaw = fovea_has_shaw_values(&context->plan->problem);
  fovea_decode_value_args args = {
      .weights = state->memory.scores + begin,
      .row_count = t->rows.count,
      .values = values->rows + begin,
      .prefetch = rows_to_prefetch(values, &state->values[!state->slot], begin),
      .coded = coded_keys(values, begin),
      .type = values->type,
      .dim = dim,
      .key_count = end - begin,
      .flags = FOVEA_VALUE_START | (careful || shaw ? 0 : last),
      .partial = state->memory.partial,
      .output = state->memory.output,
      .output_stride = fovea_decode_stride(dim),
      .old_part = state->old_part,
      .new_part = state->new_part,
  };
  if (context->plan->decoding) {
    args.weights = state->memory.scores;
    args.values = state->memory.value_codes->rows + begin;
    args.prefetch = codes_to_prefetch(context, values, 0, args.prefetch, end - begin, dim, args.values);
    args.flags = last;
    args.block_sum = state->block_sum;
    context->plan->decoding->value(&args);
    return;
  }
  context->kernels->decode_value(&args);
  if (!careful && !shaw) return;
  if (careful && !context->kernels->all_finite(args.partial, args.output_stride, t->rows.count, dim)) {
    for (int row = 0; row < t->rows.count; row++) value_of_row(context, t, visible, positions, row, args);
  }
  if (shaw) {
    fovea_decode_shaw_values(context, t, visible, positions, keys, first);
    return;
  }
  args.key_count = 0;
  args.flags = last;
  context->kernels->decode_value(&args);
}

static fovea_interval whole_vectors(const fovea_task_context *context, fovea_interval keys) {
  const int64_t lanes = context->kernels->lanes;
  return (fovea_interval){keys.begin / lanes * lanes, (keys.end + lanes - 1) / lanes * lanes};
}

fovea_interval fovea_score_decoded(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible) {
  const fovea_interval keys = whole_vectors(context, fovea_keys_of_slices(&visible->sliced, t->visible.vectors));
  fovea_position_block positions;
  find_rows(context);
  fovea_read_positions(context, t, keys, &positions);
  score_block(context, t, visible, &context->plan->terms, &positions, (int)keys.begin, (int)keys.end);
  return keys;
}

void fovea_decode_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible, int first) {
  fovea_decode_state *state = context->decode;
  int64_t base = context->walk.block;
  int lanes = context->kernels->lanes;
  const fovea_weighting *weighting = &context->plan->weighting;
  fovea_interval keys = fovea_keys_of_slices(&visible->sliced, t->visible.vectors);
  int begin = (int)keys.begin / lanes * lanes, end = ((int)keys.end + lanes - 1) / lanes * lanes;
  fovea_position_block positions;
  find_rows(context);
  fovea_read_positions(context, t, (fovea_interval){begin, end}, &positions);
  const int scored = fovea_block_is_scored(context, t);
  if (scored && fovea_keeps_scores(context)) {
    score_block(context, t, visible, &context->plan->output_terms, &positions, begin, end);
    fovea_keep_decoded(context, t, keys);
  }
  score_block(context, t, visible, &context->plan->terms, &positions, begin, end);
  if (scored && fovea_keeps_weights(context)) fovea_keep_decoded(context, t, keys);
  if (fovea_lists_keys(context)) fovea_list_decoded(context, t, begin, end);
  fovea_decode_softmax_args softmax = {
      .scores = state->memory.scores,
      .row_count = t->rows.count,
      .key_begin = begin,
      .key_end = end,
      .block_max = state->block_max,
      .block_sum = state->block_sum,
      .row_max = state->row_max,
      .row_sum = state->row_sum,
      .old_part = state->old_part,
      .new_part = state->new_part,
      .first = first,
      .weighting = weighting,
      .value_scales = context->plan->decoding ? state->memory.value_codes->scales : NULL,
  };
  if (context->plan->problem.entropy) {
    const fovea_spread_args spread = {
        .scores = softmax.scores,
        .row_max = state->row_max,
        .row_sum = state->row_sum,
        .row_spread = state->row_spread,
        .first = first,
        .key_begin = &begin,
        .key_end = &end,
        .row_count = t->rows.count,
    };
    context->kernels->decode_spread(&spread);
  }
  int stateless = (context->plan->decoding ? context->plan->decoding->softmax
                   : weighting->normaliser ? context->kernels->decode_normalise
                                           : context->kernels->decode_softmax)(&softmax);
  int all_seen = visible->rows->all.begin <= base + keys.begin && base + keys.end <= visible->rows->all.end;
  int careful = stateless || !all_seen || visible->mask.present || positions.hides;
  if (context->plan->decoding) keys = (fovea_interval){begin, end};
  value_block(context, t, visible, &positions, keys, first, careful);
}

void fovea_end_decoded_span(const fovea_task_context *context, fovea_tile *t) {
  const fovea_decode_state *state = context->decode;
  const fovea_tile_state *current = fovea_span_current(&t->memory.tree);
  int64_t dim = context->plan->problem.v_dim;
  const void *rows[FOVEA_DECODE_ROWS_LIMIT];
  for (int i = 0; i < t->visible.vectors * context->kernels->lanes; i++) {
    int row = i < t->rows.count;
    current->row_max[i] = row ? state->row_max[i] : -__builtin_inff();
    current->row_sum[i] = row ? state->row_sum[i] : 0;
    if (current->row_spread) current->row_spread[i] = row ? state->row_spread[i] : 0;
  }
  for (int i = 0; i < t->rows.count; i++) rows[i] = state->memory.output + i * fovea_decode_stride(dim);
  fovea_load_args args = {rows, FOVEA_F32, t->rows.count, dim, current->output};
  context->kernels->load_rows(&args);
}
