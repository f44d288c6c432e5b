#define _POSIX_C_SOURCE 200809L /* isatty() */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { width = 30 };

static struct {
  int terminal, steps, begun;
  char step[128];
} bar;

void progress_begin(int steps) {
  bar.terminal = isatty(STDERR_FILENO);
  bar.steps = steps;
}

void progress_show(const char *step) {
  if (!bar.terminal || strcmp(bar.step, step) == 0) return;
  snprintf(bar.step, sizeof bar.step, "%s", step);
  const int ended = bar.begun < bar.steps ? bar.begun++ : bar.steps;
  char filled[width + 1] = "";
  const int length = bar.steps > 0 ? width * ended / bar.steps : 0;
  memset(filled, '#', (size_t)length);
  filled[length] = '\0';
  fprintf(stderr, "\r\033[K[%-*s] %d of %d  %.60s", width, filled, bar.begun, bar.steps, bar.step);
  fflush(stderr);
}

void progress_clear(void) {
  if (bar.terminal) fputs("\r\033[K", stderr);
}
