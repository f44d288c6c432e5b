/* What the CPU and the operating system let a process use. */
#ifndef FOVEA_SRC_CPU_H
#define FOVEA_SRC_CPU_H

#include "../arch/features.h"

#include <stdint.h>

/* FOVEA_CPU_* bits. */
uint64_t fovea_cpu_features(void);

enum { FOVEA_CPU_NAME_SIZE = 64 };
/* The CPU's own name where it has one, else its architecture. */
void fovea_cpu_name(char name[FOVEA_CPU_NAME_SIZE]);

#endif
