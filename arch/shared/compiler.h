/* What every file of an instruction set needs of the compiler. Included by arch/<isa>/vector.h, after
 *
 *   FOVEA_ISA     the name that ends this instruction set's symbols, e.g. avx2
 *   FOVEA_TARGET  the attribute that lets a function use its instructions, or nothing
 *
 * An attribute and not a compiler flag, so that the sources build right without any flags and no inline function of
 * a system header is ever compiled for a newer CPU by accident. */
#ifndef FOVEA_ARCH_SHARED_COMPILER_H
#define FOVEA_ARCH_SHARED_COMPILER_H

/* A product and a sum must never become one fused operation that the contract does not name. gcc contracts by
 * default outside ISO mode and ignores the standard pragma; clang honours it. The build also says
 * -ffp-contract=off; these keep the bits in a build without flags. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* gcc for Windows takes vectors on the stack to be aligned to their size, but the stack is to 16 bytes only (GCC
 * bug 54412), and an aligned move of 32 or 64 bytes ends the program. So moves are assembled as those that want no
 * alignment; they are as fast where there is one. */
#if defined(_WIN64) && defined(__x86_64__) && !defined(__clang__)
__asm__(".ifndef fovea_unaligned_moves\n"
        ".set fovea_unaligned_moves, 1\n"
        ".macro vmovaps operands:vararg\n vmovups \\operands\n .endm\n"
        ".macro vmovapd operands:vararg\n vmovupd \\operands\n .endm\n"
        ".macro vmovdqa operands:vararg\n vmovdqu \\operands\n .endm\n"
        ".macro vmovdqa32 operands:vararg\n vmovdqu32 \\operands\n .endm\n"
        ".macro vmovdqa64 operands:vararg\n vmovdqu64 \\operands\n .endm\n"
        ".endif");
#endif

#include <math.h>

#define FOVEA_JOIN_(op, isa) fovea_##op##_##isa
#define FOVEA_JOIN(op, isa)  FOVEA_JOIN_(op, isa)
/* The symbol of an operation: FOVEA_NAME(score) is fovea_score_avx2 in arch/avx2. */
#define FOVEA_NAME(op) FOVEA_JOIN(op, FOVEA_ISA)

/* Unused: a header may have more functions than a file that includes it calls. */
#define FOVEA_INLINE FOVEA_TARGET static inline __attribute__((always_inline))
#define FOVEA_KERNEL FOVEA_TARGET
#ifdef __clang__
#define FOVEA_NOINLINE FOVEA_TARGET static __attribute__((noinline, unused))
#else /* nor a copy for each caller */
#define FOVEA_NOINLINE FOVEA_TARGET static __attribute__((noinline, noclone, unused))
#endif

/* A function that -O3 makes longer and not faster: gcc peels and unswitches loops whose bodies are calls, are
 * written for whole vectors, or rarely run. */
#if !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define FOVEA_SHORT __attribute__((optimize("O2")))
#else
#define FOVEA_SHORT
#endif

/* FOVEA_NO_UNROLL leaves the loop that follows alone. FOVEA_UNROLL unrolls it completely; its trip count is a
 * constant of at most 32. Without it gcc keeps arrays of accumulators in memory; so does clang when it is told a
 * count, which it unrolls too late for registers. */
#ifdef __clang__
#define FOVEA_UNROLL    _Pragma("clang loop unroll(full)")
#define FOVEA_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define FOVEA_UNROLL    _Pragma("GCC unroll 32")
#define FOVEA_NO_UNROLL _Pragma("GCC unroll 1")
#endif

#endif
