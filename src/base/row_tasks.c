#include "row_tasks.h"

int fovea_next_part(const fovea_row_batch *batch, int64_t task, fovea_row_part *part) {
  const int32_t *ends = batch->cu_seqlens ? batch->cu_seqlens + 1 : NULL;
  int64_t first = task * FOVEA_TASK_ROWS, after = first + FOVEA_TASK_ROWS;
  if (!ends) {
    if (part->entry >= 0) return 0;
    part->entry = task / fovea_row_tasks(batch->rows);
    part->begin = task % fovea_row_tasks(batch->rows) * FOVEA_TASK_ROWS;
    part->end = part->begin + FOVEA_TASK_ROWS < batch->rows ? part->begin + FOVEA_TASK_ROWS : batch->rows;
    return 1;
  }
  while (++part->entry < batch->batch && ends[part->entry - 1] < after) {
    const int64_t start = ends[part->entry - 1], end = ends[part->entry];
    part->begin = (start > first ? start : first) - start;
    part->end = (end < after ? end : after) - start;
    if (part->begin < part->end) return 1;
  }
  return 0;
}
