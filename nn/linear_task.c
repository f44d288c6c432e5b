/* A task takes its columns in groups of FOVEA_NN_OUTS, and each group piece by piece of the dims: 32 KB of weights,
 * or 16 KB of a copy, stay in the first-level cache while all its rows pass by, and the sums of the pieces add up
 * in a tile. */
#include "../arch/float_state.h"
#include "../src/base/types.h"
#include "linear.h"
#include "linear_finish.h"
#include "quantised.h"

typedef struct task_memory {
  _Alignas(64) float sums[FOVEA_NN_TASK_ROWS * FOVEA_NN_OUTS];
  _Alignas(64) float x[FOVEA_NN_COPIED_ROWS * FOVEA_DOT_PIECE];
  _Alignas(64) float weights[FOVEA_NN_COPIED_PANELS * FOVEA_DOT_PIECE * FOVEA_NN_PANEL];
} task_memory;

/* The rows and columns of a step. */
typedef struct task_tile {
  int64_t row, out, dim;
  int rows, outs, dims;
} task_tile;

/* Pieces of x that were looked at, one bit each: whether pairs are safe. */
typedef struct task_pieces {
  uint64_t known, safe;
} task_pieces;

static int x_is_safe(const fovea_nn_linear_job *job, const task_tile *tile, task_pieces *pieces) {
  const int64_t piece = tile->dim / FOVEA_DOT_PIECE;
  const uint64_t bit = piece < 64 ? UINT64_C(1) << piece : 0; /* pieces after them are looked at in each group */
  if (pieces->known & bit) return (pieces->safe & bit) != 0;
  const fovea_nn_linear_rows *rows = job->rows;
  const uint16_t *x = (const uint16_t *)rows->x + tile->row * rows->x_stride + tile->dim;
  const int safe = job->pairs->safe(x, rows->x_stride, tile->rows, tile->dims);
  pieces->known |= bit;
  if (safe) pieces->safe |= bit;
  return safe;
}

/* Multiplies by pairs. Returns 0 if some element of the piece is not for pairs. */
static int multiply_pairs(const fovea_nn_linear_job *job, const task_tile *tile, task_pieces *pieces,
                          task_memory *memory) {
  const fovea_nn_linear_rows *rows = job->rows;
  const fovea_nn_linear *linear = job->linear;
  const int64_t stride = fovea_nn_panel_stride(linear->in, FOVEA_BF16, tile->dim);
  const uint16_t *weights = (const uint16_t *)linear->weights +
                            fovea_nn_panel_place(linear->in, linear->out, FOVEA_BF16, tile->dim, tile->out);
  const int panels = (tile->outs + FOVEA_NN_PANEL - 1) / FOVEA_NN_PANEL;
  if (!x_is_safe(job, tile, pieces)) return 0;
  if (!job->pairs->safe(weights, stride, panels, (tile->dims + 1) / 2 * 2 * FOVEA_NN_PANEL)) return 0;
  const fovea_nn_dot_args args = {.x = (const uint16_t *)rows->x + tile->row * rows->x_stride + tile->dim,
                                  .x_stride = rows->x_stride,
                                  .rows = tile->rows,
                                  .weights = weights,
                                  .panel_stride = stride,
                                  .panels = panels,
                                  .dims = tile->dims,
                                  .begun = tile->dim > 0,
                                  .sums = memory->sums};
  job->pairs->dot(&args);
  return 1;
}

/* Copies a piece of args->rows rows of x from row `row` of the tile on as f32, if it is of another type. */
static void place_x(const fovea_nn_linear_job *job, const task_tile *tile, int row, task_memory *memory,
                    fovea_nn_dot_args *args) {
  const fovea_nn_linear_rows *rows = job->rows;
  const void *first = fovea_element(rows->x, rows->x_type, (tile->row + row) * rows->x_stride + tile->dim);
  if (rows->x_type == FOVEA_F32) {
    args->x = first;
    args->x_stride = rows->x_stride;
    return;
  }
  const fovea_widen_args widen = {first,      rows->x_type, rows->x_stride, args->rows,
                                  tile->dims, memory->x,    FOVEA_DOT_PIECE};
  job->kernels->widen(&widen);
  args->x = memory->x;
  args->x_stride = FOVEA_DOT_PIECE;
}

/* Finds a piece of args->panels panels of the weights from the tile's panel `panel` on, or copies it as f32 panels.
 * Returns the kernel that multiplies by it. */
