#define _GNU_SOURCE
#include "cpus.h"

#if defined(_WIN32)

#include <windows.h>

static DWORD_PTR all;

static int remember_all(void) {
  DWORD_PTR system;
  return all != 0 || GetProcessAffinityMask(GetCurrentProcess(), &all, &system);
}

int cpus_use_one(void) {
  return remember_all() && SetProcessAffinityMask(GetCurrentProcess(), all & -all);
}

int cpus_use_all(void) {
  return remember_all() && SetProcessAffinityMask(GetCurrentProcess(), all);
}

int cpus_allowed(void) {
  DWORD_PTR allowed, system;
  int count = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &allowed, &system)) return 0;
  for (; allowed != 0; allowed &= allowed - 1) count++;
  return count;
}

#elif defined(__linux__)

#include <sched.h>

static cpu_set_t all;
static int known;

static int remember_all(void) {
  if (!known) known = sched_getaffinity(0, sizeof all, &all) == 0;
  return known;
}

int cpus_use_one(void) {
  if (!remember_all()) return 0;
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

int cpus_use_all(void) {
  return remember_all() && sched_setaffinity(0, sizeof all, &all) == 0;
}

int cpus_allowed(void) {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

#else

int cpus_use_one(void) {
  return 0;
}

int cpus_use_all(void) {
  return 0;
}

int cpus_allowed(void) {
  return 0;
}

#endif
