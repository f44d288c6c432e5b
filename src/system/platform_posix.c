#if defined(__linux__) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif
/* What all POSIX systems have in common, and what those do that have no file of their own. */
#include "platform.h"

#if !defined(_WIN32)

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h> /* SYS_futex */
#endif

uintptr_t fovea_platform_thread(void) {
  return (uintptr_t)pthread_self();
}

long fovea_platform_process(void) {
  return (long)getpid();
}

int64_t fovea_platform_nanoseconds(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void fovea_platform_yield(void) {
  sched_yield();
}

/* Beyond Linux no call that all versions of a system have wakes a thread by an address. */
#ifndef SYS_futex
void fovea_platform_wait(atomic_uint *word, unsigned value) {
  if (atomic_load(word) == value) fovea_platform_yield();
}

void fovea_platform_wake(atomic_uint *word) {
  (void)word;
}
#endif

#if !defined(__linux__)
int fovea_platform_read_text(const char *path, char *text, size_t size) {
  (void)path, (void)text, (void)size;
  return 0;
}
#endif

#if !defined(__linux__) && !defined(__APPLE__)
int fovea_platform_cpus(void) {
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return cpus > 0 && cpus < 65536 ? (int)cpus : 1;
}

uint64_t fovea_platform_arm_features(void) {
  return 0;
}
#endif

#endif
