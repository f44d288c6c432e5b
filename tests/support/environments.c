#include "environments.h"

#if defined(__SSE__)

/* MXCSR. Flags 0x3f, denormals are zeros 0x40, masks 0x1f80, rounding 0x6000, flush to zero 0x8000. */
enum { FLAGS = 0x3f, USUAL = 0x1f80 };
const struct environment environment_list[] = {
    {"rounding up", 0x4000},
    {"rounding down", 0x2000},
    {"rounding to zero", 0x6000},
    {"flush to zero", 0x8000},
    {"denormals are zeros", 0x0040},
    {"flush to zero, denormals are zeros", 0x8040},
    {"all of them, rounding up", 0xc040},
    {"inexact traps", 0x1000},
    {"underflow traps", 0x0800},
    {"overflow, division and invalid trap", 0x0680},
    {"denormals trap", 0x0100},
    {"everything traps, rounding down", 0x3f80},
    {0, 0},
};
static uint64_t read_register(void) {
  uint32_t value;
  __asm__ volatile("stmxcsr %0" : "=m"(value) : : "memory");
  return value;
}
static void write_register(uint64_t value) {
  const uint32_t word = (uint32_t)value;
  __asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory");
}
uint64_t environment_enter(const struct environment *environment) {
  write_register((USUAL ^ environment->control) | FLAGS);
  return environment_control();
}
uint64_t environment_control(void) {
  return read_register() & ~(uint64_t)FLAGS;
}
int environment_has_flags(void) {
  return (read_register() & FLAGS) == FLAGS;
}
void environment_leave(void) {
  write_register(USUAL);
}

#elif defined(__aarch64__) || defined(__arm__)

/* FPCR and FPSR, which 32-bit ARM has in one, FPSCR. Flags 0x9f, traps 0x9f00, rounding 3 << 22, FZ16 1 << 19, FZ 1
 * << 24, default NaN 1 << 25, alternative f16 1 << 26; of AArch64 alone FIZ 1, AH 2, NEP 4. */
enum { FLAGS = 0x9f };
const struct environment environment_list[] = {
    {"rounding up", 1 << 22},
    {"rounding down", 2 << 22},
    {"rounding to zero", 3 << 22},
    {"flush to zero", 1 << 24},
    {"flush to zero, f16 too", 1 << 24 | 1 << 19},
    {"default NaN", 1 << 25},
    {"alternative f16", 1 << 26},
    {"all of them, rounding up", 7 << 24 | 1 << 22 | 1 << 19},
    {"inexact and underflow trap", 0x1800},
    {"everything traps, rounding down", 0x9f00 | 2 << 22},
#ifdef __aarch64__
    {"flush inputs to zero", 1},
    {"alternate handling", 2 | 4},
#endif
    {0, 0},
};
#ifdef __aarch64__
static uint64_t read_control(void) {
  uint64_t value;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value) : : "memory");
  return value;
}
static void write_control(uint64_t value, uint64_t flags) {
  __asm__ volatile("msr fpsr, %0\n\tmsr fpcr, %1" : : "r"(flags), "r"(value) : "memory");
}
static uint64_t read_flags(void) {
  uint64_t value;
  __asm__ volatile("mrs %0, fpsr" : "=r"(value) : : "memory");
  return value & FLAGS;
}
#else
static uint64_t read_register(void) {
  uint32_t value;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(value) : : "memory");
  return value;
}
static uint64_t read_control(void) {
  return read_register() & 0x07ff9f00u; /* without the flags of comparisons */
}
static uint64_t read_flags(void) {
  return read_register() & FLAGS;
}
static void write_control(uint64_t value, uint64_t flags) {
  const uint32_t word = (uint32_t)(value | flags);
  __asm__ volatile("vmsr fpscr, %0" : : "r"(word) : "memory");
}
#endif
uint64_t environment_enter(const struct environment *environment) {
  write_control(environment->control, FLAGS);
  return environment_control();
}
uint64_t environment_control(void) {
  return read_control();
}
int environment_has_flags(void) {
  return read_flags() == FLAGS;
}
void environment_leave(void) {
  write_control(0, 0);
}

#elif defined(__riscv_flen)

/* The rounding mode, frm; no traps, no flushing. */
const struct environment environment_list[] = {
    {"rounding up", 3},
    {"rounding down", 2},
    {"rounding to zero", 1},
    {"rounding to nearest, ties away", 4},
    {0, 0},
};
uint64_t environment_enter(const struct environment *environment) {
  __asm__ volatile("fsrm %0\n\tfsflags %1" : : "r"(environment->control), "r"(0x1ful) : "memory");
  return environment_control();
}
uint64_t environment_control(void) {
  uint64_t value;
  __asm__ volatile("frrm %0" : "=r"(value) : : "memory");
  return value;
}
int environment_has_flags(void) {
  uint64_t value;
  __asm__ volatile("frflags %0" : "=r"(value) : : "memory");
  return value == 0x1f;
}
void environment_leave(void) {
  __asm__ volatile("fsrm zero\n\tfsflags zero" : : : "memory");
}

#else

#include <fenv.h>

const struct environment environment_list[] = {
    {"rounding up", FE_UPWARD},
    {"rounding down", FE_DOWNWARD},
    {"rounding to zero", FE_TOWARDZERO},
    {0, 0},
};
uint64_t environment_enter(const struct environment *environment) {
  fesetround((int)environment->control);
  feraiseexcept(FE_ALL_EXCEPT);
  return environment_control();
}
uint64_t environment_control(void) {
  return (uint64_t)fegetround();
}
int environment_has_flags(void) {
  return fetestexcept(FE_ALL_EXCEPT) == FE_ALL_EXCEPT;
}
void environment_leave(void) {
  fesetenv(FE_DFL_ENV);
}

#endif
