#include "normaliser.h"

#include "../base/error.h"

static const double least = 0x1p-126, most = 0x1p+127, largest = 0x1.fffffep+127;

fovea_status fovea_check_normaliser(const fovea_problem *problem, fovea_error *error) {
  const double value = problem->divisor_value, bias = problem->sigmoid_bias;
  if (problem->divisor == FOVEA_DIVISOR_CONSTANT && !(value >= least && value <= most)) {
    return fovea_fail(error, FOVEA_ERROR_NORMALISER,
                      "divisor_value is %g; with FOVEA_DIVISOR_CONSTANT it must be from 2^-126 to 2^127", value);
  }
  if (!(bias >= -largest && bias <= largest)) {
    return fovea_fail(error, FOVEA_ERROR_NORMALISER, "sigmoid_bias is %g; it must be finite, up to 3.4e38", bias);
  }
  if (problem->divisor == FOVEA_DIVISOR_KEYS && problem->term_count > 0) { /* their -Inf hides keys, uncounted */
    return fovea_fail(error, FOVEA_ERROR_NORMALISER,
                      "divisor is FOVEA_DIVISOR_KEYS, and the problem has %d position terms", problem->term_count);
  }
  return FOVEA_OK;
}

fovea_weighting fovea_make_weighting(const fovea_problem *problem) {
  return (fovea_weighting){problem->normaliser, (float)problem->sigmoid_bias};
}

void fovea_find_divisors(const fovea_problem *problem, const float *sums, const int64_t *seen, int count,
                         float divisors[FOVEA_ROW_TILE_LIMIT]) {
  const float all = problem->divisor == FOVEA_DIVISOR_CONSTANT ? (float)problem->divisor_value : 1.0f;
  for (int i = 0; i < FOVEA_ROW_TILE_LIMIT; i++) divisors[i] = i < count ? all : 1.0f;
  for (int i = 0; i < count && problem->divisor == FOVEA_DIVISOR_SUM; i++) divisors[i] = sums[i];
  for (int i = 0; i < count && fovea_counts_keys(problem); i++) divisors[i] = (float)seen[i];
}
