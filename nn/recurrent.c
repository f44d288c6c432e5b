/* Cells of recurrent networks: both products into scratch, then the gates. */
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/resolve.h"
#include "../src/base/validate.h"
#include "choose_table.h"
#include "defaults.h"
#include "layer_scratch.h"
#include "linear.h"
#include "row_job.h"

#include <fovea/recurrent.h>

/* GATES_GRU is a GRU, GATES_LSTM an LSTM. */
enum { GATES_GRU = 3, GATES_LSTM = 4 };

typedef struct cell_call {
  fovea_nn_cell cell; /* its layers are the copies below */
  fovea_nn_linear input, hidden;
  fovea_nn_cell_rows rows;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  int gates;
} cell_call;

void fovea_nn_cell_init_sized(fovea_nn_cell *cell, size_t struct_size, const fovea_nn_linear *input,
                              const fovea_nn_linear *hidden) {
  const fovea_nn_cell defaults = {.struct_size = struct_size, .input = input, .hidden = hidden};
  fovea_nn_write_defaults(cell, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_cell_rows_init_sized(fovea_nn_cell_rows *rows, size_t struct_size, const fovea_nn_cell *cell,
                                   int64_t row_count, const void *x, const void *h, void *y) {
  (void)cell; /* with the strides of the cell that runs */
  const fovea_nn_cell_rows defaults = {.struct_size = struct_size,
                                       .rows = row_count,
                                       .x = x,
                                       .h = h,
                                       .y = y,
                                       .x_stride = FOVEA_CONTIGUOUS,
                                       .h_stride = FOVEA_CONTIGUOUS,
                                       .y_stride = FOVEA_CONTIGUOUS,
                                       .c_stride = FOVEA_CONTIGUOUS,
                                       .new_c_stride = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

static fovea_status read_layer(const char *name, const fovea_nn_linear **layer, fovea_nn_linear *copy, int gates,
                               int64_t dim, fovea_error *error) {
  fovea_status status = fovea_nn_read_linear(name, *layer, copy, error);
  if (!status) status = fovea_nn_check_linear(name, copy, error);
  if (status) return status;
  *layer = copy;
  if (dim == 0) dim = copy->in;
  if (copy->out % gates == 0 && copy->out / gates == dim) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.out is %jd; it must be %jd times hidden.in, which is %jd",
                    name, copy->out, (int64_t)gates, dim);
}

/* The layers of a cell. The caller's own structs are not used after this. */
static fovea_status read_cell(const fovea_nn_cell *given, int gates, cell_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("cell", given, &call->cell, sizeof call->cell, error);
  if (status) return status;
  if (!given->hidden) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "hidden is NULL");
  status = read_layer("hidden", &call->cell.hidden, &call->hidden, gates, 0, error);
  if (status || !given->input) return status;
  return read_layer("input", &call->cell.input, &call->input, gates, call->hidden.in, error);
}

static void resolve(cell_call *call) {
  fovea_nn_cell_rows *r = &call->rows;
  const int64_t dim = call->hidden.in;
  fovea_resolve_stride(&r->x_stride, call->cell.input ? call->input.in : call->hidden.out);
  fovea_resolve_stride(&r->h_stride, dim);
  fovea_resolve_stride(&r->y_stride, dim);
  fovea_resolve_stride(&r->c_stride, dim);
  fovea_resolve_stride(&r->new_c_stride, dim);
}

static fovea_status check_cell_state(const cell_call *call, fovea_error *error) {
  const fovea_nn_cell_rows *r = &call->rows;
  const int64_t dim = call->hidden.in;
  if (call->gates == GATES_LSTM) return FOVEA_OK; /* pointers are checked like all others */
  const char *name = NULL;
  if (r->c_stride != dim) name = "c_stride";
  if (r->c_type != FOVEA_F32) name = "c_type";
  if (r->c) name = "c";
  if (r->new_c_stride != dim) name = "new_c_stride";
  if (r->new_c_type != FOVEA_F32) name = "new_c_type";
  if (r->new_c) name = "new_c";
  return name ? fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: a GRU has no cell state",
                           name)
              : FOVEA_OK;
}

enum { X, H, C, INPUTS, Y = INPUTS, NEW_C, TENSORS };

/* Outputs are apart from each other and from all inputs, but that each may be the old state that it replaces. */
static fovea_status check_rows(const cell_call *call, fovea_error *error) {
  const fovea_nn_cell_rows *r = &call->rows;
  const int64_t dim = call->hidden.in, rows = r->rows, with_c = call->gates == GATES_LSTM ? rows : 0;
  const fovea_bounded size = {"rows", rows, 0, FOVEA_LENGTH_LIMIT};
  const fovea_nn_matrix m[TENSORS] = {
      {"x", r->x, r->x_type, rows, call->cell.input ? call->input.in : call->hidden.out, r->x_stride},
      {"h", r->h, r->h_type, rows, dim, r->h_stride},
      {"c", r->c, r->c_type, with_c, dim, r->c_stride},
      {"y", r->y, r->y_type, rows, dim, r->y_stride},
      {"new_c", r->new_c, r->new_c_type, with_c, dim, r->new_c_stride}};
  fovea_status status = fovea_validate_bounds(NULL, &size, 1, error);
  for (int i = 0; i < TENSORS && !status; i++) status = fovea_nn_check_matrix(&m[i], i >= INPUTS, error);
  for (int i = INPUTS; i < TENSORS && !status; i++) {
    const int replaced = i == Y ? H : C;
    for (int j = 0; j < i && !status; j++) {
      if (j != replaced || !fovea_nn_is_same(&m[i], &m[j])) status = fovea_nn_check_apart(&m[i], &m[j], error);
    }
    const fovea_nn_linear *layers[] = {call->cell.hidden, call->cell.input};
    for (int j = 0; j < 2 && !status && layers[j]; j++) {
      fovea_nn_matrix weights = fovea_nn_weights_of(layers[j]), bias = fovea_nn_bias_of(layers[j]);
      weights.name = j == 0 ? "hidden.weights" : "input.weights";
      bias.name = j == 0 ? "hidden.bias" : "input.bias";
      status = fovea_nn_check_apart(&m[i], &weights, error);
      if (!status) status = fovea_nn_check_apart(&m[i], &bias, error);
    }
  }
  return status;
}

static fovea_status prepare(const fovea_nn_cell *cell, const fovea_nn_cell_rows *rows, int gates,
                            const fovea_execution *execution, cell_call *call, fovea_error *error) {
  fovea_status status = read_cell(cell, gates, call, error);
  if (status) return status;
  status = fovea_nn_read_struct("rows", rows, &call->rows, sizeof call->rows, error);
  if (status) return status;
  resolve(call);
  status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = check_cell_state(call, error);
  if (!status) status = check_rows(call, error);
  return status ? status : fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
}

/* Where the products lie, and the scratch of the layers. The products of x are not in scratch if x is projected
 * already. */
typedef struct products {
  fovea_nn_scratch all;
  size_t x, h, layers;
} products;

static products place(const fovea_nn_cell *cell, int64_t rows, const fovea_execution *execution) {
  products p = {.all = {0}};
  const uint64_t bytes = fovea_nn_bytes(rows, cell->hidden->out, 1);
  const fovea_nn_layer_use layers[] = {{cell->hidden, rows}, {cell->input, rows}};
  p.h = fovea_nn_reserve(&p.all, bytes);
  p.x = fovea_nn_reserve(&p.all, cell->input ? bytes : 0);
  p.layers = fovea_nn_reserve(&p.all, fovea_nn_layers_bytes(layers, 2, execution));
  return p;
}

static fovea_status multiply(const fovea_nn_linear *linear, int64_t rows, const void *from, fovea_type type,
                             int64_t stride, float *to, const fovea_execution *execution, fovea_error *error) {
  fovea_nn_linear_rows call;
  fovea_nn_linear_rows_init(&call, linear, rows, from, to);
  call.x_type = type;
  call.x_stride = stride;
  return fovea_nn_run_linear(linear, &call, execution, error);
}

typedef struct gates_job {
  const cell_call *call;
  fovea_nn_rows x;
  const float *h;
} gates_job;

static void run_gates(const void *data, int64_t first, int64_t count) {
  const gates_job *job = data;
  const cell_call *call = job->call;
  const fovea_nn_cell_rows *r = &call->rows;
  const int is_lstm = call->gates == GATES_LSTM;
  const fovea_nn_gates_args args = {.x = fovea_nn_rows_from(job->x.data, job->x.type, job->x.stride, first),
                                    .h = fovea_nn_rows_from(job->h, FOVEA_F32, call->hidden.out, first),
                                    .rows = count,
                                    .dim = call->hidden.in,
                                    .state = is_lstm ? fovea_nn_rows_from(r->c, r->c_type, r->c_stride, first)
                                                     : fovea_nn_rows_from(r->h, r->h_type, r->h_stride, first),
                                    .y = fovea_nn_rows_from(r->y, r->y_type, r->y_stride, first),
                                    .cell = fovea_nn_rows_from(r->new_c, r->new_c_type, r->new_c_stride, first)};
  if (is_lstm) {
    call->kernels->lstm(&args);
  } else {
    call->kernels->gru(&args);
  }
}

static fovea_status run(const cell_call *call, const products *p, char *memory, fovea_error *error) {
  const fovea_nn_cell_rows *r = &call->rows;
  const fovea_execution execution = fovea_nn_without_scratch(&call->execution);
  const fovea_execution layers =
      fovea_nn_with_scratch(&call->execution, memory + p->layers, p->all.size - p->layers);
  float *x = (float *)(void *)(memory + p->x), *h = (float *)(void *)(memory + p->h);
  gates_job data = {call, fovea_nn_rows_from(r->x, r->x_type, r->x_stride, 0), h};
  fovea_status status = multiply(call->cell.hidden, r->rows, r->h, r->h_type, r->h_stride, h, &layers, error);
  if (call->cell.input) {
    data.x = fovea_nn_rows_from(x, FOVEA_F32, call->hidden.out, 0);
    if (!status) status = multiply(call->cell.input, r->rows, r->x, r->x_type, r->x_stride, x, &layers, error);
  }
  if (status) return status;
  const fovea_nn_row_job job = {r->rows, call->hidden.in, 100, &data, run_gates};
  fovea_nn_run_rows(&job, &execution);
  return FOVEA_OK;
}

typedef struct cell_run {
  cell_call *call;
  const products *products;
} cell_run;

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  const cell_run *r = data;
  r->call->execution = *execution;
  return run(r->call, r->products, memory, error);
}

