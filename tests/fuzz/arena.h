/* The memory in which caches and new rows lie anywhere, with a model of what it should hold. */
#ifndef FOVEA_TESTS_FUZZ_ARENA_H
#define FOVEA_TESTS_FUZZ_ARENA_H

#include "bytes.h"

enum { ARENA_BYTES = 1 << 16 };

enum arena_use { ARENA_READ = 1, ARENA_WRITTEN = 2 };

struct arena {
  unsigned char *memory, *model;
  unsigned char *marks; /* how a call may use each byte */
  int shared;           /* some bytes are marked as written and as something else, too */
  int outside;          /* some bytes are wanted that do not lie in the memory */
  int64_t taken;        /* bytes from the front that are given away */
};

/* Creates memory filled with numbers of any type, and special ones in places. */
void arena_create(struct arena *arena, struct bytes *bytes);
void arena_destroy(struct arena *arena);

/* Finds a place for `size` bytes that has not been given away, or, if the bytes choose so, one that has; -1 if
 * there is none. */
int64_t arena_place(struct arena *arena, int64_t size, struct bytes *bytes);

/* Marks the bytes that a call may use. Addresses have 64 bits on every machine, so that none wraps around to this
 * memory. */
void arena_forget(struct arena *arena);
void arena_mark(struct arena *arena, uint64_t address, int64_t size, enum arena_use use);

/* Bytes without a mark are out of bounds, or may be read again. */
void arena_close(const struct arena *arena);
void arena_open(const struct arena *arena);

/* The model's byte for an address, which must lie in the memory. */
unsigned char *arena_model(const struct arena *arena, uint64_t address);
int arena_is_as_modelled(const struct arena *arena);

#endif
