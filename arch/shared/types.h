/* Loads and stores vectors of any element type: loads convert to f32 exactly, stores round once. `type` is a
 * constant in every call, so loops have no branches on it. Included after a vector layer. */
#ifndef FOVEA_ARCH_SHARED_TYPES_H
#define FOVEA_ARCH_SHARED_TYPES_H

#include "../formats.h"
#include "../kernels.h"

#include <string.h>

/* Makes `call` with `constant` in place of the type: each format has its own code, chosen before any loop. */
#define TYPED_CASE(call, format, ...)                                                                              \
  case format: {                                                                                                   \
    const fovea_type constant = format;                                                                            \
    call;                                                                                                          \
    break;                                                                                                         \
  }
#define TYPED(type, call)                                                                                          \
  switch (type) {                                                                                                  \
  default:                                                                                                         \
    FOVEA_FORMATS(TYPED_CASE, call)                                                                                \
  }

/* Where element `first` of a row lies. */
FOVEA_INLINE const void *typed_at(const void *row, int64_t first, const fovea_type type) {
  return (const char *)row + fovea_bytes(type, first);
}
FOVEA_INLINE void *typed_output_at(void *row, int64_t first, const fovea_type type) {
  return (char *)row + fovea_bytes(type, first);
}

/* Which `element` of a row holds number `first`: numbers below 8 bits share elements. */
#define TYPED_INDEX(element, bits, first) ((first) * (bits) / (8 * (int)sizeof(element)))

/* LANES elements from element `first` of a row. */
#define TYPED_LOAD(with, format, name, element, bits, together, load, ...)                                         \
  case format:                                                                                                     \
    return load((const element *)row + TYPED_INDEX(element, bits, first));
FOVEA_INLINE vec typed_load(const void *row, int64_t first, const fovea_type type) {
  switch (type) {
  default:
    FOVEA_FORMATS(TYPED_LOAD, )
  }
}

/* `count` is never above LANES, but gcc -O0 warns of branches that are never taken. */
#define TYPED_AT_MOST(count) ((unsigned)(count) < LANES ? (unsigned)(count) : LANES)

/* Copies up to 63 bytes without a call of the C library, after which no vector would be in a register. */
FOVEA_NOINLINE void typed_copy(void *to, const void *from, unsigned bytes) {
  char *end = to;
  const char *at = from;
#define TYPED_COPY(size)                                                                                           \
  if (bytes & (size)) memcpy(end, at, size), end += (size), at += (size);
  TYPED_COPY(32)
  TYPED_COPY(16)
  TYPED_COPY(8)
  TYPED_COPY(4)
  TYPED_COPY(2)
  TYPED_COPY(1)
#undef TYPED_COPY
}

/* Up to LANES elements, with zeros after them. */
#define TYPED_LOAD_FIRST(with, format, name, element, bits, together, load, ...)                                   \
  case format: {                                                                                                   \
    element elements[LANES] = {0};                                                                                 \
    typed_copy(elements, (const element *)row + TYPED_INDEX(element, bits, first),                                 \
               (unsigned)fovea_bytes(format, least));                                                              \
    return load(elements);                                                                                         \
  }
FOVEA_INLINE vec typed_load_first(const void *row, int64_t first, int count, const fovea_type type) {
  if (type == FOVEA_F32) return vec_load_first((const float *)row + first, count);
  const unsigned least = TYPED_AT_MOST(count);
  switch (type) {
  default:
    FOVEA_FORMATS(TYPED_LOAD_FIRST, )
  }
}

/* Gives NaN and zeros the bits that they have in results: the default NaNs of x86 and ARM differ in sign. */
FOVEA_INLINE vec canonical(vec x) {
  return vec_select(vec_is_nan(x), vec_set1(__builtin_nanf("")), vec_add(x, vec_set1(0.0f)));
}

/* Negative numbers that round to zero become +0, as every zero of a result. Half of the least subnormal is a tie,
 * and zero is even. */
FOVEA_INLINE vec typed_zero(vec x, const float half_of_least) {
  vecmask rounds_to_zero =
      vecmask_and(vec_less(x, vec_set1(0.0f)), vecmask_not(vec_less(x, vec_set1(-half_of_least))));
  return vec_select(rounds_to_zero, vec_set1(0.0f), x);
}

#define TYPED_STORE(with, format, name, element, bits, together, load, store, half_of_least, ...)                  \
  case format:                                                                                                     \
    store((element *)row + TYPED_INDEX(element, bits, first),                                                      \
          half_of_least > 0 ? typed_zero(x, half_of_least) : x);                                                   \
    break;
FOVEA_INLINE void typed_store(void *row, int64_t first, vec x, const fovea_type type) {
  switch (type) {
  default:
    FOVEA_FORMATS(TYPED_STORE, )
  }
}

#define TYPED_STORE_FIRST(with, format, name, element, bits, ...)                                                  \
  case format: {                                                                                                   \
    element elements[LANES];                                                                                       \
    typed_store(elements, 0, x, format);                                                                           \
    memcpy((element *)row + TYPED_INDEX(element, bits, first), elements, (size_t)fovea_bytes(format, least));      \
    break;                                                                                                         \
  }
FOVEA_INLINE void typed_store_first(void *row, int64_t first, vec x, int count, const fovea_type type) {
  if (type == FOVEA_F32) {
    vec_store_first((float *)row + first, x, count);
    return;
  }
  const unsigned least = TYPED_AT_MOST(count);
  switch (type) {
  default:
    FOVEA_FORMATS(TYPED_STORE_FIRST, )
  }
}

#endif
