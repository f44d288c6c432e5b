/* The record of the process, found out once: its CPU, its environment, its id. */
#ifndef FOVEA_SRC_SYSTEM_PROCESS_H
#define FOVEA_SRC_SYSTEM_PROCESS_H

#include "cpu.h"

typedef struct fovea_process {
  uint64_t features;
  long id;
  int cpu_quota; /* of its control groups, in CPUs; 0: no quota */
  char cpu_name[FOVEA_CPU_NAME_SIZE];
  char isa_cap[32]; /* FOVEA_ISA, cut to fit; "" if not set */
} fovea_process;

/* The first call fills the record. Thread-safe. */
const fovea_process *fovea_process_record(void);

#endif
