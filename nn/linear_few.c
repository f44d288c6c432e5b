/* A task of few rows of x and weights in panels: each piece of the dims for all outputs of the task, before the next
 * piece. So the weights of a piece are read as one stream, and only once. */
#include "../arch/float_state.h"
#include "../src/base/types.h"
#include "linear.h"
#include "linear_finish.h"
#include "quantised.h"

typedef struct few_memory {
  _Alignas(64) float sums[FOVEA_NN_FEW_GROUPS][FOVEA_NN_FEW_ROWS * FOVEA_NN_OUTS];
  _Alignas(64) float x[FOVEA_NN_FEW_ROWS * FOVEA_DOT_PIECE];
  _Alignas(64) float weights[FOVEA_NN_COPIED_PANELS * FOVEA_DOT_PIECE * FOVEA_NN_PANEL];
} few_memory;

/* The groups of outputs of a task. */
typedef struct few_groups {
  int64_t first;
  int count;
} few_groups;

/* A piece of the dims. */
typedef struct few_piece {
  int64_t dim;
  int dims;
  const float *x;
  int64_t x_stride;
} few_piece;

/* Finds a piece of the rows as f32, or copies it. */
static void place_x(const fovea_nn_linear_job *job, few_memory *memory, few_piece *piece) {
  const fovea_nn_linear_rows *rows = job->rows;
  const void *first = fovea_element(rows->x, rows->x_type, piece->dim);
  piece->x = first;
  piece->x_stride = rows->x_stride;
  if (rows->x_type == FOVEA_F32) return;
  const fovea_widen_args widen = {first,       rows->x_type, rows->x_stride, (int)rows->rows,
                                  piece->dims, memory->x,    FOVEA_DOT_PIECE};
  job->kernels->widen(&widen);
  piece->x = memory->x;
  piece->x_stride = FOVEA_DOT_PIECE;
}

/* Words that are not whole, and scattered groups: a copy of the weights as f32, some panels at a time. */
static void multiply_copies(const fovea_nn_linear_job *job, const few_piece *piece,
                            const fovea_nn_coded_panels *coded, few_memory *memory, float *sums) {
  fovea_nn_coded_panels panels = *coded;
  for (int panel = 0; panel < coded->panels; panel += FOVEA_NN_COPIED_PANELS) {
    panels.first = coded->first + panel * coded->stride;
    if (coded->dim_groups) panels.numbers = coded->numbers + panel * coded->number_stride;
    panels.panels = coded->panels - panel < FOVEA_NN_COPIED_PANELS ? coded->panels - panel : FOVEA_NN_COPIED_PANELS;
    job->kernels->widen_codes(&panels, memory->weights);
    const fovea_nn_dot_args args = {.x = piece->x,
                                    .x_stride = piece->x_stride,
                                    .rows = (int)job->rows->rows,
                                    .weights = memory->weights,
                                    .panel_stride = FOVEA_DOT_PIECE * FOVEA_NN_PANEL,
                                    .panels = panels.panels,
                                    .dims = coded->dims,
                                    .begun = piece->dim > 0,
                                    .sums = sums + panel * FOVEA_NN_PANEL};
    job->kernels->dot(&args);
  }
}

/* Codes. `ahead` is what is prefetched. */
static void multiply_codes(const fovea_nn_linear_job *job, const few_piece *piece,
                           const fovea_nn_coded_panels *coded, const char *ahead, few_memory *memory, float *sums) {
  if (coded->dims * coded->bits % 32 != 0 || coded->dim_groups) {
    multiply_copies(job, piece, coded, memory, sums);
    return;
  }
  const fovea_nn_dot_codes_args args = {.x = piece->x,
                                        .x_stride = piece->x_stride,
                                        .rows = (int)job->rows->rows,
                                        .weights = *coded,
                                        .ahead = ahead - coded->first,
                                        .begun = piece->dim > 0,
                                        .sums = sums};
  job->kernels->dot_codes(&args);
}

static int least(int64_t rest, int most) {
  return rest < most ? (int)rest : most;
}

/* The panels of a group of outputs, quantised. */
static fovea_nn_coded_panels codes_of(const fovea_nn_linear_job *job, int64_t dim, int64_t group, int panels) {
  return fovea_nn_coded_panels_of(job->linear, dim, group * FOVEA_NN_OUTS, panels);
}

