/* Refuses compilers' options that change results or remove tests for NaN: -ffast-math, -Ofast, and the parts of
 * them that a compiler tells of. Every file of src, arch and nn that knows floating-point numbers includes this
 * one. */
#ifndef FOVEA_ARCH_STRICT_MATH_H
#define FOVEA_ARCH_STRICT_MATH_H

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||                           \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "Fovea needs IEEE float arithmetic: no -ffast-math, -Ofast or parts of them (-fno-fast-math undoes all)"
#endif

#endif
