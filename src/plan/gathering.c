#include "gathering.h"

#if FOVEA_BUILDS_LISTS

/* What a pair of a list costs, in pairs of a tile. */
static const double pair_cost = 12;

void fovea_plan_gathering(fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  const char *reason = "keys are not gathered: the pattern is not made of lists";
  const int known = (plan->features & fovea_features_lacking(FOVEA_WAY_GATHERED)) == 0;
  plan->gathered = 0;
  if (!known) reason = "keys are not gathered: a setting of the problem is not known to the loop over lists";
  for (int64_t b = 0; known && b < p->batch; b++) {
    fovea_entry *entry = &plan->entries[b];
    const fovea_pattern *pattern = entry->pattern;
    if (!pattern || pattern->list_pairs < 0) continue;
    entry->gathered = pattern->list_pairs * pair_cost < pattern->met_pairs;
    plan->gathered |= entry->gathered;
    reason =
        plan->gathered
            ? "the pattern's lists leave few keys of the blocks that its rows meet"
            : "keys are not gathered: the pattern's lists leave too many keys of the blocks that its rows meet";
  }
  plan->gather_reason = reason;
}
#endif
