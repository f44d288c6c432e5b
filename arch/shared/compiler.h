/* Attributes and pragmas for every file of an instruction set. arch/<isa>/vector.h includes it after it defines
 *
 *   FOVEA_ISA     the suffix of this instruction set's symbols, e.g. avx2
 *   FOVEA_TARGET  the attribute that allows a function its instructions, or nothing
 *
 * The attribute replaces compiler flags: the sources build correctly without flags, and no inline function of a
 * system header is compiled for a newer CPU by accident. */
#ifndef FOVEA_ARCH_SHARED_COMPILER_H
#define FOVEA_ARCH_SHARED_COMPILER_H

/* The compiler must not fuse a product and a sum unless the contract says so. Outside ISO mode gcc fuses by
 * default, and it ignores the standard pragma; clang obeys it. The build also sets -ffp-contract=off; these pragmas
 * keep the bits in a build without flags. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* gcc for Windows assumes that vectors on the stack are aligned to their size, but the stack is aligned to 16 bytes
 * only (GCC bug 54412). An aligned move of 32 or 64 bytes ends the program. So aligned moves are assembled as
 * unaligned moves, which are as fast on aligned addresses. */
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

#include "../strict_math.h"
#include <math.h>

#define FOVEA_JOIN_(op, isa) fovea_##op##_##isa
#define FOVEA_JOIN(op, isa)  FOVEA_JOIN_(op, isa)
/* The symbol of an operation: FOVEA_NAME(score) is fovea_score_avx2 in arch/avx2. */
#define FOVEA_NAME(op) FOVEA_JOIN(op, FOVEA_ISA)
/* The symbol of a function that an instruction set shares with the tables that add to it. Their files define FOVEA_BASE,
 * the name of the set: FOVEA_SHARED(int8_measure) is fovea_int8_measure_avx2 in arch/avx2 and in arch/avx2_vnni. */
#ifdef FOVEA_BASE
#define FOVEA_SHARED(op) FOVEA_JOIN(op, FOVEA_BASE)
#else
#define FOVEA_SHARED(op) FOVEA_NAME(op)
#endif

/* `unused`: a file may include a header and not call all of its functions. With FOVEA_SMALL, of a set that is only
 * a fallback, the compiler need not make a copy of a body for each type, code and number of rows. */
#ifdef FOVEA_SMALL
#define FOVEA_INLINE FOVEA_TARGET static inline __attribute__((unused))
#else
#define FOVEA_INLINE FOVEA_TARGET static inline __attribute__((always_inline))
#endif
#define FOVEA_KERNEL FOVEA_TARGET
#ifdef __clang__
#define FOVEA_NOINLINE FOVEA_TARGET static __attribute__((noinline, unused))
#else /* noclone: no copy for each caller either */
#define FOVEA_NOINLINE FOVEA_TARGET static __attribute__((noinline, noclone, unused))
#endif

/* Begins the definition of such a function. The set's file compiles it; in the files of other tables it is a declaration,
 * and the body is not used. */
#ifdef FOVEA_BASE
#define FOVEA_SHARED_FUNCTION(type, op, ...)                                                                       \
  type FOVEA_SHARED(op)(__VA_ARGS__);                                                                              \
  FOVEA_TARGET static inline __attribute__((unused)) type op##_of_base(__VA_ARGS__)
#elif defined(__clang__)
#define FOVEA_SHARED_FUNCTION(type, op, ...)                                                                       \
  type FOVEA_SHARED(op)(__VA_ARGS__);                                                                              \
  FOVEA_TARGET __attribute__((noinline)) type FOVEA_SHARED(op)(__VA_ARGS__)
#else
#define FOVEA_SHARED_FUNCTION(type, op, ...)                                                                       \
  type FOVEA_SHARED(op)(__VA_ARGS__);                                                                              \
  FOVEA_TARGET __attribute__((noinline, noclone)) type FOVEA_SHARED(op)(__VA_ARGS__)
#endif

/* FOVEA_SHORT marks a function that more than -Os makes longer but not faster: gcc peels and unswitches loops even if
 * their bodies are calls, work on whole vectors, or rarely run. FOVEA_MIDDLE marks a function that -Os makes slower, and
 * -O3 only longer: it vectorises loops of a few rounds. FOVEA_LONG marks a function of a file of -O2 whose loop only
 * -O3 vectorises. */
#if !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define FOVEA_SHORT  __attribute__((optimize("Os")))
#define FOVEA_MIDDLE __attribute__((optimize("O2")))
#define FOVEA_LONG   __attribute__((optimize("O3")))
#else
#define FOVEA_SHORT
#define FOVEA_MIDDLE
#define FOVEA_LONG
#endif

/* FOVEA_ALIGNED marks a function that begins with a cache line, so that the functions before it do not say where its
 * loops lie: int8 mode by AVX2 takes up to 2 % longer where they lie badly. */
#define FOVEA_ALIGNED __attribute__((aligned(64)))

/* FOVEA_NO_UNROLL leaves the next loop as it is. FOVEA_UNROLL unrolls the next loop completely; the trip count is a
 * constant of at most 32. Without it gcc keeps arrays of accumulators in memory. clang does so if the pragma gives
 * a count: it unrolls such loops too late for registers. */
#ifdef FOVEA_SMALL
#define FOVEA_UNROLL
#define FOVEA_NO_UNROLL
#elif defined(__clang__)
#define FOVEA_UNROLL    _Pragma("clang loop unroll(full)")
#define FOVEA_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define FOVEA_UNROLL    _Pragma("GCC unroll 32")
#define FOVEA_NO_UNROLL _Pragma("GCC unroll 1")
#endif

#endif
