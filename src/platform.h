/* What the operating system is asked, and nothing else of it is used anywhere. */
#ifndef FOVEA_SRC_PLATFORM_H
#define FOVEA_SRC_PLATFORM_H

#include <stdint.h>

/* CPUs that this thread may run on, at least 1. */
int fovea_platform_cpus(void);
/* CPUs' worth of time that the process's cgroup grants, rounded up; 0 where there is no limit. Reads files. */
int fovea_platform_cpu_quota(void);
/* Tells a process from the child that fork() made of it. */
long fovea_platform_process(void);
/* FOVEA_CPU_* bits that an AArch64 system reports beyond its base architecture; 0 where it is not asked. */
uint64_t fovea_platform_arm_features(void);

#endif
