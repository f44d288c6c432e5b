#include "overlap.h"

#include "../base/caller.h"
#include "../base/error.h"
#include "../base/types.h"
#include "../base/validate.h"
#include "../state/row_states.h"

/* An output with a row for each row of O. */
static fovea_written written_rows_of_o(const fovea_plan *plan, int shape, const void *pointer, int64_t dim) {
  const fovea_problem *p = &plan->problem;
  const fovea_reach *reach = &plan->reaches[shape];
  return (fovea_written){.name = reach->name,
                         .shape = shape,
                         .begin = (uintptr_t)pointer + (uintptr_t)reach->begin,
                         .end = (uintptr_t)pointer + (uintptr_t)reach->end,
                         .pointer = pointer,
                         .axes = fovea_axes_of(plan, shape),
                         .batch = p->cu_seqlens_q ? 1 : p->batch,
                         .rows = p->q_len,
                         .dim = dim,
                         .packed = p->cu_seqlens_q != NULL};
}

/* An output with a batch axis, also of packed batches. */
static fovea_written written_by_entry(const fovea_plan *plan, int shape, const void *pointer, int64_t rows,
                                      int64_t dim) {
  fovea_written written = written_rows_of_o(plan, shape, pointer, dim);
  written.batch = plan->problem.batch;
  written.rows = rows;
  written.packed = 0;
  return written;
}

static fovea_written written_tensor(const fovea_plan *plan, int shape, const void *pointer) {
  const fovea_output output = fovea_output_of(&plan->problem, shape, plan->column_keys);
  const fovea_score_part *part = &plan->score_part;
  const int64_t score_keys = part->keys.end - part->keys.begin;
  switch (output.layout) {
  case FOVEA_OUTPUT_HEADS:
    return written_by_entry(plan, shape, pointer, 1, output.dim);
  case FOVEA_OUTPUT_PART:
    if (plan->problem.cu_seqlens_q && !part->by_entry) return written_rows_of_o(plan, shape, pointer, score_keys);
    return written_by_entry(plan, shape, pointer, part->rows.end - part->rows.begin, score_keys);
  default:
    return written_rows_of_o(plan, shape, pointer, output.dim);
  }
}

fovea_written fovea_written_state(const fovea_plan *plan, const fovea_state *given) {
  fovea_state state;
  if (!FOVEA_BUILDS_STATES || fovea_read_state("state", given, &state, NULL) != FOVEA_OK)
    return (fovea_written){.name = "state"};
  int64_t dim = fovea_state_numbers(state.dim, state.keys.begin, state.keys.end), low = 0, high = dim;
  const fovea_strides *strides = &state.strides;
  const int there = state.rows > 0 && dim > 0; /* strides of nothing may be any numbers */
  const int64_t reached[] = {there && state.batch > 1 ? (state.batch - 1) * strides->batch : 0,
                             there && state.heads > 1 ? (state.heads - 1) * strides->head : 0,
                             there && state.rows > 1 ? (state.rows - 1) * strides->row : 0};
  if (!there) high = 0;
  for (int axis = 0; axis < 3; axis++) *(reached[axis] < 0 ? &low : &high) += reached[axis];
  return (fovea_written){.name = "state",
                         .begin = (uintptr_t)state.numbers + (uintptr_t)(low * (int64_t)sizeof(float)),
                         .end = (uintptr_t)state.numbers + (uintptr_t)(high * (int64_t)sizeof(float)),
                         .pointer = state.numbers,
                         .axes = {state.strides, plan->problem.heads, 32},
                         .batch = state.batch,
                         .rows = state.rows,
                         .dim = dim,
                         .packed = plan->problem.cu_seqlens_q != NULL};
}

fovea_written fovea_written_scratch(const void *scratch, size_t size) {
  return (fovea_written){.name = "scratch",
                         .begin = (uintptr_t)scratch,
                         .end = (uintptr_t)scratch + size,
                         .pointer = scratch,
                         .axes = {{0, 0, 0}, 1, 8},
                         .batch = 1,
                         .rows = 1,
                         .dim = (int64_t)size};
}

int fovea_list_written(const fovea_plan *plan, const fovea_tensors *tensors,
                       fovea_written written[FOVEA_WRITTEN_LIMIT]) {
  int count = 0;
  if (plan->problem.state) {
    written[0] = fovea_written_state(plan, tensors->state);
    return 1;
  }
  for (int shape = FOVEA_SHAPE_O; shape < FOVEA_SHAPES; shape++) {
    const void *output = fovea_output_pointer(tensors, shape);
    if (output || shape == FOVEA_SHAPE_O) written[count++] = written_tensor(plan, shape, output);
  }
  return count;
}

/* The rows that are written: of a padded batch all, of a packed batch the rows of its entries, which follow each
 * other. */
static fovea_region written_rows(const fovea_plan *plan, const fovea_written *written) {
  fovea_region rows = {0, 1, 0, written->rows, 0, written->dim};
  for (int64_t b = 0; written->packed && b < plan->problem.batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    int64_t end = entry->q_first + entry->q_len;
    if (b == 0 || entry->q_first < rows.row_begin) rows.row_begin = entry->q_first;
    if (b == 0 || end > rows.row_end) rows.row_end = end;
  }
  return rows;
}

