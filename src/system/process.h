/* What is found out once in a process: its CPU, its environment, its id. */
#ifndef FOVEA_SRC_SYSTEM_PROCESS_H
#define FOVEA_SRC_SYSTEM_PROCESS_H

#include "cpu.h"

typedef struct fovea_process {
  uint64_t features;
  long id;
  int cpu_quota; /* of its control groups, in CPUs; 0 where there is none */
  char cpu_name[FOVEA_CPU_NAME_SIZE];
  char isa_cap[32]; /* FOVEA_ISA, cut to fit; "" when not set */
} fovea_process;

/* Fills the record at the first call; safe from any number of threads. */
const fovea_process *fovea_process_record(void);

#endif
