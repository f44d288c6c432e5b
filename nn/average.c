#include "average.h"
#include "choose_table.h"
#include "layer_scratch.h"
#include "row_job.h"

#include "../src/base/shapes.h"

static fovea_strides contiguous(int64_t heads, int64_t rows, int64_t keys) {
  /* Products are unsigned, as those of fovea_problem_init(): the sizes are checked later. */
  const uint64_t head = (uint64_t)rows * (uint64_t)keys;
  return (fovea_strides){(int64_t)((uint64_t)heads * head), (int64_t)head, keys};
}

static int is_same(fovea_strides a, fovea_strides b) {
  return a.batch == b.batch && a.head == b.head && a.row == b.row;
}

void fovea_nn_place_scores(fovea_nn_attention_call *call, int64_t keys) {
  fovea_problem *p = &call->problem;
  const int averaged = call->attention.average_scores;
  call->score_keys = fovea_score_keys(p);
  const int unset = is_same(p->score_strides, contiguous(p->heads, p->q_len, keys));
  call->average_strides = unset ? contiguous(1, p->q_len, p->kv_len) : p->score_strides;
  if (unset) p->score_strides = contiguous(p->heads, p->q_len, p->kv_len);
  if (averaged) p->score_strides = contiguous(p->heads, p->q_len, call->score_keys);
}

uint64_t fovea_nn_score_bytes(const fovea_nn_attention_call *call) {
  const fovea_problem *p = &call->problem;
  if (!call->attention.average_scores) return 0;
  return fovea_nn_bytes(call->q.rows, p->heads, call->score_keys);
}

typedef struct average_job {
  const fovea_nn_attention_call *call;
  const fovea_nn_kernels *kernels;
  int64_t first, rows; /* of an entry, or of all packed entries */
} average_job;

static void average(const void *data, int64_t first, int64_t count) {
  const average_job *job = data;
  const fovea_nn_attention_call *call = job->call;
  const fovea_strides from = call->problem.score_strides, to = call->average_strides;
  for (int64_t i = first; i < first + count; i++) {
    const int64_t entry = i / job->rows, row = job->first + i % job->rows;
    const fovea_nn_average_args args = {
        .first = call->score_numbers + entry * from.batch + row * from.row,
        .head_stride = from.head,
        .heads = call->problem.heads,
        .count = call->score_keys,
        .y = call->tensors.scores + entry * to.batch + row * to.row,
    };
    job->kernels->average(&args);
  }
}

fovea_status fovea_nn_average_scores(const fovea_nn_attention_call *call, const fovea_execution *execution,
                                     fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const int32_t *packed = p->cu_seqlens_q;
  average_job data = {.call = call, .first = packed ? packed[0] : 0, .rows = p->q_len};
  if (packed) data.rows = (int64_t)packed[p->batch] - packed[0];
  const fovea_status status = fovea_nn_dispatch(p->isa, &data.kernels, error);
  if (status || data.rows == 0) return status;
  const fovea_nn_row_job job = {.rows = packed ? data.rows : p->batch * data.rows,
                                .dim = call->score_keys > 0 ? call->score_keys : 1,
                                .work = p->heads,
                                .data = &data,
                                .run = average};
  fovea_nn_run_rows(&job, execution);
  return FOVEA_OK;
}
