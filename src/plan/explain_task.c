/* Tells what a task of a plan computes. */
#include <fovea/explain.h>

#include "../base/error.h"
#include "../base/groups.h"
#include "../base/validate.h"
#include "parts.h"

#if FOVEA_BUILDS_EXPLAIN
static const char work_of[FOVEA_PLAN_PHASES][12] = {
    [FOVEA_PHASE_ATTEND] = "attention",
    [FOVEA_PHASE_MERGE] = "merge",
    [FOVEA_PHASE_MAX_LOGITS] = "max logits",
    [FOVEA_PHASE_COLUMN_SUMS] = "column sums",
};

static const char engine_names[FOVEA_ENGINES][9] = {
    [FOVEA_ENGINE_TILED] = "tiled",       [FOVEA_ENGINE_TILED_MODE] = "tiled",
    [FOVEA_ENGINE_DECODED] = "decoded",   [FOVEA_ENGINE_DECODED_CODES] = "decoded",
    [FOVEA_ENGINE_GATHERED] = "gathered",
};

/* The task, whose tiles have all rows that it computes, and its keys. */
static fovea_task find_task(const fovea_plan *plan, fovea_phase_kind kind, int64_t number, fovea_interval *keys) {
  fovea_task task;
  switch (kind) {
  case FOVEA_PHASE_ATTEND:
    task = fovea_plan_task(plan, number);
    if (fovea_has_parts(plan)) *keys = fovea_part_keys(plan, &task);
    return task;
  case FOVEA_PHASE_MERGE:
    return fovea_plan_merge(plan, number);
  case FOVEA_PHASE_COLUMN_SUMS:
    task = fovea_plan_column_task(plan, number, keys);
    break;
  default: /* of one head */
    task = (fovea_task){.entry = &plan->entries[number / plan->problem.heads],
                        .kv_head = number % plan->problem.heads / plan->group};
  }
  task.tiles = fovea_plan_tiles(plan, task.entry);
  return task;
}

static void explain_task(const fovea_plan *plan, fovea_phase_kind kind, int64_t number,
                         fovea_task_explanation *to) {
  fovea_interval keys = {0, INT64_MAX};
  const fovea_task task = find_task(plan, kind, number, &keys);
  const fovea_entry *entry = task.entry;
  const int64_t group = plan->group;
  const int of_head = kind == FOVEA_PHASE_MAX_LOGITS, scores = kind != FOVEA_PHASE_MERGE && !of_head;
  to->work = work_of[kind];
  to->engine = scores ? engine_names[fovea_engine_of(plan, entry, FOVEA_KEYS_LIE_IN_ROWS)] : "";
  to->element = entry->batch;
  to->first_head = of_head ? number % plan->problem.heads : task.kv_head * group;
  to->heads = of_head ? 1 : group;
  const fovea_tile_rows first = fovea_plan_tile_rows(plan, entry, task.first_tile);
  const fovea_tile_rows last = fovea_plan_tile_rows(plan, entry, task.first_tile + task.tiles - 1);
  to->first_row = first.first / group; /* the heads of a row follow each other */
  to->rows = (last.first + last.count - 1) / group + 1 - to->first_row;
  keys = fovea_intersect(keys, (fovea_interval){entry->kv_begin, entry->kv_len});
  to->first_key = keys.begin;
  to->keys = keys.end - keys.begin;
}

fovea_status fovea_plan_explain_task(const fovea_plan *plan, int phase, int64_t task,
                                     fovea_task_explanation *explanation, fovea_error *error) {
  if (!plan || !explanation)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", plan ? "explanation" : "plan");
  const fovea_bounded of_plan[] = {
      {"phase", phase, 0, plan->phase_count - 1},
      {"explanation.struct_size", (int64_t)explanation->struct_size, sizeof *explanation, sizeof *explanation}};
  fovea_status status = fovea_validate_bounds(NULL, of_plan, 2, error);
  if (status) return status;
  const fovea_bounded of_phase = {"task", task, 0, plan->phases[phase].tasks - 1};
  status = fovea_validate_bounds(NULL, &of_phase, 1, error);
  if (status) return status;
  explain_task(plan, plan->phases[phase].kind, task, explanation);
  return FOVEA_OK;
}
#else
fovea_status fovea_plan_explain_task(const fovea_plan *plan, int phase, int64_t task,
                                     fovea_task_explanation *explanation, fovea_error *error) {
  (void)plan, (void)phase, (void)task, (void)explanation;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_EXPLAIN, error);
}
#endif
