/* Single rows of segments: where they lie, and how their elements are read and written. */
#ifndef FOVEA_SRC_CACHE_CACHED_ROWS_H
#define FOVEA_SRC_CACHE_CACHED_ROWS_H

#include "../../arch/kernels.h"
#include <fovea/fovea.h>

typedef struct fovea_cached_row {
  void *row; /* its first element; in panels, the panel's */
  fovea_type type;
  int64_t dim;
  int panels;
  int64_t key; /* its number in its panel */
} fovea_cached_row;

/* The row of the key, or of the value, of a position. The segment must hold the position. */
fovea_cached_row fovea_find_cached_row(const fovea_segment *segment, int values, int64_t dim, int64_t layer,
                                       int64_t head, int64_t position);

/* Neighbouring elements that are moved at once. */
enum { FOVEA_MOVED_ELEMENTS = 128 };

/* Converts elements `first` to `end` - 1 of a row and writes them to the cache. */
void fovea_write_elements(const fovea_kernels *kernels, const fovea_cached_row *to, int64_t first, int64_t end,
                          const void *from, fovea_type from_type);

/* Copies all elements of a row to another row. */
void fovea_copy_cached_row(const fovea_kernels *kernels, const fovea_cached_row *from, const fovea_cached_row *to);

#endif
