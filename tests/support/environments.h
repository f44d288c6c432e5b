/* Floating-point environments of a thread, set and read in the CPU's register. Nothing here computes in floating
 * point, and such code must not run in most of them. Shares no code with the library. */
#ifndef FOVEA_TESTS_ENVIRONMENTS_H
#define FOVEA_TESTS_ENVIRONMENTS_H

#include <stdint.h>

struct environment {
  const char *name;
  uint64_t control; /* bits of the register that differ from the usual ones */
};

/* A NULL name ends the list. The first environment rounds up. */
extern const struct environment environment_list[];

/* Puts this thread into an environment, with all exception flags set. Returns the control bits that it then has:
 * this CPU may lack some. */
uint64_t environment_enter(const struct environment *environment);

/* This thread's rounding, flushing and traps: everything except flags. */
uint64_t environment_control(void);

/* Whether all exception flags are set. */
int environment_has_flags(void);

/* Returns to the environment that programs start in, with no flag set. */
void environment_leave(void);

#endif
