#include "validate_state.h"
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/validate.h"
#include "../feature/refuse.h"
#include "../plan/check_problem.h"

#include <stddef.h>

#if FOVEA_BUILDS_STATES

static fovea_status check_sizes(const char *name, const fovea_state *state, fovea_error *error) {
  const fovea_bounded sizes[] = {{"batch", state->batch, 1, FOVEA_LENGTH_LIMIT},
                                 {"heads", state->heads, 1, FOVEA_LENGTH_LIMIT},
                                 {"rows", state->rows, 0, FOVEA_LENGTH_LIMIT},
                                 {"dim", state->dim, 1, FOVEA_DIM_LIMIT}};
  fovea_status status = fovea_validate_bounds(name, sizes, sizeof sizes / sizeof sizes[0], error);
  if (status) return status;
  int64_t rows;
  if (__builtin_mul_overflow(state->batch, state->heads, &rows) ||
      __builtin_mul_overflow(rows, state->rows, &rows) || rows > FOVEA_LENGTH_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.batch %jd times heads %jd times rows %jd is more than %jd",
                      name, state->batch, state->heads, state->rows, FOVEA_LENGTH_LIMIT);
  }
  if (state->keys.begin < 0 || state->keys.end < state->keys.begin || state->keys.end > FOVEA_LENGTH_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.keys are %jd to %jd; they must ascend, from 0 to %jd", name,
                      state->keys.begin, state->keys.end, FOVEA_LENGTH_LIMIT);
  }
  return FOVEA_OK;
}

fovea_status fovea_validate_state(const char *name, const fovea_state *state, int is_output, fovea_reach *reach,
                                  fovea_error *error) {
  fovea_status status = check_sizes(name, state, error);
  if (status) return status;
  int64_t numbers = fovea_state_numbers(state->dim, state->keys.begin, state->keys.end);
  fovea_shape shape = fovea_make_shape("numbers", state->batch, state->heads, numbers > 0 ? state->rows : 0,
                                       numbers, state->strides, 32);
  status = fovea_validate_strides(&shape, is_output, reach, error);
  if (!status) status = fovea_validate_pointer(reach, state->numbers, error);
  reach->name = name;
  return fovea_fail_within(name, status, error);
}

fovea_status fovea_check_state_size(const char *name, int64_t value, const char *problem_name, int64_t wanted,
                                    fovea_error *error) {
  if (value == wanted) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "state.%s is %jd; the problem's %s is %jd", name, value,
                    problem_name, wanted);
}

fovea_status fovea_check_state_of_problem(const fovea_problem *problem, const fovea_state *state,
                                          fovea_error *error) {
  fovea_status status =
      fovea_check_state_size("batch", state->batch, problem->cu_seqlens_q ? "batch, packed," : "batch",
                             problem->cu_seqlens_q ? 1 : problem->batch, error);
  if (!status) status = fovea_check_state_size("heads", state->heads, "heads", problem->heads, error);
  if (!status) status = fovea_check_state_size("rows", state->rows, "q_len", problem->q_len, error);
  if (!status) status = fovea_check_state_size("dim", state->dim, "v_dim", problem->v_dim, error);
  return status;
}

static fovea_status check_alike(const fovea_state *left, const char *name, const fovea_state *state,
                                fovea_error *error) {
  const struct {
    const char *name;
    int64_t value, wanted;
  } sizes[] = {{"batch", state->batch, left->batch},
               {"heads", state->heads, left->heads},
               {"rows", state->rows, left->rows},
               {"dim", state->dim, left->dim}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (sizes[i].value == sizes[i].wanted) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.%s is %jd; it must be left's, %jd", name, sizes[i].name,
                      sizes[i].value, sizes[i].wanted);
  }
  return FOVEA_OK;
}

fovea_status fovea_validate_merge(const fovea_state *left, const fovea_state *right, const fovea_state *merged,
                                  fovea_error *error) {
  fovea_reach left_reach, right_reach, merged_reach;
  fovea_status status = fovea_validate_state("left", left, 0, &left_reach, error);
  if (!status) status = fovea_validate_state("right", right, 0, &right_reach, error);
  if (!status) status = fovea_validate_state("merged", merged, 1, &merged_reach, error);
  if (!status) status = check_alike(left, "right", right, error);
  if (!status) status = check_alike(left, "merged", merged, error);
  if (!status && right->keys.begin != left->keys.end) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "right.keys.begin is %jd; it must be left.keys.end, %jd",
                      right->keys.begin, left->keys.end);
  }
  if (!status && (merged->keys.begin != left->keys.begin || merged->keys.end != right->keys.end)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "merged.keys are %jd to %jd; left and right have %jd to %jd",
                      merged->keys.begin, merged->keys.end, left->keys.begin, right->keys.end);
  }
  if (!status) status = fovea_validate_apart(&merged_reach, merged->numbers, &left_reach, left->numbers, error);
  if (!status) status = fovea_validate_apart(&merged_reach, merged->numbers, &right_reach, right->numbers, error);
  return status;
}

