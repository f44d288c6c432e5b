#include "arena.h"

#include "poison.h"
#include "support/generator.h"

#include <stdlib.h>
#include <string.h>

static unsigned char *allocate(void) {
  unsigned char *memory = calloc(ARENA_BYTES, 1);
  if (memory == NULL) abort();
  return memory;
}

/* Fills memory with bytes that are numbers from -1 to 1 in both 16-bit types, and small numbers in f32. */
static void fill(unsigned char *memory, struct generator *generator) {
  for (size_t i = 0; i < ARENA_BYTES; i += sizeof(uint64_t)) {
    uint64_t eight = generator_bits(generator);
    eight = (eight & 0x83ff83ff83ff83ffu) | 0x3800380038003800u;
    memcpy(memory + i, &eight, sizeof eight);
  }
}

/* Writes NaNs, infinities, numbers that round up, subnormal and large numbers, and zeros, in any type. */
static void poke(unsigned char *memory, struct bytes *bytes) {
  static const uint32_t patterns[] = {0x7f800000, 0xff800000, 0x7fc00123, 0x7f812345, 0x7c007c00, 0xfc01fc01,
                                      0x80000000, 0x80008000, 0x00000003, 0x00010001, 0x477ff000, 0x33000001,
                                      0x7f7fffff, 0x7bff7bff, 0x3f808000, 0x00000000};
  for (int64_t pokes = bytes_below(bytes, 4) * 40; pokes > 0; pokes--) {
    const uint32_t pattern = patterns[pokes % 16];
    const size_t place = (size_t)bytes_one(bytes) * 131 + (size_t)pokes * 1117;
    memcpy(memory + place % (ARENA_BYTES / 4) * 4, &pattern, sizeof pattern);
  }
}

void arena_create(struct arena *arena, struct bytes *bytes) {
  struct generator generator = {bytes_one(bytes)};
  *arena = (struct arena){.memory = allocate(), .model = allocate(), .marks = allocate()};
  fill(arena->memory, &generator);
  poke(arena->memory, bytes);
  memcpy(arena->model, arena->memory, ARENA_BYTES);
}

void arena_destroy(struct arena *arena) {
  arena_open(arena);
  free(arena->memory);
  free(arena->model);
  free(arena->marks);
}

int64_t arena_place(struct arena *arena, int64_t size, struct bytes *bytes) {
  const int64_t choice = bytes_below(bytes, 32);
  if (size < 0 || size > ARENA_BYTES) return -1;
  if (choice > 29 || arena->taken + size > ARENA_BYTES)
    return bytes_below(bytes, 65536) % (ARENA_BYTES - size + 4) / 4 * 4;
  const int64_t place = arena->taken;
  arena->taken += (size + 15) / 16 * 16;
  return place;
}

void arena_forget(struct arena *arena) {
  memset(arena->marks, 0, ARENA_BYTES);
  arena->shared = arena->outside = 0;
}

void arena_mark(struct arena *arena, uint64_t address, int64_t size, enum arena_use use) {
  const uint64_t place = address - (uintptr_t)arena->memory;
  if (size < 0 || place > ARENA_BYTES || (uint64_t)size > ARENA_BYTES - place) {
    arena->outside = 1;
    return;
  }
  for (unsigned char *mark = arena->marks + place; mark < arena->marks + place + size; mark++) {
    if ((*mark | use) != ARENA_READ && *mark != 0) arena->shared = 1;
    *mark |= (unsigned char)use;
  }
}

void arena_close(const struct arena *arena) {
  ASAN_POISON_MEMORY_REGION(arena->memory, ARENA_BYTES);
  for (size_t i = 0; i < ARENA_BYTES;) {
    size_t end = i;
    while (end < ARENA_BYTES && arena->marks[end] != 0) end++;
    if (end > i) ASAN_UNPOISON_MEMORY_REGION(arena->memory + i, end - i);
    for (i = end; i + 8 <= ARENA_BYTES; i += 8) {
      uint64_t eight;
      memcpy(&eight, arena->marks + i, sizeof eight);
      if (eight != 0) break;
    }
    while (i < ARENA_BYTES && arena->marks[i] == 0) i++;
  }
}

void arena_open(const struct arena *arena) {
  ASAN_UNPOISON_MEMORY_REGION(arena->memory, ARENA_BYTES);
}

unsigned char *arena_model(const struct arena *arena, uint64_t address) {
  const uint64_t place = address - (uintptr_t)arena->memory;
  if (place >= ARENA_BYTES) abort();
  return arena->model + place;
}

int arena_is_as_modelled(const struct arena *arena) {
  return memcmp(arena->memory, arena->model, ARENA_BYTES) == 0;
}
