/* Position terms, scales, normalisers and outputs for a problem that the bytes of a fuzzer describe. */
#ifndef FOVEA_TESTS_FUZZ_FEATURES_H
#define FOVEA_TESTS_FUZZ_FEATURES_H

#include "description.h"

/* After description_create(). A sound problem may have settings that exclude each other; then it has no plan. */
void description_add_features(struct description *description, struct bytes *bytes, enum description_kind kind);

#endif
