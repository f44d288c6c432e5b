/* Rows of segments, one at a time: where they lie, and how elements get in and out. */
#ifndef FOVEA_SRC_CACHE_CACHED_ROWS_H
#define FOVEA_SRC_CACHE_CACHED_ROWS_H

#include "../../arch/kernels.h"
#include <fovea/fovea.h>

typedef struct fovea_cached_row {
  void *row; /* its first element; in panels the panel's */
  fovea_type type;
  int64_t dim;
  int panels;
  int64_t key; /* in its panel */
} fovea_cached_row;

/* The key, or the value, of a position that the segment holds. */
fovea_cached_row fovea_find_cached_row(const fovea_segment *segment, int values, int64_t dim, int64_t layer,
                                       int64_t head, int64_t position);

/* Neighbouring elements that are moved at a time. */
enum { FOVEA_MOVED_ELEMENTS = 128 };

/* Converts elements `first` to `end` - 1 of a row on their way into the cache. */
void fovea_write_elements(const fovea_kernels *kernels, const fovea_cached_row *to, int64_t first, int64_t end,
                          const void *from, fovea_type from_type);

/* All elements of one row into another one. */
void fovea_copy_cached_row(const fovea_kernels *kernels, const fovea_cached_row *from, const fovea_cached_row *to);

#endif
