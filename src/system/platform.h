/* What the library asks the operating system, in files of their own; no other file calls a system. */
#ifndef FOVEA_SRC_SYSTEM_PLATFORM_H
#define FOVEA_SRC_SYSTEM_PLATFORM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* CPUs that this thread may run on, at least 1. */
int fovea_platform_cpus(void);
/* Reads the beginning of a file into `size` bytes, terminated by 0, and returns 1; 0 if it cannot, or if this
 * system has no files to ask. */
int fovea_platform_read_text(const char *path, char *text, size_t size);
/* A number that differs between a process and the child that fork() made of it. */
long fovea_platform_process(void);
/* A number that differs between threads that run. */
uintptr_t fovea_platform_thread(void);
/* Time that never goes back, from any moment on. */
int64_t fovea_platform_nanoseconds(void);
/* Lets another thread have the CPU, if one waits for it. */
void fovea_platform_yield(void);
/* Lets the CPU go until fovea_platform_wake() wakes all that wait there, or for some time, or not at all. Returns
 * at once if *word is not `value`. */
void fovea_platform_wait(atomic_uint *word, unsigned value);
void fovea_platform_wake(atomic_uint *word);
/* Tells the CPU that a thread only looks whether something has changed. */
static inline void fovea_platform_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __asm__ volatile("pause");
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory"); /* YIELD is no longer than a NOP on most cores */
#endif
}
/* The FOVEA_CPU_* bits that the system reports beyond the base architecture. For AArch64 only. */
uint64_t fovea_platform_arm_features(void);

/* Linux on x86-64: asks for AMX's tiles, for all threads of the process. Returns 0 if the system refuses. */
int fovea_platform_permit_amx(void);

#endif
