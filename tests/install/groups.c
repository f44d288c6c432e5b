/* A build may leave out groups of kernels (arch/groups.h). What needs one is refused with the name of its switch,
 * and works if the build has the group; fovea_info() lists which these are. The arguments are the groups that this
 * build is to lack; it has all others. */
#include <fovea/explain.h>
#include <fovea/format.h>
#include <fovea/fovea.h>
#include <fovea/pattern.h>
#include <fovea/rotary_scaling.h>
#include <fovea/state.h>

#include <stdio.h>
#include <string.h>

typedef fovea_status call(fovea_error *error);

static fovea_status attend(const fovea_problem *problem, fovea_tensors *more, fovea_error *error) {
  static const float rows[4] = {1, 2, 3, 4};
  float o[4];
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, rows, rows, rows, o, NULL);
  if (more) {
    tensors.top.keys = more->top.keys;
    tensors.entropy = more->entropy;
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

static fovea_status explanation(fovea_error *error) {
  const fovea_problem problem = smallest();
  fovea_explanation to;
  fovea_plan *plan;
  fovea_status status = fovea_plan_create(&problem, NULL, &plan, error);
  fovea_explanation_init(&to);
  if (status == FOVEA_OK) status = fovea_plan_explain(plan, &to, error);
  fovea_plan_destroy(plan);
  return status;
}

static fovea_status frequencies(fovea_error *error) {
  double numbers[2], factor;
  fovea_rotary_scaling scaling;
  fovea_rotary_scaling_init(&scaling, FOVEA_SCALING_NONE, 4);
  return fovea_rotary_frequencies(&scaling, numbers, &factor, error);
}

static const struct {
  const char *group, *what; /* group NULL: every build has it */
  const char *field;        /* that a refusal names; "": of a call */
  call *make;
} calls[] = {
    {NULL, "exact attention", "", exact},          {"bf16", "bf16 mode", "modes.score", in_bf16},
    {"int8", "int8 mode", "modes.score", in_int8}, {"outputs", "top keys", "top.k", top_keys},
    {"outputs", "entropy", "entropy", entropy},    {"terms", "a normaliser", "normaliser", normaliser},
    {"states", "a state", "state", state},         {"explain", "an explanation", "", explanation},
    {"scaling", "frequencies", "", frequencies},   {"lists", "a pattern", "", pattern},
    {"formats", "a format", "", format},           {"formats", "Hadamard", "", hadamard},
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

int main(int count, char **lacking) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  if (fovea_info(&info) != FOVEA_OK) return 1;
  for (int i = 0; i < info.group_count; i++) {
    int is_lacking = 0;
    for (int k = 1; k < count; k++) is_lacking |= strcmp(lacking[k], info.groups[i].name) == 0;
    check(info.groups[i].built == !is_lacking, info.groups[i].name, "fovea_info() says otherwise");
  }
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    fovea_error error = {.text = ""};
    const fovea_status status = calls[i].make(&error);
    const fovea_group_report *group = calls[i].group ? report_of(&info, calls[i].group) : NULL;
    if (!group || group->built) {
      check(status == FOVEA_OK, calls[i].what, error.text);
    } else {
      check(status == FOVEA_ERROR_UNSUPPORTED, calls[i].what, "is not refused as left out");
      check(strstr(error.text, group->without) && strstr(error.text, calls[i].field), calls[i].what, error.text);
    }
  }
  return failures != 0;
}
