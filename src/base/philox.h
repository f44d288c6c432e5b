/* Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four numbers of 32 bits of
 * each counter, in any order. */
#ifndef FOVEA_SRC_BASE_PHILOX_H
#define FOVEA_SRC_BASE_PHILOX_H

#include <stdint.h>

typedef struct fovea_philox {
  uint32_t word[4];
} fovea_philox;

static inline fovea_philox fovea_philox_at(fovea_philox counter, uint32_t key0, uint32_t key1) {
  enum { ROUNDS = 10 };
  for (int i = 0; i < ROUNDS; i++, key0 += 0x9e3779b9u, key1 += 0xbb67ae85u) {
    const uint64_t a = UINT64_C(0xd2511f53) * counter.word[0], b = UINT64_C(0xcd9e8d57) * counter.word[2];
    counter = (fovea_philox){{(uint32_t)(b >> 32) ^ counter.word[1] ^ key0, (uint32_t)b,
                              (uint32_t)(a >> 32) ^ counter.word[3] ^ key1, (uint32_t)a}};
  }
  return counter;
}

#endif
