/* How much CPU time Linux's control groups leave to a process. */
#ifndef FOVEA_SRC_SYSTEM_CGROUP_H
#define FOVEA_SRC_SYSTEM_CGROUP_H

#include <stddef.h>

/* Reads the beginning of a file of text into size bytes, terminated by 0, and returns 1; 0 when it cannot. */
typedef int (*fovea_read_text)(const char *path, char *text, size_t size);

/* CPUs' worth of time that is granted, rounded up: the least of what the process's group and those around it have,
 * by version 2 and by version 1. 0 where there is no limit, or none that can be read. */
int fovea_cgroup_cpus(fovea_read_text read_text);

#endif
