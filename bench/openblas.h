/* Makes OpenBLAS run its best kernel for this CPU, whatever the environment says. */
#ifndef FOVEA_BENCH_OPENBLAS_H
#define FOVEA_BENCH_OPENBLAS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Call it first in main(). OpenBLAS reads its environment when it is loaded, before main(). So this function
 * measures each of OpenBLAS's kernels in a process of its own, and starts the program again with the fastest. The
 * second time it returns. OpenBLAS then uses one thread for each call: the baseline splits heads and rows between
 * threads, without a barrier after each product.
 *
 * FOVEA_ISA=avx2 caps OpenBLAS too: both sides then work as on a machine without AVX-512. */
void openblas_settle(char **argv);

/* Adds the chosen kernel to the report. */
void openblas_report(void);

#ifdef __cplusplus
}
#endif

#endif
