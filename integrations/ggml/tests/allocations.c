/* Counts what the plugin allocates, in a process that has this library in LD_PRELOAD: memory that is asked for from
 * within a range of addresses. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static uintptr_t first, length;
static atomic_long allocations;

static void count(const void *caller) {
  if ((uintptr_t)caller - first < length) allocations++;
}

void count_allocations(uintptr_t begin, uintptr_t end) {
  first = begin;
  length = end - begin;
}

long allocations_so_far(void) {
  return allocations;
}

void *malloc(size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
  count(__builtin_return_address(0));
  return __libc_calloc(items, size);
}

void *realloc(void *memory, size_t size) {
  count(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
