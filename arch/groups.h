/* The groups of kernels and of the code that needs them. A build may leave a group out: FOVEA_WITHOUT_<GROUP>=ON
 * for CMake, -DFOVEA_WITHOUT_<GROUP> for a bare compile. The exact tiled kernels are no group, since every build
 * has them: CORE. Lists are decoded, so they go with DECODE.
 *
 * Two presets leave several out, FOVEA_PRESET=<name> for CMake, a define for a bare compile:
 *
 *   core       FOVEA_CORE: exact attention and caches, few rows or many; portable C, AVX2, AVX-512 and NEON
 *   inference  FOVEA_INFERENCE: core, caches of formats, bf16 and int8 mode, all instruction sets
 *
 *   GROUP(NAME, name, built, what)
 *
 *   NAME    the end of the switch, and of FOVEA_GROUP_<NAME>
 *   name    the files of the group, if it has kernels: arch/<set>/<name>_<set>.c, with the bodies of
 *           arch/shared/groups/<name>.h
 *   built   1: this build has the group
 *   what    what a problem cannot have without the group, in words
 */
#ifndef FOVEA_ARCH_GROUPS_H
#define FOVEA_ARCH_GROUPS_H

#if defined(FOVEA_CORE) || defined(FOVEA_INFERENCE)
#define FOVEA_WITHOUT_LISTS   1
#define FOVEA_WITHOUT_OUTPUTS 1
#define FOVEA_WITHOUT_TERMS   1
#endif
#ifdef FOVEA_CORE
#define FOVEA_WITHOUT_FORMATS     1
#define FOVEA_WITHOUT_BF16        1
#define FOVEA_WITHOUT_INT8        1
#define FOVEA_WITHOUT_STATES      1
#define FOVEA_WITHOUT_EXPLAIN     1
#define FOVEA_WITHOUT_SCALING     1
#define FOVEA_WITHOUT_AVX512_BF16 1
#define FOVEA_WITHOUT_AMX         1
#define FOVEA_WITHOUT_NEON_BF16   1
#define FOVEA_WITHOUT_NEON_FHM    1
#endif

#define FOVEA_BUILDS_CORE 1
#ifdef FOVEA_WITHOUT_DECODE
#define FOVEA_BUILDS_DECODE 0
#else
#define FOVEA_BUILDS_DECODE 1
#endif
#ifdef FOVEA_WITHOUT_FORMATS
#define FOVEA_BUILDS_FORMATS 0
#else
#define FOVEA_BUILDS_FORMATS 1
#endif
#if defined(FOVEA_WITHOUT_LISTS) || defined(FOVEA_WITHOUT_DECODE)
#define FOVEA_BUILDS_LISTS 0
#else
#define FOVEA_BUILDS_LISTS 1
#endif
#ifdef FOVEA_WITHOUT_OUTPUTS
#define FOVEA_BUILDS_OUTPUTS 0
#else
#define FOVEA_BUILDS_OUTPUTS 1
#endif
#ifdef FOVEA_WITHOUT_TERMS
#define FOVEA_BUILDS_TERMS 0
#else
#define FOVEA_BUILDS_TERMS 1
#endif
#ifdef FOVEA_WITHOUT_BF16
#define FOVEA_BUILDS_BF16 0
#else
#define FOVEA_BUILDS_BF16 1
#endif
#ifdef FOVEA_WITHOUT_INT8
#define FOVEA_BUILDS_INT8 0
#else
#define FOVEA_BUILDS_INT8 1
#endif

#ifdef FOVEA_WITHOUT_STATES
#define FOVEA_BUILDS_STATES 0
#else
#define FOVEA_BUILDS_STATES 1
#endif
#ifdef FOVEA_WITHOUT_EXPLAIN
#define FOVEA_BUILDS_EXPLAIN 0
#else
#define FOVEA_BUILDS_EXPLAIN 1
#endif
#ifdef FOVEA_WITHOUT_SCALING
#define FOVEA_BUILDS_SCALING 0
#else
#define FOVEA_BUILDS_SCALING 1
#endif

/* What serves either mode, and decoding in int8 mode. */
#if FOVEA_BUILDS_BF16 || FOVEA_BUILDS_INT8
#define FOVEA_BUILDS_MODES 1
#else
#define FOVEA_BUILDS_MODES 0
#endif
#if FOVEA_BUILDS_DECODE && FOVEA_BUILDS_INT8
#define FOVEA_BUILDS_DECODED_CODES 1
#else
#define FOVEA_BUILDS_DECODED_CODES 0
#endif

/* FOVEA_WITH(GROUP, text) is the text in a build that has the group, nothing in other builds. */
#define FOVEA_WITH(GROUP, ...)         FOVEA_WITH_(FOVEA_BUILDS_##GROUP, __VA_ARGS__)
#define FOVEA_WITH_(builds, ...)       FOVEA_WITH_BUILDS(builds, __VA_ARGS__)
#define FOVEA_WITH_BUILDS(builds, ...) FOVEA_WITH_BUILDS_##builds(__VA_ARGS__)
#define FOVEA_WITH_BUILDS_0(...)
#define FOVEA_WITH_BUILDS_1(...) __VA_ARGS__

#define FOVEA_GROUPS(GROUP)                                                                                        \
  GROUP(DECODE, decode, FOVEA_BUILDS_DECODE, "kernels of their own for few rows")                                  \
  GROUP(FORMATS, formats, FOVEA_BUILDS_FORMATS, "quantised caches and weights")                                    \
  GROUP(LISTS, lists, FOVEA_BUILDS_LISTS, "patterns")                                                              \
  GROUP(OUTPUTS, outputs, FOVEA_BUILDS_OUTPUTS, "scores, top keys, column sums and entropy as outputs")            \
  GROUP(TERMS, terms, FOVEA_BUILDS_TERMS, "Shaw's positions and normalisers other than softmax")                   \
  GROUP(BF16, bf16, FOVEA_BUILDS_BF16, "bf16 mode")                                                                \
  GROUP(INT8, int8, FOVEA_BUILDS_INT8, "int8 mode")                                                                \
  GROUP(STATES, states, FOVEA_BUILDS_STATES, "states in the caller's memory")                                      \
  GROUP(EXPLAIN, explain, FOVEA_BUILDS_EXPLAIN, "explanations of plans")                                           \
  GROUP(SCALING, scaling, FOVEA_BUILDS_SCALING, "frequencies and tables of rotary embeddings")

enum {
#define FOVEA_GROUP_PLACE(NAME, name, built, what) FOVEA_GROUP_PLACE_##NAME,
  FOVEA_GROUPS(FOVEA_GROUP_PLACE)
#undef FOVEA_GROUP_PLACE
      FOVEA_GROUP_COUNT
};

/* Bits of groups. */
enum {
#define FOVEA_GROUP_BIT(NAME, name, built, what) FOVEA_GROUP_##NAME = 1 << FOVEA_GROUP_PLACE_##NAME,
  FOVEA_GROUPS(FOVEA_GROUP_BIT)
#undef FOVEA_GROUP_BIT
#define FOVEA_GROUP_IF_BUILT(NAME, name, built, what) +FOVEA_GROUP_##NAME *(built)
      FOVEA_GROUPS_BUILT = 0 FOVEA_GROUPS(FOVEA_GROUP_IF_BUILT)
#undef FOVEA_GROUP_IF_BUILT
};

#endif
