/* Makes segments of a scene's pages, for one of its sequences. Each position must lie where the pages say. */
#ifndef FOVEA_TESTS_FUZZ_MAKING_H
#define FOVEA_TESTS_FUZZ_MAKING_H

#include "scene.h"

void make_contiguous(struct scene *scene);
void make_paged(struct scene *scene);
void make_ring(struct scene *scene);

#endif
