/* The only place that allocates. */
#ifndef FOVEA_SRC_BASE_MEMORY_H
#define FOVEA_SRC_BASE_MEMORY_H

#include <fovea/fovea.h>

/* Allocates memory aligned to FOVEA_SCRATCH_ALIGNMENT. Returns NULL if there is none. An allocator without
 * functions stands for malloc() and free(). */
void *fovea_allocate(const fovea_allocator *allocator, size_t size);
void fovea_release(const fovea_allocator *allocator, void *memory); /* NULL is allowed */

#endif
