/* Weights quantised to 8 bits, with one scale for each output. */
#include "quantised.h"

#include "../arch/args/nn_int8.h"
#include "../arch/float_state.h"
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/groups.h"
#include "choose_table.h"
#include "defaults.h"
#include "linear.h"
#include "tasks.h"

#include <fovea/weights.h>

typedef struct quantise_job {
  const fovea_nn_linear *linear;
  const fovea_nn_int8_kernels *kernels;
  fovea_nn_quantised_header header;
  char *quantised;
} quantise_job;

static fovea_nn_quantised_header header_of(int64_t in, int64_t out) {
  return (fovea_nn_quantised_header){.magic = FOVEA_NN_QUANTISED_MAGIC, .bits = 8, .in = in, .out = out};
}

size_t fovea_nn_quantised_size(int64_t in, int64_t out) {
  const fovea_nn_quantised_header header = header_of(in, out);
  if (fovea_nn_panel_elements(in, out, FOVEA_F32) == 0) return 0;
  return (size_t)fovea_nn_quantised_bytes(&header);
}

static void quantise_panel(const void *data, int64_t panel, int worker) {
  const quantise_job *job = data;
  const fovea_nn_linear *l = job->linear;
  const int64_t out = panel * FOVEA_NN_PANEL, rest = l->out - out;
  const void *weights = fovea_element(l->weights, l->weight_type, out * l->weight_stride);
  const fovea_nn_rows rows = {(void *)(uintptr_t)weights, l->weight_type, l->weight_stride};
  float scales[FOVEA_NN_PANEL] = {0}, factors[FOVEA_NN_PANEL] = {0};
  const fovea_nn_measure_args measure = {rows, rest < FOVEA_NN_PANEL ? (int)rest : FOVEA_NN_PANEL, l->in, scales,
                                         factors};
  fovea_nn_codes_args codes = {.x = rows,
                               .rows = measure.rows,
                               .tile_rows = FOVEA_NN_PANEL,
                               .scales = scales,
                               .factors = factors,
                               .plain = 1};
  (void)worker;
  fovea_float_state caller = fovea_float_begin();
  job->kernels->measure(&measure);
  for (int64_t d = 0; d < l->in; d += FOVEA_DOT_PIECE) {
    char *to = job->quantised + fovea_nn_quantised_place(&job->header, d, out);
    memcpy(to, scales, sizeof scales);
    codes.x.data = (void *)(uintptr_t)fovea_element(weights, l->weight_type, d);
    codes.dims = fovea_nn_quantised_dims(&job->header, d);
    codes.to = to + sizeof scales;
    job->kernels->codes(&codes);
  }
  fovea_float_end(caller);
}

/* Where the weights go: an output of so many bytes. */
static fovea_status check_output(const fovea_nn_linear *linear, const void *quantised, fovea_error *error) {
  const int64_t floats = (int64_t)fovea_nn_quantised_size(linear->in, linear->out) / (int64_t)sizeof(float);
  const fovea_nn_matrix to = {"quantised", quantised, FOVEA_F32, 1, floats, floats};
  const fovea_nn_matrix from = fovea_nn_weights_of(linear);
  if (linear->layout != FOVEA_NN_WEIGHTS_IN_ROWS) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "linear.layout is %d; weights to be quantised lie in rows, FOVEA_NN_WEIGHTS_IN_ROWS",
                      (int)linear->layout);
  }
  fovea_status status = fovea_nn_check_matrix(&to, 1, error);
  if (!status && (uintptr_t)quantised % FOVEA_NN_QUANTISED_ALIGNMENT != 0) {
    status = fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "quantised is %jd bytes off an address that is a multiple of %jd, as quantised weights need",
        (int64_t)((uintptr_t)quantised % FOVEA_NN_QUANTISED_ALIGNMENT), (int64_t)FOVEA_NN_QUANTISED_ALIGNMENT);
  }
  return status ? status : fovea_nn_check_apart(&to, &from, error);
}

fovea_status fovea_nn_quantise(const fovea_nn_linear *given, void *quantised,
                               const fovea_execution *given_execution, fovea_error *error) {
  fovea_nn_linear linear;
  fovea_execution execution;
  quantise_job job = {.linear = &linear, .quantised = quantised};
  fovea_status status = fovea_nn_read_linear("linear", given, &linear, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = fovea_nn_check_linear("linear", &linear, error);
  if (!status && !FOVEA_BUILDS_FORMATS) status = fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
  if (!status) status = check_output(&linear, quantised, error);
  if (!status) status = fovea_nn_dispatch_int8(execution.isa, &job.kernels, error);
  if (status) return status;
  job.header = header_of(linear.in, linear.out);
  memcpy(quantised, &job.header, sizeof job.header);
  const double elements = (double)linear.in * (double)linear.out;
  fovea_nn_run_tasks(quantise_panel, &job, fovea_nn_padded(linear.out, FOVEA_NN_PANEL) / FOVEA_NN_PANEL,
                     elements * FOVEA_NN_WORK_TO_MOVE, INT_MAX, &execution);
  return FOVEA_OK;
}
