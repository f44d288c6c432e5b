/* Words of x for products of pairs of 16 bits (products.h): four codes as int16, dims 0 and 2, then 1 and 3, since the
 * even and the odd bytes of words of weights become 16 bits by shifts. */
#ifndef FOVEA_ARCH_SHARED_NN_PRODUCTS_PAIRS_H
#define FOVEA_ARCH_SHARED_NN_PRODUCTS_PAIRS_H

#include <stdint.h>
#include <string.h>

#define INT8_WORD_BYTES 8
#define INT8_OFFSET     0

FOVEA_INLINE void int8_pack(const uint8_t *codes, void *to) {
  const int16_t pairs[4] = {(int8_t)codes[0], (int8_t)codes[2], (int8_t)codes[1], (int8_t)codes[3]};
  memcpy(to, pairs, sizeof pairs);
}

#endif
