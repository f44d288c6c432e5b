#include "platform.h"

#if defined(_WIN32)

#include <windows.h>

/* CPUs of the process's own processor group, which has at most 64. A process that runs in several groups has no
 * such mask. */
int fovea_platform_cpus(void) {
  DWORD_PTR process, system;
  int cpus = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &process, &system)) return 1;
  for (; process; process &= process - 1) cpus++;
  if (cpus == 0) cpus = (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return cpus > 0 ? cpus : 1;
}

int fovea_platform_read_text(const char *path, char *text, size_t size) {
  (void)path, (void)text, (void)size;
  return 0;
}

uintptr_t fovea_platform_thread(void) {
  return GetCurrentThreadId();
}

void fovea_platform_yield(void) {
  SwitchToThread();
}

int64_t fovea_platform_nanoseconds(void) {
  LARGE_INTEGER count, frequency; /* counts a second */
  QueryPerformanceCounter(&count);
  QueryPerformanceFrequency(&frequency);
  const int64_t seconds = count.QuadPart / frequency.QuadPart, rest = count.QuadPart % frequency.QuadPart;
  return seconds * 1000000000 + rest * 1000000000 / frequency.QuadPart;
}

/* WaitOnAddress() needs a library of its own. */
void fovea_platform_wait(atomic_uint *word, unsigned value) {
  if (atomic_load(word) == value) fovea_platform_yield();
}

void fovea_platform_wake(atomic_uint *word) {
  (void)word;
}

/* Windows has no fork(). */
long fovea_platform_process(void) {
  return 0;
}

uint64_t fovea_platform_arm_features(void) {
  return 0;
}

#endif
