#include "validate_state.h"

#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../base/groups.h"
#include "../base/row_tasks.h"
#include "../base/types.h"
#include "../feature/normaliser.h"
#include "../system/dispatch.h"
#include "../system/schedule.h"
#include "fold.h"

#if FOVEA_BUILDS_STATES

typedef struct merge_job {
  const fovea_state *left, *right, *merged;
} merge_job;

static void merge_step(fovea_fold *f, const void *pointer) {
  const merge_job *job = pointer;
  fovea_spans spans = fovea_state_spans(job->merged);
  for (int64_t node = 0, count = fovea_node_count(spans); node < count; node++) {
    fovea_fold_node(f, job->left, job->right, fovea_node_at(spans, node));
    fovea_write_node(f, job->merged, node);
  }
}

fovea_status fovea_state_merge(const fovea_state *given_left, const fovea_state *given_right,
                               const fovea_state *given_merged, const fovea_execution *given_execution,
                               fovea_error *error) {
  fovea_execution execution;
  fovea_state left, right, merged;
  const fovea_kernels *kernels;
  fovea_status status = fovea_read_state("left", given_left, &left, error);
  if (!status) status = fovea_read_state("right", given_right, &right, error);
  if (!status) status = fovea_read_state("merged", given_merged, &merged, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = fovea_validate_merge(&left, &right, &merged, error);
  if (!status) status = fovea_dispatch_wanted(execution.isa, FOVEA_F32, &kernels, error);
  if (!status) {
    fovea_fold_pieces(kernels, &merged, merge_step, &(merge_job){&left, &right, &merged}, &execution);
  }
  return status;
}

typedef struct output_job {
  const fovea_kernels *kernels;
  const fovea_problem *problem;
  const fovea_tensors *tensors;
  const fovea_state *state;
} output_job;

/* Writes rows of O from the merged state; with the first piece of dims also LSE. */
static void finish_step(fovea_fold *f, const void *pointer) {
  const output_job *job = pointer;
  const fovea_problem *problem = job->problem;
  const fovea_tensors *tensors = job->tensors;
  void *rows[FOVEA_ROW_TILE_LIMIT];
  float *lse[FOVEA_ROW_TILE_LIMIT], sinks[FOVEA_ROW_TILE_LIMIT] = {0}, divisors[FOVEA_ROW_TILE_LIMIT];
  fovea_fold_all(f, job->state);
  for (int i = 0; i < f->row_count; i++) {
    int64_t row = f->row + i, heads = job->state->heads, all = job->state->rows;
    int64_t offset = fovea_row_offset(problem->o_strides, heads, all, row) + f->dim;
    rows[i] = fovea_output_element(tensors->o, problem->o_type, offset);
    if (tensors->lse) lse[i] = tensors->lse + fovea_row_offset(problem->lse_strides, heads, all, row);
    if (problem->sink == FOVEA_SINK_PER_HEAD) sinks[i] = fovea_sink_of_head(tensors, row / all % heads);
  }
  fovea_store_args args = {
      .state = fovea_piece_state(f->merged),
      .dim = f->count,
      .row_count = f->row_count,
      .rows = rows,
      .type = problem->o_type,
      .lse = tensors->lse && f->dim == 0 ? lse : NULL,
      .sinks = problem->sink == FOVEA_SINK_NONE ? NULL : sinks,
  };
  if (FOVEA_BUILDS_TERMS && problem->normaliser.kind) {
    fovea_find_divisors(problem, args.state.row_sum, NULL, f->row_count, divisors);
    fovea_clear_undivided(f->kernels, &args.state, 0, f->count, f->row_count, divisors);
    args.divisors = divisors;
  }
  f->kernels->store(&args);
}

/* Makes a row's state from O and LSE. Its first node gets all, since O does not tell which key gave what; the other
 * nodes are empty. */
static void from_output_row(const output_job *job, int64_t row) {
  const fovea_problem *problem = job->problem;
  const fovea_state *to = job->state;
  float *first = to->numbers + fovea_row_offset(to->strides, to->heads, to->rows, row);
  float lse = job->tensors->lse[fovea_row_offset(problem->lse_strides, to->heads, to->rows, row)];
  int64_t count = fovea_node_count(fovea_state_spans(to));
  int seen = lse != -__builtin_inff() && lse != __builtin_inff();
  if (seen) {
    int64_t offset = fovea_row_offset(problem->o_strides, to->heads, to->rows, row);
    fovea_convert_args args = {fovea_element(job->tensors->o, problem->o_type, offset), first, problem->o_type,
                               FOVEA_F32, to->dim};
    job->kernels->convert(&args);
    for (int64_t d = 0; d < to->dim; d++) first[d] = fovea_canonical(first[d]);
    first[to->dim] = fovea_canonical(lse * (float)FOVEA_LOG2E);
    first[to->dim + 1] = 1.0f;
  }
  for (int64_t node = seen; node < count; node++) {
    float *empty = first + node * fovea_row_state_numbers(to->dim);
    for (int64_t d = 0; d < to->dim + 2; d++) empty[d] = d == to->dim ? -__builtin_inff() : 0;
  }
}

static void from_output_task(const void *data, int64_t task, int worker) {
  const output_job *job = data;
  const int64_t rows = job->state->batch * job->state->heads * job->state->rows, begin = task * FOVEA_TASK_ROWS;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (int64_t row = begin; row < rows && row < begin + FOVEA_TASK_ROWS; row++) from_output_row(job, row);
  fovea_float_end(caller);
}

static void from_outputs(const output_job *job, const fovea_execution *execution) {
  const fovea_state *to = job->state;
  const int64_t rows = to->batch * to->heads * to->rows, nodes = fovea_node_count(fovea_state_spans(to));
  if (nodes == 0) return; /* a state of no keys has no numbers */
  fovea_schedule_rows(from_output_task, job, fovea_row_tasks(rows), (double)rows * (double)(to->dim * nodes),
                      execution);
}

fovea_status fovea_state_finish(const fovea_problem *given, const fovea_tensors *given_tensors,
                                const fovea_execution *given_execution, fovea_error *error) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_state state;
  const fovea_kernels *kernels;
  fovea_execution execution;
  fovea_float_state caller = fovea_float_begin();
  fovea_status status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = fovea_validate_outputs(given, given_tensors, 0, &problem, &tensors, &state, error);
  if (!status) status = fovea_dispatch_wanted(execution.isa, FOVEA_F32, &kernels, error);
  fovea_float_end(caller);
  if (!status) {
    fovea_fold_pieces(kernels, &state, finish_step, &(output_job){kernels, &problem, &tensors, &state}, &execution);
  }
  return status;
}

