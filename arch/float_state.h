/* The floating-point state that the contract assumes: rounding to nearest, subnormals kept, exceptions masked. A
 * thread may have another state: gcc -ffast-math links a start-up file that flushes subnormals to zero, and
 * programs that process sound often set this themselves. So all computation stands between these two calls:
 *
 *   fovea_float_state caller = fovea_float_begin();
 *   ...
 *   fovea_float_end(caller);
 *
 * Between them, do not call functions of the caller, and do not create threads: they would inherit the state. The
 * register is read once, and written only if it differs. Exception flags are not changed: the caller keeps its own
 * flags and gets the flags of the computation, too. The compiler does not move memory accesses across the calls. It
 * may move numbers in registers; if nothing else holds such a number in place, it goes through a volatile. */
#ifndef FOVEA_ARCH_FLOAT_STATE_H
#define FOVEA_ARCH_FLOAT_STATE_H

#include "strict_math.h"

#include <stdint.h>

#if defined(__SSE__) && defined(__GNUC__)

/* MXCSR: denormals are zeros, exception masks, rounding, flush to zero (Intel SDM, volume 1, 10.2.3). */
typedef uint32_t fovea_float_state;
#define FOVEA_FLOAT_CONTROL 0xffc0u
#define FOVEA_FLOAT_USUAL   0x1f80u
static inline fovea_float_state fovea_float_read(void) {
  fovea_float_state state;
  __asm__ volatile("stmxcsr %0" : "=m"(state) : : "memory");
  return state;
}
static inline void fovea_float_write(fovea_float_state state) {
  __asm__ volatile("ldmxcsr %0" : : "m"(state) : "memory");
}

#elif defined(__aarch64__) && defined(__GNUC__)

/* FPCR: FIZ, AH, NEP, trap enables with EBF among them, FZ16, rounding, FZ, DN, AHP (Arm ARM, C5.2.8). */
typedef uint64_t fovea_float_state;
#define FOVEA_FLOAT_CONTROL 0x07c8bf07u
#define FOVEA_FLOAT_USUAL   0u
static inline fovea_float_state fovea_float_read(void) {
  fovea_float_state state;
  __asm__ volatile("mrs %0, fpcr" : "=r"(state) : : "memory");
  return state;
}
static inline void fovea_float_write(fovea_float_state state) {
  __asm__ volatile("msr fpcr, %0" : : "r"(state) : "memory");
}

#elif defined(__arm__) && defined(__ARM_FP) && (!defined(__thumb__) || defined(__thumb2__))

/* FPSCR: trap enables, FZ16, rounding, FZ, DN, AHP. Its other bits are flags and the lengths of vectors; the
 * procedure call standard demands lengths of 0 at every call. */
typedef uint32_t fovea_float_state;
#define FOVEA_FLOAT_CONTROL 0x07c89f00u
#define FOVEA_FLOAT_USUAL   0u
static inline fovea_float_state fovea_float_read(void) {
  fovea_float_state state;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(state) : : "memory");
  return state;
}
static inline void fovea_float_write(fovea_float_state state) {
  __asm__ volatile("vmsr fpscr, %0" : : "r"(state) : "memory");
}

#elif defined(__riscv_flen) || defined(__riscv_zfinx)

/* There is only a rounding mode: no traps, no flushing. */
typedef unsigned long fovea_float_state;
#define FOVEA_FLOAT_CONTROL 7ul
#define FOVEA_FLOAT_USUAL   0ul
static inline fovea_float_state fovea_float_read(void) {
  fovea_float_state state;
  __asm__ volatile("frrm %0" : "=r"(state) : : "memory");
  return state;
}
static inline void fovea_float_write(fovea_float_state state) {
  __asm__ volatile("fsrm %0" : : "r"(state) : "memory");
}

#else

/* Standard C knows only the rounding mode. */
#include <fenv.h>
typedef int fovea_float_state;
#define FOVEA_FLOAT_CONTROL (~0)
#ifdef FE_TONEAREST
#define FOVEA_FLOAT_USUAL FE_TONEAREST
static inline fovea_float_state fovea_float_read(void) {
  return fegetround();
}
static inline void fovea_float_write(fovea_float_state state) {
  fesetround(state);
}
#else
#define FOVEA_FLOAT_USUAL 0
static inline fovea_float_state fovea_float_read(void) {
  return FOVEA_FLOAT_USUAL;
}
static inline void fovea_float_write(fovea_float_state state) {
  (void)state;
}
#endif

#endif

/* Sets the state of the contract. Returns the state that it found. */
static inline fovea_float_state fovea_float_begin(void) {
  fovea_float_state found = fovea_float_read();
  if ((found & FOVEA_FLOAT_CONTROL) != FOVEA_FLOAT_USUAL) {
    fovea_float_write((found & ~FOVEA_FLOAT_CONTROL) | FOVEA_FLOAT_USUAL);
  }
  return found;
}

/* Restores the caller's state, but keeps the exception flags of now. */
static inline void fovea_float_end(fovea_float_state caller) {
  if ((caller & FOVEA_FLOAT_CONTROL) != FOVEA_FLOAT_USUAL) {
    fovea_float_write((fovea_float_read() & ~FOVEA_FLOAT_CONTROL) | (caller & FOVEA_FLOAT_CONTROL));
  }
}

#endif
