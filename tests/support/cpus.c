#define _GNU_SOURCE
#include "cpus.h"

#include <sched.h>

static cpu_set_t all;
static int known;

static void remember_all(void) {
  if (!known) known = sched_getaffinity(0, sizeof all, &all) == 0;
}

void cpus_use_one(void) {
  remember_all();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
    if (known && CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  if (known) sched_setaffinity(0, sizeof one, &one);
}

void cpus_use_all(void) {
  remember_all();
  if (known) sched_setaffinity(0, sizeof all, &all);
}
