/* bf16 mode and int8 mode beside exact mode, with AMX and without. */
#ifndef FOVEA_BENCH_MODES_H
#define FOVEA_BENCH_MODES_H

#include "../arch/registry.h"
#include "cases.h"

/* In place of an instruction set: the set whose tiles AMX has, and AMX for what is in bf16 or int8, if the system
 * permits it. Tables of a set are other such names: "avx512/vnni". */
#define BENCH_AMX                                               "amx"
#define BENCH_SHARE(name, architecture, needs, int8_needs, set) #set
#define BENCH_AMX_SHARE                                         FOVEA_EXTENSIONS(BENCH_SHARE)
/* The table with products of pairs of bf16, where these are faster than FMAs. */
#define BENCH_PAIRS      "avx512_bf16"
#define BENCH_PAIRS_FAST 1.5

/* The instruction set whose vectors a set or table uses beside its own instructions: AMX's, the table's set, or the
 * set itself. */
const char *bench_vectors_of(const char *isa);

/* What the plain shape of a pair runs on: exact mode on the set, a mode on the same instructions. */
const char *bench_plain_isa(const bench_pair_case *pair);

/* Registers the pairs of bf16 mode for this instruction set, or for AMX. */
void bench_register_modes(const char *isa);

/* Registers the pairs of int8 mode for AMX and for all tables with instructions of their own. */
void bench_register_int8(void);

#endif
