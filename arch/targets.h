/* The architectures, instruction sets and tables of this build. A file for another one is empty but for this
 * header. */
#ifndef FOVEA_ARCH_TARGETS_H
#define FOVEA_ARCH_TARGETS_H

#include "groups.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define FOVEA_ARCH_X86_64 1
#elif defined(__aarch64__) && defined(__GNUC__)
#define FOVEA_ARCH_AARCH64 1
/* Set if arm_neon.h allows single functions more instructions than the whole file has. */
#if !defined(__clang__) || __clang_major__ >= 16
#define FOVEA_ARCH_AARCH64_EXTENSIONS 1
#endif
#endif

/* The sets and tables of this build. A build may leave a set out: -DFOVEA_WITHOUT_<SET> for a bare compile,
 * FOVEA_ISAS for CMake. A set that adds to another one goes with it; tables that only add int8 go with the mode. */
#if defined(FOVEA_ARCH_X86_64) && !defined(FOVEA_WITHOUT_AVX2)
#define FOVEA_ARCH_X86_64_AVX2 1
#endif
#if defined(FOVEA_ARCH_X86_64_AVX2) && FOVEA_BUILDS_INT8
#define FOVEA_ARCH_X86_64_AVX2_INT8 1
#endif
#if defined(FOVEA_ARCH_X86_64) && !defined(FOVEA_WITHOUT_AVX512)
#define FOVEA_ARCH_X86_64_AVX512 1
#endif
#if defined(FOVEA_ARCH_X86_64_AVX512) && FOVEA_BUILDS_INT8
#define FOVEA_ARCH_X86_64_AVX512_INT8 1
#endif
#if defined(FOVEA_ARCH_X86_64_AVX512) && !defined(FOVEA_WITHOUT_AVX512_BF16)
#define FOVEA_ARCH_X86_64_AVX512_BF16 1
#endif
#if defined(FOVEA_ARCH_X86_64_AVX512) && defined(__linux__) && !defined(FOVEA_WITHOUT_AMX)
#define FOVEA_ARCH_X86_64_AMX 1
#endif
#if defined(FOVEA_ARCH_AARCH64) && !defined(FOVEA_WITHOUT_NEON)
#define FOVEA_ARCH_AARCH64_NEON 1
#endif
#if defined(FOVEA_ARCH_AARCH64_NEON) && defined(FOVEA_ARCH_AARCH64_EXTENSIONS) && !defined(FOVEA_WITHOUT_NEON_BF16)
#define FOVEA_ARCH_AARCH64_EXTENSIONS_BF16 1
#endif
#if defined(FOVEA_ARCH_AARCH64_NEON) && defined(FOVEA_ARCH_AARCH64_EXTENSIONS) && !defined(FOVEA_WITHOUT_NEON_FHM)
#define FOVEA_ARCH_AARCH64_EXTENSIONS_FHM 1
#endif
#if defined(FOVEA_ARCH_AARCH64_NEON) && defined(FOVEA_ARCH_AARCH64_EXTENSIONS) && FOVEA_BUILDS_INT8
#define FOVEA_ARCH_AARCH64_EXTENSIONS_INT8 1
#endif

/* FOVEA_FOR_<build>(text) is the text in a build that has the set or the table, nothing in other builds. */
#define FOVEA_FOR_ANY(...) __VA_ARGS__
#ifdef FOVEA_ARCH_X86_64_AVX2
#define FOVEA_FOR_X86_64_AVX2(...) __VA_ARGS__
#else
#define FOVEA_FOR_X86_64_AVX2(...)
#endif
#ifdef FOVEA_ARCH_X86_64_AVX2_INT8
#define FOVEA_FOR_X86_64_AVX2_INT8(...) __VA_ARGS__
#else
#define FOVEA_FOR_X86_64_AVX2_INT8(...)
#endif
#ifdef FOVEA_ARCH_X86_64_AVX512
#define FOVEA_FOR_X86_64_AVX512(...) __VA_ARGS__
#else
#define FOVEA_FOR_X86_64_AVX512(...)
#endif
#ifdef FOVEA_ARCH_X86_64_AVX512_INT8
#define FOVEA_FOR_X86_64_AVX512_INT8(...) __VA_ARGS__
#else
#define FOVEA_FOR_X86_64_AVX512_INT8(...)
#endif
#ifdef FOVEA_ARCH_X86_64_AVX512_BF16
#define FOVEA_FOR_X86_64_AVX512_BF16(...) __VA_ARGS__
#else
#define FOVEA_FOR_X86_64_AVX512_BF16(...)
#endif
#ifdef FOVEA_ARCH_X86_64_AMX
#define FOVEA_FOR_X86_64_AMX(...) __VA_ARGS__
#else
#define FOVEA_FOR_X86_64_AMX(...)
#endif
#ifdef FOVEA_ARCH_AARCH64_NEON
#define FOVEA_FOR_AARCH64_NEON(...) __VA_ARGS__
#else
#define FOVEA_FOR_AARCH64_NEON(...)
#endif
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_BF16
#define FOVEA_FOR_AARCH64_EXTENSIONS_BF16(...) __VA_ARGS__
#else
#define FOVEA_FOR_AARCH64_EXTENSIONS_BF16(...)
#endif
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_FHM
#define FOVEA_FOR_AARCH64_EXTENSIONS_FHM(...) __VA_ARGS__
#else
#define FOVEA_FOR_AARCH64_EXTENSIONS_FHM(...)
#endif
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_INT8
#define FOVEA_FOR_AARCH64_EXTENSIONS_INT8(...) __VA_ARGS__
#else
#define FOVEA_FOR_AARCH64_EXTENSIONS_INT8(...)
#endif

struct fovea_kernels; /* ISO C demands a declaration in every file */

#endif
