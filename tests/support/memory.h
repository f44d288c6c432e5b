/* Aligned memory on every system (Windows has no aligned_alloc()), and allocators that run out of it. */
#ifndef FOVEA_TEST_MEMORY_H
#define FOVEA_TEST_MEMORY_H

#include <fovea/fovea.h>

/* `size` bytes at a multiple of FOVEA_SCRATCH_ALIGNMENT, for memory_free(); the last byte ends the allocation, so
 * that sanitizers see what is read after it. Aborts if there is none. */
void *memory_allocate(size_t size);
void memory_free(void *memory);

/* An allocator that serves *allowed requests and refuses the requests that follow. *allowed counts down. */
fovea_allocator memory_allocator(int *allowed);

#endif
