/* Compares attention over segments with attention over contiguous tensors of the same numbers. */
#ifndef FOVEA_TESTS_FUZZ_ATTENDING_H
#define FOVEA_TESTS_FUZZ_ATTENDING_H

#include "scene.h"

void attend(struct scene *scene);

#endif