/* The first byte of the panels of a group of outputs. */
static const char *weights_of(const fovea_nn_linear_job *job, int64_t dim, int64_t group) {
  const fovea_nn_linear *l = job->linear;
  if (l->layout == FOVEA_NN_WEIGHTS_QUANTISED) return codes_of(job, dim, group, 1).first;
  return fovea_element(l->weights, l->weight_type,
                       fovea_nn_panel_place(l->in, l->out, l->weight_type, dim, group * FOVEA_NN_OUTS));
}

/* What is read after a piece: the next piece, or the next task. */
static const char *after_piece(const fovea_nn_linear_job *job, int64_t dim, const few_groups *groups) {
  if (job->linear->in - dim > FOVEA_DOT_PIECE) return weights_of(job, dim + FOVEA_DOT_PIECE, groups->first);
  const int64_t next = groups->first + groups->count;
  return weights_of(job, 0, next < job->column_groups ? next : groups->first);
}

static void multiply(const fovea_nn_linear_job *job, const few_piece *piece, int64_t group, const char *weights,
                     const char *ahead, few_memory *memory, float *sums) {
  const fovea_nn_linear *l = job->linear;
  const int outs = least(l->out - group * FOVEA_NN_OUTS, FOVEA_NN_OUTS);
  const int panels = (outs + FOVEA_NN_PANEL - 1) / FOVEA_NN_PANEL;
  if (l->layout == FOVEA_NN_WEIGHTS_QUANTISED) {
    const fovea_nn_coded_panels coded = codes_of(job, piece->dim, group, panels);
    multiply_codes(job, piece, &coded, ahead, memory, sums);
    return;
  }
  fovea_nn_dot_args args = {.x = piece->x,
                            .x_stride = piece->x_stride,
                            .rows = (int)job->rows->rows,
                            .panel_stride = fovea_nn_panel_stride(l->in, l->weight_type, piece->dim),
                            .type = l->weight_type,
                            .dims = piece->dims,
                            .begun = piece->dim > 0};
  for (int panel = 0; panel < panels; panel += args.panels) {
    args.panels = least(panels - panel, job->few_panels);
    args.weights = fovea_element(weights, l->weight_type, panel * args.panel_stride);
    args.sums = sums + panel * FOVEA_NN_PANEL;
    (l->weight_type == FOVEA_F32 ? job->kernels->dot : job->kernels->dot_few)(&args);
  }
}

static void multiply_piece(const fovea_nn_linear_job *job, const few_piece *piece, const few_groups *groups,
                           few_memory *memory) {
  const char *weights = weights_of(job, piece->dim, groups->first), *after = after_piece(job, piece->dim, groups);
  const int64_t bytes = groups->count > 1 ? weights_of(job, piece->dim, groups->first + 1) - weights : 0;
  for (int group = 0; group < groups->count; group++, weights += bytes) {
    const char *ahead = group + 1 < groups->count ? weights + bytes : after;
    multiply(job, piece, groups->first + group, weights, ahead, memory, memory->sums[group]);
  }
}

void fovea_nn_few_task(const void *data, int64_t task, int worker) {
  const fovea_nn_linear_job *job = data;
  const int64_t in = job->linear->in, first = task * job->task_groups;
  const few_groups groups = {first, least(job->column_groups - first, (int)job->task_groups)};
  few_memory memory;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (few_piece piece = {.dim = 0}; piece.dim < in; piece.dim += FOVEA_DOT_PIECE) {
    piece.dims = least(in - piece.dim, FOVEA_DOT_PIECE);
    place_x(job, &memory, &piece);
    multiply_piece(job, &piece, &groups, &memory);
  }
  for (int group = 0; group < groups.count; group++) {
    const int64_t begin = (first + group) * FOVEA_NN_OUTS;
    const fovea_nn_done done = {memory.sums[group], FOVEA_NN_OUTS, 0, begin, job->rows->rows, FOVEA_NN_OUTS};
    fovea_nn_finish(job->linear, job->rows, job->kernels, &done);
  }
  fovea_float_end(caller);
}
