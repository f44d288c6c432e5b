/* The formats of elements, one row each. The library takes all that it knows of a type from here. Kernels compute
 * in f32; a format says how its elements lie in memory, and how they are converted to and from f32.
 *
 *   ROW(with, type, name, element, bits, together, load, store, half_of_least, load_halves, block, scale)
 *
 *   with           the argument of FOVEA_FORMATS(), passed on
 *   type           the format's number, fovea_type; rows stand in the order of the numbers
 *   name           the suffix of functions for this format
 *   element        the C type of an element in memory; below 8 bits, the type of the byte that elements share
 *   bits           bits of an element
 *   together       dims of a key that lie side by side in a panel, x[dim / together][key][dim % together]; a power
 *                  of 2. Places beyond the last dim are zero
 *   load, store    functions of the vector layer (arch/README.md) for LANES elements as f32
 *   half_of_least  half of the least subnormal. Numbers of at most this size are stored as +0; 0: no such rule
 *   load_halves    a function of layers with FOVEA_VECTOR_TRANSPOSES_HALVES, used if keys are transposed to decode
 *   block          elements that lie together with one scale; 1: every element lies by itself. Rows, strides and
 *                  first elements are multiples of it
 *   scale          bits of a block's scale, which lies in the block; 0: none */
#ifndef FOVEA_ARCH_FORMATS_H
#define FOVEA_ARCH_FORMATS_H

#include "../include/fovea/fovea.h"
#include "strict_math.h"

/* clang-format off */
#define FOVEA_FORMATS(ROW, with)                                                                                   \
  ROW(with, FOVEA_F32,  f32,  float,    32, 1, vec_load,      vec_store,      0.0f,      vec_load_halves,     1, 0)   \
  ROW(with, FOVEA_F16,  f16,  uint16_t, 16, 1, vec_load_f16,  vec_store_f16,  0x1p-25f,  vec_load_halves_f16, 1, 0)   \
  ROW(with, FOVEA_BF16, bf16, uint16_t, 16, 2, vec_load_bf16, vec_store_bf16, 0x1p-134f, vec_load_halves,     1, 0)
/* clang-format on */

/* Counts the formats, and checks that they stand in the order of their numbers. */
#define FOVEA_FORMAT_PLACE(with, type, name, ...) FOVEA_FORMAT_##name,
enum { FOVEA_FORMATS(FOVEA_FORMAT_PLACE, ) FOVEA_TYPES };
#define FOVEA_FORMAT_ORDER(with, type, name, ...)                                                                  \
  _Static_assert((int)FOVEA_FORMAT_##name == (int)(type), "formats stand in the order of their numbers");
FOVEA_FORMATS(FOVEA_FORMAT_ORDER, )

/* The functions below are constants if the type is one. A number that is no type counts as the first type. */
#define FOVEA_FORMAT_INLINE static inline __attribute__((always_inline, const))

#define FOVEA_FORMAT_BITS(with, type, name, element, bits, ...)                                                    \
  case type:                                                                                                       \
    return bits;
FOVEA_FORMAT_INLINE int fovea_type_bits(fovea_type type) {
  switch (type) {
  default:
    FOVEA_FORMATS(FOVEA_FORMAT_BITS, )
  }
}

#define FOVEA_FORMAT_TOGETHER(with, type, name, element, bits, together, ...)                                      \
  case type:                                                                                                       \
    return together;
FOVEA_FORMAT_INLINE int fovea_dims_together(fovea_type type) {
  switch (type) {
  default:
    FOVEA_FORMATS(FOVEA_FORMAT_TOGETHER, )
  }
}

#define FOVEA_FORMAT_BLOCK(with, type, name, element, bits, together, load, store, half_of_least, load_halves,     \
                           block, ...)                                                                             \
  case type:                                                                                                       \
    return block;
FOVEA_FORMAT_INLINE int fovea_type_block(fovea_type type) {
  switch (type) {
  default:
    FOVEA_FORMATS(FOVEA_FORMAT_BLOCK, )
  }
}

#define FOVEA_FORMAT_SCALE(with, type, name, element, bits, together, load, store, half_of_least, load_halves,     \
                           block, scale)                                                                           \
  case type:                                                                                                       \
    return scale;
FOVEA_FORMAT_INLINE int fovea_type_scale_bits(fovea_type type) {
  switch (type) {
  default:
    FOVEA_FORMATS(FOVEA_FORMAT_SCALE, )
  }
}

/* Bytes of `count` elements, or from an element to the one `count` elements after it (if negative, before it). If
 * elements below 8 bits do not fill the last byte, it counts as whole; their strides must be whole bytes. */
FOVEA_FORMAT_INLINE int64_t fovea_bytes_of_bits(int bits, int64_t count) {
  return bits % 8 == 0 ? count * (bits / 8) : (count * bits + 7) >> 3;
}
/* The same for blocks of elements with a scale; `count` is a multiple of the block. */
FOVEA_FORMAT_INLINE int64_t fovea_bytes_of_blocks(int bits, int block, int scale, int64_t count) {
  return block == 1 ? fovea_bytes_of_bits(bits, count) : count / block * ((block * bits + scale) / 8);
}
FOVEA_FORMAT_INLINE int64_t fovea_bytes(fovea_type type, int64_t count) {
  return fovea_bytes_of_blocks(fovea_type_bits(type), fovea_type_block(type), fovea_type_scale_bits(type), count);
}

/* The inverse: how many elements lie in `bytes`. */
FOVEA_FORMAT_INLINE int64_t fovea_elements_of_blocks(int bits, int block, int scale, int64_t bytes) {
  if (block > 1) return bytes / ((block * bits + scale) / 8) * block;
  return bits % 8 == 0 ? bytes / (bits / 8) : bytes * 8 / bits;
}
FOVEA_FORMAT_INLINE int64_t fovea_elements(fovea_type type, int64_t bytes) {
  return fovea_elements_of_blocks(fovea_type_bits(type), fovea_type_block(type), fovea_type_scale_bits(type),
                                  bytes);
}

/* The alignment of an element in bytes. */
FOVEA_FORMAT_INLINE int fovea_alignment(fovea_type type) {
  const int bits = fovea_type_bits(type);
  return bits < 8 ? 1 : bits / 8;
}

/* Bytes from one key of a panel to the next key. */
FOVEA_FORMAT_INLINE int64_t fovea_panel_step(fovea_type type) {
  return fovea_bytes(type, fovea_dims_together(type));
}

#endif
