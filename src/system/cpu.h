/* What a process may use of the CPU: features that the CPU has and the operating system supports. */
#ifndef FOVEA_SRC_SYSTEM_CPU_H
#define FOVEA_SRC_SYSTEM_CPU_H

#include "../../arch/features.h"

#include <stdint.h>

/* FOVEA_CPU_* bits. */
uint64_t fovea_cpu_features(void);

/* What an x86 CPU says of itself that the FOVEA_CPU_* bits depend on. Words that it does not have are 0. */
typedef struct fovea_x86_words {
  char vendor[12];
  uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx, leaf7_1_eax;
  uint64_t saved; /* XCR0: registers that the operating system saves at a context switch; 0 without OSXSAVE */
} fovea_x86_words;

/* The FOVEA_CPU_* bits of such a CPU. Every build has this function, so that tests can try CPUs that are not at
 * hand. */
uint64_t fovea_cpu_x86_features(const fovea_x86_words *words);

enum { FOVEA_CPU_NAME_SIZE = 64 };
/* The name that the CPU gives itself, else its architecture. */
void fovea_cpu_name(char name[FOVEA_CPU_NAME_SIZE]);

#endif
