#include "wide_rows.h"

const float *fovea_widen_rows(const fovea_row_source *source, int64_t base, fovea_interval keys, float *to) {
  const fovea_kernels *kernels = source->kernels;
  const int64_t dim = source->dim, stride = fovea_copied_stride(dim), end = keys.end;
  int64_t begin = keys.begin;
  while (begin < end) {
    fovea_row_run run = fovea_rows_at(source, base + begin);
    int64_t count = (run.end - base < end ? run.end - base : end) - begin;
    if (FOVEA_BUILDS_FORMATS && run.codes) {
      fovea_widen_codes_args args = {run.codes, run.coded, count, dim, to + begin * stride, stride};
      kernels->widen_codes(&args);
    } else if (run.panels) {
      int64_t first = (base + begin) % FOVEA_PANEL_ROWS;
      fovea_widen_panel_args args = {run.row - first * run.step, run.type, (int)first, (int)count, dim,
                                     to + begin * stride,        stride};
      kernels->widen_panel(&args);
    } else {
      fovea_widen_args args = {
          run.row, run.type, fovea_elements(run.type, run.step), count, dim, to + begin * stride, stride};
      kernels->widen(&args);
    }
    begin += count;
  }
  return to;
}

void fovea_widen_each(const fovea_plan *plan, const void *const *queries, int count, float *to) {
  const fovea_problem *problem = &plan->problem;
  const int64_t stride = fovea_decode_stride(problem->qk_dim);
  for (int i = 0; i < count; i++) {
    fovea_widen_args args = {
        .rows = queries[i],
        .type = problem->q_type,
        .row_count = 1,
        .dim = problem->qk_dim,
        .to = to + i * stride,
        .to_stride = stride,
    };
    plan->kernels->widen(&args);
  }
}
