/* The C library of mingw-w64 rounds fmaf() wrongly, more often than not for numbers of unlike size. contract.c,
 * which is compiled for any CPU and so calls it, gets this one there: the instruction. So tests need a CPU that has
 * it. */
#include <math.h>

#if defined(__MINGW32__) && defined(__x86_64__)
__attribute__((target("fma"))) float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
#else
typedef int fovea_test_uses_libm; /* ISO C wants a declaration in every file */
#endif
