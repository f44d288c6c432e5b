/* How the program's parts say what went wrong: they fill a failure and return false, and main() alone prints it, so
 * that a user gets one line. */
#ifndef FOVEA_TOOLS_FAILURE_H
#define FOVEA_TOOLS_FAILURE_H

#include <stdbool.h>

typedef struct failure {
  char text[1024];
} failure;

/* Fills the failure and returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool fail(failure *why, const char *format, ...);

#endif
