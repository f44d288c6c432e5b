/* Sees to it that OpenBLAS runs its best kernel for this CPU, whatever the environment says. */
#ifndef FOVEA_BENCH_OPENBLAS_H
#define FOVEA_BENCH_OPENBLAS_H

#ifdef __cplusplus
extern "C" {
#endif

/* To be called first in main(). OpenBLAS reads its environment when it is loaded, before main(): so this measures
 * what each of its kernels does here, in processes of their own, and starts the program again with the fastest. The
 * second time it returns. OpenBLAS is left with one thread a call: the baseline's threads are over heads and rows,
 * where they have no barrier after each product.
 *
 * FOVEA_ISA=avx2 caps OpenBLAS too: both sides then do what a machine without AVX-512 would. */
void openblas_settle(char **argv);

/* Adds what was chosen to the report. */
void openblas_report(void);

#ifdef __cplusplus
}
#endif

#endif
