#include "results.h"

#include "../state/groups.h"
#include "block.h"

static void store_tile(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state) {
  const fovea_plan *plan = context->plan;
  const fovea_problem *problem = &plan->problem;
  const fovea_tensors *tensors = context->tensors;
  void *rows[FOVEA_ROW_TILE_LIMIT];
  float *lse[FOVEA_ROW_TILE_LIMIT], sinks[FOVEA_ROW_TILE_LIMIT] = {0};
  fovea_row_place place = fovea_first_place(plan, t->rows);
  for (int i = 0; i < t->rows.count; i++, place = fovea_next_place(plan, place)) {
    rows[i] = fovea_output_element(tensors->o, problem->o_type,
                                   fovea_place_offset(plan, problem->o_strides, context->task, place));
    if (tensors->lse) {
      lse[i] = tensors->lse + fovea_place_offset(plan, problem->lse_strides, context->task, place);
    }
    if (problem->sink == FOVEA_SINK_PER_HEAD) {
      sinks[i] = fovea_sink_of_head(tensors, context->task->kv_head * plan->group + place.head);
    }
  }
  fovea_store_args args = {
      .state = *state,
      .dim = problem->v_dim,
      .row_count = t->rows.count,
      .rows = rows,
      .type = problem->o_type,
      .lse = tensors->lse ? lse : NULL,
      .sinks = problem->sink == FOVEA_SINK_NONE ? NULL : sinks,
  };
  context->kernels->store(&args);
}

/* The state of a node. */
static void store_state(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state) {
  const fovea_plan *plan = context->plan;
  const fovea_state *to = context->tensors->state;
  int64_t dim = plan->problem.v_dim, node = context->task->part * fovea_group_numbers(dim);
  float *rows[FOVEA_ROW_TILE_LIMIT];
  fovea_row_place place = fovea_first_place(plan, t->rows);
  for (int i = 0; i < t->rows.count; i++, place = fovea_next_place(plan, place)) {
    rows[i] = to->numbers + fovea_place_offset(plan, to->strides, context->task, place) + node;
  }
  fovea_write_outputs(context->kernels, state, dim, t->rows.count, rows);
  for (int i = 0; i < t->rows.count; i++) rows[i] += dim;
  fovea_write_sums(state, t->rows.count, rows);
}

void fovea_write_results(const fovea_task_context *context, fovea_tile *t, const fovea_tile_state *state) {
  if (!state) {
    state = fovea_span_current(&t->memory.tree);
    fovea_clear_state(context, state);
  }
  if (context->plan->problem.to_state) {
    store_state(context, t, state);
  } else {
    store_tile(context, t, state);
  }
}
