#define _DEFAULT_SOURCE
#include "guarded.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILLING = 0xa5 };

static size_t page_size(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

struct guarded guarded_create(size_t size, enum guarded_edge edge) {
  struct guarded memory = {NULL, size, NULL, 0};
  const size_t page = page_size();
  const size_t inside = size == 0 ? page : (size + page - 1) / page * page;
  memory.mapping_size = inside + 2 * page;
  void *mapping = mmap(NULL, memory.mapping_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) abort();
  memory.mapping = mapping;
  if (mprotect(memory.mapping + page, inside, PROT_READ | PROT_WRITE) != 0) abort();
  memory.data = memory.mapping + page + (edge == GUARD_AT_END ? inside - size : 0);
  if (inside != size) memset(memory.mapping + page, FILLING, inside);
  return memory;
}

void guarded_destroy(struct guarded *memory) {
  if (memory->mapping != NULL) munmap(memory->mapping, memory->mapping_size);
  memset(memory, 0, sizeof *memory);
}

void guarded_make_read_only(const struct guarded *memory) {
  const size_t page = page_size();
  if (mprotect(memory->mapping + page, memory->mapping_size - 2 * page, PROT_READ) != 0) abort();
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
