/* Memory that a call reads or writes, as runs of bytes: whether two such share a byte. Exact for rows of any
 * strides, whatever lies between them. */
#ifndef FOVEA_SRC_BASE_CLAIM_H
#define FOVEA_SRC_BASE_CLAIM_H

#include <fovea/fovea.h>

/* Runs of bytes along two axes. */
typedef struct fovea_claim {
  uintptr_t begin, end; /* from the first byte of any run to behind the last of any */
  int64_t run;          /* bytes of one; 0: nothing is claimed */
  int64_t count[2];     /* at least 1 */
  int64_t step[2];      /* bytes, 0 or more */
  int written;
  const char *name;       /* for the text */
  int64_t entry, segment; /* -1: no segment, but an array of that name */
} fovea_claim;

/* Elements of a (heads, rows, dim) tensor, of so many bits each. */
fovea_claim fovea_claim_rows(const void *pointer, int bits, int64_t heads, int64_t head_step, int64_t rows,
                             int64_t row_step, int64_t dim);

/* Whether two claims share a byte. */
int fovea_claims_meet(const fovea_claim *a, const fovea_claim *b);

/* Whether each step goes over all that smaller ones reach, so that no two runs share a byte. */
int fovea_claim_is_apart(const fovea_claim *claim);

#endif
