/* Rows that a kernel fetches into the second-level cache while it computes what they become. */
#ifndef FOVEA_ARCH_AMX_NN_FETCHED_H
#define FOVEA_ARCH_AMX_NN_FETCHED_H

#include "../../nn_kernels.h"

/* What is left to fetch, and how many rows at each step. */
typedef struct row_fetch {
  const char *row, *end;
  int64_t stride, bytes;
  int rows;
} row_fetch;

FOVEA_INLINE row_fetch begin_fetch(const fovea_nn_fetched *of, int64_t steps) {
  if (!of) return (row_fetch){0};
  return (row_fetch){of->first, of->first + of->rows * of->stride, of->stride, of->bytes,
                     steps > 0 ? (int)((of->rows + steps - 1) / steps) : 0};
}

FOVEA_INLINE void fetch_some(row_fetch *f) {
  enum { LINE_BYTES = 64 };
  for (int i = 0; i < f->rows && f->row != f->end; i++, f->row += f->stride)
    for (int64_t byte = 0; byte < f->bytes; byte += LINE_BYTES) __builtin_prefetch(f->row + byte, 0, 2);
}

#endif
