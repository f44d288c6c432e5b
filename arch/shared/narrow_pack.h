/* Quantising: codes, a byte each, as the bits of a format. Part of narrow.h. */
#ifndef FOVEA_ARCH_SHARED_NARROW_PACK_H
#define FOVEA_ARCH_SHARED_NARROW_PACK_H

#include "../kernels.h"
#include "types.h"

#include <string.h>

/* Bytes that are packed at a time: a number that compilers know, so that they use vectors. */
enum { NARROW_BYTES = 16 };

FOVEA_INLINE void narrow_write(uint8_t *to, const uint8_t *bytes, int64_t count) {
  if (count >= NARROW_BYTES)
    memcpy(to, bytes, NARROW_BYTES);
  else
    memcpy(to, bytes, (size_t)count);
}

/* Neighbours share a byte: the first of two is moved by `shift` bits, the second by four or none. */
FOVEA_INLINE void narrow_pack_twos(uint8_t *to, const uint8_t *from, int64_t count, int shift) {
  const int64_t bytes = (count + 1) / 2;
  FOVEA_NO_UNROLL
  for (int64_t first = 0; first < bytes; first += NARROW_BYTES) {
    uint8_t packed[NARROW_BYTES];
    for (int i = 0; i < NARROW_BYTES; i++) {
      const uint8_t *codes = from + 2 * (first + i);
      packed[i] = (uint8_t)(codes[0] << shift | codes[1] << (4 - shift));
    }
    narrow_write(to + first, packed, bytes - first);
  }
}

FOVEA_INLINE void narrow_pack_fours(uint8_t *to, const uint8_t *from, int64_t count) {
  const int64_t bytes = (count + 3) / 4;
  FOVEA_NO_UNROLL
  for (int64_t first = 0; first < bytes; first += NARROW_BYTES) {
    uint8_t packed[NARROW_BYTES];
    for (int i = 0; i < NARROW_BYTES; i++) {
      const uint8_t *codes = from + 4 * (first + i);
      packed[i] = (uint8_t)(codes[0] | codes[1] << 2 | codes[2] << 4 | codes[3] << 6);
    }
    narrow_write(to + first, packed, bytes - first);
  }
}

/* Both halves of a group. */
FOVEA_INLINE void narrow_pack_halves(uint8_t *to, const uint8_t *from, int64_t half) {
  FOVEA_NO_UNROLL
  for (int64_t first = 0; first < half; first += NARROW_BYTES) {
    uint8_t packed[NARROW_BYTES];
    for (int i = 0; i < NARROW_BYTES; i++)
      packed[i] = (uint8_t)((from[first + i] & 15) | from[first + half + i] << 4);
    narrow_write(to + first, packed, half - first);
  }
}

/* The fifth bits of a group of 32. A product brings the bits of eight bytes together. */
FOVEA_INLINE void narrow_pack_fifths(uint8_t *to, const uint8_t *from) {
  FOVEA_NO_UNROLL
  for (int byte = 0; byte < 4; byte++) {
    uint64_t codes;
    memcpy(&codes, from + 8 * byte, sizeof codes);
    to[byte] = (uint8_t)((codes >> 4 & 0x0101010101010101u) * 0x0102040810204080u >> 56);
  }
}

/* Among the codes of other keys in words of four bytes, `step` bytes apart, of which the first lies lowest. */
FOVEA_INLINE void narrow_pack_words(uint8_t *restrict to, const int64_t step, const uint8_t *restrict from,
                                    int64_t count, int shift, uint32_t kept) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t word;
    memcpy(&word, to + step * i, sizeof word);
    word = (word & kept) | (uint32_t)from[i] << shift;
    memcpy(to + step * i, &word, sizeof word);
  }
}

/* Bytes from a word to the next. */
FOVEA_INLINE int64_t narrow_word_step(const fovea_codes *codes) {
  return codes->item ? codes->item_step : 4;
}

FOVEA_SHORT FOVEA_NOINLINE void narrow_pack_along(uint8_t *to, int64_t step, const uint8_t *from, int64_t count,
                                                  int shift, uint32_t mask) {
  const uint32_t kept = ~(mask << shift);
  if (step != 4) {
    narrow_pack_words(to, step, from, count, shift, kept);
    return;
  }
  FOVEA_NO_UNROLL
  for (; count >= NARROW_BYTES; count -= NARROW_BYTES, from += NARROW_BYTES, to += 4 * NARROW_BYTES)
    narrow_pack_words(to, 4, from, NARROW_BYTES, shift, kept);
  narrow_pack_words(to, 4, from, count, shift, kept);
}

/* Bytes of the codes of dims in front of others, if no gap is between them. */
FOVEA_INLINE int64_t narrow_bytes_of(const fovea_codes *codes, int64_t dims) {
  const fovea_code_facts code = fovea_code_of(codes->code);
  return code.lies == FOVEA_CODES_ALONG_KEYS ? narrow_word_step(codes) * dims : dims * code.row_bits / 8;
}

/* Bytes from a group that is not mixed to the next. */
FOVEA_INLINE int64_t narrow_group_step(const fovea_codes *codes) {
  const int along = fovea_code_of(codes->code).lies == FOVEA_CODES_ALONG_KEYS;
  return along ? narrow_word_step(codes) * codes->group : codes->group_step;
}

/* The inverse of codes_unpack(): writes `count` codes that lie together. Bits of a last byte that belong to no dim
 * are the bits of 0. There are NARROW_MORE bytes after the codes. */
FOVEA_SHORT FOVEA_NOINLINE void narrow_pack(const fovea_codes *codes, uint8_t *to, uint8_t *from, int64_t count,
                                            int shift, uint8_t zero) {
  const fovea_code code = codes->code;
  switch (code) {
  case FOVEA_CODE_U4:
  case FOVEA_CODE_U4_SWAPPED:
    if (count % 2 != 0) from[count] = zero;
    narrow_pack_twos(to, from, count, code == FOVEA_CODE_U4_SWAPPED ? 4 : 0);
    break;
  case FOVEA_CODE_U5_HALVES:
  case FOVEA_CODE_U4_HALVES:
    if (code == FOVEA_CODE_U5_HALVES) narrow_pack_fifths(to, from), to += 4;
    narrow_pack_halves(to, from, count / 2);
    break;
  case FOVEA_CODE_U2:
    for (int64_t i = count; i % 4 != 0; i++) from[i] = zero;
    narrow_pack_fours(to, from, count);
    break;
  case FOVEA_CODE_U8_KEYS:
  case FOVEA_CODE_U4_KEYS:
  case FOVEA_CODE_U2_KEYS:
    narrow_pack_along(to, narrow_word_step(codes), from, count, shift, (1u << fovea_code_of(code).bits) - 1);
    break;
  default:
    memcpy(to, from, (size_t)count);
  }
}

#endif
