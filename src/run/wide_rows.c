#include "wide_rows.h"

#include "../base/types.h"
#include "../plan/scratch_layout.h"

const float *fovea_widen_block_rows(const fovea_task_context *context, fovea_find_run *find, int64_t dim,
                                    int64_t base, int64_t begin, int64_t end, float *to) {
  int64_t stride = fovea_copied_stride(dim);
  while (begin < end) {
    fovea_row_run run = find(context, base + begin);
    int64_t count = (run.end - base < end ? run.end - base : end) - begin;
    if (run.codes) {
      fovea_widen_codes_args args = {run.codes, run.coded, count, dim, to + begin * stride, stride};
      context->kernels->widen_codes(&args);
    } else if (run.panels) {
      int64_t first = (base + begin) % FOVEA_PANEL_ROWS;
      fovea_widen_panel_args args = {run.row - first * run.step, run.type, (int)first, (int)count, dim,
                                     to + begin * stride,        stride};
      context->kernels->widen_panel(&args);
    } else {
      fovea_widen_args args = {
          run.row, run.type, fovea_elements(run.type, run.step), count, dim, to + begin * stride, stride};
      context->kernels->widen(&args);
    }
    begin += count;
  }
  return to;
}
