#include "all_features.h"

#include "../base/groups.h"
#include "../base/validate.h"
#include "../plan/plan.h"
#include "own_keys.h"
#include "refuse.h"

#include <stddef.h>

static const unsigned char ways_of[FOVEA_FEATURES] = {
#define FEATURE(NAME, has, absent, ways, layers, traits, group) FOVEA_##ways,
#include "list.inc"
};

static const unsigned short group_of[FOVEA_FEATURES] = {
#define FEATURE(NAME, has, absent, ways, layers, traits, group) group,
#include "list.inc"
};

/* Features whose kernels this build does not have. */
static const uint64_t missing = 0
#define FEATURE(NAME, has, absent, ways, layers, traits, group)                                                    \
  | (uint64_t)(!FOVEA_BUILT(NAME)) << FOVEA_FEATURE_##NAME
#include "list.inc"
    ;

/* Whether a field of a kind is set, of a feature that the problem does not have. Every call passes all of them:
 * each is to be a comparison, and no line of a table. */
#define STRAY_NUMBER(field, unset)         ((field) != (unset))
#define STRAY_FLAG(field, unset)           ((field) != 0)
#define STRAY_ENUM(field, unset)           ((field) != 0)
#define STRAY_REAL(field, unset)           ((field) != 0)
#define STRAY_POINTER(field, unset)        ((field) != NULL)
#define STRAY_RANGE(field, unset)          ((field).begin != 0 || (field).end != FOVEA_UNLIMITED)
#define STRAY_STRIDES(field, unset)        0
#define STRAY_WANTED_STRIDES(field, unset) 0
#define STRAY_MASK_STRIDES(field, unset)   0
#define STRAY_SCALE(field, unset)          0
#define STRAY_OTHER(field, unset)          0

