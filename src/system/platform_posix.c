/* POSIX systems that have no file of their own. */
#include "platform.h"

#if !defined(__linux__) && !defined(_WIN32) && !defined(__APPLE__)

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

int fovea_platform_cpus(void) {
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return cpus > 0 && cpus < 65536 ? (int)cpus : 1;
}

int fovea_platform_read_text(const char *path, char *text, size_t size) {
  (void)path, (void)text, (void)size;
  return 0;
}

uintptr_t fovea_platform_thread(void) {
  return (uintptr_t)pthread_self();
}

void fovea_platform_yield(void) {
  sched_yield();
}

int64_t fovea_platform_nanoseconds(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* No call that all versions have wakes a thread by an address. */
void fovea_platform_wait(atomic_uint *word, unsigned value) {
  if (atomic_load(word) == value) fovea_platform_yield();
}

void fovea_platform_wake(atomic_uint *word) {
  (void)word;
}

long fovea_platform_process(void) {
  return (long)getpid();
}

uint64_t fovea_platform_arm_features(void) {
  return 0;
}

#endif
