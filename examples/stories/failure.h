/* What went wrong, as one line for people. */
#ifndef STORIES_FAILURE_H
#define STORIES_FAILURE_H

#include <stdbool.h>

struct failure {
  char text[512];
};

#if defined(__MINGW32__) && !defined(__clang__)
__attribute__((format(gnu_printf, 2, 3))) /* Windows has formats of its own */
#elif defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
/* Writes the text, with '?' for control characters, which names in files may have; false, so that a function can end
 * with it. */
bool refuse(struct failure *failure, const char *format, ...);

#endif
