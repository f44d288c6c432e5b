/* Single operations of the kernel tables, on data that lies in one cache or in memory. */
#ifndef FOVEA_BENCH_OPERATIONS_H
#define FOVEA_BENCH_OPERATIONS_H

#include "../arch/formats.h"
#include "../arch/kernels.h"

#include <stddef.h>

/* One call. The streamed operand is a piece of the pool; all other arrays are the same in every call. */
typedef struct operation_call {
  const fovea_kernels *table;
  char *piece;
  size_t bytes;
  char *next; /* the next piece, for operations that prefetch rows */
} operation_call;

typedef struct bench_operation {
  const char *name;
  fovea_type type; /* of the streamed elements */
  int tiled;       /* 1: `piece` bytes for each row of a tile; 0: for all rows */
  size_t piece;    /* bytes of a call, at most */
  int by_rows;     /* 1: an element meets every row of a tile, in an FMA each */
  int slots;       /* else: additions, products and FMAs for an element, each as long as an FMA */
  void (*run)(const operation_call *call);
} bench_operation;

/* Ended by one without a name. */
extern const bench_operation bench_tile_operations[], bench_row_operations[], bench_pair_operations[];

/* Arrays beside the pool, filled with ordinary numbers before each benchmark. */
enum { OPERATION_FLOATS = 64 * 256, OPERATION_ROWS = 64 };
typedef struct operation_arrays {
  float queries[OPERATION_FLOATS], scores[OPERATION_FLOATS], outputs[OPERATION_FLOATS];
  float maxima[OPERATION_ROWS], row_max[OPERATION_ROWS], row_sum[OPERATION_ROWS], block_sum[OPERATION_ROWS];
  float old_part[OPERATION_ROWS], new_part[OPERATION_ROWS];
} operation_arrays;
extern operation_arrays bench_operation_arrays;

/* Registers op/<isa>/<operation>/<level> for every instruction set that runs here. The counters of each:
 *   gigabytes_per_second, read_gigabytes_per_second   of the streamed bytes, and of reading them plainly
 *   gflops, peak_gflops                               by slots, two for each; and the FMA peak
 *   bound_fraction                                    the longer of the times to read and to compute, over the time
 */
void bench_register_operations(void);

#endif