/* Multiply-adds of the layers. */
static double work_of(const cell_call *call) {
  const int64_t in = call->hidden.in + (call->cell.input ? call->input.in : 0);
  return (double)call->rows.rows * (double)in * (double)call->hidden.out;
}

static fovea_status step(const fovea_nn_cell *cell, const fovea_nn_cell_rows *rows, int gates,
                         const fovea_execution *execution, fovea_error *error) {
  cell_call call = {.gates = gates};
  const fovea_status status = prepare(cell, rows, gates, execution, &call, error);
  if (status || call.rows.rows == 0) return status;
  const products p = place(&call.cell, call.rows.rows, &call.execution);
  cell_run r = {&call, &p};
  return fovea_nn_run_steps(run_steps, &r, &p.all, work_of(&call), &call.execution, error);
}

fovea_status fovea_nn_gru(const fovea_nn_cell *cell, const fovea_nn_cell_rows *rows,
                          const fovea_execution *execution, fovea_error *error) {
  return step(cell, rows, GATES_GRU, execution, error);
}

fovea_status fovea_nn_lstm(const fovea_nn_cell *cell, const fovea_nn_cell_rows *rows,
                           const fovea_execution *execution, fovea_error *error) {
  return step(cell, rows, GATES_LSTM, execution, error);
}

fovea_status fovea_nn_cell_scratch_size(const fovea_nn_cell *cell, int64_t rows, const fovea_execution *execution,
                                        size_t *size, fovea_error *error) {
  const fovea_bounded count = {"rows", rows, 0, FOVEA_LENGTH_LIMIT};
  cell_call call = {.gates = 0};
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = fovea_validate_bounds(NULL, &count, 1, error);
  if (!status && read_cell(cell, GATES_GRU, &call, NULL) != FOVEA_OK) {
    status = read_cell(cell, GATES_LSTM, &call, error);
  }
  if (status) return status;
  const products p = place(&call.cell, rows, &measured);
  *size = fovea_nn_size_of(&p.all);
  return FOVEA_OK;
}
