#include "memory.h"

#include <fovea/fovea.h>

#include <stdlib.h>

/* malloc with room for alignment and for the address that free() wants: aligned_alloc is not everywhere. */
void *fovea_allocate(size_t size) {
  const size_t extra = FOVEA_SCRATCH_ALIGNMENT + sizeof(void *);
  if (size > SIZE_MAX - extra) return NULL;
  char *memory = malloc(size + extra);
  if (!memory) return NULL;
  uintptr_t first = (uintptr_t)memory + sizeof(void *);
  size_t gap = (size_t)(-first % FOVEA_SCRATCH_ALIGNMENT);
  char *aligned = memory + sizeof(void *) + gap;
  ((void **)(void *)aligned)[-1] = memory;
  return aligned;
}

void fovea_release(void *memory) {
  if (memory) free(((void **)memory)[-1]);
}
