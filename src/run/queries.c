#include "queries.h"

static void find_rows(const fovea_task_context *context, const fovea_tile *t, const void **rows) {
  const fovea_plan *plan = context->plan;
  fovea_row_place place = fovea_first_place(plan, t->rows);
  for (int i = 0; i < t->rows.count; i++, place = fovea_next_place(plan, place)) {
    rows[i] = fovea_element(context->tensors->q, plan->problem.q_type,
                            fovea_place_offset(plan, plan->problem.q_strides, context->task, place));
  }
}

void fovea_load_queries(fovea_task_context *context, fovea_tile *t) {
  const fovea_problem *problem = &context->plan->problem;
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  if (context->plan->paired) {
    find_rows(context, t, rows);
    fovea_load_args args = {rows, problem->q_type, t->rows.count, problem->qk_dim, t->memory.pairs};
    if (context->kernels->load_pairs(&args)) t->forms |= FOVEA_FORM_PAIRS;
  }
  if (!t->forms) fovea_widen_queries(context, t);
}

void fovea_widen_queries(const fovea_task_context *context, fovea_tile *t) {
  const fovea_problem *problem = &context->plan->problem;
  const void *rows[FOVEA_ROW_TILE_LIMIT];
  if (t->forms & FOVEA_FORM_F32) return;
  find_rows(context, t, rows);
  fovea_load_args args = {rows, problem->q_type, t->rows.count, problem->qk_dim, t->memory.queries};
  context->kernels->load_rows(&args);
  t->forms |= FOVEA_FORM_F32;
}
