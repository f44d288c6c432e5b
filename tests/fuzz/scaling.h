/* Frequencies, tables and axes of scaled rotary embeddings. */
#ifndef FOVEA_TESTS_FUZZ_SCALING_H
#define FOVEA_TESTS_FUZZ_SCALING_H

#include "scene.h"

void scale_rotary(struct scene *scene);

#endif
