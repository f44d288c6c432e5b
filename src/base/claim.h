/* Memory that a call reads or writes, as runs of bytes, and whether two claims share a byte. The check is exact for
 * rows of any strides, whatever lies between the rows. */
#ifndef FOVEA_SRC_BASE_CLAIM_H
#define FOVEA_SRC_BASE_CLAIM_H

#include <fovea/fovea.h>

/* Runs of bytes along two axes. */
typedef struct fovea_claim {
  uintptr_t begin, end; /* from the first byte of any run to after the last byte of any run */
  int64_t run;          /* bytes of one run; 0: nothing is claimed */
  int64_t count[2];     /* at least 1 */
  int64_t step[2];      /* bytes, 0 or more */
  int written;
  const char *name;       /* for error texts */
  int64_t entry, segment; /* -1: the claim is an array of that name, not a segment */
} fovea_claim;

/* The elements of a (heads, rows, dim) tensor. An element has `bits` bits. */
fovea_claim fovea_claim_rows(const void *pointer, int bits, int64_t heads, int64_t head_step, int64_t rows,
                             int64_t row_step, int64_t dim);

/* Whether two claims share a byte. */
int fovea_claims_overlap(const fovea_claim *a, const fovea_claim *b);

/* Whether no two runs of the claim share a byte: each step must be at least the extent of all smaller steps. */
int fovea_claim_is_apart(const fovea_claim *claim);

#endif
