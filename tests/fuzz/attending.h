/* Compares attention over segments, which may have holes, with attention over contiguous tensors of the same
 * numbers, whose other keys a mask hides. */
#ifndef FOVEA_TESTS_FUZZ_ATTENDING_H
#define FOVEA_TESTS_FUZZ_ATTENDING_H

#include "scene.h"

void attend(struct scene *scene, int holes);

#endif
