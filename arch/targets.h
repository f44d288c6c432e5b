/* Which architectures this build is for. A file for another one is left empty but for this. */
#ifndef FOVEA_ARCH_TARGETS_H
#define FOVEA_ARCH_TARGETS_H

#if defined(__x86_64__) && defined(__GNUC__)
#define FOVEA_ARCH_X86_64 1
#elif defined(__aarch64__) && defined(__GNUC__)
#define FOVEA_ARCH_AARCH64 1
/* Whether arm_neon.h lets single functions use instructions beyond those of the whole file. */
#if !defined(__clang__) || __clang_major__ >= 16
#define FOVEA_ARCH_NEON_PAIRS 1
#endif
#endif

struct fovea_kernels; /* ISO C wants a declaration in every file */

#endif
