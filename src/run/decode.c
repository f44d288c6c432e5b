#include "decode.h"
#include "../../arch/args/decode.h"
#include "../../arch/args/outputs.h"

#include "../feature/shaw.h"
#include "../state/row_states.h"
#include "../visible/visible_pairs.h"
#include "decode_way.h"
#include "results.h"
#include "row_list.h"
#include "scores.h"
#include "shaw_keys.h"
#include "top_k.h"
#include "vectors.h"
#include "wide_rows.h"

#if FOVEA_BUILDS_DECODE

static void load_queries(fovea_task_context *context, fovea_tile *t, const fovea_decode_way *way) {
  const fovea_plan *plan = context->plan;
  const fovea_problem *problem = &plan->problem;
  fovea_decode_state *state = context->decode;
  fovea_widen_each(plan, t->queries, t->rows.count, state->memory.queries);
  if (FOVEA_BUILDS_INT8)
    fovea_place_decoded_vectors(plan, &context->channels, &context->terms.scales, t, state->memory.queries);
  way->load_queries(plan, state, t->rows.count);
  t->forms = FOVEA_FORM_F32;
  state->keys[0].base = state->keys[1].base = -1;
  state->values[0].base = state->values[1].base = -1;
  state->slot = 0;
  if (FOVEA_BUILDS_TERMS && fovea_has_shaw_keys(problem))
    fovea_decode_shaw_keys(&context->terms, t, state->memory.queries);
}

/* Lists the rows of K and V of a block, as fovea_list_rows() does: of the next block, which is only prefetched, or
 * of this one. */
static void list_block(const fovea_task_context *context, int64_t base, int next, int slot) {
  fovea_decode_state *state = context->decode;
  fovea_interval keys = fovea_met_keys(&context->walk, base);
  keys = (fovea_interval){base + keys.begin, base + keys.end};
  state->keys[slot].scales = state->key_scales[slot];
  state->values[slot].scales = state->value_scales[slot];
  fovea_list_rows(&context->keys, base, keys, next, &state->keys[slot]);
  fovea_list_rows(&context->values, base, keys, next, &state->values[slot]);
}

/* Finds the rows of this block, and the rows of the next block for prefetching. */
static void find_rows(const fovea_task_context *context, const fovea_decode_way *way) {
  fovea_decode_state *state = context->decode;
  int64_t base = context->walk.block, next = context->walk.next_block;
  if (state->keys[!state->slot].base == base) {
    state->slot = !state->slot;
  } else {
    list_block(context, base, 0, state->slot);
  }
  way->read_rows(context, state);
  state->keys[!state->slot].base = state->values[!state->slot].base = -1;
  if (next != FOVEA_NO_BLOCK) list_block(context, next, 1, !state->slot);
}

static void score_block(const fovea_decode_block *block, const fovea_decode_state *state,
                        const fovea_score_terms *terms, const fovea_decode_way *way) {
  const fovea_plan *plan = block->plan;
  const fovea_row_list *keys = &state->keys[state->slot];
  const fovea_visible_block *visible = block->visible;
  fovea_position_block *positions = block->positions;
  const int begin = (int)block->vectors.begin, end = (int)block->vectors.end;
  fovea_decode_score_args args = {
      .queries = state->memory.queries,
      .query_stride = fovea_decode_stride(plan->problem.qk_dim),
      .row_count = block->tile->rows.count,
      .keys = keys->rows + begin,
      .prefetch = fovea_plain_rows_to_prefetch(&plan->problem, keys, &state->values[state->slot],
                                               &state->keys[!state->slot], begin),
      .panels = keys->panels,
      .coded = fovea_coded_keys_at(keys, begin),
      .type = keys->type,
      .dim = plan->problem.qk_dim,
      .key_count = end - begin,
      .c = terms->c,
      .scores = state->memory.scores + begin,
  };
  if (positions->present) fovea_read_scales(block->terms, block->tile, terms, positions);
  way->score(plan, state, positions, &args);
  if (fovea_all_see(visible, block->vectors) && !visible->mask.present && !terms->adjusted) return;
  fovea_decode_adjust_args adjust = {
      .scores = state->memory.scores,
      .row_count = block->tile->rows.count,
      .key_begin = begin,
      .key_end = end,
      .terms = terms,
      .tile_terms = positions->present ? &positions->terms : NULL,
      .mask = visible->mask.present ? &visible->mask.tile : NULL,
      .seen_from = visible->sliced.from,
      .seen_to = visible->sliced.to,
  };
  plan->kernels->decode_adjust(&adjust);
  fovea_hide_again(block->tile, visible, positions);
}

/* Lists the rows of the block, and evaluates the terms of the tile. */
static fovea_decode_block begin_block(const fovea_task_context *context, const fovea_tile *t,
                                      const fovea_visible_block *visible, fovea_position_block *positions,
                                      int first, const fovea_decode_way *way) {
  const int64_t lanes = context->kernels->lanes;
  const fovea_interval keys = fovea_keys_of_slices(&visible->sliced, t->visible.vectors);
  const fovea_interval vectors = {keys.begin / lanes * lanes, (keys.end + lanes - 1) / lanes * lanes};
  find_rows(context, way);
  fovea_read_positions(&context->terms, t, visible->base, vectors, positions);
  return (fovea_decode_block){context->plan, &context->terms, t, visible, positions, keys, vectors, first};
}

static void score_only(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                       const fovea_decode_way *way) {
  fovea_position_block positions;
  const fovea_decode_block block = begin_block(context, t, visible, &positions, 0, way);
  score_block(&block, context->decode, &context->plan->terms, way);
}

