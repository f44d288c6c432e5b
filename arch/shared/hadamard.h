/* Rotates blocks of rows by the Walsh-Hadamard matrix. Part of bodies.h. */

#include "../kernels.h"
#include "types.h"

/* Pairs in one vector, `distance` lanes apart: (u, v) becomes (u + v, u - v). */
FOVEA_INLINE vec hadamard_pairs(vec x, vec sign, const int distance) {
  return vec_fma(x, sign, vec_swap(x, distance)); /* the product is exact */
}

FOVEA_INLINE vec hadamard_signs(const int distance) {
  float signs[LANES];
  for (int i = 0; i < LANES; i++) signs[i] = i & distance ? -1.0f : 1.0f;
  return vec_load(signs);
}

FOVEA_INLINE void hadamard_in_lanes(float *row, int64_t dim) {
#if LANES > 1
  const vec by_1 = hadamard_signs(1), by_2 = hadamard_signs(2), by_4 = hadamard_signs(4), by_8 = hadamard_signs(8);
  FOVEA_NO_UNROLL
  for (int64_t i = 0; i < dim; i += LANES) {
    vec x = hadamard_pairs(vec_load(row + i), by_1, 1);
    if (LANES > 2) x = hadamard_pairs(x, by_2, 2);
    if (LANES > 4) x = hadamard_pairs(x, by_4, 4);
    if (LANES > 8) x = hadamard_pairs(x, by_8, 8);
    vec_store(row + i, x);
  }
#else
  (void)row, (void)dim;
#endif
}

/* Two steps at once, `distance` and twice that. */
FOVEA_INLINE void hadamard_fours(float *row, int64_t dim, int64_t distance) {
  for (int64_t first = 0; first < dim; first += 4 * distance) {
    for (int64_t i = first; i < first + distance; i += LANES) {
      float *p = row + i, *q = p + distance, *r = q + distance, *s = r + distance;
      const vec a = vec_add(vec_load(p), vec_load(q)), b = vec_sub(vec_load(p), vec_load(q));
      const vec c = vec_add(vec_load(r), vec_load(s)), d = vec_sub(vec_load(r), vec_load(s));
      vec_store(p, vec_add(a, c));
      vec_store(q, vec_add(b, d));
      vec_store(r, vec_sub(a, c));
      vec_store(s, vec_sub(b, d));
    }
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

FOVEA_MIDDLE FOVEA_KERNEL void FOVEA_NAME(hadamard)(const fovea_hadamard_args *args) {
  float *row = args->row;
  const int64_t dim = args->dim;
  const float factor = hadamard_factor(args->block);
  if (args->block < LANES) {
    for (int64_t distance = 1; distance < args->block; distance *= 2) hadamard_few(row, dim, distance);
    for (int64_t i = 0; i < dim; i++) row[i] = row[i] == row[i] ? row[i] * factor + 0.0f : __builtin_nanf("");
    return;
  }
  hadamard_in_lanes(row, dim);
  int64_t distance = LANES;
  for (; 4 * distance <= args->block; distance *= 4) hadamard_fours(row, dim, distance);
  if (distance < args->block) hadamard_across(row, dim, distance);
  for (int64_t i = 0; i < dim; i += LANES) {
    vec_store(row + i, canonical(vec_mul(vec_load(row + i), vec_set1(factor))));
  }
}
