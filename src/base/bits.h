/* Places of bits in a word that has one. Some CPUs have no instruction for it, and compilers then call a library.
 */
#ifndef FOVEA_SRC_BASE_BITS_H
#define FOVEA_SRC_BASE_BITS_H

#include <stdint.h>

static inline int fovea_lowest_bit(uint64_t word) {
  int place = 0;
  for (int half = 32; half > 0; half /= 2) {
    if (!(word & ((UINT64_C(1) << half) - 1))) word >>= half, place += half;
  }
  return place;
}

static inline int fovea_highest_bit(uint64_t word) {
  int place = 0;
  for (int half = 32; half > 0; half /= 2) {
    if (word >> half) word >>= half, place += half;
  }
  return place;
}

#endif
