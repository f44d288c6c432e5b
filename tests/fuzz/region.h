/* One tensor of a run, in memory that reaches from its first to its last element and no byte further. With
 * AddressSanitizer the gaps between its rows are out of bounds, too. */
#ifndef FOVEA_TESTS_FUZZ_REGION_H
#define FOVEA_TESTS_FUZZ_REGION_H

#include "bytes.h"

#include <fovea/fovea.h>

struct region {
  int64_t extent[3], stride[3]; /* batch, head, row; in elements */
  int64_t dim;
  int64_t first_row, end_row; /* rows that may be read while the region is closed; all rows unless changed */
  int bits;                   /* of an element */
  unsigned char *block;
  size_t size;
  void *data; /* the element with all indices 0 */
};

/* Returns 0 if the tensor would have more than REGION_BYTES bytes or REGION_ROWS rows. A tensor without elements
 * has no memory. */
enum { REGION_BYTES = 1 << 22, REGION_ROWS = 1 << 15 };
int region_create(struct region *region, const int64_t extent[3], const int64_t stride[3], int64_t dim, int bits);
void region_destroy(struct region *region);

/* Closed, the gaps are out of bounds; open, they may be read. */
void region_close(const struct region *region);
void region_open(const struct region *region);

/* The first byte of a row; sets how many bytes the row has. */
unsigned char *region_row(const struct region *region, int64_t batch, int64_t head, int64_t row);
size_t region_row_size(const struct region *region);

/* Bytes that no kernel writes: NaNs with this payload, in each type. */
enum { UNTOUCHED = 0xff };
void region_fill_untouched(const struct region *region);
int region_is_untouched(const struct region *region);

#endif
