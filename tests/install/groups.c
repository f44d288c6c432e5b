/* A build may leave out groups of kernels (arch/groups.h). What needs one is refused with the name of its switch,
 * and works if the build has the group; fovea_info() lists which these are. The arguments are the groups that this
 * build is to lack; it has all others. */
#include "groups.h"

#include <fovea/explain.h>
#include <fovea/format.h>
#include <fovea/fovea.h>
#include <fovea/pattern.h>
#include <fovea/rotary_scaling.h>
#include <fovea/state.h>

#include <stdio.h>
#include <string.h>

static fovea_status attend(const fovea_problem *problem, const fovea_tensors *more, fovea_error *error) {
  static const float rows[4] = {1, 2, 3, 4};
  float o[4];
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, rows, rows, rows, o, NULL);
  if (more) {
    tensors.scores = more->scores;
    tensors.top.keys = more->top.keys;
    tensors.column_sums = more->column_sums;
    tensors.entropy = more->entropy;
    tensors.shaw = more->shaw;
  }
  return fovea_attend(problem, &tensors, NULL, error);
}

static fovea_problem smallest(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 2, 2, 2, 2);
  return problem;
}

static fovea_status exact(fovea_error *error) {
  const fovea_problem problem = smallest();
  return attend(&problem, NULL, error);
}

static fovea_status with_mode(fovea_mode mode, fovea_error *error) {
  fovea_problem problem = smallest();
  problem.modes.score = problem.modes.value = mode;
  return attend(&problem, NULL, error);
}

static fovea_status in_bf16(fovea_error *error) {
  return with_mode(FOVEA_MODE_BF16, error);
}

static fovea_status in_int8(fovea_error *error) {
  return with_mode(FOVEA_MODE_INT8, error);
}

static fovea_status top_keys(fovea_error *error) {
  fovea_problem problem = smallest();
  int64_t keys[2];
  fovea_tensors more = {.top.keys = keys};
  problem.top.k = 1;
  return attend(&problem, &more, error);
}

static fovea_status entropy(fovea_error *error) {
  fovea_problem problem = smallest();
  float numbers[2];
  fovea_tensors more = {.entropy = numbers};
  problem.entropy = 1;
  return attend(&problem, &more, error);
}

static fovea_status scores(fovea_error *error) {
  fovea_problem problem = smallest();
  float numbers[4];
  const fovea_tensors more = {.scores = numbers};
  problem.scores.kind = FOVEA_SCORES_WEIGHTS;
  return attend(&problem, &more, error);
}

static fovea_status column_sums(fovea_error *error) {
  fovea_problem problem = smallest();
  float numbers[2];
  const fovea_tensors more = {.column_sums = numbers};
  problem.column_sums.wanted = 1;
  return attend(&problem, &more, error);
}

static fovea_status shaw(fovea_error *error) {
  static const float vectors[6];
  fovea_problem problem = smallest();
  const fovea_tensors more = {.shaw.keys = vectors};
  problem.shaw.kind = FOVEA_SHAW_KEYS;
  problem.shaw.distance = 1;
  return attend(&problem, &more, error);
}

static fovea_status normaliser(fovea_error *error) {
  fovea_problem problem = smallest();
  problem.normaliser.kind = FOVEA_NORMALISER_RELU;
  return attend(&problem, NULL, error);
}

static fovea_status pattern(fovea_error *error) {
  const fovea_rule rule = fovea_rule_window(1, 0);
  fovea_pattern_options options;
  fovea_pattern *made;
  fovea_pattern_options_init(&options, &rule, 2, 2);
  const fovea_status status = fovea_pattern_create(&options, &made, error);
  fovea_pattern_destroy(made);
  return status;
}

static fovea_status random_blocks(fovea_error *error) {
  int64_t starts[3], columns[2];
  return fovea_random_blocks(1, 2, 2, 1, starts, columns, error);
}

static fovea_status format(fovea_error *error) {
  fovea_format q8;
  return fovea_format_init(&q8, FOVEA_FORMAT_Q8_0, error);
}

static fovea_status hadamard(fovea_error *error) {
  float rows[4] = {1, 2, 3, 4};
  fovea_hadamard rotation;
  fovea_hadamard_init(&rotation, 1, 1, 2, 2, 2, rows, rows);
  return fovea_hadamard_apply(&rotation, NULL, error);
}

static fovea_status format_bytes(fovea_error *error) {
  fovea_format q8 = {.struct_size = sizeof q8};
  (void)fovea_format_init(&q8, FOVEA_FORMAT_Q8_0, NULL);
  return fovea_format_bytes(&q8, 32, error) > 0 ? FOVEA_OK : error->status;
}

static fovea_status state(fovea_error *error) {
  float numbers[64];
  const float rows[4] = {1, 2, 3, 4};
  fovea_problem problem = smallest();
  fovea_state to;
  fovea_tensors tensors;
  fovea_state_init(&to, 1, 1, 2, 2, 0, 2, numbers);
  problem.state = 1;
  fovea_tensors_init(&tensors, rows, rows, rows, NULL, NULL);
  tensors.state = &to;
  return fovea_attend(&problem, &tensors, NULL, error);
}

