/* Memory that a call reads or writes, row by row, and whether what it writes shares a byte with anything else. The
 * check is exact for rows of any strides, whatever lies between the rows. */
#ifndef FOVEA_SRC_CACHE_CLAIMS_H
#define FOVEA_SRC_CACHE_CLAIMS_H

#include "../base/claim.h"
#include "coded_parts.h"
#include "sequences.h"

/* Claims keys or values of one layer of a segment, from *position to `end` - 1 or as far as one claim goes. Moves
 * *position after the last that is claimed. A side with a format has up to FOVEA_PARTS parts, another one has the
 * first only: of the others nothing is claimed. */
fovea_claim fovea_claim_segment(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                                int part, int64_t layer, int64_t *position, int64_t end);

/* The rows of some positions of one sequence. */
typedef struct fovea_claimed_rows {
  const fovea_sequence *sequence;
  int64_t begin, end;
  int written;
  int64_t entry; /* the batch element, for error texts */
  int64_t layer;
} fovea_claimed_rows;

/* All memory that a call claims. */
typedef struct fovea_claims {
  fovea_segment_shape shape;
  int64_t sequence_count, array_count;
  const void *call; /* passed to both functions */
  fovea_claimed_rows (*sequence)(const void *call, int64_t index);
  fovea_claim (*array)(const void *call, int64_t index); /* may be NULL if there are no arrays */
} fovea_claims;

/* Refuses rows that are written and share memory with others. The sequences must have been checked. */
fovea_status fovea_check_claims(const fovea_claims *claims, fovea_error *error);

#endif
