#include "platform.h"

#if defined(__APPLE__)

#include "../../arch/features.h"
#include <pthread.h>
#include <sched.h>
#include <sys/sysctl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* A number that the kernel publishes; 0 if there is none of that name. */
static int published(const char *name) {
  int number = 0;
  size_t size = sizeof number;
  return sysctlbyname(name, &number, &size, NULL, 0) == 0 && size == sizeof number ? number : 0;
}

/* macOS has no affinity, so all CPUs count. */
int fovea_platform_cpus(void) {
  int cpus = published("hw.logicalcpu");
  return cpus > 0 ? cpus : 1;
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
  uint64_t features = 0;
  if (published("hw.optional.arm.FEAT_FHM")) features |= FOVEA_CPU_NEON_FHM;
  if (published("hw.optional.arm.FEAT_DotProd")) features |= FOVEA_CPU_NEON_DOT;
  if (published("hw.optional.arm.FEAT_I8MM")) features |= FOVEA_CPU_NEON_I8MM;
  if (published("hw.optional.arm.FEAT_BF16")) features |= FOVEA_CPU_NEON_BF16;
  return features;
}

#endif