/* Copies scores that lie [row][key]. */
static void copy_scores(const fovea_kernels *kernels, const fovea_tile *t, const fovea_visible_block *visible,
                        fovea_interval keys, float *const *rows) {
  const fovea_interval scored = fovea_keys_of_slices(&visible->sliced, t->visible.vectors);
  (void)kernels;
  for (int i = 0; i < t->rows.count; i++) {
    const float *from = t->layout.scores + i * FOVEA_BLOCK_KEYS;
    float *to = rows[i];
    for (int64_t key = keys.begin; to && key < keys.end; key++) {
      to[key - keys.begin] =
          key >= scored.begin && key < scored.end ? fovea_canonical(from[key]) : -__builtin_inff();
    }
  }
}

/* They lie row by row, whole vectors of the keys that some row sees. */
static fovea_scores_of_rows read_scores(const fovea_task_context *context, const fovea_tile *t,
                                        const fovea_visible_block *visible) {
  const int64_t lanes = context->kernels->lanes;
  const fovea_interval keys = fovea_keys_of_slices(&visible->sliced, t->visible.vectors);
  return (fovea_scores_of_rows){t->layout.scores,
                                {keys.begin / lanes * lanes, (keys.end + lanes - 1) / lanes * lanes}};
}

/* The softmax, or what stands for it. Returns 1 if some row gets no state from the block. */
static int weigh_block(const fovea_plan *plan, fovea_decode_state *state, int rows, fovea_interval vectors,
                       int first) {
  const int begin = (int)vectors.begin, end = (int)vectors.end;
  fovea_decode_softmax_args softmax = {
      .scores = state->memory.scores,
      .row_count = rows,
      .key_begin = begin,
      .key_end = end,
      .block_max = state->block_max,
      .block_sum = state->block_sum,
      .row_max = state->row_max,
      .row_sum = state->row_sum,
      .old_part = state->old_part,
      .new_part = state->new_part,
      .first = first,
      .weighting = &plan->weighting,
      .value_scales = state->memory.value_codes ? state->memory.value_codes->scales : NULL,
  };
  if (FOVEA_BUILDS_OUTPUTS && plan->problem.entropy) {
    const fovea_spread_args spread = {
        .scores = softmax.scores,
        .row_max = state->row_max,
        .row_sum = state->row_sum,
        .row_spread = state->row_spread,
        .first = first,
        .key_begin = &begin,
        .key_end = &end,
        .row_count = rows,
    };
    plan->kernels->decode_spread(&spread);
  }
  return plan->steps.decode_softmax(&softmax);
}

static void decode_block(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible, int first,
                         const fovea_decode_way *way) {
  const fovea_plan *plan = context->plan;
  fovea_position_block positions;
  const fovea_decode_block block = begin_block(context, t, visible, &positions, first, way);
  const int scored = FOVEA_BUILDS_OUTPUTS && t->scored && fovea_block_is_scored(plan, visible->base);
  if (FOVEA_BUILDS_OUTPUTS && scored && fovea_scores_again(plan)) {
    score_block(&block, context->decode, &plan->output_terms, way);
    fovea_keep_block(fovea_score_rows_of(context), t, visible, copy_scores);
  }
  score_block(&block, context->decode, &plan->terms, way);
  if (FOVEA_BUILDS_OUTPUTS && scored && fovea_keeps_weights(plan))
    fovea_keep_block(fovea_score_rows_of(context), t, visible, copy_scores);
  if (FOVEA_BUILDS_OUTPUTS && fovea_lists_keys(plan))
    fovea_list_keys(plan, t, visible->base, read_scores(context, t, visible));
  const int stateless = weigh_block(plan, context->decode, t->rows.count, block.vectors, first);
  way->add_values(&block, context->decode, stateless);
}

static void end_span(const fovea_task_context *context, fovea_tile *t) {
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

/* The state need not become a tile's, which takes two transposes. */
static void write_span(const fovea_task_context *context, fovea_tile *t) {
  fovea_decode_state *decode = context->decode;
  const fovea_tile_state state = {decode->row_max, decode->row_sum, decode->memory.output, decode->row_spread};
  fovea_write_rows(context, t, 0, t->rows.count, &state, fovea_decode_stride(context->plan->problem.v_dim));
}

static void load_rows(fovea_task_context *context, fovea_tile *t) {
  load_queries(context, t, &fovea_exact_way);
}
static void decode_rows(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible, int first) {
  decode_block(context, t, visible, first, &fovea_exact_way);
}
static void score_rows(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible) {
  score_only(context, t, visible, &fovea_exact_way);
}

const fovea_engine fovea_decoded_engine = {.keys_in_lanes = 1,
                                           .load_queries = load_rows,
                                           .compute_block = decode_rows,
                                           .score_block = FOVEA_BUILDS_OUTPUTS ? score_rows : NULL,
                                           .read_scores = FOVEA_BUILDS_OUTPUTS ? read_scores : NULL,
                                           .end_span = end_span,
                                           .write_span = write_span};

#if FOVEA_BUILDS_INT8
static void load_codes(fovea_task_context *context, fovea_tile *t) {
  load_queries(context, t, &fovea_code_way);
}
static void decode_codes(fovea_task_context *context, fovea_tile *t, const fovea_visible_block *visible,
                         int first) {
  decode_block(context, t, visible, first, &fovea_code_way);
}

/* Outputs that want scores once more are unknown to int8 mode. */
const fovea_engine fovea_code_engine = {.keys_in_lanes = 1,
                                        .load_queries = load_codes,
                                        .compute_block = decode_codes,
                                        .end_span = end_span,
                                        .write_span = write_span};
#endif
#endif
