/* How much CPU time Linux's control groups grant a process. */
#ifndef FOVEA_SRC_SYSTEM_CGROUP_H
#define FOVEA_SRC_SYSTEM_CGROUP_H

#include <stddef.h>

/* Reads the beginning of a text file into `size` bytes, terminated by 0, and returns 1; 0 if it cannot. */
typedef int (*fovea_read_text)(const char *path, char *text, size_t size);

/* The CPU time that is granted, in CPUs, rounded up: the least limit of the process's group and the groups around
 * it, in versions 1 and 2. 0 if there is no limit, or if none can be read. */
int fovea_cgroup_cpus(fovea_read_text read_text);

#endif
