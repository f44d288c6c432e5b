#include "normaliser.h"

#include "../base/error.h"
#include "../plan/plan.h"
#include "feature.h"

#if FOVEA_BUILDS_TERMS
static const double least = 0x1p-126, most = 0x1p+127, largest = 0x1.fffffep+127;

static fovea_status check_numbers(const fovea_problem *problem, fovea_error *error) {
  const double value = problem->normaliser.divisor_value, bias = problem->normaliser.sigmoid_bias;
  if (problem->normaliser.divisor == FOVEA_DIVISOR_CONSTANT && !(value >= least && value <= most)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "normaliser.divisor_value is %g; with FOVEA_DIVISOR_CONSTANT it must be from 2^-126 to 2^127",
                      value);
  }
  if (problem->normaliser.divisor != FOVEA_DIVISOR_CONSTANT && value != 0) {
    return fovea_fail(
        error, FOVEA_ERROR_UNUSED,
        "normaliser.divisor_value is %g and would not be used: normaliser.divisor is not FOVEA_DIVISOR_CONSTANT",
        value);
  }
  if (problem->normaliser.kind != FOVEA_NORMALISER_SIGMOID && bias != 0) {
    return fovea_fail(
        error, FOVEA_ERROR_UNUSED,
        "normaliser.sigmoid_bias is %g and would not be used: normaliser.kind is not FOVEA_NORMALISER_SIGMOID",
        bias);
  }
  if (bias >= -largest && bias <= largest) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "normaliser.sigmoid_bias is %g; it must be finite, up to 3.4e38",
                    bias);
}

fovea_status fovea_check_normaliser(const fovea_problem *problem, fovea_error *error) {
  const fovea_status status = check_numbers(problem, error);
  if (status || problem->normaliser.divisor != FOVEA_DIVISOR_KEYS) return status;
  if (problem->terms.count > 0) { /* their -Inf hides keys, uncounted */
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "normaliser.divisor is FOVEA_DIVISOR_KEYS, and the problem has %jd position terms",
                      problem->terms.count);
  }
  if (!problem->state) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "normaliser.divisor is %jd and would not be used: state is 1, and a state does not count keys",
                    (int64_t)problem->normaliser.divisor);
}

/* How many keys each row has seen so far, in 64 bits. */
fovea_scratch_floats fovea_normaliser_scratch(const fovea_plan *plan) {
  return (fovea_scratch_floats){.tile =
                                    fovea_counts_keys(&plan->problem) ? 2 * (uint64_t)plan->kernels->row_tile : 0};
}

void fovea_find_divisors(const fovea_problem *problem, const float *sums, const int64_t *seen, int count,
                         float divisors[FOVEA_ROW_TILE_LIMIT]) {
  const float all =
      problem->normaliser.divisor == FOVEA_DIVISOR_CONSTANT ? (float)problem->normaliser.divisor_value : 1.0f;
  for (int i = 0; i < FOVEA_ROW_TILE_LIMIT; i++) divisors[i] = i < count ? all : 1.0f;
  for (int i = 0; i < count && problem->normaliser.divisor == FOVEA_DIVISOR_SUM; i++) divisors[i] = sums[i];
  for (int i = 0; i < count && fovea_counts_keys(problem); i++) divisors[i] = (float)seen[i];
}
#endif

fovea_weighting fovea_make_weighting(const fovea_problem *problem) {
  return (fovea_weighting){problem->normaliser.kind, (float)problem->normaliser.sigmoid_bias};
}
