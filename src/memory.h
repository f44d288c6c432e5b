/* The only place that allocates. */
#ifndef FOVEA_SRC_MEMORY_H
#define FOVEA_SRC_MEMORY_H

#include <stddef.h>

void *fovea_allocate(size_t size); /* aligned to FOVEA_SCRATCH_ALIGNMENT; NULL when there is none */
void fovea_release(void *memory);  /* NULL is allowed */

#endif
