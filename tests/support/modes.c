#include "modes.h"

#include "check.h"
#include "modes/contract_modes.h"
#include "src/system/dispatch.h"
#include "tables.h"
#include "trial.h"

#include <stdlib.h>

int problem_has_mode(const fovea_problem *problem) {
  return problem->modes.score != FOVEA_MODE_EXACT || problem->modes.value != FOVEA_MODE_EXACT;
}

void mode_contract_row(const fovea_problem *problem, const struct contract_row *row,
                       const struct mode_vectors *vectors, float *out, float *lse) {
  if (!problem_has_mode(problem)) {
    contract_row(row, out, lse);
    return;
  }
  /* The mask is a term, which adds 0 to the scores of keys before its first. */
  const float *terms[FOVEA_POSITION_TERMS_LIMIT + 1];
  float *bias = calloc((size_t)row->positions + 1, sizeof *bias);
  assert_non_null(bias);
  int count = 0;
  while (count < row->term_count) terms[count] = row->terms[count], count++;
  for (int64_t j = row->bias_begin; row->bias != NULL && j < row->positions; j++)
    bias[j] = row->bias[j - row->bias_begin];
  if (row->bias != NULL) terms[count++] = bias;
  const struct contract_mode_row mode_row = {
      .scores = (enum contract_mode)problem->modes.score,
      .values = (enum contract_mode)problem->modes.value,
      .q = row->q,
      .k = row->k,
      .v = row->v,
      .k_stride = row->k_stride,
      .v_stride = row->v_stride,
      .qk_dim = row->qk_dim,
      .v_dim = row->v_dim,
      .positions = row->positions,
      .scale = row->scale,
      .softcap = row->softcap,
      .terms = terms,
      .term_count = count,
      .sink = row->sink,
      .sees = row->sees,
      .rules = row->rules,
      .key_centre = vectors->key_centre,
      .key_scale = vectors->key_scale,
      .value_scale = vectors->value_scale,
  };
  contract_mode_row(&mode_row, out, lse);
  free(bias);
}

void problem_set_modes(fovea_problem *problem, int modes) {
  problem->modes.score = (fovea_mode)(modes % 3);
  problem->modes.value = (fovea_mode)(modes / 3);
}

void problem_suit_modes(fovea_problem *problem) {
  enum { INT8_DIMS = 1032 };
  if (problem->modes.score == FOVEA_MODE_INT8 && problem->qk_dim > INT8_DIMS)
    problem->modes.score = FOVEA_MODE_BF16;
  problem->shaw.kind = FOVEA_SHAW_NONE;
  problem->shaw.distance = 0;
  problem->shaw.heads = 1;
  problem->normaliser.kind = FOVEA_NORMALISER_SOFTMAX;
  problem->normaliser.divisor = FOVEA_DIVISOR_NONE;
  problem->normaliser.divisor_value = problem->normaliser.sigmoid_bias = 0;
  problem->activation.kind = FOVEA_SCORE_ACTIVATION_NONE;
  problem->activation.leaky_slope = 0;
  problem->scores.kind = FOVEA_SCORES_NONE;
  problem->scores.heads = problem->scores.rows = problem->scores.keys = problem->column_sums.rows =
      (fovea_range){0, FOVEA_UNLIMITED};
  problem->entropy = problem->max_logits = problem->column_sums.wanted = 0;
  problem->top.k = 0;
}

void problem_remove_vectors(fovea_problem *problem) {
  problem->channels.key_centre = problem->channels.key_scale = problem->channels.value_scale = FOVEA_CHANNELS_NONE;
}

void problem_random_vectors(fovea_problem *problem, struct generator *generator) {
  const int drawn = (int)generator_below(generator, 27);
  problem_remove_vectors(problem);
  if (problem->modes.value == FOVEA_MODE_INT8) problem->channels.value_scale = (fovea_channels)(drawn / 9);
  if (problem->modes.score != FOVEA_MODE_INT8) return;
  problem->channels.key_scale = (fovea_channels)(drawn / 3 % 3);
  if (problem->softcap == 0) problem->channels.key_centre = (fovea_channels)(drawn % 3);
}

void problem_random_modes(fovea_problem *problem, struct generator *generator, int64_t rarity) {
  if (generator_below(generator, rarity) > 0) return;
  problem_set_modes(problem, 1 + (int)generator_below(generator, MODE_PAIRS - 1));
  problem_suit_modes(problem);
  problem_random_vectors(problem, generator);
}

int mode_sets(const char *names[MODE_SETS]) {
  static int asked;
  fovea_error error;
  int count = 0;
  for (const char *const *isa = usable_isas(); *isa != NULL; isa++) names[count++] = *isa;
  if (fovea_allow_amx(&error) != FOVEA_OK && !asked) print_message("AMX is not tried: %s\n", error.text);
  asked = 1;
  names[count++] = NULL;
  return count;
}

static const fovea_kernels *table_named(const char *name) {
  const fovea_kernels *table;
  assert_int_equal(fovea_dispatch_wanted(name, FOVEA_F32, &table, NULL), FOVEA_OK);
  return table;
}

/* AMX, which has no name, is like no set. */
static int runs_like_another(const char *const *names, int count, const char *name, const fovea_problem *problem) {
  for (int i = 0; i < count && name != NULL; i++)
    if (names[i] != NULL && tables_run_alike(table_named(names[i]), table_named(name), problem)) return 1;
  return 0;
}

int mode_sets_for(const fovea_problem *problem, const char *names[MODE_SETS]) {
  const int all = mode_sets(names);
  int count = 0;
  for (int i = 0; i < all; i++)
    if (!runs_like_another(names, count, names[i], problem)) names[count++] = names[i];
  return count;
}
