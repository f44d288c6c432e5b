/* Runs a linear layer: chooses its kernels, cuts its rows and outputs into tasks, and gives them memory. */
#include "../src/base/caller.h"
#include "../src/base/memory.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"
#include "choose_table.h"
#include "defaults.h"
#include "layer_scratch.h"
#include "linear.h"
#include "linear_bf16.h"
#include "linear_finish.h"
#include "linear_int8.h"
#include "linear_many.h"
#include "matrix.h"
#include "quantised.h"
#include "scores.h"
#include "tasks.h"

/* Multiply-adds of a task, so that taking it costs little beside it. */
#define WORK_OF_TASK INT64_C(1000000)
/* Bytes of weights that a task goes through for its rows: they stay in a shared cache while other tasks take other
 * rows, and the rows are read from memory once for all of them. */
#define BYTES_OF_TASK INT64_C(2000000)
/* Bytes of weights that few rows read panel by panel, in the order in which they lie in memory: CPUs fetch that ahead of
 * the loads by themselves. Fewer may be in a cache, where the chains of one panel take longer than its weights. */
#define BYTES_OF_STREAM INT64_C(1000000)
/* Tasks of each worker, so that none waits long for the last. */
enum { WORKER_TASKS = 8 };

/* Of few rows: as many for each worker, and no more than their sums need, since weights are read from memory as streams.
 * Reading a weight takes as long as some products. */
static int64_t few_groups_of_task(const fovea_nn_linear_job *job, int workers) {
  const int64_t least = WORK_OF_TASK / (4 * FOVEA_NN_FEW_ROWS * FOVEA_NN_OUTS * job->linear->in);
  const int64_t rounds = fovea_nn_parts_of(fovea_nn_parts_of(job->column_groups, FOVEA_NN_FEW_GROUPS), workers);
  const int64_t groups = fovea_nn_parts_of(job->column_groups, rounds * workers);
  return groups > least ? groups : least < FOVEA_NN_FEW_GROUPS ? least : FOVEA_NN_FEW_GROUPS;
}

/* In whole numbers: the caller's floating-point environment may trap what is inexact. */
static int64_t groups_of_task(const fovea_nn_linear_job *job, int workers) {
  const int64_t group_weights = FOVEA_NN_OUTS * job->linear->in;
  const int64_t least = WORK_OF_TASK / (job->block_rows * group_weights);
  int64_t groups = BYTES_OF_TASK / (group_weights * (int64_t)sizeof(float));
  const int64_t fair = job->column_groups * job->row_blocks / ((int64_t)WORKER_TASKS * workers);
  if (workers > 1 && groups > fair) groups = fair;
  if (groups < least) groups = least;
  if (groups > job->column_groups) groups = job->column_groups;
  return groups < 1 ? 1 : groups;
}

static fovea_nn_linear_job make_job(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                    const fovea_nn_kernels *kernels, const fovea_nn_pair_kernels *pairs,
                                    int workers) {
  fovea_nn_linear_job job = {.linear = linear, .rows = rows, .kernels = kernels, .pairs = pairs};
  const int64_t most = FOVEA_NN_TASK_ROWS / kernels->row_step * kernels->row_step;
  const int64_t blocks = (rows->rows + most - 1) / most;
  const int x_copied = rows->x_type != FOVEA_F32, few = rows->rows <= FOVEA_NN_FEW_ROWS;
  const int in_panels = linear->layout == FOVEA_NN_WEIGHTS_IN_PANELS;
  const int weights_copied = !in_panels || (linear->weight_type != FOVEA_F32 && !few);
  job.few = few && linear->layout != FOVEA_NN_WEIGHTS_IN_ROWS && !pairs;
  job.in_place = !x_copied && !weights_copied;
  job.x_rows = x_copied ? FOVEA_NN_COPIED_ROWS / kernels->row_step * kernels->row_step : FOVEA_NN_TASK_ROWS;
  job.weight_panels = weights_copied ? FOVEA_NN_COPIED_PANELS : FOVEA_NN_PANELS;
  job.block_rows = fovea_nn_padded((rows->rows + blocks - 1) / blocks, kernels->row_step);
  job.row_blocks = (rows->rows + job.block_rows - 1) / job.block_rows;
  job.column_groups = fovea_nn_padded(linear->out, FOVEA_NN_OUTS) / FOVEA_NN_OUTS;
  job.few_panels =
      fovea_bytes(linear->weight_type, linear->in) > BYTES_OF_STREAM / linear->out ? 1 : FOVEA_NN_PANELS;
  job.task_groups = job.few ? few_groups_of_task(&job, workers) : groups_of_task(&job, workers);
  job.tasks = (job.column_groups + job.task_groups - 1) / job.task_groups * job.row_blocks;
  return job;
}

