/* New rows, written where a plain model writes them. */
#ifndef FOVEA_TESTS_FUZZ_APPENDING_H
#define FOVEA_TESTS_FUZZ_APPENDING_H

#include "scene.h"

void append(struct scene *scene);

#endif
