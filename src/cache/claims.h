/* Memory that one call reads or writes, row by row: whether what it writes shares a byte with anything else. Exact
 * for rows of any strides, whatever lies between them. */
#ifndef FOVEA_SRC_CACHE_CLAIMS_H
#define FOVEA_SRC_CACHE_CLAIMS_H

#include "../base/claim.h"
#include "sequences.h"

/* Keys or values of one layer of a segment from *position on to `end` - 1 at most: as many as one claim holds.
 * *position becomes the one behind them. */
fovea_claim fovea_claim_segment(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                                int64_t layer, int64_t *position, int64_t end);

/* Positions of one sequence. */
typedef struct fovea_claimed_rows {
  const fovea_sequence *sequence;
  int64_t begin, end;
  int written;
  int64_t entry; /* its number in texts */
  int64_t layer;
} fovea_claimed_rows;

/* Everything that a call claims. */
typedef struct fovea_claims {
  fovea_segment_shape shape;
  int64_t sequence_count, array_count;
  const void *call; /* handed to both */
  fovea_claimed_rows (*sequence)(const void *call, int64_t index);
  fovea_claim (*array)(const void *call, int64_t index); /* not needed without arrays */
} fovea_claims;

/* The sequences have been checked. Refuses rows that share memory with others. */
fovea_status fovea_check_claims(const fovea_claims *claims, fovea_error *error);

#endif
