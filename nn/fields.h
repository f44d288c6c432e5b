/* The fields of a problem by features (src/feature/list.inc). A layer refuses what is set of a feature that it does
 * not forward: a feature that is added is refused by all layers until its line in the list names them. */
#ifndef FOVEA_NN_FIELDS_H
#define FOVEA_NN_FIELDS_H

#include "../src/feature/list.h"

/* The name of the first field that is set and belongs to none of the features `known`; NULL: there is none.
 * `problem` is a copy with its defaults (fovea_copy_problem()), or resolved. */
const char *fovea_nn_other_field(const fovea_problem *problem, uint64_t known);

/* Refuses it. `why` ends the text. */
fovea_status fovea_nn_refuse_fields(const fovea_problem *problem, uint64_t known, const char *why,
                                    fovea_error *error);

/* Copies the fields of these features. */
void fovea_nn_copy_fields(const fovea_problem *from, uint64_t features, fovea_problem *to);

#endif
