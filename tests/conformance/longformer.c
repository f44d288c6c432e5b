/* Longformer's attention (Beltagy et al., 2020) as two calls with patterns. A token is global (state 1), local (0)
 * or padding (-1). Local tokens see a window and all global tokens, by the local projections; global tokens see all
 * tokens, by projections of their own. Each call gives zeros to the rows of the other. */
#include "call.h"

#include <stdio.h>

/* The rows of tokens with state `rows` see the keys that are not padding; with a window, only the keys in it and
 * the global keys. */
static bool make_pattern(struct call *call, const int8_t *states, int64_t count, int rows, int64_t window) {
  int64_t *row_numbers = call_memory(call, count, sizeof *row_numbers);
  int64_t *key_numbers = call_memory(call, count, sizeof *key_numbers);
  int64_t *global_positions = call_memory(call, count, sizeof *global_positions), global_count = 0;
  for (int64_t i = 0; i < count; i++) {
    row_numbers[i] = states[i] == rows ? 0 : -1;
    key_numbers[i] = states[i] >= 0 ? 0 : -1;
    if (states[i] == 1) global_positions[global_count++] = i;
  }
  const fovea_rule own = fovea_rule_documents(key_numbers, row_numbers, count),
                   near = fovea_rule_window(window, window),
                   global = fovea_rule_global(global_positions, global_count),
                   either = fovea_rule_or(&near, &global), both = fovea_rule_and(&own, &either);
  fovea_pattern_options options;
  fovea_error error;
  if (call->pattern_count == CALL_PATTERNS) return CALL_REFUSED(call, "more batch elements than expected");
  fovea_pattern_options_init(&options, window == FOVEA_UNLIMITED ? &own : &both, count, count);
  if (fovea_pattern_create(&options, &call->patterns[call->pattern_count], &error) != FOVEA_OK)
    return CALL_REFUSED(call, "%s", error.text);
  call->pattern_count++;
  return true;
}

/* One pattern for each batch element, in the problem. */
static bool take_patterns(struct call *call, fovea_problem *problem, const struct array *state, int rows,
                          int64_t window) {
  const int first = call->pattern_count;
  for (int64_t batch = 0; batch < problem->batch; batch++)
    if (!make_pattern(call, (const int8_t *)state->data + batch * problem->q_len, problem->q_len, rows, window))
      return false;
  problem->patterns = (const fovea_pattern *const *)&call->patterns[first];
  return true;
}

static void take_projections(const struct test_case *test, struct call *call, const char *kind,
                             fovea_tensors *tensors) {
  static const char *const names[] = {"query", "key", "value"};
  const struct array *x = case_input(test, "x");
  const float *projected[3];
  for (int i = 0; i < 3; i++) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s%s_weight", names[i], kind);
    snprintf(bias, sizeof bias, "%s%s_bias", names[i], kind);
    projected[i] =
        call_project(call, x, case_input(test, weight)->data, case_input(test, bias)->data, x->shape[2], 0);
  }
  fovea_tensors_init(tensors, projected[0], projected[1], projected[2], NULL, NULL);
}

bool prepare_longformer(const struct test_case *test, struct call *call) {
  const struct array *x = case_input(test, "x"), *state = case_input(test, "state");
  const int64_t heads = (int64_t)case_number(test, "num_heads", 1), rows = x->shape[1];
  call_describe(call, x, heads, heads, rows, x->shape[2] / heads);
  call->second = call->problem;
  take_projections(test, call, "", &call->tensors);
  call->expected = case_output(test, "y");
  int local = 1;
  for (int64_t i = 0; i < state->count; i++) local &= ((const int8_t *)state->data)[i] == 0;
  const int64_t window = (int64_t)case_number(test, "one_sided_window", 0);
  if (local) {
    call->problem.window_left = call->problem.window_right = window;
    call->second.struct_size = 0;
    return true;
  }
  take_projections(test, call, "_global", &call->second_tensors);
  call_note(call, "two calls with patterns: local rows, and global rows by their own projections");
  return take_patterns(call, &call->problem, state, 0, window) &&
         take_patterns(call, &call->second, state, 1, FOVEA_UNLIMITED);
}
