/* What the operating system is asked, in one file for each, and nothing else of it is used anywhere. */
#ifndef FOVEA_SRC_SYSTEM_PLATFORM_H
#define FOVEA_SRC_SYSTEM_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* CPUs that this thread may run on, at least 1. */
int fovea_platform_cpus(void);
/* Reads the beginning of a file into size bytes, terminated by 0, and returns 1; 0 when it cannot, or when this
 * system has no files to ask. */
int fovea_platform_read_text(const char *path, char *text, size_t size);
/* Tells a process from the child that fork() made of it. */
long fovea_platform_process(void);
/* FOVEA_CPU_* bits that an AArch64 system reports beyond its base architecture; 0 where it is not asked. */
uint64_t fovea_platform_arm_features(void);

#endif
