#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "platform.h"

#if defined(_WIN32)

#include <windows.h>

int fovea_platform_cpus(void) {
  DWORD_PTR process, system;
  int cpus = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &process, &system)) return 1;
  for (; process; process &= process - 1) cpus++;
  return cpus > 0 ? cpus : 1;
}

int fovea_platform_cpu_quota(void) {
  return 0;
}
long fovea_platform_process(void) {
  return 0;
} /* no fork() */

#else

#include <unistd.h>

long fovea_platform_process(void) {
  return (long)getpid();
}

#if defined(__linux__)

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

int fovea_platform_cpus(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  long cpus = sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than the set has room for */
  return cpus > 0 && cpus < 65536 ? (int)cpus : 1;
}

/* The numbers at the start of a small file, as many as there are; stdio is not wanted in the library. */
static int read_numbers(const char *path, long long numbers[2]) {
  char text[64];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  text[size] = '\0';
  int count = 0;
  for (char *at = text, *end; count < 2; at = end, count++) {
    numbers[count] = strtoll(at, &end, 10);
    if (end == at) break;
  }
  return count;
}

int fovea_platform_cpu_quota(void) {
  long long v2[2], quota, period, v1[2];
  if (read_numbers("/sys/fs/cgroup/cpu.max", v2) == 2) { /* "max 100000" without a limit */
    quota = v2[0];
    period = v2[1];
  } else if (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", v1) >= 1) {
    quota = v1[0];
    if (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", v1) < 1) return 0;
    period = v1[0];
  } else {
    return 0;
  }
  if (quota <= 0 || period <= 0) return 0;
  long long cpus = (quota + period - 1) / period;
  return cpus < 65536 ? (int)cpus : 65536;
}

#else

int fovea_platform_cpus(void) {
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return cpus > 0 && cpus < 65536 ? (int)cpus : 1;
}
int fovea_platform_cpu_quota(void) {
  return 0;
}

#endif
#endif

#if defined(__aarch64__) && defined(__linux__)

#include "cpu.h"

#include <sys/auxv.h>

uint64_t fovea_platform_arm_features(void) {
  const unsigned long fhm = 1ul << 23, bf16 = 1ul << 14; /* HWCAP_ASIMDFHM, HWCAP2_BF16 */
  uint64_t features = 0;
  if (getauxval(AT_HWCAP) & fhm) features |= FOVEA_CPU_NEON_FHM;
  if (getauxval(AT_HWCAP2) & bf16) features |= FOVEA_CPU_NEON_BF16;
  return features;
}

#else

uint64_t fovea_platform_arm_features(void) {
  return 0;
}

#endif
