/* A task of few rows of x and quantised weights: each piece of the dims for all outputs of the task, before the next
 * piece. So the weights of a piece are read as one stream, and only once. */
#include "../arch/float_state.h"
#include "../src/base/types.h"
#include "linear.h"
#include "linear_finish.h"
#include "quantised.h"

/* Groups of outputs from what is multiplied to what is prefetched. */
enum { AHEAD = 1 };

typedef struct codes_memory {
  _Alignas(64) float sums[FOVEA_NN_CODES_GROUPS][FOVEA_NN_FEW_ROWS * FOVEA_NN_OUTS];
  _Alignas(64) float x[FOVEA_NN_FEW_ROWS * FOVEA_DOT_PIECE];
  _Alignas(64) float weights[FOVEA_NN_COPIED_PANELS * FOVEA_DOT_PIECE * FOVEA_NN_PANEL];
} codes_memory;

/* A piece of the dims. */
typedef struct codes_piece {
  int64_t dim;
  const float *x;
  int64_t x_stride;
} codes_piece;

/* Finds a piece of the rows as f32, or copies it. */
static void place_x(const fovea_nn_linear_job *job, int dims, codes_memory *memory, codes_piece *piece) {
  const fovea_nn_linear_rows *rows = job->rows;
  const void *first = fovea_element(rows->x, rows->x_type, piece->dim);
  piece->x = first;
  piece->x_stride = rows->x_stride;
  if (rows->x_type == FOVEA_F32) return;
  const fovea_widen_args widen = {first, rows->x_type, rows->x_stride, (int)rows->rows,
                                  dims,  memory->x,    FOVEA_DOT_PIECE};
  job->kernels->widen(&widen);
  piece->x = memory->x;
  piece->x_stride = FOVEA_DOT_PIECE;
}

/* Words that are not whole, and scattered groups: a copy of the weights as f32, some panels at a time. */
static void multiply_copies(const fovea_nn_linear_job *job, const codes_piece *piece,
                            const fovea_nn_coded_panels *coded, codes_memory *memory, float *sums) {
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

/* `ahead` is what is prefetched. */
static void multiply(const fovea_nn_linear_job *job, const codes_piece *piece, const fovea_nn_coded_panels *coded,
                     const char *ahead, codes_memory *memory, float *sums) {
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

/* The panels of a group of outputs. */
static fovea_nn_coded_panels panels_of(const fovea_nn_linear_job *job, int64_t dim, int64_t group) {
  const int64_t out = group * FOVEA_NN_OUTS;
  const int outs = least(job->linear->out - out, FOVEA_NN_OUTS);
  return fovea_nn_coded_panels_of(job->linear, dim, out, (outs + FOVEA_NN_PANEL - 1) / FOVEA_NN_PANEL);
}

/* What is read after a piece: the next piece, or the next task. */
static const char *after_piece(const fovea_nn_linear_job *job, int64_t dim, int64_t first, int groups) {
  const int64_t in = job->linear->in;
  if (in - dim > FOVEA_DOT_PIECE) return panels_of(job, dim + FOVEA_DOT_PIECE, first).first;
  return panels_of(job, 0, first + groups < job->column_groups ? first + groups : first).first;
}

static void multiply_piece(const fovea_nn_linear_job *job, const codes_piece *piece, int64_t first, int groups,
                           codes_memory *memory) {
  const char *after = after_piece(job, piece->dim, first, groups);
  for (int group = 0; group < groups; group++) {
    const fovea_nn_coded_panels coded = panels_of(job, piece->dim, first + group);
    const int64_t bytes = FOVEA_NN_PANELS * coded.stride;
    const int next = group + AHEAD;
    const char *ahead = next < groups ? coded.first + AHEAD * bytes : after + (next - groups) * bytes;
    multiply(job, piece, &coded, ahead, memory, memory->sums[group]);
  }
}

void fovea_nn_codes_task(const void *data, int64_t task, int worker) {
  const fovea_nn_linear_job *job = data;
  const int64_t in = job->linear->in, first = task * job->task_groups;
  const int groups = least(job->column_groups - first, (int)job->task_groups), rows = (int)job->rows->rows;
  codes_memory memory;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (codes_piece piece = {.dim = 0}; piece.dim < in; piece.dim += FOVEA_DOT_PIECE) {
    place_x(job, least(in - piece.dim, FOVEA_DOT_PIECE), &memory, &piece);
    multiply_piece(job, &piece, first, groups, &memory);
  }
  for (int group = 0; group < groups; group++) {
    const int64_t begin = (first + group) * FOVEA_NN_OUTS;
    const fovea_nn_done done = {memory.sums[group], FOVEA_NN_OUTS, 0, begin, rows, FOVEA_NN_OUTS};
    fovea_nn_finish(job->linear, job->rows, job->kernels, &done);
  }
  fovea_float_end(caller);
}
