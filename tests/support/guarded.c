#define _DEFAULT_SOURCE
#include "guarded.h"

#include <stdlib.h>
#include <string.h>

enum { FILLING = 0xa5 };

/* ---- What systems differ in ---------------------------------------------------------------------------------- */

#ifdef _WIN32

#include <windows.h>

static size_t page_size(void) {
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  return system.dwPageSize;
}

static void *map_inaccessible(size_t size) {
  return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_NOACCESS);
}

static void *map_sparse(size_t size) {
  return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

static int allow(void *memory, size_t size, int writing) {
  DWORD before;
  return VirtualProtect(memory, size, writing ? PAGE_READWRITE : PAGE_READONLY, &before) != 0;
}

static void unmap(void *mapping, size_t size) {
  (void)size;
  VirtualFree(mapping, 0, MEM_RELEASE);
}

#else

#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

static void *map(size_t size, int protection, int flags) {
  void *mapping = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return mapping == MAP_FAILED ? NULL : mapping;
}

static void *map_inaccessible(size_t size) {
  return map(size, PROT_NONE, 0);
}

static void *map_sparse(size_t size) {
  return map(size, PROT_READ | PROT_WRITE, MAP_NORESERVE);
}

static int allow(void *memory, size_t size, int writing) {
  return mprotect(memory, size, writing ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

static void unmap(void *mapping, size_t size) {
  munmap(mapping, size);
}

#endif

/* ---- The same on each ---------------------------------------------------------------------------------------- */

struct guarded guarded_create(size_t size, enum guarded_edge edge) {
  struct guarded memory = {NULL, size, NULL, 0};
  const size_t page = page_size();
  const size_t inside = size == 0 ? page : (size + page - 1) / page * page;
  memory.mapping_size = inside + 2 * page;
  memory.mapping = map_inaccessible(memory.mapping_size);
  if (memory.mapping == NULL || !allow(memory.mapping + page, inside, 1)) abort();
  memory.data = memory.mapping + page + (edge == GUARD_AT_END ? inside - size : 0);
  if (inside != size) memset(memory.mapping + page, FILLING, inside);
  return memory;
}

struct guarded guarded_create_sparse(size_t size) {
  unsigned char *mapping = map_sparse(size);
  return (struct guarded){mapping, 0, mapping, size};
}

void guarded_destroy(struct guarded *memory) {
  if (memory->mapping != NULL) unmap(memory->mapping, memory->mapping_size);
  memset(memory, 0, sizeof *memory);
}

void guarded_make_read_only(const struct guarded *memory) {
  const size_t page = page_size();
  if (!allow(memory->mapping + page, memory->mapping_size - 2 * page, 0)) abort();
}

int guarded_slack_intact(const struct guarded *memory) {
  const size_t page = page_size();
  const unsigned char *end = memory->mapping + memory->mapping_size - page;
  for (const unsigned char *byte = memory->mapping + page; byte < memory->data; byte++)
    if (*byte != FILLING) return 0;
  for (const unsigned char *byte = memory->data + memory->size; byte < end; byte++)
    if (*byte != FILLING) return 0;
  return 1;
}
