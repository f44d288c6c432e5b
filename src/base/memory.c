#include "memory.h"

#include <stdlib.h>

/* Calls malloc() with room for alignment and for the address that free() needs: some systems have no
 * aligned_alloc(). */
static void *allocate_aligned(size_t size) {
  char *memory = malloc(size + FOVEA_SCRATCH_ALIGNMENT + sizeof(void *));
  if (!memory) return NULL;
  uintptr_t first = (uintptr_t)memory + sizeof(void *);
  size_t gap = (size_t)(-first % FOVEA_SCRATCH_ALIGNMENT);
  char *aligned = memory + sizeof(void *) + gap;
  ((void **)(void *)aligned)[-1] = memory;
  return aligned;
}

void *fovea_allocate(const fovea_allocator *allocator, size_t size) {
  if (size > PTRDIFF_MAX) return NULL; /* so that an allocator can add to the size */
  if (!allocator->allocate) return allocate_aligned(size);
  void *memory = allocator->allocate(allocator->context, size, FOVEA_SCRATCH_ALIGNMENT);
  if ((uintptr_t)memory % FOVEA_SCRATCH_ALIGNMENT == 0) return memory;
  allocator->release(allocator->context, memory);
  return NULL;
}

void fovea_release(const fovea_allocator *allocator, void *memory) {
  if (!memory) return;
  if (allocator->release) {
    allocator->release(allocator->context, memory);
  } else {
    free(((void **)memory)[-1]);
  }
}
