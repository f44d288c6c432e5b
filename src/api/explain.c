/* Explains a plan. */
#include <fovea/explain.h>

#include "../../arch/float_state.h"
#include "../base/error.h"
#include "../base/groups.h"
#include "../plan/traffic.h"
#include "../run/explain_tiles.h"
#include "../system/dispatch.h"
#include "../system/schedule.h"

#include <float.h>
#include <math.h>
#include <string.h>

void fovea_explanation_init_sized(fovea_explanation *explanation, size_t struct_size) {
  const fovea_explanation defaults = {.struct_size = struct_size};
  memcpy(explanation, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

#if FOVEA_BUILDS_EXPLAIN
static fovea_status check_rate(const char *name, double rate, fovea_error *error) {
  if (rate >= 0 && rate <= DBL_MAX) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s is %g; it must be positive and finite, or 0 if it is not known", name, rate);
}

static fovea_status check(const fovea_explanation *given, fovea_error *error) {
  if (given->struct_size != sizeof *given)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "explanation.struct_size is %ju; this library's is %ju; call fovea_explanation_init()",
                      (uint64_t)given->struct_size, (uint64_t)sizeof *given);
  if (given->threads < 0)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "threads is %jd; it must be 1 or more, or 0 for the default",
                      (int64_t)given->threads);
  fovea_status status = check_rate("flops_per_second", given->flops_per_second, error);
  return status ? status : check_rate("bytes_per_second", given->bytes_per_second, error);
}

static const char *rows_reason(const fovea_plan *plan, const fovea_explanation *to) {
  if (to->rows_gathered) return plan->gather_reason;
  if (to->rows_decoded && to->rows_tiled) return "sequences with few rows are decoded, the others are tiled";
  if (to->rows_decoded) return "the rows of a kv head are few: they do not fill the lanes of vectors";
  if (plan->entries[0].pattern) return plan->gather_reason;
  return "the rows of a kv head fill vectors, and share each block of keys";
}

static void explain_tasks(const fovea_plan *plan, fovea_explanation *to) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = to->threads;
  to->tiles_of_task = plan->block_tiles;
  to->part_keys = plan->part_keys;
  if (fovea_has_parts(plan)) to->parts = plan->tasks;
  to->parts_reason = plan->parts_reason;
  to->span_states = plan->states;
  to->phases = plan->phase_count;
  for (int i = 0; i < plan->phase_count; i++) to->tasks += plan->phases[i].tasks;
  to->workers = fovea_schedule_workers(plan->tasks, plan->work, &execution);
  to->scratch_bytes = fovea_plan_scratch_size(plan, to->workers);
}

static void explain_work(const fovea_plan *plan, fovea_explanation *to) {
  const fovea_traffic traffic = fovea_plan_traffic(plan);
  const double each = 2 * ((double)plan->problem.qk_dim + (double)plan->problem.v_dim);
  to->flops = to->pairs_visible == INT64_MAX ? (double)INFINITY : (double)to->pairs_visible * each;
  to->bytes_read = traffic.read;
  to->bytes_written = traffic.written;
  to->cached_elements = traffic.cached;
  if (to->flops_per_second > 0) to->compute_seconds = to->flops / to->flops_per_second;
  if (to->bytes_per_second > 0 && traffic.cached == 0)
    to->memory_seconds = (traffic.read + traffic.written) / to->bytes_per_second;
}

static const char *products_of(const fovea_arithmetic *arithmetic) {
  return arithmetic ? arithmetic->name : "";
}

fovea_status fovea_plan_explain(const fovea_plan *plan, fovea_explanation *explanation, fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "plan is NULL");
  if (!explanation) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "explanation is NULL");
  const fovea_status status = check(explanation, error);
  if (status) return status;
  const int in_bf16 = plan->problem.modes.score == FOVEA_MODE_BF16 || plan->problem.modes.value == FOVEA_MODE_BF16;
  fovea_explanation all = {
      .struct_size = explanation->struct_size,
      .threads = explanation->threads,
      .flops_per_second = explanation->flops_per_second,
      .bytes_per_second = explanation->bytes_per_second,
      .isa = plan->kernels->name,
      .table = fovea_dispatch_table(plan->kernels),
      .isa_reason = fovea_dispatch_reason(plan->isa_named, in_bf16, plan->kernels),
      .paired = plan->paired,
      .lanes = plan->kernels->lanes,
      .row_tile = plan->kernels->row_tile,
      .products = products_of(plan->scores ? plan->scores : plan->values),
      .value_products = products_of(plan->values),
  };
  fovea_float_state caller = fovea_float_begin();
  fovea_explain_blocks(plan, &all);
  all.rows_reason = rows_reason(plan, &all);
  explain_tasks(plan, &all);
  explain_work(plan, &all);
  fovea_float_end(caller);
  *explanation = all;
  return FOVEA_OK;
}
#else
fovea_status fovea_plan_explain(const fovea_plan *plan, fovea_explanation *explanation, fovea_error *error) {
  (void)plan, (void)explanation;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_EXPLAIN, error);
}
#endif
