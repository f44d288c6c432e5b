#include "around.h"

enum { heads = 4, rows = 300, keys = 300, nodes = 5, longest = 300, dim = 16 };

/* snippet 1 */

static void run(fovea_problem *problem, int64_t length) {
  fovea_tensors tensors;
  fovea_error error = {.text = ""};
  float *o = numbers_of(problem->batch * heads * length * dim);
  const int64_t count = problem->batch * heads * length * dim;
  fovea_tensors_init(&tensors, numbers_of(count), numbers_of(count), numbers_of(count), o, NULL);
  worked(fovea_attend(problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, count);
}

static void graph(void) {
  const int64_t indptr[nodes + 1] = {0, 2, 3, 5, 6, 8}, indices[] = {0, 1, 1, 2, 0, 3, 4, 2};
  fovea_status status = FOVEA_OK;
  fovea_problem problem;
  fovea_pattern_options options;
  fovea_pattern *pattern;
  fovea_error error = {.text = ""};
  /* snippet 3 */
  /* snippet 4 */
  run(&problem, nodes);
  fovea_pattern_destroy(pattern);
}

static void of_entries_and_heads(const fovea_rule *rule) {
  fovea_status status = FOVEA_OK;
  fovea_problem problem;
  fovea_pattern_options options;
  fovea_pattern *pattern, *other;
  fovea_error error = {.text = ""};
  fovea_problem_init(&problem, 1, heads, heads, rows, keys, dim, dim);
  /* snippet 6 */
  other = pattern;
  problem.pattern = pattern;
  run(&problem, rows);
  fovea_pattern_options_init(&options, rule, longest, longest);
  worked(fovea_pattern_create(&options, &pattern, &error), error.text, __LINE__);
  fovea_problem_init(&problem, 3, heads, heads, rows, keys, dim, dim);
  /* snippet 5 */
  run(&problem, rows);
  fovea_pattern_destroy(pattern);
  fovea_pattern_destroy(other);
}

int main(void) {
  const fovea_rule rule = fovea_rule_causal();
  fovea_status status = FOVEA_OK;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_pattern_options options;
  fovea_pattern *pattern;
  fovea_error error = {.text = ""};
  const int64_t count = heads * rows * dim;
  fovea_problem_init(&problem, 1, heads, heads, rows, keys, dim, dim);
  fovea_tensors_init(&tensors, numbers_of(count), numbers_of(count), numbers_of(count), numbers_of(count), NULL);
  worked(attend(&problem, &tensors, &error), error.text, __LINE__);
  computed(tensors.o, count);
  /* snippet 2 */
  run(&problem, rows);
  fovea_pattern_destroy(pattern);
  graph();
  of_entries_and_heads(&rule);
  return 0;
}