/* Checks pointers, and that what is written shares no byte with what is read. */
static fovea_status check_outputs(const fovea_reach *reaches, const fovea_tensors *tensors, int to_state,
                                  const fovea_reach *state_reach, const fovea_state *state, fovea_error *error) {
  const struct {
    const fovea_reach *reach;
    const void *pointer;
  } results[] = {{&reaches[FOVEA_SHAPE_O], tensors->o}, {&reaches[FOVEA_SHAPE_LSE], tensors->lse}},
    sinks = {&reaches[FOVEA_SHAPE_SINKS], tensors->sink};
  int count = tensors->lse ? 2 : 1;
  fovea_status status = to_state ? FOVEA_OK : fovea_validate_pointer(sinks.reach, sinks.pointer, error);
  for (int i = 0; i < count && !status; i++) {
    status = fovea_validate_pointer(results[i].reach, results[i].pointer, error);
    if (status) return status;
    if (to_state) {
      status = fovea_validate_apart(state_reach, state->numbers, results[i].reach, results[i].pointer, error);
      continue;
    }
    status = fovea_validate_apart(results[i].reach, results[i].pointer, state_reach, state->numbers, error);
    if (!status)
      status = fovea_validate_apart(results[i].reach, results[i].pointer, sinks.reach, sinks.pointer, error);
  }
  if (!status && !to_state && tensors->lse)
    status = fovea_validate_apart(results[1].reach, tensors->lse, results[0].reach, tensors->o, error);
  return status;
}

/* The problem without its arrays: only its outputs are used, and the arrays may have been freed. */
static fovea_problem outputs_alone(const fovea_problem *problem) {
  fovea_problem outputs = *problem;
  if (problem->cu_seqlens_q) outputs.batch = 1;
  outputs.cu_seqlens_q = outputs.cu_seqlens_kv = NULL;
  outputs.offsets = outputs.q_lens = outputs.kv_lens = outputs.kv_begins = outputs.mask.begins = NULL;
  outputs.offset = 0;
  outputs.pattern = NULL;
  outputs.patterns = NULL;
  outputs.terms.list = NULL;
  outputs.terms.count = 0;
  outputs.state = 0;
  return outputs;
}

/* What a state has no room for. */
static fovea_status check_normaliser(const fovea_problem *problem, int to_state, fovea_error *error) {
  if (to_state && problem->normaliser.kind != FOVEA_NORMALISER_SOFTMAX) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "normaliser.kind is %jd and would not be used: states are made of the softmax's outputs only",
                      (int64_t)problem->normaliser.kind);
  }
  if (!to_state && problem->normaliser.divisor == FOVEA_DIVISOR_KEYS) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "normaliser.divisor is %jd and would not be used: a state does not count keys",
                      (int64_t)problem->normaliser.divisor);
  }
  return FOVEA_OK;
}

/* Refuses outputs that a state has no room for. */
static fovea_status refuse_results(const fovea_problem *problem, const fovea_tensors *tensors, fovea_error *error) {
  const uint64_t unknown = fovea_features_of(problem) & fovea_features_lacking(FOVEA_WAY_STATE);
  if (unknown) return fovea_refuse_field(problem, __builtin_ctzll(unknown), 1, "a state has no room for it", error);
  return fovea_refuse_tensors(problem, tensors, fovea_features_with(FOVEA_TRAIT_RESULT) & ~FOVEA_HAS(STATE), error);
}

/* Refuses an LSE that the normaliser does not have, and sinks that the call does not use. */
static fovea_status refuse_unused(const fovea_problem *outputs, const fovea_tensors *tensors, int to_state,
                                  fovea_error *error) {
  fovea_problem of_call = *outputs;
  const fovea_status status = fovea_refuse_tensors(outputs, tensors, FOVEA_HAS(LSE), error);
  of_call.state = to_state;
  return status ? status : fovea_refuse_tensors(&of_call, tensors, FOVEA_HAS(SINK), error);
}

fovea_status fovea_validate_outputs(const fovea_problem *given, const fovea_tensors *given_tensors, int to_state,
                                    fovea_problem *problem, fovea_tensors *tensors, fovea_state *state,
                                    fovea_error *error) {
  fovea_reach reaches[FOVEA_SHAPES], state_reach;
  uint64_t features;
  fovea_status status = fovea_read_problem(given, problem, error);
  if (!status) status = fovea_read_tensors(given_tensors, tensors, error);
  if (!status) status = fovea_read_state("state", tensors->state, state, error);
  if (status) return status;
  status = refuse_results(problem, tensors, error);
  if (status) return status;
  const fovea_problem outputs = outputs_alone(problem);
  status = fovea_validate_problem(&outputs, reaches, &features, error);
  if (!status) status = check_normaliser(problem, to_state, error);
  if (!status) status = refuse_unused(&outputs, tensors, to_state, error);
  if (!status) status = fovea_check_state_of_problem(problem, state, error);
  if (!status) status = fovea_validate_state("state", state, to_state, &state_reach, error);
  if (!status && to_state && !tensors->lse && state_reach.begin != state_reach.end)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "lse is NULL");
  return status ? status : check_outputs(reaches, tensors, to_state, &state_reach, state, error);
}
#endif
