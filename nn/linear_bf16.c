#include "linear_bf16.h"

#include "../arch/float_state.h"
#include "../src/base/types.h"

enum {
  LINE = 64,
  ROW_STEP = 32,           /* packed rows and sums come in whole steps of any kernels */
  STACK_ROWS = ROW_STEP,   /* of a task without memory */
  MOST_ROWS = 512,         /* of a task with memory, so that weights are read a few times only */
  BLOCK_BYTES = 512 << 10, /* of packed rows of a task: they stay in the second-level cache */
  WORKER_TASKS = 4,
  WIDE_ROWS = 8 /* rows that are copied as f32 at a time */
};

static int64_t parts_of(int64_t count, int64_t most) {
  return count / most + (count % most > 0);
}

static size_t aligned(int64_t bytes) {
  return (size_t)fovea_nn_padded(bytes, FOVEA_SCRATCH_ALIGNMENT);
}

/* An odd number of lines: rows of a power of two would share few sets of a cache. */
static int64_t packed_stride(int64_t in, int x_bytes) {
  const int64_t bytes = fovea_nn_padded(in, FOVEA_NN_BF16_GROUP) * x_bytes;
  return (fovea_nn_padded(bytes, LINE) / LINE | 1) * LINE;
}

static int64_t most_rows(const fovea_nn_bf16_job *job, int has_memory) {
  const int64_t fitting = BLOCK_BYTES / job->x_stride / ROW_STEP * ROW_STEP;
  if (!has_memory) return STACK_ROWS;
  return fitting < ROW_STEP ? ROW_STEP : fitting > MOST_ROWS ? MOST_ROWS : fitting;
}

void fovea_nn_cut_bf16(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                       const fovea_nn_kernels *kernels, const fovea_nn_bf16_kernels *bf16, int workers,
                       int has_memory, fovea_nn_bf16_job *job) {
  *job = (fovea_nn_bf16_job){.linear = linear, .rows = rows, .kernels = kernels, .bf16 = bf16};
  job->x_stride = packed_stride(has_memory ? linear->in : FOVEA_DOT_PIECE, bf16->x_bytes);
  const int64_t most = most_rows(job, has_memory), wanted = (int64_t)WORKER_TASKS * workers;
  job->row_blocks = parts_of(rows->rows, most);
  job->block_rows = fovea_nn_padded(parts_of(rows->rows, job->row_blocks > 0 ? job->row_blocks : 1), ROW_STEP);
  job->groups = parts_of(linear->out, FOVEA_NN_OUTS);
  job->columns = workers <= 1 ? 1 : parts_of(wanted, job->row_blocks > 0 ? job->row_blocks : 1);
  if (job->columns > job->groups) job->columns = job->groups;
  if (!has_memory) return;
  const int64_t most_block = rows->rows < most ? fovea_nn_padded(rows->rows, ROW_STEP) : most;
  job->weights = aligned(most_block * job->x_stride);
  job->task_bytes = job->weights + aligned(fovea_nn_panel_size(linear->in, FOVEA_BF16) * FOVEA_NN_PANELS *
                                           (int64_t)sizeof(uint16_t));
}

int64_t fovea_nn_bf16_tasks(const fovea_nn_bf16_job *job) {
  return job->row_blocks * job->columns;
}

/* A task's rows and memory. */
typedef struct bf16_task {
  const fovea_nn_bf16_job *job;
  int64_t row;
  int rows;
  char *x;
  uint16_t *weights; /* room for cleared ones */
} bf16_task;

/* Packs dims of the task's rows. */
static void pack_rows(const bf16_task *task, int64_t dim, int dims, char *to) {
  const fovea_nn_bf16_job *job = task->job;
  const fovea_nn_linear_rows *r = job->rows;
  float wide[WIDE_ROWS * FOVEA_DOT_PIECE];
  fovea_nn_bf16_pack_args args = {.x_stride = r->x_stride, .dims = dims, .to_stride = job->x_stride};
  for (int row = 0; row < task->rows; row += args.rows) {
    const void *x = fovea_element(r->x, r->x_type, (task->row + row) * r->x_stride + dim);
    args.rows = task->rows - row < WIDE_ROWS ? task->rows - row : WIDE_ROWS;
    args.x = x;
    args.to = to + row * job->x_stride;
    if (r->x_type != FOVEA_F32) {
      const fovea_widen_args widen = {x, r->x_type, r->x_stride, args.rows, dims, wide, FOVEA_DOT_PIECE};
      job->kernels->widen(&widen);
      args.x = wide;
      args.x_stride = FOVEA_DOT_PIECE;
    }
    job->bf16->pack(&args);
  }
}

static int64_t dims_from(int64_t in, int64_t dim) {
  return in - dim < FOVEA_DOT_PIECE ? in - dim : FOVEA_DOT_PIECE;
}

/* The panels of a group from `dim` on, where they lie or, if some weights are too small, in a copy. */
static fovea_nn_bf16_panels find_panels(const bf16_task *task, int64_t group, int64_t dim, int64_t dims) {
  const fovea_nn_linear *l = task->job->linear;
  const int64_t outs = fovea_nn_padded(l->out, FOVEA_NN_PANEL), first = group * FOVEA_NN_PANELS;
  const int64_t rest = outs / FOVEA_NN_PANEL - first;
  fovea_nn_bf16_panels panels = {.weights = fovea_element(l->weights, FOVEA_BF16, dim * outs),
                                 .dims = dims,
                                 .piece_stride = FOVEA_DOT_PIECE * outs,
                                 .first = first,
                                 .panels = (int)(rest < FOVEA_NN_PANELS ? rest : FOVEA_NN_PANELS)};
  if (task->job->bf16->safe(&panels)) return panels;
  task->job->bf16->clear(&panels, task->weights);
  panels.weights = task->weights;
  panels.piece_stride = (int64_t)FOVEA_DOT_PIECE * panels.panels * FOVEA_NN_PANEL;
  panels.first = 0;
  return panels;
}

