#define _POSIX_C_SOURCE 200112L /* posix_memalign() */
#include "memory.h"

#include <stdlib.h>

void *memory_allocate(size_t size) {
#ifdef _WIN32
  void *memory = _aligned_malloc(size, FOVEA_SCRATCH_ALIGNMENT);
#else
  void *memory = NULL;
  if (posix_memalign(&memory, FOVEA_SCRATCH_ALIGNMENT, size) != 0) abort();
#endif
  if (!memory) abort();
  return memory;
}

void memory_free(void *memory) {
#ifdef _WIN32
  _aligned_free(memory);
#else
  free(memory);
#endif
}

static void *allocate(void *context, size_t size, size_t alignment) {
  int *allowed = context;
  if (alignment > FOVEA_SCRATCH_ALIGNMENT) return NULL;
  return (*allowed)-- > 0 ? memory_allocate(size) : NULL;
}

static void release(void *context, void *memory) {
  (void)context;
  memory_free(memory);
}

fovea_allocator memory_allocator(int *allowed) {
  return (fovea_allocator){allowed, allocate, release};
}
