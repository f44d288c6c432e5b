/* The checks of rules. */
#ifndef FOVEA_SRC_PATTERN_CHECK_H
#define FOVEA_SRC_PATTERN_CHECK_H

#include <fovea/pattern.h>

/* How deep rules may be joined, and how many one pattern has. */
enum { FOVEA_RULE_DEPTH = 32, FOVEA_RULE_LIMIT = 4096 };

/* Checks the options of a pattern, and every rule. */
fovea_status fovea_check_pattern_options(const fovea_pattern_options *options, fovea_error *error);

/* The first and the end of list `i` of EDGES or BLOCKS, in `numbers`. */
static inline int64_t fovea_list_begin(const fovea_rule *rule, int64_t i) {
  return rule->starts ? rule->starts[i] : i * rule->step;
}

#endif
