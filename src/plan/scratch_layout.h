/* How large the arrays in a worker's scratch are, found out once for a plan. */
#ifndef FOVEA_SRC_PLAN_SCRATCH_LAYOUT_H
#define FOVEA_SRC_PLAN_SCRATCH_LAYOUT_H

#include "../../arch/kernels.h"

/* Floats, each count a multiple of 64 bytes. Counts have 64 bits: those of the largest dims are beyond a size_t of
 * 32. */
typedef struct fovea_scratch_layout {
  uint64_t row;                 /* one number for each row of a tile */
  uint64_t queries, pairs;      /* of a tile; pairs: 0 if the plan has none */
  uint64_t scores, output;      /* of a tile and a block; of a tile */
  uint64_t panel, keys, values; /* copies of one block */
  uint64_t mask;                /* copy of a block's mask, 0 if none is needed */
  uint64_t decode, decode_rows; /* arrays of decoding, and the rows that they have room for */
  uint64_t state;               /* of a tile: maximum, sum, output */
  uint64_t block, tile;         /* all that the tiles share; all that one tile has */
} fovea_scratch_layout;

/* Elements between rows that are copied to scratch: an odd number of cache lines, so that the rows of a block do
 * not crowd a few of a cache's sets. */
int64_t fovea_copied_stride(int64_t dim);

/* Elements between rows of queries or outputs in decoding: with room for whole vectors. */
int64_t fovea_decode_stride(int64_t dim);

/* Bytes of so many floats; SIZE_MAX, which nobody has, if size_t has no room for them. */
size_t fovea_bytes_of(uint64_t floats);

/* `paired`: queries are kept as pairs, too. `mask_copied`: blocks of the mask may be copied. `states`: those of a
 * tile's tree of spans. */
fovea_scratch_layout fovea_lay_out_scratch(const fovea_kernels *kernels, const fovea_problem *problem, int paired,
                                           int mask_copied, int states);

#endif
