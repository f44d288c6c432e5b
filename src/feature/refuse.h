/* Texts of refusals, by the fields of list.inc. No call that succeeds gets here. */
#ifndef FOVEA_SRC_FEATURE_REFUSE_H
#define FOVEA_SRC_FEATURE_REFUSE_H

#include "list.h"

/* Refuses the first field of `feature` that is set: of the fields that say that a problem has the feature
 * (`is_switch`), or of the others. `why` ends the text. */
fovea_status fovea_refuse_field(const fovea_problem *problem, int feature, int is_switch, const char *why,
                                fovea_error *error);

/* Refuses a field of the first of these features, which the problem does not have. */
fovea_status fovea_refuse_stray(const fovea_problem *problem, uint64_t features, fovea_error *error);

/* The name of the first field that is set and says that the problem has the feature. */
const char *fovea_set_switch(const fovea_problem *problem, int feature);

/* Refuses the first flag or enumeration with a value that it does not have. */
fovea_status fovea_refuse_value(const fovea_problem *problem, fovea_error *error);

/* Refuses the first tensor of these features that is there and that the problem does not use. */
fovea_status fovea_refuse_tensors(const fovea_problem *problem, const fovea_tensors *tensors, uint64_t features,
                                  fovea_error *error);

#endif
