/* Rotates blocks of rows by the Walsh-Hadamard matrix. Part of bodies.h. */

#include "../kernels.h"
#include "types.h"

/* Pairs in one vector, `distance` lanes apart: (u, v) becomes (u + v, u - v). */
FOVEA_INLINE void hadamard_in_lanes(float *row, int64_t dim, const int distance) {
  float signs[LANES];
  for (int i = 0; i < LANES; i++) signs[i] = i & distance ? -1.0f : 1.0f;
  const vec sign = vec_load(signs);
  for (int64_t i = 0; i < dim; i += LANES) {
    const vec x = vec_load(row + i);
    vec_store(row + i, vec_add(vec_swap(x, distance), vec_mul(x, sign)));
  }
}

/* Pairs in different vectors. */
FOVEA_INLINE void hadamard_across(float *row, int64_t dim, int64_t distance) {
  for (int64_t first = 0; first < dim; first += 2 * distance) {
    for (int64_t i = first; i < first + distance; i += LANES) {
      const vec u = vec_load(row + i), v = vec_load(row + i + distance);
      vec_store(row + i, vec_add(u, v));
      vec_store(row + i + distance, vec_sub(u, v));
    }
  }
}

/* The same for blocks that do not fill a vector. */
FOVEA_INLINE void hadamard_few(float *row, int64_t dim, int64_t distance) {
  for (int64_t first = 0; first < dim; first += 2 * distance) {
    for (int64_t i = first; i < first + distance; i++) {
      const float u = row[i], v = row[i + distance];
      row[i] = u + v;
      row[i + distance] = u - v;
    }
  }
}

/* 2^(-log2(block) / 2), rounded. */
FOVEA_INLINE float hadamard_factor(int64_t block) {
  float factor = 1.0f;
  for (; block >= 4; block /= 4) factor *= 0.5f;
  return block == 2 ? factor * 0x1.6a09e6p-1f : factor;
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(hadamard)(const fovea_hadamard_args *args) {
  float *row = args->row;
  const int64_t dim = args->dim;
  const float factor = hadamard_factor(args->block);
  if (args->block < LANES) {
    for (int64_t distance = 1; distance < args->block; distance *= 2) hadamard_few(row, dim, distance);
    for (int64_t i = 0; i < dim; i++) row[i] = row[i] == row[i] ? row[i] * factor + 0.0f : __builtin_nanf("");
    return;
  }
#if LANES > 1
  hadamard_in_lanes(row, dim, 1);
#endif
#if LANES > 2
  hadamard_in_lanes(row, dim, 2);
#endif
#if LANES > 4
  hadamard_in_lanes(row, dim, 4);
#endif
#if LANES > 8
  hadamard_in_lanes(row, dim, 8);
#endif
  for (int64_t distance = LANES; distance < args->block; distance *= 2) hadamard_across(row, dim, distance);
  for (int64_t i = 0; i < dim; i += LANES) {
    vec_store(row + i, canonical(vec_mul(vec_load(row + i), vec_set1(factor))));
  }
}
