/* The loops of the benchmarks that must be vectorised with any compiler flags, once for each instruction set. They
 * use Fovea's names of instructions (arch/<isa>/vector.h), and no other code of it. */
#ifndef FOVEA_BENCH_VECTOR_KERNELS_H
#define FOVEA_BENCH_VECTOR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef struct vector_kernels {
  const char *isa; /* as fovea_isa_at() names it */
  /* Floating-point operations of one pass of fma_loop. */
  int64_t flops;
  /* As many independent chains of FMAs as fit into the registers. Returns a number that depends on all of them. */
  float (*fma_loop)(int64_t turns);
  /* Reads floats at the speed of the memory; returns their sum. */
  float (*read_sum)(const float *floats, size_t count);
  /* Copies floats with vectors. */
  void (*copy)(float *to, const float *from, size_t count);
  /* scores[i] = 2^(scores[i] - max), and returns the sum. The baseline's softmax, without its division. */
  float (*softmax_row)(float *scores, size_t count);
} vector_kernels;

/* NULL if there are none of that name. */
const vector_kernels *vector_kernels_named(const char *isa);
/* The loops of the instruction set that Fovea chooses here; NULL if there are none. */
const vector_kernels *vector_kernels_best(void);

#endif
