#include "score_terms.h"

#include "../base/error.h"
#include "../base/resolve.h"
#include "feature.h"
#include "shaw.h"

static const double largest = 0x1.fffffep+127;

/* What ends a text of a scale that may be a multiple of FOVEA_DEFAULT_NUMBER. */
static const char *advice_of(double scale) {
  const int is_multiple = scale > 1e300 || scale < -1e300;
  return is_multiple ? ". The default is no number to compute with: call fovea_problem_resolve() first" : "";
}

fovea_status fovea_check_scale(const fovea_problem *p, fovea_error *error) {
  if (p->scale - p->scale != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scale is %g; it must be finite%s", p->scale,
                      advice_of(p->scale));
  }
  if ((p->scales & FOVEA_SCALES_PER_HEAD) && p->scale != fovea_default_scale(p->qk_dim)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "scale is %g and would not be used: heads have scales of their own", p->scale);
  }
  double c = p->scale * FOVEA_LOG2E;
  if (c > largest || c < -largest) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scale is %g; scale * log2(e) must not be beyond 3.4e38%s",
                      p->scale, advice_of(p->scale));
  }
  return FOVEA_OK;
}

fovea_status fovea_check_scale_product(const fovea_problem *p, const char *name, double scale, fovea_error *error) {
  const double product = p->softcap > 0 ? scale / p->softcap : scale * FOVEA_LOG2E;
  if (product >= -largest && product <= largest) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s make a scale of %g; scale * log2(e), or with a softcap scale / "
                    "softcap, must not be beyond 3.4e38",
                    name, scale);
}

fovea_status fovea_check_softcap(const fovea_problem *p, fovea_error *error) {
  if (!(p->softcap >= 0) || p->softcap * FOVEA_LOG2E > largest) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "softcap is %g; it must be positive and finite, or 0 for none",
                      p->softcap);
  }
  double ratio = p->softcap > 0 ? p->scale / p->softcap : 0;
  if (ratio > largest || ratio < -largest) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "softcap is %g; scale / softcap must not be beyond 3.4e38",
                      p->softcap);
  }
  return FOVEA_OK;
}

fovea_status fovea_check_activation(const fovea_problem *p, fovea_error *error) {
  if (fovea_has_shaw_keys(p)) {
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "activation.kind is LEAKY_RELU, but shaw has keys: with FOVEA_SHAW_KEYS scores have no activation");
  }
  if (p->activation.leaky_slope >= 0 && p->activation.leaky_slope < 1) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "activation.leaky_slope is %g; it must be at least 0 and below 1",
                    p->activation.leaky_slope);
}

float fovea_scale_constant(const fovea_problem *problem, int capped, int natural, double scale) {
  if (capped) return (float)(scale / problem->softcap);
  return (float)(natural ? scale : scale * FOVEA_LOG2E);
}

/* In natural units, as scores as an output and normalisers other than the softmax have them, or in units of log2.
 */
static fovea_score_terms terms_of(const fovea_problem *problem, uint64_t features, int active, int capped,
                                  int natural, int biased) {
  const double unit = natural ? 1 : FOVEA_LOG2E;
  const int leaky = active && problem->activation.kind == FOVEA_SCORE_ACTIVATION_LEAKY_RELU;
  const int later = problem->scales || fovea_has_shaw_keys(problem); /* scales come with the tile's own terms */
  const float c = later ? 1 : fovea_scale_constant(problem, capped, natural, problem->scale);
  return (fovea_score_terms){
      .c = leaky ? 1 : c,
      .adjusted = leaky || capped || fovea_rows_have_terms(problem, features),
      .capped = capped,
      .cap = (float)(problem->softcap * unit),
      .unit = biased ? (float)unit : 0,
      .leaky = leaky,
      .slope = (float)problem->activation.leaky_slope,
      .factor = c,
  };
}

fovea_score_terms fovea_make_terms(const fovea_problem *problem, uint64_t features) {
  return terms_of(problem, features, 1, problem->softcap > 0, problem->normaliser.kind != FOVEA_NORMALISER_SOFTMAX,
                  1);
}

#if FOVEA_BUILDS_OUTPUTS
fovea_score_terms fovea_make_output_terms(const fovea_problem *problem, uint64_t features) {
  const int after = problem->scores.kind >= FOVEA_SCORES_CAPPED;
  return terms_of(problem, features, after, after && problem->softcap > 0, 1,
                  problem->scores.kind == FOVEA_SCORES_BIASED);
}
#endif
