/* The groups of kernels. A build whose every file is compiled with -DFOVEA_WITHOUT_<GROUP> refuses the features that
 * need the group (src/feature). So far the switch leaves no code out: the kernels of a group are compiled all the same.
 * The exact tiled kernels are no group, since every build has them.
 *
 *   GROUP(NAME, name, built, what)
 *
 *   NAME    the end of the switch, and of FOVEA_GROUP_<NAME>
 *   name    the same in small letters
 *   built   1: this build has the group
 *   what    what a problem cannot have without the group, in words
 */
#ifndef FOVEA_ARCH_GROUPS_H
#define FOVEA_ARCH_GROUPS_H

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
#ifdef FOVEA_WITHOUT_LISTS
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

#define FOVEA_GROUPS(GROUP)                                                                                        \
  GROUP(DECODE, decode, FOVEA_BUILDS_DECODE, "kernels of their own for few rows")                                  \
  GROUP(FORMATS, formats, FOVEA_BUILDS_FORMATS, "caches of quantised keys and values")                             \
  GROUP(LISTS, lists, FOVEA_BUILDS_LISTS, "patterns")                                                              \
  GROUP(OUTPUTS, outputs, FOVEA_BUILDS_OUTPUTS, "scores, top keys, column sums and entropy as outputs")            \
  GROUP(TERMS, terms, FOVEA_BUILDS_TERMS, "Shaw's positions and normalisers other than softmax")                   \
  GROUP(BF16, bf16, FOVEA_BUILDS_BF16, "bf16 mode")                                                                \
  GROUP(INT8, int8, FOVEA_BUILDS_INT8, "int8 mode")

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