fovea_status fovea_state_from_output(const fovea_problem *given, const fovea_tensors *given_tensors,
                                     const fovea_execution *given_execution, fovea_error *error) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_state state;
  const fovea_kernels *kernels;
  fovea_execution execution;
  fovea_float_state caller = fovea_float_begin();
  fovea_status status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = fovea_validate_outputs(given, given_tensors, 1, &problem, &tensors, &state, error);
  if (!status) status = fovea_dispatch_wanted(execution.isa, FOVEA_F32, &kernels, error);
  fovea_float_end(caller);
  if (!status) from_outputs(&(output_job){kernels, &problem, &tensors, &state}, &execution);
  return status;
}
#else
fovea_status fovea_state_merge(const fovea_state *left, const fovea_state *right, const fovea_state *merged,
                               const fovea_execution *execution, fovea_error *error) {
  (void)left, (void)right, (void)merged, (void)execution;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_STATES, error);
}
fovea_status fovea_state_finish(const fovea_problem *problem, const fovea_tensors *tensors,
                                const fovea_execution *execution, fovea_error *error) {
  (void)problem, (void)tensors, (void)execution;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_STATES, error);
}
fovea_status fovea_state_from_output(const fovea_problem *problem, const fovea_tensors *tensors,
                                     const fovea_execution *execution, fovea_error *error) {
  (void)problem, (void)tensors, (void)execution;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_STATES, error);
}
#endif