static fovea_nn_rows rows_at(const void *data, fovea_type type, int64_t stride, int64_t row, int64_t out) {
  fovea_nn_rows rows = {NULL, type, stride};
  if (data) rows.data = fovea_output_element((void *)(uintptr_t)data, type, row * stride + out);
  return rows;
}

static void finish(const bf16_task *task, int first, int rows, int64_t group, const float *sums) {
  const fovea_nn_linear *l = task->job->linear;
  const fovea_nn_linear_rows *r = task->job->rows;
  const int64_t row = task->row + first, out = group * FOVEA_NN_OUTS, rest = l->out - out;
  const fovea_nn_finish_args args = {
      .sums = sums,
      .sum_stride = FOVEA_NN_OUTS,
      .rows = rows,
      .outs = (int)(rest < FOVEA_NN_OUTS ? rest : FOVEA_NN_OUTS),
      .bias = l->bias ? l->bias + out : NULL,
      .activation = l->activation,
      .gate = rows_at(r->gate, r->gate_type, r->gate_stride, row, out),
      .residual = rows_at(r->residual, r->residual_type, r->residual_stride, row, out),
      .y = rows_at(r->y, r->y_type, r->y_stride, row, out),
  };
  task->job->kernels->finish(&args);
}

/* With memory: each group for all rows, all dims at once. */
static void compute_in_memory(const bf16_task *task, int64_t begin, int64_t end) {
  const fovea_nn_bf16_job *job = task->job;
  float sums[ROW_STEP * FOVEA_NN_OUTS];
  for (int64_t dim = 0; dim < job->linear->in; dim += FOVEA_DOT_PIECE)
    pack_rows(task, dim, (int)dims_from(job->linear->in, dim), task->x + dim * job->bf16->x_bytes);
  for (int64_t group = begin; group < end; group++) {
    fovea_nn_bf16_tile_args args = {
        .panels = find_panels(task, group, 0, job->linear->in), .x_stride = job->x_stride, .sums = sums};
    for (int row = 0; row < task->rows; row += ROW_STEP) {
      args.x = task->x + row * job->x_stride;
      args.rows = task->rows - row < ROW_STEP ? task->rows - row : ROW_STEP;
      job->bf16->tile(&args);
      finish(task, row, args.rows, group, sums);
    }
  }
}

/* On the stack: a piece of dims after the other for few rows. */
static void compute_on_stack(const bf16_task *task, int64_t begin, int64_t end) {
  const fovea_nn_bf16_job *job = task->job;
  float sums[STACK_ROWS * FOVEA_NN_OUTS];
  for (int64_t group = begin; group < end; group++) {
    for (int64_t dim = 0; dim < job->linear->in; dim += FOVEA_DOT_PIECE) {
      const int64_t dims = dims_from(job->linear->in, dim);
      const fovea_nn_bf16_tile_args args = {.panels = find_panels(task, group, dim, dims),
                                            .x = task->x,
                                            .x_stride = job->x_stride,
                                            .rows = task->rows,
                                            .begun = dim > 0,
                                            .sums = sums};
      pack_rows(task, dim, (int)dims, task->x);
      job->bf16->tile(&args);
    }
    finish(task, 0, task->rows, group, sums);
  }
}

/* What a task without memory has: packed rows, and cleared weights of a piece. */
typedef struct stack_memory {
  _Alignas(LINE) char x[STACK_ROWS * (FOVEA_DOT_PIECE * sizeof(float) + LINE)];
  uint16_t weights[FOVEA_NN_OUTS * FOVEA_DOT_PIECE];
} stack_memory;

static void run_on_stack(const bf16_task *given, int64_t begin, int64_t end) {
  stack_memory memory;
  bf16_task task = *given;
  task.x = memory.x;
  task.weights = memory.weights;
  compute_on_stack(&task, begin, end);
}

/* The first group of a block of columns. */
static int64_t column_begin(const fovea_nn_bf16_job *job, int64_t column) {
  const int64_t more = job->groups % job->columns;
  return job->groups / job->columns * column + (column < more ? column : more);
}

void fovea_nn_bf16_task(const void *data, int64_t index, int worker) {
  const fovea_nn_bf16_job *job = data;
  const int64_t column = index % job->columns, row = index / job->columns * job->block_rows;
  const int64_t rest = job->rows->rows - row, begin = column_begin(job, column), end = column_begin(job, column + 1);
  bf16_task task = {.job = job, .row = row, .rows = (int)(rest < job->block_rows ? rest : job->block_rows)};
  if (task.rows <= 0) return; /* blocks are whole steps, so the last may be empty */
  fovea_float_state caller = fovea_float_begin();
  if (job->bf16->begin) job->bf16->begin();
  if (job->memory) {
    task.x = job->memory + (size_t)worker * job->task_bytes;
    task.weights = (uint16_t *)(void *)(task.x + job->weights);
    compute_in_memory(&task, begin, end);
  } else {
    run_on_stack(&task, begin, end);
  }
  if (job->bf16->end) job->bf16->end();
  fovea_float_end(caller);
}
