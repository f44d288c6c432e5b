#include "results.h"

#include "../feature/normaliser.h"
#include "../state/row_states.h"
#include "max_logits.h"
#include "row_weights.h"
#include "scores.h"
#include "top_k.h"

void fovea_write_rows(const fovea_task_context *context, fovea_tile *t, int first, int rows,
                      const fovea_tile_state *state, int64_t row_stride) {
  const fovea_plan *plan = context->plan;
  const fovea_problem *problem = &plan->problem;
  const fovea_tensors *tensors = context->tensors;
  const fovea_entry *entry = context->task->entry;
  float *lse[FOVEA_ROW_TILE_LIMIT], *scores[FOVEA_ROW_TILE_LIMIT], *entropy[FOVEA_ROW_TILE_LIMIT],
      sinks[FOVEA_ROW_TILE_LIMIT] = {0};
  float divisors[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < rows; i++) {
    fovea_row_place place = t->places[first + i];
    const int64_t at = fovea_place_offset(problem, entry, problem->lse_strides, place);
    if (FOVEA_BUILDS_OUTPUTS && tensors->entropy) entropy[i] = tensors->entropy + at;
    if (tensors->lse) lse[i] = tensors->lse + at;
    if (problem->sink == FOVEA_SINK_PER_HEAD) {
      sinks[i] = fovea_sink_of_head(tensors, place.head);
    }
  }
  fovea_store_args args = {
      .state = *state,
      .row_stride = row_stride,
      .dim = problem->v_dim,
      .row_count = rows,
      .rows = t->outputs + first,
      .type = problem->o_type,
      .lse = tensors->lse ? lse : NULL,
      .entropy = FOVEA_BUILDS_OUTPUTS && tensors->entropy ? entropy : NULL,
      .sinks = problem->sink == FOVEA_SINK_NONE ? NULL : sinks,
  };
  if (FOVEA_BUILDS_TERMS && problem->normaliser.kind) {
    /* Rows of which keys are counted are not gathered. */
    fovea_find_divisors(problem, state->row_sum, fovea_seen_counts(context->plan, &t->memory), rows, divisors);
    fovea_clear_undivided(context->kernels, state, row_stride, problem->v_dim, rows, divisors);
    args.divisors = divisors;
    args.weighting = &plan->weighting;
  }
  fovea_keep_maxima(plan, entry, t, state, context->shared);
  if (FOVEA_BUILDS_OUTPUTS)
    fovea_write_top_k(plan, entry, t, tensors,
                      (uint64_t *)(void *)fovea_block_array(plan, &context->memory, FOVEA_SCRATCH_TOP_K));
  if (FOVEA_BUILDS_OUTPUTS && t->scored) {
    args.score_count = fovea_kept_scores(fovea_score_rows_of(context), t, scores);
    if (fovea_keeps_weights(plan)) args.scores = scores;
  }
  float references[FOVEA_ROW_TILE_LIMIT], inverses[FOVEA_ROW_TILE_LIMIT];
  if (problem->column_sums.wanted) args.references = references, args.inverses = inverses;
  context->kernels->store(&args);
  if (FOVEA_BUILDS_OUTPUTS && problem->column_sums.wanted)
    fovea_keep_row_weights(plan, entry, t, context->shared, references, inverses);
}

#if FOVEA_BUILDS_STATES
/* Writes the state of the task's node. */
static void store_state(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state) {
  const fovea_plan *plan = context->plan;
  const fovea_state *to = context->tensors->state;
  const fovea_entry *entry = context->task->entry;
  int64_t dim = plan->problem.v_dim, node = context->task->part * fovea_row_state_numbers(dim);
  float *rows[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < t->rows.count; i++) {
    rows[i] = to->numbers + fovea_place_offset(&plan->problem, entry, to->strides, t->places[i]) + node;
  }
  fovea_write_outputs(context->kernels, state, dim, t->rows.count, rows);
  for (int i = 0; i < t->rows.count; i++) rows[i] += dim;
  fovea_write_sums(state, t->rows.count, rows);
}
#endif

void fovea_write_results(const fovea_task_context *context, fovea_tile *t, const fovea_tile_state *state) {
  if (!state) {
    state = fovea_span_current(&t->memory.tree);
    fovea_clear_state(state, context->kernels->row_tile, context->plan->problem.v_dim);
  }
#if FOVEA_BUILDS_STATES
  if (context->plan->problem.state) {
    store_state(context, t, state);
    return;
  }
#endif
  fovea_write_rows(context, t, 0, t->rows.count, state, 0);
}
