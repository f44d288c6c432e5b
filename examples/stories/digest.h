/* FNV-1a (Fowler, Noll, Vo) of the bits of numbers, lowest byte first: the same on every machine. */
#ifndef STORIES_DIGEST_H
#define STORIES_DIGEST_H

#include <stdint.h>
#include <string.h>

static const uint64_t digest_begin = 0xcbf29ce484222325u;

/* A digest goes on with the lowest `count` bytes. */
static inline uint64_t digest_bytes(uint64_t digest, uint64_t bytes, int count) {
  for (int i = 0; i < count; i++) digest = (digest ^ (bytes >> (8 * i) & 255)) * 0x100000001b3u;
  return digest;
}

/* A digest goes on with numbers. */
static inline uint64_t digest_numbers(uint64_t digest, const float *numbers, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &numbers[i], sizeof bits);
    digest = digest_bytes(digest, bits, 4);
  }
  return digest;
}

#endif
