/* The C library of mingw-w64 often rounds fmaf() wrongly if the numbers differ much in size. contract.c is compiled
 * for any CPU, so it calls fmaf(); there it gets this one, which uses the instruction. So the tests need a CPU that
 * has it. */
#include <math.h>

#if defined(__MINGW32__) && defined(__x86_64__)
__attribute__((target("fma"))) float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
#else
typedef int fovea_test_uses_libm; /* ISO C requires a declaration in every file */
#endif
