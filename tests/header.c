/* The public headers compile alone, as C99 (ctest) and as C++ (`./run test`). Its version is the library's. */
#include <fovea/explain.h>
#include <fovea/format.h>
#include <fovea/pattern.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  char version[32];
  const fovea_rule causal = fovea_rule_causal(), rule = fovea_rule_not(&causal);
  fovea_pattern_options options;
  fovea_pattern *pattern;
  fovea_pattern_options_init(&options, &rule, 2, 2);
  if (fovea_pattern_create(&options, &pattern, NULL) != FOVEA_OK || !fovea_pattern_sees(pattern, 0, 0, 1)) return 1;
  fovea_pattern_destroy(pattern);
  fovea_format format;
  if (fovea_format_init(&format, FOVEA_FORMAT_Q8_0, NULL) != FOVEA_OK) return 1;
  if (fovea_format_bytes(&format, 64, NULL) != 68) return 1;
  fovea_problem problem;
  fovea_plan *plan;
  fovea_explanation explanation;
  fovea_problem_init(&problem, 1, 1, 1, 2, 2, 1, 1);
  fovea_explanation_init(&explanation);
  if (fovea_plan_create(&problem, NULL, &plan, NULL) != FOVEA_OK) return 1;
  if (fovea_plan_explain(plan, &explanation, NULL) != FOVEA_OK || explanation.pairs_visible != 4) return 1;
  fovea_plan_destroy(plan);
  snprintf(version, sizeof version, "%d.%d.%d", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH);
  return strcmp(version, fovea_version()) == 0 ? 0 : 1;
}
