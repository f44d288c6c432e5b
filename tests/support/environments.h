/* Floating-point environments that a thread may be in, set and read in the CPU's register. Nothing here computes in
 * floating point, and nothing that does may run in most of them. Shares no line with the library. */
#ifndef FOVEA_TESTS_ENVIRONMENTS_H
#define FOVEA_TESTS_ENVIRONMENTS_H

#include <stdint.h>

struct environment {
  const char *name;
  uint64_t control; /* bits of the register that differ from the usual ones */
};

/* A NULL name ends the list. The first rounds up. */
extern const struct environment environment_list[];

/* Puts this thread into an environment, with all exception flags set. Returns its control bits as they are then:
 * without what this CPU does not have. */
uint64_t environment_enter(const struct environment *environment);

/* Rounding, flushing, traps of this thread: everything but flags. */
uint64_t environment_control(void);

/* Whether all exception flags are set. */
int environment_has_flags(void);

/* The environment that programs start in, no flag set. */
void environment_leave(void);

#endif
