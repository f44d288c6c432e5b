/* The public headers compile alone, as C99 (ctest) and as C++ (`./run test`). Its version is the library's. */
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
  snprintf(version, sizeof version, "%d.%d.%d", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH);
  return strcmp(version, fovea_version()) == 0 ? 0 : 1;
}
