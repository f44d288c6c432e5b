/* Outputs beside O: which part of them is wanted. */
#include "../../arch/args/outputs.h"
#include "../base/error.h"
#include "../plan/plan.h"
#include "feature.h"

#if FOVEA_BUILDS_OUTPUTS

static fovea_status check_range(const char *name, fovea_range range, const char *of, int64_t most,
                                fovea_error *error) {
  const int64_t end = range.end == FOVEA_UNLIMITED ? most : range.end;
  if (range.begin >= 0 && range.begin <= end && end <= most) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd to %jd; it must ascend, from 0 to %s, which is %jd",
                    name, range.begin, range.end, of, most);
}

fovea_status fovea_check_score_output(const fovea_problem *p, fovea_error *error) {
  fovea_status status = check_range("scores.heads", p->scores.heads, "heads", p->heads, error);
  if (!status) status = check_range("scores.rows", p->scores.rows, "q_len", p->q_len, error);
  if (status || fovea_is_all(p->scores.keys)) return status;
  return check_range("scores.keys", p->scores.keys, p->cu_seqlens_kv ? "the longest sequence" : "kv_len",
                     fovea_score_keys(p), error);
}

fovea_status fovea_check_column_sums(const fovea_problem *p, fovea_error *error) {
  return check_range("column_sums.rows", p->column_sums.rows, "q_len", p->q_len, error);
}

fovea_status fovea_check_top_k(const fovea_problem *p, fovea_error *error) {
  if (p->top.k < 0 || p->top.k > FOVEA_TOP_K_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "top.k is %jd; it must be from 0 to %jd", p->top.k,
                      (int64_t)FOVEA_TOP_K_LIMIT);
  }
  if (p->kv_len <= INT32_MAX) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "kv_len is %jd; with top.k it must be at most %jd", p->kv_len,
                    (int64_t)INT32_MAX);
}

/* Candidates of each row of a tile, and numbers to sort. */
fovea_scratch_floats fovea_top_k_scratch(const fovea_plan *plan) {
  const uint64_t rows = (uint64_t)plan->kernels->row_tile;
  const int64_t k = plan->problem.top.k;
  return (fovea_scratch_floats){.block = 2 * (uint64_t)FOVEA_TOP_SORTED(k),
                                .tile = fovea_top_rows_floats(plan->kernels) + rows * fovea_top_list_floats(k)};
}

/* Cells of a task that sums columns. */
fovea_scratch_floats fovea_column_sums_scratch(const fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  const uint64_t group = (uint64_t)(p->heads / p->kv_heads);
  return (fovea_scratch_floats){.block = group * (uint64_t)fovea_column_blocks(p) * FOVEA_COLUMN_CELL};
}
#endif
