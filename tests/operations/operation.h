/* What the tests of single operations share: each operation is tried on every table, with random arguments. */
#ifndef FOVEA_TESTS_OPERATION_H
#define FOVEA_TESTS_OPERATION_H

#include "support/places.h"
#include "support/tables.h"

typedef void trial_function(const fovea_kernels *table, struct generator *generator);

static inline void try_tables(const fovea_kernels *const *tables, trial_function *trial, int trials) {
  for (; *tables != NULL; tables++) {
    struct generator generator = {2027};
    for (int i = 0; i < trials; i++) {
      places_begin(&generator);
      trial(*tables, &generator);
    }
  }
}

/* A size from `least` to `most`; one time in three near one of them, or a multiple of 16. */
static inline int random_size(struct generator *generator, int least, int most) {
  const int choice = (int)generator_below(generator, 9),
            size = least + (int)generator_below(generator, most - least + 1);
  if (choice == 0) return least + (size - least) % 9;
  if (choice == 1) return most - (size - least) % 3;
  if (choice == 2 && size / 16 * 16 >= least) return size / 16 * 16;
  return size;
}

static inline fovea_type random_type(struct generator *generator) {
  static const fovea_type types[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
  return types[generator_below(generator, 3)];
}

static inline int vectors_of(const fovea_kernels *table) {
  return table->row_tile / table->lanes;
}

static inline fovea_vector_range random_vectors(const fovea_kernels *table, struct generator *generator) {
  const int all = vectors_of(table), first = (int)generator_below(generator, all);
  if (generator_below(generator, 2) == 0) return (fovea_vector_range){0, all};
  return (fovea_vector_range){first, 1 + (int)generator_below(generator, all - first)};
}

static inline int first_row(const fovea_kernels *table, fovea_vector_range vectors) {
  return vectors.first * table->lanes;
}

static inline int end_row(const fovea_kernels *table, fovea_vector_range vectors) {
  return (vectors.first + vectors.count) * table->lanes;
}

static inline int rounded_up(int64_t count, int step) {
  return (int)((count + step - 1) / step * step);
}

/* Which of `keys` keys each of `rows` rows sees, counted from the first key. Some rows see all, some none. */
static inline int32_t *place_limits(struct generator *generator, int rows, int keys, int32_t **to) {
  int32_t *from = place_integers(rows);
  *to = place_integers(rows);
  for (int row = 0; row < rows; row++) {
    from[row] = (int32_t)generator_below(generator, keys + 40) - 20;
    (*to)[row] = from[row] + (int32_t)generator_below(generator, keys + 20) - 5;
    if (generator_below(generator, 6) == 0) from[row] = INT32_MIN, (*to)[row] = INT32_MAX;
  }
  return from;
}

/* The larger number; a if b is NaN. */
static inline float maximum_of(float a, float b) {
  return b > a ? b : a;
}

/* The number that scores are measured from. */
static inline float reference_of(float maximum) {
  return maximum == -INFINITY ? 0.0f : maximum;
}

/* One dot product, pieces of 128 dims in the order 1, 0, 3, 2, ... */
static inline float dot_product(const float *q, const float *k, int64_t dim) {
  float sum = 0.0f;
  for (int64_t start = 0; start < dim; start += 128) {
    const int64_t end = start + 128 < dim ? start + 128 : dim;
    float r = 0.0f;
    for (int64_t d = start; d < end; d += 2) {
      if (d + 1 < end) r = fmaf(q[d + 1], k[d + 1], r);
      r = fmaf(q[d], k[d], r);
    }
    sum = start == 0 ? r : sum + r;
  }
  return sum;
}

#endif
