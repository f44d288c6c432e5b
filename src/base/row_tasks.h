/* Shares out the rows of a batch: a task has FOVEA_TASK_ROWS rows of one batch element or, if the batch is packed,
 * of the packed axis, where they may be rows of several sequences. */
#ifndef FOVEA_SRC_BASE_ROW_TASKS_H
#define FOVEA_SRC_BASE_ROW_TASKS_H

#include <fovea/fovea.h>

enum { FOVEA_TASK_ROWS = 64 }; /* each with all its heads */

static inline int64_t fovea_row_tasks(int64_t rows) {
  return rows / FOVEA_TASK_ROWS + (rows % FOVEA_TASK_ROWS > 0);
}

typedef struct fovea_row_batch {
  int64_t batch, rows;       /* the most rows of a batch element or, if packed, where the last sequence ends */
  const int32_t *cu_seqlens; /* NULL: not packed */
} fovea_row_batch;

/* `rows` may be far more than the sequences of a packed batch have. */
static inline fovea_row_batch fovea_make_row_batch(int64_t batch, int64_t rows, const int32_t *cu_seqlens) {
  return (fovea_row_batch){batch, cu_seqlens ? cu_seqlens[batch] : rows, cu_seqlens};
}

static inline int64_t fovea_batch_row_count(const fovea_row_batch *batch) {
  return batch->cu_seqlens ? batch->rows : batch->batch * batch->rows;
}

static inline int64_t fovea_batch_tasks(const fovea_row_batch *batch) {
  return batch->cu_seqlens ? fovea_row_tasks(batch->rows) : batch->batch * fovea_row_tasks(batch->rows);
}

/* Rows begin to end - 1 of batch element `entry`. */
typedef struct fovea_row_part {
  int64_t entry, begin, end;
} fovea_row_part;

/* Goes on to the task's next part; the first follows batch element -1. Returns 0 if there is none. */
int fovea_next_part(const fovea_row_batch *batch, int64_t task, fovea_row_part *part);

#endif
