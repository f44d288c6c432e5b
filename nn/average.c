#include "average.h"
#include "choose_table.h"
#include "layer_scratch.h"
#include "row_job.h"

#include "../src/base/resolve.h"
#include "../src/base/shapes.h"

void fovea_nn_place_scores(fovea_nn_attention_call *call) {
  fovea_problem *p = &call->problem;
  call->score_keys = fovea_score_keys(p);
  call->average_strides = p->scores.strides = call->score_strides;
  fovea_resolve_strides(&call->average_strides, fovea_contiguous_strides(1, p->q_len, p->kv_len));
  fovea_resolve_strides(&p->scores.strides, fovea_contiguous_strides(p->heads, p->q_len, p->kv_len));
  if (call->attention.average_scores)
    p->scores.strides = fovea_contiguous_strides(p->heads, p->q_len, call->score_keys);
}

uint64_t fovea_nn_score_bytes(const fovea_nn_attention_call *call) {
  const fovea_problem *p = &call->problem;
  if (!call->attention.average_scores) return 0;
  return fovea_nn_bytes(call->q.rows, p->heads, call->score_keys);
}

typedef struct average_job {
  const fovea_nn_attention_call *call;
  const fovea_nn_kernels *kernels;
  int64_t first, rows; /* of a batch element, or of all packed sequences */
} average_job;

static void average(const void *data, int64_t first, int64_t count) {
  const average_job *job = data;
  const fovea_nn_attention_call *call = job->call;
  const fovea_strides from = call->problem.scores.strides, to = call->average_strides;
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
  const fovea_status status = fovea_nn_dispatch(execution->isa, &data.kernels, error);
  if (status || data.rows == 0) return status;
  const fovea_nn_row_job job = {.rows = packed ? data.rows : p->batch * data.rows,
                                .dim = call->score_keys > 0 ? call->score_keys : 1,
                                .work = p->heads,
                                .data = &data,
                                .run = average};
  fovea_nn_run_rows(&job, execution);
  return FOVEA_OK;
}
