/* Moves rows of a sequence to other positions of it. */
#ifndef FOVEA_TESTS_FUZZ_MOVING_H
#define FOVEA_TESTS_FUZZ_MOVING_H

#include "scene.h"

void move_rows(struct scene *scene);

#endif
