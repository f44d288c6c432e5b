/* Segments made of a scene's pages, each position where the pages say that it lies, for one of its sequences. */
#ifndef FOVEA_TESTS_FUZZ_MAKING_H
#define FOVEA_TESTS_FUZZ_MAKING_H

#include "scene.h"

void make_contiguous(struct scene *scene);
void make_paged(struct scene *scene);
void make_ring(struct scene *scene);

#endif
