/* The fuzzer's bytes, taken from the front. After the last byte come zeros. */
#ifndef FOVEA_TESTS_FUZZ_BYTES_H
#define FOVEA_TESTS_FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
  const unsigned char *next;
  size_t left;
};

static inline unsigned bytes_one(struct bytes *bytes) {
  if (bytes->left == 0) return 0;
  bytes->left--;
  return *bytes->next++;
}

/* The next eight bytes as a number. */
static inline int64_t bytes_number(struct bytes *bytes) {
  uint64_t number = 0;
  for (int i = 0; i < 8; i++) number |= (uint64_t)bytes_one(bytes) << (8 * i);
  return (int64_t)number;
}

/* A number from 0 to limit - 1; 0 if the limit is less than 2. The limit is at most 65536. Takes one byte if that
 * is enough. */
static inline int64_t bytes_below(struct bytes *bytes, int64_t limit) {
  int64_t number = bytes_one(bytes);
  if (limit > 256) number = number * 256 + bytes_one(bytes);
  return limit > 0 ? number % limit : 0;
}

static inline int bytes_one_in(struct bytes *bytes, int64_t n) {
  return bytes_below(bytes, n) == n - 1;
}

#endif
