/* Attention without fusion: product, softmax, product, with OpenBLAS for the products. The baseline for Fovea. */
#ifndef FOVEA_BENCH_UNFUSED_H
#define FOVEA_BENCH_UNFUSED_H

#include "workload.h"

typedef struct unfused unfused;

/* Prepares it for `threads` threads, which split heads and row blocks between them. If block_rows is at least the
 * longest batch element's rows, it works on whole score matrices. Else it works on block_rows rows at a time and
 * leaves out the keys that none of these rows sees, as far as a BLAS can. NULL without memory. */
unfused *unfused_create(const bench_workload *workload, int threads, int64_t block_rows);
void unfused_destroy(unfused *self);

/* Computes the attention into the workload's o. */
void unfused_run(const unfused *self);

/* Tries a few sizes of row blocks for this workload and returns the fastest; whole matrices if none is faster. */
unfused *unfused_create_blocked(const bench_workload *workload, int threads);
int64_t unfused_block_rows(const unfused *self);

#endif
