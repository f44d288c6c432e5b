/* What the library asks the operating system. Each system has one file; no other file calls a system. */
#ifndef FOVEA_SRC_SYSTEM_PLATFORM_H
#define FOVEA_SRC_SYSTEM_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* CPUs that this thread may run on, at least 1. */
int fovea_platform_cpus(void);
/* Reads the beginning of a file into `size` bytes, terminated by 0, and returns 1; 0 if it cannot, or if this
 * system has no files to ask. */
int fovea_platform_read_text(const char *path, char *text, size_t size);
/* A number that differs between a process and the child that fork() made of it. */
long fovea_platform_process(void);
/* The FOVEA_CPU_* bits that the system reports beyond the base architecture. For AArch64 only. */
uint64_t fovea_platform_arm_features(void);

/* Linux on x86-64: asks for AMX's tiles, for all threads of the process. Returns 0 if the system refuses. */
int fovea_platform_permit_amx(void);

#endif
