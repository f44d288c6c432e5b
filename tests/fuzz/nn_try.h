/* Tries calls of fovea_nn that were made from bytes. */
#ifndef FOVEA_TESTS_FUZZ_NN_TRY_H
#define FOVEA_TESTS_FUZZ_NN_TRY_H

#include "nn_scene.h"

/* Makes a call of the kind from the bytes that are left, and tries it unless it has too much work. */
void nn_try(const struct nn_kind *kind, struct nn_scene *scene);

#endif
