/* Appends new rows, and compares with a plain model. */
#ifndef FOVEA_TESTS_FUZZ_APPENDING_H
#define FOVEA_TESTS_FUZZ_APPENDING_H

#include "scene.h"

#include <fovea/rotary.h>

void append(struct scene *scene);

/* Whether an embedding may rotate keys of `dim`. */
int is_sound_rotary(const fovea_rotary *rotary, int64_t dim);

#endif
