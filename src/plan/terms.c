#include "terms.h"

#include "../base/error.h"

static const double largest = 0x1.fffffep+127;

static fovea_status check_scale(const fovea_problem *p, fovea_error *error) {
  if (p->scale - p->scale != 0) {
    return fovea_fail(error, FOVEA_ERROR_SCALE, "scale is %g; it must be finite", p->scale);
  }
  double c = p->scale * FOVEA_LOG2E;
  if (c > largest || c < -largest) {
    return fovea_fail(error, FOVEA_ERROR_SCALE, "scale is %g; scale * log2(e) must not be beyond 3.4e38", p->scale);
  }
  return FOVEA_OK;
}

static fovea_status check_softcap(const fovea_problem *p, fovea_error *error) {
  if (!(p->softcap >= 0) || p->softcap * FOVEA_LOG2E > largest) {
    return fovea_fail(error, FOVEA_ERROR_SOFTCAP, "softcap is %g; it must be positive and finite, or 0 for none",
                      p->softcap);
  }
  double ratio = p->softcap > 0 ? p->scale / p->softcap : 0;
  if (ratio > largest || ratio < -largest) {
    return fovea_fail(error, FOVEA_ERROR_SOFTCAP, "softcap is %g; scale / softcap must not be beyond 3.4e38",
                      p->softcap);
  }
  return FOVEA_OK;
}

fovea_status fovea_check_terms(const fovea_problem *problem, fovea_error *error) {
  fovea_status status = check_scale(problem, error);
  return status ? status : check_softcap(problem, error);
}

/* In natural units, as scores as an output have them. */
static fovea_score_terms natural_terms(const fovea_problem *problem, int capped, int biased) {
  return (fovea_score_terms){
      .c = (float)(capped ? problem->scale / problem->softcap : problem->scale),
      .adjusted = capped,
      .capped = capped,
      .cap = (float)problem->softcap,
      .unit = (float)biased,
  };
}

fovea_score_terms fovea_make_terms(const fovea_problem *problem) {
  int capped = problem->softcap > 0;
  if (problem->normaliser) return natural_terms(problem, capped, 1);
  return (fovea_score_terms){
      .c = (float)(capped ? problem->scale / problem->softcap : problem->scale * FOVEA_LOG2E),
      .adjusted = capped,
      .capped = capped,
      .cap = (float)(problem->softcap * FOVEA_LOG2E),
      .unit = (float)FOVEA_LOG2E,
  };
}

fovea_score_terms fovea_make_output_terms(const fovea_problem *problem) {
  const int capped = problem->softcap > 0 && problem->score_output >= FOVEA_SCORES_CAPPED;
  return natural_terms(problem, capped, problem->score_output == FOVEA_SCORES_BIASED);
}