static fovea_status merge(fovea_error *error) {
  float left[64] = {0}, right[64] = {0}, merged[64];
  fovea_state of[3];
  fovea_state_init(&of[0], 1, 1, 2, 2, 0, 2048, left);
  fovea_state_init(&of[1], 1, 1, 2, 2, 2048, 4096, right);
  fovea_state_init(&of[2], 1, 1, 2, 2, 0, 4096, merged);
  return fovea_state_merge(&of[0], &of[1], &of[2], NULL, error);
}

/* What explains a plan: 0 the plan, 1 a task, 2 the keys of a row. */
static fovea_status explain(int what, fovea_error *error) {
  const fovea_problem problem = smallest();
  fovea_explanation of_plan;
  fovea_task_explanation of_task;
  uint64_t keys[1];
  fovea_plan *plan;
  fovea_status status = fovea_plan_create(&problem, NULL, &plan, error);
  if (status != FOVEA_OK) return status;
  fovea_explanation_init(&of_plan);
  fovea_task_explanation_init(&of_task);
  status = what == 0   ? fovea_plan_explain(plan, &of_plan, error)
           : what == 1 ? fovea_plan_explain_task(plan, 0, 0, &of_task, error)
                       : fovea_plan_row_keys(plan, 0, 0, 0, 0, 1, keys, error);
  fovea_plan_destroy(plan);
  return status;
}

static fovea_status explanation(fovea_error *error) {
  return explain(0, error);
}

static fovea_status task(fovea_error *error) {
  return explain(1, error);
}

static fovea_status row_keys(fovea_error *error) {
  return explain(2, error);
}

static fovea_status frequencies(fovea_error *error) {
  double numbers[2], factor;
  fovea_rotary_scaling scaling;
  fovea_rotary_scaling_init(&scaling, FOVEA_SCALING_NONE, 4);
  return fovea_rotary_frequencies(&scaling, numbers, &factor, error);
}

static fovea_status angles(fovea_error *error) {
  float cosines[4], sines[4];
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 4);
  return fovea_rotary_tables(&rotary, 1, 2, cosines, sines, error);
}

static fovea_status sections(fovea_error *error) {
  static const int64_t pairs_of[3] = {1, 1, 1};
  unsigned char axes[3];
  return fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, pairs_of, 3, 3, axes, error);
}

static const group_call calls[] = {
    {{NULL}, "exact attention", "", exact},
    {{"bf16"}, "bf16 mode", "modes.score", in_bf16},
    {{"int8"}, "int8 mode", "modes.score", in_int8},
    {{"outputs"}, "scores", "scores", scores},
    {{"outputs"}, "top keys", "top.k", top_keys},
    {{"outputs"}, "column sums", "column_sums", column_sums},
    {{"outputs"}, "entropy", "entropy", entropy},
    {{"terms"}, "a normaliser", "normaliser", normaliser},
    {{"terms"}, "Shaw's keys", "shaw", shaw},
    {{"states"}, "a state", "state", state},
    {{"states"}, "a merge", "", merge},
    {{"explain"}, "an explanation", "", explanation},
    {{"explain"}, "an explanation of a task", "", task},
    {{"explain"}, "keys of a row", "", row_keys},
    {{"scaling"}, "frequencies", "", frequencies},
    {{"scaling"}, "tables of angles", "", angles},
    {{"scaling"}, "sections", "", sections},
    {{"lists"}, "a pattern", "", pattern},
    {{"lists"}, "random blocks", "", random_blocks},
    {{"formats"}, "a format", "", format},
    {{"formats"}, "bytes of a format", "", format_bytes},
    {{"formats"}, "Hadamard", "", hadamard},
};

static int failures;

static void check(int holds, const char *what, const char *text) {
  if (holds) return;
  printf("%s: %s\n", what, text);
  failures++;
}

static const fovea_group_report *report_of(const fovea_library_info *info, const char *group) {
  for (int i = 0; i < info->group_count; i++)
    if (strcmp(info->groups[i].name, group) == 0) return &info->groups[i];
  return NULL;
}

/* A call is refused if the build lacks one of its groups, and names that one. */
static void try(const group_call *call, const fovea_library_info *info) {
  fovea_error error = {.text = ""};
  const fovea_status status = call->make(&error);
  int lacks = 0, is_named = 0;
  for (int i = 0; i < GROUPS_OF_CALL && call->groups[i]; i++) {
    const fovea_group_report *group = report_of(info, call->groups[i]);
    if (group->built) continue;
    lacks = 1;
    is_named |= strstr(error.text, group->without) != NULL;
  }
  if (!lacks) {
    check(status == FOVEA_OK, call->what, error.text);
  } else {
    check(status == FOVEA_ERROR_UNSUPPORTED, call->what, "is not refused as left out");
    check(is_named && strstr(error.text, call->field), call->what, error.text);
  }
}

int main(int count, char **lacking) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  if (fovea_info(&info) != FOVEA_OK) return 1;
  for (int i = 0; i < info.group_count; i++) {
    int is_lacking = 0;
    for (int k = 1; k < count; k++) is_lacking |= strcmp(lacking[k], info.groups[i].name) == 0;
    check(info.groups[i].built == !is_lacking, info.groups[i].name, "fovea_info() says otherwise");
  }
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) try(&calls[i], &info);
  for (int i = 0; i < layer_call_count; i++) try(&layer_calls[i], &info);
  return failures != 0;
}