static fovea_nn_dot_function *place_weights(const fovea_nn_linear_job *job, const task_tile *tile, int panel,
                                            task_memory *memory, fovea_nn_dot_args *args) {
  const fovea_nn_linear *linear = job->linear;
  if (linear->layout == FOVEA_NN_WEIGHTS_QUANTISED) {
    const int64_t first = tile->out + (int64_t)panel * FOVEA_NN_PANEL;
    const fovea_nn_coded_panels coded = fovea_nn_coded_panels_of(linear, tile->dim, first, args->panels);
    job->kernels->widen_codes(&coded, memory->weights);
    args->weights = memory->weights;
    args->panel_stride = FOVEA_DOT_PIECE * FOVEA_NN_PANEL;
    return job->kernels->dot;
  }
  const int in_panels = linear->layout == FOVEA_NN_WEIGHTS_IN_PANELS;
  const fovea_type type = linear->weight_type;
  const int64_t out = tile->out + (int64_t)panel * FOVEA_NN_PANEL;
  const int64_t stride = in_panels ? fovea_nn_panel_stride(linear->in, type, tile->dim) : linear->weight_stride;
  const void *weights = fovea_element(
      linear->weights, type,
      in_panels ? fovea_nn_panel_place(linear->in, linear->out, type, tile->dim, out) : out * stride + tile->dim);
  const int rest = tile->outs - panel * FOVEA_NN_PANEL, most = args->panels * FOVEA_NN_PANEL;
  if (in_panels && (type == FOVEA_F32 || tile->rows <= FOVEA_NN_FEW_ROWS)) {
    args->weights = weights;
    args->panel_stride = stride;
    args->type = type;
    return type == FOVEA_F32 ? job->kernels->dot : job->kernels->dot_few;
  }
  const fovea_nn_widen_args widen = {.weights = weights,
                                     .type = type,
                                     .in_panels = in_panels,
                                     .stride = stride,
                                     .dims = tile->dims,
                                     .outs = rest < most ? rest : most,
                                     .to = memory->weights};
  job->kernels->widen_weights(&widen);
  args->weights = memory->weights;
  args->panel_stride = FOVEA_DOT_PIECE * FOVEA_NN_PANEL;
  return job->kernels->dot;
}

/* Multiplies what needs no copies. */
static void multiply_in_place(const fovea_nn_linear_job *job, const task_tile *tile, task_memory *memory) {
  const fovea_nn_linear *l = job->linear;
  const int64_t place = fovea_nn_panel_place(l->in, l->out, l->weight_type, tile->dim, tile->out);
  const fovea_nn_dot_args args = {
      .x = (const float *)job->rows->x + tile->row * job->rows->x_stride + tile->dim,
      .x_stride = job->rows->x_stride,
      .rows = tile->rows,
      .weights = fovea_element(l->weights, l->weight_type, place),
      .panel_stride = fovea_nn_panel_stride(l->in, l->weight_type, tile->dim),
      .type = l->weight_type,
      .panels = (tile->outs + FOVEA_NN_PANEL - 1) / FOVEA_NN_PANEL,
      .dims = tile->dims,
      .begun = tile->dim > 0,
      .sums = memory->sums,
  };
  (l->weight_type == FOVEA_F32 ? job->kernels->dot : job->kernels->dot_few)(&args);
}

/* Multiplies f32 numbers: as many panels of weights, and as many rows of x, as there is room for. */
static void multiply(const fovea_nn_linear_job *job, const task_tile *tile, task_memory *memory) {
  const int panels = (tile->outs + FOVEA_NN_PANEL - 1) / FOVEA_NN_PANEL;
  fovea_nn_dot_args args = {.dims = tile->dims, .begun = tile->dim > 0};
  for (int panel = 0; panel < panels; panel += args.panels) {
    args.panels = panels - panel < job->weight_panels ? panels - panel : job->weight_panels;
    fovea_nn_dot_function *dot = place_weights(job, tile, panel, memory, &args);
    for (int row = 0; row < tile->rows; row += args.rows) {
      args.rows = tile->rows - row < job->x_rows ? tile->rows - row : job->x_rows;
      place_x(job, tile, row, memory, &args);
      args.sums = memory->sums + row * FOVEA_NN_OUTS + panel * FOVEA_NN_PANEL;
      dot(&args);
    }
  }
}

/* One group of columns for the task's rows. */
static void compute_group(const fovea_nn_linear_job *job, task_tile *tile, task_pieces *pieces,
                          task_memory *memory) {
  const int64_t in = job->linear->in;
  for (tile->dim = 0; tile->dim < in; tile->dim += FOVEA_DOT_PIECE) {
    tile->dims = in - tile->dim < FOVEA_DOT_PIECE ? (int)(in - tile->dim) : FOVEA_DOT_PIECE;
    if (job->pairs && multiply_pairs(job, tile, pieces, memory)) continue;
    if (job->in_place)
      multiply_in_place(job, tile, memory);
    else
      multiply(job, tile, memory);
  }
  const fovea_nn_done done = {memory->sums, FOVEA_NN_OUTS, tile->row, tile->out, tile->rows, tile->outs};
  fovea_nn_finish(job->linear, job->rows, job->kernels, &done);
}

void fovea_nn_linear_task(const void *data, int64_t task, int worker) {
  const fovea_nn_linear_job *job = data;
  const int64_t block = task % job->row_blocks, first = task / job->row_blocks * job->task_groups;
  const int64_t row = block * job->block_rows, rest = job->rows->rows - row, out = job->linear->out;
  task_tile tile = {.row = row, .rows = (int)(rest < job->block_rows ? rest : job->block_rows)};
  task_pieces pieces = {0, 0};
  task_memory memory;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (int64_t group = first; group < first + job->task_groups && group < job->column_groups; group++) {
    tile.out = group * FOVEA_NN_OUTS;
    tile.outs = out - tile.out < FOVEA_NN_OUTS ? (int)(out - tile.out) : FOVEA_NN_OUTS;
    compute_group(job, &tile, &pieces, &memory);
  }
  fovea_float_end(caller);
}
