/* How the program's parts report errors: they fill a failure and return false. Only main() prints it, so that a
 * user gets one line. */
#ifndef FOVEA_TOOLS_FAILURE_H
#define FOVEA_TOOLS_FAILURE_H

#include "printf_like.h"

#include <stdbool.h>

typedef struct failure {
  char text[1024];
} failure;

/* Fills the failure and returns false. */
PRINTF_LIKE(2, 3) bool fail(failure *why, const char *format, ...);

#endif
