#define _POSIX_C_SOURCE 200809L
#include "machine.h"

#include "vector_kernels.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

int machine_counts_cpu_time(void) {
  static int counts = -1;
  if (counts < 0) counts = getenv("FOVEA_BENCH_CPU_TIME") != NULL;
  return counts;
}

double machine_now(void) {
  struct timespec now;
  clock_gettime(machine_counts_cpu_time() ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int machine_threads(void) {
#if defined(_OPENMP)
  return machine_counts_cpu_time() ? 1 : omp_get_num_procs();
#else
  return 1;
#endif
}

static volatile float sink; /* makes the compiler compute the results */

/* Passes of the FMA loop per second, on the calling thread. The clock may take a microsecond, so it is read only a
 * few times per millisecond. */
static double fma_turns_per_second(const vector_kernels *kernels, double seconds) {
  const int64_t turns_at_once = 50000;
  int64_t turns = 0;
  const double start = machine_now();
  double now = start;
  while (now - start < seconds) {
    sink = kernels->fma_loop(turns_at_once);
    turns += turns_at_once;
    now = machine_now();
  }
  return (double)turns / (now - start);
}

double machine_fma_peak(const char *isa, int threads, double seconds) {
  const vector_kernels *kernels = vector_kernels_named(isa);
  if (!kernels) return 0.0;
  double turns_per_second = 0.0;
  (void)threads;
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) reduction(+ : turns_per_second)
#endif
  turns_per_second += fma_turns_per_second(kernels, seconds);
  return turns_per_second * (double)kernels->flops;
}

/* One pass of all threads over the floats; every thread starts and ends with the others. */
static void read_once(const vector_kernels *kernels, const float *floats, size_t count, int threads) {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
  for (int part = 0; part < threads; part++) {
    const size_t begin = count * (size_t)part / (size_t)threads;
    const size_t end = count * ((size_t)part + 1) / (size_t)threads;
    sink = kernels->read_sum(floats + begin, end - begin);
  }
}

double machine_read_rate(const void *memory, size_t bytes, int threads, double seconds) {
  const vector_kernels *kernels = vector_kernels_best();
  const size_t count = bytes / sizeof(float);
  if (!kernels || count == 0) return 0.0;
  double bytes_read = 0.0;
  const double start = machine_now();
  double now = start;
  while (now - start < seconds) {
    read_once(kernels, memory, count, threads);
    bytes_read += (double)count * sizeof(float);
    now = machine_now();
  }
  return bytes_read / (now - start);
}

double machine_read_rate_of_pieces(const machine_piece *pieces, size_t count, double seconds) {
  const vector_kernels *kernels = vector_kernels_best();
  if (!kernels || count == 0) return 0.0;
  double bytes_read = 0.0;
  const double start = machine_now();
  double now = start;
  while (now - start < seconds) {
    for (size_t i = 0; i < count; i++) {
      sink = kernels->read_sum(pieces[i].memory, pieces[i].bytes / sizeof(float));
      bytes_read += (double)pieces[i].bytes;
    }
    now = machine_now();
  }
  return bytes_read / (now - start);
}
