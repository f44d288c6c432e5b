/* The loops of the benchmarks that must be vectorised whatever flags they are compiled with: one set for each
 * instruction set. None of them is Fovea's, but for the names it gives to instructions (arch/<isa>/vector.h). */
#ifndef FOVEA_BENCH_VECTOR_KERNELS_H
#define FOVEA_BENCH_VECTOR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef struct vector_kernels {
  const char *isa; /* as fovea_info() names it */
  /* Floating-point operations of one turn of fma_loop. */
  int64_t flops;
  /* As many independent chains of FMAs as fit into the registers; returns something that depends on all. */
  float (*fma_loop)(int64_t turns);
  /* Reads floats at the speed of the memory; returns their sum. */
  float (*read_sum)(const float *floats, size_t count);
  /* scores[i] = 2^(scores[i] - max), and returns the sum. The baseline's softmax, without its division. */
  float (*softmax_row)(float *scores, size_t count);
} vector_kernels;

/* NULL where there are none for that name. */
const vector_kernels *vector_kernels_named(const char *isa);
/* Those of the instruction set that Fovea chooses here; NULL where there are none. */
const vector_kernels *vector_kernels_best(void);

#endif
