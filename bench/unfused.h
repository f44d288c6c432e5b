/* Attention without fusion: product, softmax, product, with OpenBLAS for the products. What Fovea is to beat. */
#ifndef FOVEA_BENCH_UNFUSED_H
#define FOVEA_BENCH_UNFUSED_H

#include "workload.h"

typedef struct unfused unfused;

/* Prepares it for `threads` threads, which divide heads and row blocks among them. With block_rows at least the
 * longest entry's rows it works on whole score matrices. Smaller ones work on that many rows at a time and leave
 * out the keys that none of the block's rows sees, which is what a BLAS can skip. NULL without memory. */
unfused *unfused_create(const bench_workload *workload, int threads, int64_t block_rows);
void unfused_destroy(unfused *self);

/* Writes the workload's o. */
void unfused_run(const unfused *self);

/* The fastest of a few sizes of row blocks for this workload, by trying; whole matrices if nothing is faster. */
unfused *unfused_create_blocked(const bench_workload *workload, int threads);
int64_t unfused_block_rows(const unfused *self);

#endif
