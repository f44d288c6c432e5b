/* Executions for single calls, and the scratch that calls of fovea_nn say they need. */
#ifndef FOVEA_TESTS_EXECUTION_H
#define FOVEA_TESTS_EXECUTION_H

#include <fovea/fovea.h>

/* An execution with an instruction set (NULL: the best) and a number of threads (0: the default). It lasts until this
 * thread makes the fourth one after it. */
static inline fovea_execution *execution_of(const char *isa, int threads) {
  static _Thread_local fovea_execution executions[4];
  static _Thread_local unsigned next;
  fovea_execution *execution = &executions[next++ % 4];
  fovea_execution_init(execution);
  execution->isa = isa;
  execution->threads = threads;
  return execution;
}

static inline fovea_execution *on_isa(const char *isa) {
  return execution_of(isa, 0);
}

static inline fovea_execution *with_threads(int threads) {
  return execution_of(NULL, threads);
}

/* Where a call of fovea_nn writes how much scratch it needs, and that number: 0 if it refuses. */
static inline size_t *measured_size(void) {
  static _Thread_local size_t size;
  return &size;
}

static inline size_t measured(fovea_status status) {
  return status == FOVEA_OK ? *measured_size() : 0;
}

#endif
