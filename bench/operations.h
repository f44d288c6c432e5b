/* Single operations of the kernel tables, on data that lies in one cache or in memory. */
#ifndef FOVEA_BENCH_OPERATIONS_H
#define FOVEA_BENCH_OPERATIONS_H

#include "../arch/formats.h"
#include "../arch/kernels.h"

#include <stddef.h>

/* One call. What streams past the operation is a piece of the pool; all other arrays are the same in every call. */
typedef struct operation_call {
  const fovea_kernels *table;
  char *piece;
  size_t bytes;
  char *next; /* the piece that comes after it, for what asks for rows ahead */
} operation_call;

typedef struct bench_operation {
  const char *name;
  fovea_type type; /* of the elements that stream */
  int tiled;       /* 1: so many bytes for each row of a tile; 0: for all */
  size_t piece;    /* bytes of a call, at most */
  int by_rows;     /* 1: an element meets every row of a tile, in an FMA each */
  int slots;       /* otherwise: additions, products and FMAs that an element takes, each as long as an FMA */
  void (*run)(const operation_call *call);
} bench_operation;

/* Ended by one without a name. */
extern const bench_operation bench_tile_operations[], bench_row_operations[];

/* Arrays beside the pool, filled with ordinary numbers before each benchmark. */
enum { OPERATION_FLOATS = 64 * 256, OPERATION_ROWS = 64 };
typedef struct operation_arrays {
  float queries[OPERATION_FLOATS], scores[OPERATION_FLOATS], outputs[OPERATION_FLOATS];
  float maxima[OPERATION_ROWS], row_max[OPERATION_ROWS], row_sum[OPERATION_ROWS], block_sum[OPERATION_ROWS];
  float old_part[OPERATION_ROWS], new_part[OPERATION_ROWS];
} operation_arrays;
extern operation_arrays bench_operation_arrays;

/* Registers op/<isa>/<operation>/<level> for every instruction set that runs here. The counters of each:
 *   gigabytes_per_second, read_gigabytes_per_second   of what streams, and the rate of plainly reading it
 *   gflops, peak_gflops                               by slots, two for each; and the FMA peak
 *   bound_fraction                                    the longer of the times that both would take, over the time
 */
void bench_register_operations(void);

#endif
