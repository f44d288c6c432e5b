/* What all features of a problem have in common: one loop for each kind of check. */
#ifndef FOVEA_SRC_FEATURE_ALL_FEATURES_H
#define FOVEA_SRC_FEATURE_ALL_FEATURES_H

#include "../plan/scratch_layout.h"
#include "feature.h"

/* Checks the features of a problem whose sizes and types are checked, and sets which it has: what is set belongs to
 * one of them, this build has the kernels, the way of computing knows them, and their own checks hold. */
fovea_status fovea_check_features(const fovea_problem *problem, uint64_t *features, fovea_error *error);

/* Refuses tensors that the problem does not use. */
fovea_status fovea_refuse_unused_tensors(const fovea_problem *problem, const fovea_tensors *tensors,
                                         fovea_error *error);

/* Which of some features have inputs of their own. */
uint64_t fovea_features_with_inputs(uint64_t features);

/* The inputs of one of these features. Returns how many there are. Tensors must have been checked for it. */
int fovea_list_inputs(int feature, const fovea_plan *plan, const fovea_tensors *tensors, fovea_input *inputs);

/* Checks pointers and numbers of the inputs of these features. */
fovea_status fovea_check_inputs_of(uint64_t features, const fovea_plan *plan, const fovea_tensors *tensors,
                                   fovea_error *error);

/* Places the arrays that the plan's features have in scratch. */
void fovea_place_scratch(const fovea_plan *plan, fovea_scratch_places *places);

/* Takes the first feature of a set that is not empty. */
static inline int fovea_next_feature(uint64_t *features) {
  const int feature = __builtin_ctzll(*features);
  *features &= *features - 1;
  return feature;
}

#endif