/* Whether a claim shares a byte with written rows of any batch index. Only batch indexes whose range overlaps the
 * claim's are compared. */
static int rows_overlap(const fovea_plan *plan, const fovea_written *written, const fovea_claim *claim) {
  fovea_region rows = written_rows(plan, written);
  int64_t step = written->batch > 1 ? written->axes.strides.batch * written->axes.bits / 8 : 0;
  if (step < 0) rows.batch_begin = written->batch - 1, rows.batch_end = written->batch, step = -step;
  fovea_claim first = fovea_claim_region(&written->axes, &rows, written->pointer);
  int64_t low = (int64_t)claim->begin - (int64_t)first.end, high = (int64_t)claim->end - (int64_t)first.begin;
  int64_t batch = step > 0 && low >= 0 ? low / step : 0;
  for (; batch < written->batch && batch * step < high; batch++) {
    fovea_claim moved = first;
    moved.begin += (uintptr_t)(batch * step);
    moved.end += (uintptr_t)(batch * step);
    if (fovea_claims_overlap(&moved, claim)) return 1;
  }
  return 0;
}

/* The bytes of a range that are also in the range of `written`. */
static uintptr_t in_range(const fovea_written *written, uintptr_t begin, uintptr_t end) {
  if (written->begin > begin) begin = written->begin;
  if (written->end < end) end = written->end;
  return begin < end ? end - begin : 0;
}

static fovea_status refuse(const fovea_written *written, const char *name, uintptr_t bytes, fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s shares memory with %s: their ranges overlap by %jd bytes, some of them in rows of both",
                    written->name, name, (int64_t)bytes);
}

fovea_status fovea_check_claim(const fovea_plan *plan, const fovea_written *written, const char *name,
                               const fovea_claim *claim, fovea_error *error) {
  uintptr_t bytes = claim->run > 0 ? in_range(written, claim->begin, claim->end) : 0;
  if (bytes == 0 || !rows_overlap(plan, written, claim)) return FOVEA_OK;
  return refuse(written, name, bytes, error);
}

fovea_status fovea_check_bytes(const fovea_written *scratch, const char *name, const void *pointer, int64_t count,
                               fovea_error *error) {
  uintptr_t bytes = in_range(scratch, (uintptr_t)pointer, (uintptr_t)pointer + (uintptr_t)count);
  return bytes == 0 ? FOVEA_OK : refuse(scratch, name, bytes, error);
}

#if FOVEA_BUILDS_STATES
fovea_status fovea_check_written_state(const fovea_plan *plan, const fovea_written *scratch,
                                       const fovea_written *state, fovea_error *error) {
  fovea_claim claim = fovea_claim_rows(scratch->pointer, 8, 1, 0, 1, 0, scratch->dim);
  uintptr_t bytes = in_range(scratch, state->begin, state->end);
  return bytes > 0 && rows_overlap(plan, state, &claim) ? refuse(scratch, "state", bytes, error) : FOVEA_OK;
}
#endif

/* Compares rows, entry by entry, if the ranges overlap by `bytes`. Out of line, so that the usual call saves no
 * registers. */
__attribute__((noinline)) static fovea_status check_entries(const fovea_plan *plan, const fovea_written *written,
                                                            int shape, const void *pointer, uintptr_t bytes,
                                                            fovea_error *error) {
  const fovea_axes axes = fovea_axes_of(plan, shape);
  int64_t entries = shape == FOVEA_SHAPE_SINKS ? 1 : plan->problem.batch;
  for (int64_t b = 0; b < entries; b++) {
    fovea_region region = fovea_region_of(plan, &plan->entries[b], shape);
    fovea_claim claim = fovea_claim_region(&axes, &region, pointer);
    if (claim.run > 0 && rows_overlap(plan, written, &claim))
      return refuse(written, plan->reaches[shape].name, bytes, error);
  }
  return FOVEA_OK;
}

static inline fovea_status check_tensor(const fovea_plan *plan, const fovea_written *written, int shape,
                                        const void *pointer, fovea_error *error) {
  const fovea_reach *reach = &plan->reaches[shape];
  uintptr_t begin = (uintptr_t)pointer + (uintptr_t)reach->begin, end = (uintptr_t)pointer + (uintptr_t)reach->end;
  uintptr_t bytes = reach->begin < reach->end ? in_range(written, begin, end) : 0;
  return bytes == 0 ? FOVEA_OK : check_entries(plan, written, shape, pointer, bytes, error);
}

fovea_status fovea_check_outputs(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_written *written,
                                 int before, fovea_error *error) {
  fovea_status status = FOVEA_OK;
  for (int i = FOVEA_SHAPE_O; i < before && !status; i++) {
    const void *output = fovea_output_pointer(tensors, i);
    if (output) status = check_tensor(plan, written, i, output, error);
  }
  return status;
}

fovea_status fovea_check_inputs(const fovea_plan *plan, const fovea_tensors *tensors, const fovea_written *written,
                                fovea_error *error) {
  const void *const inputs[FOVEA_SHAPE_O] = {tensors->q, tensors->k, tensors->v, tensors->mask, tensors->sink};
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < FOVEA_SHAPE_O && !status; i++) status = check_tensor(plan, written, i, inputs[i], error);
  return status;
}
