/* The machine's limits, measured in slices short enough to fit between two measured runs. */
#ifndef FOVEA_BENCH_MACHINE_H
#define FOVEA_BENCH_MACHINE_H

#include <stddef.h>

/* With FOVEA_BENCH_CPU_TIME in the environment all times are CPU times of the calling thread, which other programs
 * disturb less. Then only one thread is measured. */
int machine_counts_cpu_time(void);

/* Seconds since some moment. */
double machine_now(void);

/* The number of threads that can be measured: as many as this process can run at once, 1 without OpenMP. */
int machine_threads(void);

/* Floating-point operations per second of independent f32 FMAs on registers, added over `threads` threads that all
 * run for about `seconds`. 0 if this program has no probe for the instruction set. */
double machine_fma_peak(const char *isa, int threads, double seconds);

/* The rate of products of bf16 pairs, whose sums are f32, over the rate of f32 FMAs, on one thread; 0 if this CPU
 * has no such instruction. */
double machine_bf16_over_fma(void);

/* Bytes per second at which `threads` threads read this memory, a part each. */
double machine_read_rate(const void *memory, size_t bytes, int threads, double seconds);

typedef struct machine_piece {
  const void *memory;
  size_t bytes;
} machine_piece;

/* Bytes per second at which the calling thread reads these pieces, one after the other. */
double machine_read_rate_of_pieces(const machine_piece *pieces, size_t count, double seconds);

#endif
