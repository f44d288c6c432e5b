/* The memory of a side of a segment that has a format: its units of codes, and scales, zeros and a centre apart. */
#ifndef FOVEA_SRC_CACHE_CODED_PARTS_H
#define FOVEA_SRC_CACHE_CODED_PARTS_H

#include "../../arch/groups.h"
#include "../base/claim.h"
#include "formats.h"
#include "segments.h"

enum { FOVEA_PART_CODES, FOVEA_PART_SCALES, FOVEA_PART_ZEROS, FOVEA_PART_CENTRE, FOVEA_PARTS };

/* One part, in bytes, for all layers and kv heads of a segment. */
typedef struct fovea_coded_part {
  const char *first; /* of layer 0 and kv head 0; NULL: the format has no such part */
  int64_t layer, head;
  int64_t row_keys, row; /* keys of a row, and bytes between rows */
  int64_t groups, group; /* pieces of a row, and bytes between them */
  int64_t bytes;         /* of a piece */
} fovea_coded_part;

fovea_coded_part fovea_find_part(const fovea_segment *segment, const fovea_format *format, int64_t dim, int values,
                                 int part);

/* The bytes of a part's rows that hold positions begin to end - 1 of a segment, in one layer, from the first to
 * after the last. */
void fovea_part_range(const fovea_coded_part *part, const fovea_segment *segment, int64_t kv_heads, int64_t layer,
                      int64_t begin, int64_t end, uintptr_t *first, uintptr_t *last);

/* Refuses a side whose format, pointers or strides are wrong, or that sets what the format would not use. A side
 * without a format is fine. `entry`: the batch element, for error texts, or FOVEA_ENTRY_OF_PAGES: the segment
 * stands for pages. */
fovea_status fovea_check_coded_side(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                                    int64_t entry, int64_t number, fovea_error *error);

/* As fovea_claim_segment(), for one part. */
fovea_claim fovea_claim_part(const fovea_segment *segment, const fovea_format *format,
                             const fovea_segment_shape *shape, int values, int part, int64_t layer,
                             int64_t *position, int64_t end);

#endif
