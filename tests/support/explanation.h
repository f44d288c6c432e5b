/* What a plan says of itself. */
#ifndef FOVEA_TESTS_EXPLANATION_H
#define FOVEA_TESTS_EXPLANATION_H

#include "support/check.h"

#include <fovea/explain.h>

static inline fovea_explanation explain(const fovea_plan *plan) {
  fovea_explanation explanation;
  fovea_error error;
  fovea_explanation_init(&explanation);
  if (fovea_plan_explain(plan, &explanation, &error) != FOVEA_OK) fail_msg("%s", error.text);
  return explanation;
}

#endif
