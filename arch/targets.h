/* The architectures of this build. A file for another architecture is empty but for this header. */
#ifndef FOVEA_ARCH_TARGETS_H
#define FOVEA_ARCH_TARGETS_H

#if defined(__x86_64__) && defined(__GNUC__)
#define FOVEA_ARCH_X86_64 1
#elif defined(__aarch64__) && defined(__GNUC__)
#define FOVEA_ARCH_AARCH64 1
/* Set if arm_neon.h allows single functions more instructions than the whole file has. */
#if !defined(__clang__) || __clang_major__ >= 16
#define FOVEA_ARCH_AARCH64_EXTENSIONS 1
#endif
#endif

/* FOVEA_FOR_<architecture>(text) is the text in a build for this architecture, nothing in other builds. */
#define FOVEA_FOR_ANY(...) __VA_ARGS__
#ifdef FOVEA_ARCH_X86_64
#define FOVEA_FOR_X86_64(...) __VA_ARGS__
#else
#define FOVEA_FOR_X86_64(...)
#endif
#ifdef FOVEA_ARCH_AARCH64
#define FOVEA_FOR_AARCH64(...) __VA_ARGS__
#else
#define FOVEA_FOR_AARCH64(...)
#endif
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS
#define FOVEA_FOR_AARCH64_EXTENSIONS(...) __VA_ARGS__
#else
#define FOVEA_FOR_AARCH64_EXTENSIONS(...)
#endif

struct fovea_kernels; /* ISO C demands a declaration in every file */

#endif
