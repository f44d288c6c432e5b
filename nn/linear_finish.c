#include "linear_finish.h"

#include "../src/base/types.h"

static fovea_nn_rows rows_at(const void *data, fovea_type type, int64_t stride, const fovea_nn_done *done) {
  fovea_nn_rows rows = {NULL, type, stride};
  if (data) rows.data = fovea_output_element((void *)(uintptr_t)data, type, done->row * stride + done->out);
  return rows;
}

enum { FAR_BYTES = 8 << 20 };

int fovea_nn_are_far(const fovea_nn_linear_rows *rows) {
  return fovea_bytes(rows->y_type, rows->y_stride) > FAR_BYTES / rows->rows;
}

fovea_nn_fetched fovea_nn_far_results(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                      const fovea_nn_done *done) {
  const int64_t rest = linear->out - done->out;
  return (fovea_nn_fetched){fovea_element(rows->y, rows->y_type, done->row * rows->y_stride + done->out),
                            fovea_bytes(rows->y_type, rows->y_stride),
                            fovea_bytes(rows->y_type, rest < done->outs ? rest : done->outs), (int)done->rows};
}

fovea_nn_finish_args fovea_nn_finish_of(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                        const fovea_nn_done *done) {
  const int64_t rest = linear->out - done->out;
  return (fovea_nn_finish_args){
      .sums = done->sums,
      .sum_stride = done->sum_stride,
      .rows = (int)done->rows,
      .outs = (int)(rest < done->outs ? rest : done->outs),
      .bias = linear->bias ? linear->bias + done->out : NULL,
      .activation = linear->activation,
      .gate = rows_at(rows->gate, rows->gate_type, rows->gate_stride, done),
      .residual = rows_at(rows->residual, rows->residual_type, rows->residual_stride, done),
      .y = rows_at(rows->y, rows->y_type, rows->y_stride, done),
  };
}

void fovea_nn_finish(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                     const fovea_nn_kernels *kernels, const fovea_nn_done *done) {
  const fovea_nn_finish_args args = fovea_nn_finish_of(linear, rows, done);
  kernels->finish(&args);
}