/* The features that a field beside their switches is set of. */
static uint64_t touched(const fovea_problem *p) {
  uint64_t features = 0;
#define SWITCH(NAME, field, kind, unset)
#define FIELD(NAME, field, kind, unset)                                                                            \
  if (__builtin_expect(STRAY_##kind(p->field, unset), 0)) features |= FOVEA_HAS(NAME);
#include "list.inc"
  return features;
}

/* How a problem is computed that has one of these features, and what says so. */
static const struct way {
  uint64_t features;
  unsigned way;
  const char *scores, *values; /* values: if only they are in the mode */
} ways[] = {
    {FOVEA_HAS(BF16), FOVEA_WAY_BF16, "modes.score is FOVEA_MODE_BF16", "modes.value is FOVEA_MODE_BF16"},
    {FOVEA_HAS(INT8), FOVEA_WAY_INT8, "modes.score is FOVEA_MODE_INT8", "modes.value is FOVEA_MODE_INT8"},
    {FOVEA_HAS(STATE), FOVEA_WAY_STATE, "state is 1, and a state has no room for it", NULL},
    {FOVEA_HAS(NORMALISER), FOVEA_WAY_WEIGHTED, "normaliser.kind is not FOVEA_NORMALISER_SOFTMAX", NULL},
};

static const char *reason_of(const fovea_problem *p, const struct way *way) {
  const fovea_mode mode = way->way == FOVEA_WAY_BF16 ? FOVEA_MODE_BF16 : FOVEA_MODE_INT8;
  return way->values && p->modes.score != mode ? way->values : way->scores;
}

/* Refuses features that the way of computing does not know. */
static fovea_status check_ways(const fovea_problem *p, uint64_t features, fovea_error *error) {
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    if (!(features & ways[i].features)) continue;
    for (uint64_t rest = features; rest;) {
      const int f = fovea_next_feature(&rest);
      if (!(ways_of[f] & ways[i].way)) return fovea_refuse_field(p, f, 1, reason_of(p, &ways[i]), error);
    }
  }
  return FOVEA_OK;
}

/* Whether a flag or an enumeration has a value that it does not know. Like touched(), a comparison each. */
#define WRONG_FLAG(field, most)            ((unsigned)(field) > 1)
#define WRONG_ENUM(field, most)            ((unsigned)(field) > (unsigned)(most))
#define WRONG_NUMBER(field, unset)         0
#define WRONG_REAL(field, unset)           0
#define WRONG_POINTER(field, unset)        0
#define WRONG_RANGE(field, unset)          0
#define WRONG_STRIDES(field, unset)        0
#define WRONG_WANTED_STRIDES(field, unset) 0
#define WRONG_MASK_STRIDES(field, unset)   0
#define WRONG_SCALE(field, unset)          0
#define WRONG_OTHER(field, unset)          0

static int has_wrong_value(const fovea_problem *p) {
  int wrong = 0;
#define FIELD(NAME, field, kind, unset)                                                                            \
  if (__builtin_expect(WRONG_##kind(p->field, unset), 0)) wrong = 1;
#include "list.inc"
  return wrong;
}

fovea_status fovea_check_features(const fovea_problem *p, uint64_t *features, fovea_error *error) {
  const uint64_t has = fovea_features_of(p), stray = touched(p) & ~has;
  fovea_status status = has_wrong_value(p) ? fovea_refuse_value(p, error) : FOVEA_OK;
  *features = has;
  if (!status && (has & missing)) {
    const int f = __builtin_ctzll(has & missing);
    return fovea_refuse_group(fovea_set_switch(p, f), group_of[f] & ~(unsigned)FOVEA_GROUPS_BUILT, error);
  }
#define CHECK_ALL(name)                                                                                            \
  if (!status) status = fovea_check_##name(p, has, error);
#define CHECK(NAME, name)                                                                                          \
  if (FOVEA_BUILT(NAME) && (has & FOVEA_HAS(NAME)) && !status) status = fovea_check_##name(p, error);
#include "list.inc"
  if (status) return status;
  if (stray) return fovea_refuse_stray(p, stray, error);
  return check_ways(p, has, error);
}

fovea_status fovea_refuse_unused_tensors(const fovea_problem *p, const fovea_tensors *t, fovea_error *error) {
  int unused = 0;
#define TENSOR(NAME, field, kind, used, why, from)                                                                 \
  if (__builtin_expect(t->field && !(used), 0)) unused = 1;
#include "list.inc"
  return unused ? fovea_refuse_tensors(p, t, ~UINT64_C(0), error) : FOVEA_OK;
}

uint64_t fovea_features_with_inputs(uint64_t features) {
  return features & (0
#define INPUTS(NAME, name) | FOVEA_HAS(NAME)
#include "list.inc"
                    );
}

int fovea_list_inputs(int feature, const fovea_plan *plan, const fovea_tensors *tensors, fovea_input *inputs) {
#define INPUTS(NAME, name)                                                                                         \
  if (FOVEA_BUILT(NAME) && feature == FOVEA_FEATURE_##NAME) return fovea_list_##name(plan, tensors, inputs);
#include "list.inc"
  return 0;
}

/* One feature, whose inputs are read. */
static fovea_status check_inputs(int feature, const fovea_plan *plan, const fovea_tensors *tensors,
                                 fovea_error *error) {
  fovea_input inputs[FOVEA_INPUTS_OF_FEATURE];
  const int count = fovea_list_inputs(feature, plan, tensors, inputs);
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < count && !status; i++)
    status = fovea_validate_pointer(&inputs[i].reach, inputs[i].pointer, error);
#define NUMBERS(NAME, name)                                                                                        \
  if (FOVEA_BUILT(NAME) && feature == FOVEA_FEATURE_##NAME && !status)                                             \
    status = fovea_check_##name##_numbers(plan, tensors, error);
#include "list.inc"
  return status;
}

fovea_status fovea_check_inputs_of(uint64_t features, const fovea_plan *plan, const fovea_tensors *tensors,
                                   fovea_error *error) {
  fovea_status status = FOVEA_OK;
  while (features && !status) status = check_inputs(fovea_next_feature(&features), plan, tensors, error);
  return status;
}

static void place(fovea_scratch_places *places, int i, fovea_scratch_floats floats) {
  places->in_block[i] = places->block;
  places->in_tile[i] = places->tile;
  places->block += fovea_whole_lines(floats.block);
  places->tile += fovea_whole_lines(floats.tile);
}

void fovea_place_scratch(const fovea_plan *plan, fovea_scratch_places *places) {
  *places = (fovea_scratch_places){.block = 0};
#define SCRATCH(NAME, name)                                                                                        \
  if (FOVEA_BUILT(NAME) && (plan->features & FOVEA_HAS(NAME)))                                                     \
    place(places, FOVEA_SCRATCH_##NAME, fovea_##name##_scratch(plan));
#include "list.inc"
}
