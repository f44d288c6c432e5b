/* The memory of caches and new rows, which lie in it anywhere, beside a model of what should be in it. */
#ifndef FOVEA_TESTS_FUZZ_ARENA_H
#define FOVEA_TESTS_FUZZ_ARENA_H

#include "bytes.h"

enum { ARENA_BYTES = 1 << 16 };

enum arena_use { ARENA_READ = 1, ARENA_WRITTEN = 2 };

struct arena {
  unsigned char *memory, *model;
  unsigned char *marks; /* how a call may use each byte */
  int shared;           /* bytes that are marked are to be written, and marked for something else, too */
  int outside;          /* bytes that do not lie in it are wanted */
  int64_t taken;        /* bytes from the front that something lies in already */
};

/* Filled with numbers of any type, and sharp ones in places. */
void arena_create(struct arena *arena, struct bytes *bytes);
void arena_destroy(struct arena *arena);

/* Where so many bytes lie that nothing else has been given, or, chosen by the bytes, has; -1 where there are none.
 */
int64_t arena_place(struct arena *arena, int64_t size, struct bytes *bytes);

/* What a call may use. Addresses have 64 bits on every machine, so that none comes round to this memory. */
void arena_forget(struct arena *arena);
void arena_mark(struct arena *arena, uint64_t address, int64_t size, enum arena_use use);

/* What has no mark is out of bounds, or can be looked at. */
void arena_close(const struct arena *arena);
void arena_open(const struct arena *arena);

/* Where the model has the byte at an address, which lies in the memory. */
unsigned char *arena_model(const struct arena *arena, uint64_t address);
int arena_is_as_modelled(const struct arena *arena);

#endif
