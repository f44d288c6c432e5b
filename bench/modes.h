/* bf16 mode beside exact mode, with AMX and without. */
#ifndef FOVEA_BENCH_MODES_H
#define FOVEA_BENCH_MODES_H

/* In place of an instruction set: AVX-512, and AMX for what is in bf16, if the system permits it. */
#define BENCH_AMX       "amx"
#define BENCH_AMX_SHARE "avx512"

/* The instruction set whose vectors stand beside: that of AMX, or the set itself. */
const char *bench_vectors_of(const char *isa);

/* Registers the pairs for this instruction set, or for AMX. */
void bench_register_modes(const char *isa);

#endif
