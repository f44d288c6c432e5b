/* Defaults that follow from sizes. They are resolved when a struct is read, so that they belong to its sizes then.
 */
#ifndef FOVEA_SRC_BASE_RESOLVE_H
#define FOVEA_SRC_BASE_RESOLVE_H

#include <fovea/fovea.h>

/* The strides that an initialiser sets. */
#define FOVEA_UNSET_STRIDES                                                                                        \
  { FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS }

/* A product that is unsigned: sizes that make no sense must not be undefined behaviour. They are checked later. */
static inline int64_t fovea_wrapped_product(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline fovea_strides fovea_contiguous_strides(int64_t heads, int64_t rows, int64_t dim) {
  const int64_t head = fovea_wrapped_product(rows, dim);
  return (fovea_strides){fovea_wrapped_product(heads, head), head, dim};
}

static inline void fovea_resolve_stride(int64_t *stride, int64_t contiguous) {
  if (*stride == FOVEA_CONTIGUOUS) *stride = contiguous;
}

/* Each axis by itself: a caller may set one of them. */
static inline void fovea_resolve_strides(fovea_strides *strides, fovea_strides contiguous) {
  fovea_resolve_stride(&strides->batch, contiguous.batch);
  fovea_resolve_stride(&strides->head, contiguous.head);
  fovea_resolve_stride(&strides->row, contiguous.row);
}

static inline int fovea_strides_are_unset(fovea_strides strides) {
  return strides.batch == FOVEA_CONTIGUOUS && strides.head == FOVEA_CONTIGUOUS && strides.row == FOVEA_CONTIGUOUS;
}

static inline void fovea_resolve_number(double *number, double value) {
  if (*number == FOVEA_DEFAULT_NUMBER) *number = value;
}

/* 1 / sqrt(dim), rounded to nearest in any environment. 1 if there is no dim. */
double fovea_default_scale(int64_t dim);

static inline void fovea_resolve_scale(double *scale, int64_t dim) {
  if (*scale == FOVEA_DEFAULT_NUMBER) *scale = fovea_default_scale(dim);
}

#endif
