/* Addresses of elements of the formats in arch/formats.h; bits of mask elements. */
#ifndef FOVEA_SRC_BASE_TYPES_H
#define FOVEA_SRC_BASE_TYPES_H

#include "../../arch/formats.h"

static inline int fovea_mask_type_bits(fovea_mask_type type) {
  switch (type) {
  case FOVEA_MASK_BITS:
    return 1;
  case FOVEA_MASK_F32:
    return 32;
  case FOVEA_MASK_F16:
  case FOVEA_MASK_BF16:
    return 16;
  default:
    return 8;
  }
}

static inline int64_t fovea_mask_bytes(fovea_mask_type type, int64_t count) {
  return fovea_bytes_of_bits(fovea_mask_type_bits(type), count);
}

/* The element that lies `offset` elements after the tensor's first. */
static inline const void *fovea_element(const void *tensor, fovea_type type, int64_t offset) {
  return (const char *)tensor + fovea_bytes(type, offset);
}
static inline void *fovea_output_element(void *tensor, fovea_type type, int64_t offset) {
  return (char *)tensor + fovea_bytes(type, offset);
}

#endif
