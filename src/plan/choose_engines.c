#include "choose_engines.h"

#include <limits.h>

/* Whether the weights multiply scores by terms.c, in place of the products: then some products need not be touched
 * between AMX and the weights. The bits are the same. */
static int factor_waits(const fovea_plan *plan) {
  const fovea_arithmetic *scores = plan->scores, *values = plan->values;
  return values && values->has_factor && !(scores && scores->scales_rows) && plan->terms.c > 0 &&
         !plan->terms.adjusted;
}

/* In which tiles an arithmetic's loads prefetch. */
static int loads_fetch_rows(const fovea_arithmetic *arithmetic) {
  return arithmetic && arithmetic->loads_fetch ? arithmetic->loads_fetch_rows : -1;
}

static void choose_steps(const fovea_plan *plan, fovea_tile_steps *steps) {
  const fovea_arithmetic *scores = FOVEA_BUILDS_MODES ? plan->scores : NULL,
                         *values = FOVEA_BUILDS_MODES ? plan->values : NULL;
  const fovea_kernels *kernels = plan->kernels;
  const int normalised = FOVEA_BUILDS_TERMS && plan->weighting.normaliser != FOVEA_NORMALISER_SOFTMAX;
  /* The operands of modes are made before the products. Making the operands of scores may prefetch meanwhile, also
   * values. */
  const int loads = scores && scores->loads_fetch, scales_rows = scores && scores->scales_rows;
  steps->scales_rows = scales_rows;
  steps->factor_waits = FOVEA_BUILDS_MODES && factor_waits(plan);
  steps->logs = scales_rows && values && !plan->terms.adjusted ? values->logs : NULL;
  steps->softmax = values ? values->softmax : normalised ? kernels->normalise : kernels->softmax;
  steps->decode_softmax = plan->decoding ? plan->decoding->softmax
                          : normalised   ? kernels->decode_normalise
                                         : kernels->decode_softmax;
  steps->fetches_first_keys = !scores || loads;
  steps->fetches_first_values = !values || loads;
  steps->value_fetch_rows = values ? INT_MAX : kernels->value_fetch_rows;
  steps->key_loads_fetch_rows = loads_fetch_rows(scores);
  steps->value_loads_fetch_rows = loads_fetch_rows(values);
}

/* Sets the most rows of an entry that is decoded, for each way its keys may lie. */
static void choose_decoded_rows(fovea_plan *plan) {
  const fovea_kernels *kernels = plan->kernels;
  const int panels = kernels->decode_panel_rows, rows = kernels->decode_rows;
  const int lacking = (plan->features & fovea_features_lacking(FOVEA_WAY_DECODED)) != 0;
  if (!FOVEA_BUILDS_DECODE || lacking || plan->decoding || plan->scores || plan->values) {
    /* Modes that are not decoded, features that decoding does not know, and all rows of builds without it have rows
     * in the lanes. */
    const int64_t most = plan->decoding && !lacking ? plan->decoding->rows : -1;
    for (int i = 0; i < FOVEA_KEY_PLACES; i++) plan->decoded_rows[i] = most;
    return;
  }
  plan->decoded_rows[FOVEA_KEYS_LIE_IN_ROWS] = fovea_least(rows, panels);
  plan->decoded_rows[FOVEA_KEYS_LIE_IN_PAGES] =
      fovea_least(2 * rows, panels); /* copies cost as much as these rows */
  plan->decoded_rows[FOVEA_KEYS_LIE_IN_PANELS] = panels;
}

int fovea_rows_multiplied(const fovea_plan *plan, int rows) {
  const int whole = rows % 4 == 3 && plan->decoder == FOVEA_ENGINE_DECODED && plan->kernels->lanes >= 4;
  return whole && (uint64_t)rows < plan->layout.decode_rows ? rows + 1 : rows;
}

void fovea_choose_engines(fovea_plan *plan) {
  choose_steps(plan, &plan->steps);
  plan->tiler = plan->values ? FOVEA_ENGINE_TILED_MODE : FOVEA_ENGINE_TILED;
  plan->decoder = plan->decoding ? FOVEA_ENGINE_DECODED_CODES : FOVEA_ENGINE_DECODED;
  choose_decoded_rows(plan);
}