/* Products of pairs need bf16 on both sides, and pairs of dims that lie together, as in panels. */
static fovea_status choose_pairs(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows, const char *isa,
                                 const fovea_nn_pair_kernels **pairs, fovea_error *error) {
  *pairs = NULL;
  if (linear->mode != FOVEA_MODE_EXACT || linear->weight_type != FOVEA_BF16 || rows->x_type != FOVEA_BF16)
    return FOVEA_OK;
  if (linear->layout != FOVEA_NN_WEIGHTS_IN_PANELS) return FOVEA_OK;
  return fovea_nn_dispatch_pairs(isa, pairs, error);
}

/* A call that was read and checked. */
typedef struct linear_call {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  const fovea_nn_pair_kernels *pairs;
  double work;
  int workers;
  fovea_nn_many many;
  int is_many;
  fovea_nn_bf16_job bf16;
  const fovea_nn_int8_kernels *codes; /* of int8 mode */
  fovea_nn_int8 int8;
} linear_call;

static fovea_status read_call(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                              const fovea_execution *execution, linear_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_linear("linear", linear, &call->linear, error);
  if (!status) status = fovea_nn_read_linear_rows(rows, &call->linear, &call->rows, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  return status;
}

static fovea_status check_call(const linear_call *call, fovea_error *error) {
  const fovea_status status = fovea_nn_check_linear("linear", &call->linear, error);
  return status ? status : fovea_nn_check_linear_rows(&call->linear, &call->rows, error);
}

static int is_bf16(const linear_call *call) {
  return call->linear.mode == FOVEA_MODE_BF16;
}
static int is_int8(const linear_call *call) {
  return call->linear.mode == FOVEA_MODE_INT8;
}

/* Few rows need no memory. */
static void cut_bf16(linear_call *call, int has_memory) {
  const fovea_nn_bf16_kernels *bf16 = fovea_nn_choose_bf16(call->kernels, call->execution.isa, call->rows.rows);
  const int many = call->rows.rows >= FOVEA_NN_MANY_LEAST_ROWS;
  fovea_nn_cut_bf16(&call->linear, &call->rows, call->kernels, bf16, call->workers, has_memory && many,
                    &call->bf16);
}

static fovea_status cut_codes(linear_call *call, fovea_error *error) {
  const int group = (int)fovea_nn_quantised_header_of(call->linear.weights).group;
  const fovea_status status =
      fovea_nn_choose_int8(call->execution.isa, group, call->rows.rows, &call->codes, error);
  if (!status)
    fovea_nn_cut_int8(&call->linear, &call->rows, call->kernels, call->codes, call->workers, 1, &call->int8);
  return status;
}

/* Chooses the kernels and cuts the rows. */
static fovea_status cut_call(linear_call *call, fovea_error *error) {
  const fovea_nn_linear_rows *r = &call->rows;
  fovea_status status = fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
  if (!status) status = choose_pairs(&call->linear, r, call->execution.isa, &call->pairs, error);
  if (status) return status;
  const int64_t rows =
      r->rows > 0 && r->rows < FOVEA_NN_FEW_ROWS ? FOVEA_NN_FEW_ROWS : r->rows; /* as long as so many */
  call->work = (double)rows * (double)call->linear.in * (double)call->linear.out;
  call->workers = fovea_tasks_workers(INT64_MAX, call->work, &call->execution);
  call->is_many = 0;
  if (is_int8(call)) return cut_codes(call, error);
  if (is_bf16(call)) {
    cut_bf16(call, 1);
    return FOVEA_OK;
  }
  call->is_many = !call->pairs && fovea_nn_cut_many(&call->linear, r, call->kernels, call->workers, &call->many);
  return FOVEA_OK;
}

/* Of one worker. */
static size_t task_bytes(const linear_call *call) {
  if (is_int8(call)) return call->int8.parts.size;
  if (is_bf16(call)) return call->bf16.task_bytes;
  return call->is_many ? call->many.task_bytes : 0;
}

static fovea_nn_scratch scratch_of(const linear_call *call, int workers) {
  fovea_nn_scratch all = {0};
  const size_t bytes = call->rows.rows > 0 ? task_bytes(call) : 0;
  if (bytes > 0) fovea_nn_reserve(&all, fovea_nn_product((uint64_t)workers, bytes));
  return all;
}

/* The caller's scratch has memory for all workers, since in a team less work is worth more of them. */
static fovea_nn_scratch callers_scratch(const linear_call *call) {
  return scratch_of(call, fovea_nn_workers(&call->execution));
}

static void run_bf16(linear_call *call, char *memory, size_t size) {
  fovea_nn_bf16_job *job = &call->bf16;
  size_t most = job->task_bytes > 0 ? size / job->task_bytes : 0;
  if (most == 0) {
    cut_bf16(call, 0);
    most = INT_MAX;
  } else {
    job->memory = memory;
  }
  fovea_nn_run_tasks(fovea_nn_bf16_task, job, fovea_nn_bf16_tasks(job), call->work,
                     most > INT_MAX ? INT_MAX : (int)most, &call->execution);
}

/* In so many bytes of memory; if they are too few for one worker, on the stack. */
static void run_codes(linear_call *call, char *memory, size_t size) {
  const size_t workers = size / call->int8.parts.size;
  const int most = workers == 0 || workers > INT_MAX ? INT_MAX : (int)workers;
  if (workers == 0) {
    (void)fovea_nn_dispatch_int8(call->execution.isa, &call->codes, NULL); /* it was found before */
    fovea_nn_cut_int8(&call->linear, &call->rows, call->kernels, call->codes, call->workers, 0, &call->int8);
  }
  call->int8.memory = workers == 0 ? NULL : memory;
  fovea_nn_run_tasks(fovea_nn_int8_task, &call->int8, fovea_nn_int8_tasks(&call->int8), call->work, most,
                     &call->execution);
}

/* In so many bytes of memory; if they are too few for one worker, in small tiles. */
static void run_call(linear_call *call, char *memory, size_t size) {
  const size_t most = call->is_many ? size / call->many.task_bytes : 0;
  if (call->rows.rows == 0) return;
  if (is_bf16(call)) {
    run_bf16(call, memory, size);
    return;
  }
  if (is_int8(call)) {
    run_codes(call, memory, size);
    return;
  }
  if (most > 0) {
    call->many.memory = memory;
    fovea_nn_run_tasks(fovea_nn_many_task, &call->many, fovea_nn_many_tasks(&call->many), call->work,
                       most > INT_MAX ? INT_MAX : (int)most, &call->execution);
    return;
  }
  const fovea_nn_linear_job job = make_job(&call->linear, &call->rows, call->kernels, call->pairs, call->workers);
  fovea_nn_task *task_of = job.few ? fovea_nn_few_task : fovea_nn_linear_task;
  if (call->workers > 1) {
    fovea_nn_run_tasks(task_of, &job, job.tasks, call->work, INT_MAX, &call->execution);
    return;
  }
  for (int64_t task = 0; task < job.tasks; task++) task_of(&job, task, 0); /* few rows: at once */
}

static fovea_status run_in_scratch(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                   const fovea_execution *execution, int is_checked, fovea_error *error) {
  linear_call call;
  fovea_status status = read_call(linear, rows, execution, &call, error);
  if (!status && !is_checked) status = check_call(&call, error);
  if (!status) status = cut_call(&call, error);
  if (!status) run_call(&call, call.execution.scratch, call.execution.scratch_size);
  return status;
}

fovea_status fovea_nn_run_linear(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                 const fovea_execution *execution, fovea_error *error) {
  return run_in_scratch(linear, rows, execution, 0, error);
}

fovea_status fovea_nn_multiply(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                               const fovea_execution *execution, fovea_error *error) {
  return run_in_scratch(linear, rows, execution, 1, error);
}

/* Scratch lies apart from all that the call reads and writes. */
static fovea_status check_scratch_place(const linear_call *call, fovea_error *error) {
  const fovea_nn_linear *l = &call->linear;
  const fovea_nn_linear_rows *r = &call->rows;
  const fovea_nn_matrix scratch = fovea_nn_scratch_of(call->execution.scratch, call->execution.scratch_size);
  if (!scratch.data) return FOVEA_OK;
  const fovea_nn_matrix others[] = {
      fovea_nn_weights_of(l),
      fovea_nn_bias_of(l),
      {"x", r->x, r->x_type, r->rows, l->in, r->x_stride},
      {"y", r->y, r->y_type, r->rows, l->out, r->y_stride},
      {"gate", r->gate, r->gate_type, r->rows, l->out, r->gate_stride},
      {"residual", r->residual, r->residual_type, r->rows, l->out, r->residual_stride},
  };
  fovea_status status = FOVEA_OK;
  for (size_t i = 0; i < sizeof others / sizeof others[0] && !status; i++)
    status = fovea_nn_check_apart(&scratch, &others[i], error);
  return status;
}

fovea_status fovea_nn_linear_run(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                                 const fovea_execution *execution, fovea_error *error) {
  linear_call call;
  char *memory = NULL;
  void *allocated = NULL;
  fovea_status status = read_call(linear, rows, execution, &call, error);
  if (!status) status = check_call(&call, error);
  if (!status) status = check_scratch_place(&call, error);
  if (!status) status = cut_call(&call, error);
  if (status || call.rows.rows == 0) return status;
  const fovea_nn_scratch all = call.execution.scratch ? callers_scratch(&call) : scratch_of(&call, call.workers);
  if (all.size > 0) status = fovea_nn_obtain(&all, &call.execution, &memory, &allocated, error);
  if (status) return status;
  run_call(&call, memory, all.size);
  fovea_release(&call.execution.allocator, allocated);
  return FOVEA_OK;
}

uint64_t fovea_nn_linear_bytes(const fovea_nn_linear *given, int64_t row_count, const fovea_execution *execution) {
  linear_call call = {.rows = {.rows = row_count}};
  if (!given || row_count < 1) return 0;
  if (fovea_nn_read_linear("", given, &call.linear, NULL) != FOVEA_OK) return 0;
  if (!is_int8(&call) && row_count < FOVEA_NN_MANY_LEAST_ROWS) return 0;
  if (is_int8(&call) && fovea_nn_check_linear("", &call.linear, NULL) != FOVEA_OK)
    return 0; /* it reads the header */
  if (fovea_read_execution(execution, &call.execution, NULL) != FOVEA_OK || cut_call(&call, NULL) != FOVEA_OK)
    return 0;
  return callers_scratch(&call).size;
}

uint64_t fovea_nn_layers_bytes(const fovea_nn_layer_use *layers, int count, const fovea_execution *execution) {
  uint64_t most = 0;
  for (int i = 0; i < count; i++) {
    const uint64_t bytes = fovea_nn_linear_bytes(layers[i].linear, layers[i].rows, execution);
    if (bytes > most) most = bytes;
  }
  return most;
}

fovea_status fovea_nn_linear_scratch_size(const fovea_nn_linear *given, int64_t row_count,
                                          const fovea_execution *execution, size_t *size, fovea_error *error) {
  linear_call call = {.rows = {.rows = row_count}};
  const fovea_bounded rows = {"row_count", row_count, 0, FOVEA_LENGTH_LIMIT};
  fovea_status status = fovea_nn_begin_measure(execution, &call.execution, size, error);
  if (!status) status = fovea_nn_read_linear("linear", given, &call.linear, error);
  if (!status) status = fovea_nn_check_linear("linear", &call.linear, error);
  if (!status) status = fovea_validate_bounds(NULL, &rows, 1, error);
  if (!status) status = cut_call(&call, error);
  if (!status) *size = callers_scratch(&call).size;
  return status;
}
