#define _POSIX_C_SOURCE 200112L /* isatty(), fileno() */

#include "progress.h"

#include <stdio.h>
#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

enum { BAR_LENGTH = 40, LINE_LENGTH = 79 };

static int is_terminal(void) {
#if defined(_WIN32)
  return _isatty(2);
#else
  return isatty(fileno(stderr));
#endif
}

void progress_show(const char *what, int64_t done, int64_t all) {
  if (!is_terminal()) return;
  const int filled = all > 0 ? (int)(done * BAR_LENGTH / all) : BAR_LENGTH;
  fprintf(stderr, "\r%s [", what);
  for (int i = 0; i < BAR_LENGTH; i++) fputc(i < filled ? '#' : '.', stderr);
  fprintf(stderr, "] %lld/%lld", (long long)done, (long long)all);
  fflush(stderr);
}

void progress_end(void) {
  if (is_terminal()) fprintf(stderr, "\r%*s\r", LINE_LENGTH, "");
}
