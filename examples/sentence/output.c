#include "output.h"

#include "../../tools/fovea/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool output_finish(const char *program) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return true;
  fprintf(stderr, "%s: cannot print: %s\n", program, errno ? strerror(errno) : "an earlier write failed");
  return false;
}

static const char *write_beside(const char *target, output_writer *write, const void *what) {
  char *temporary = system_temporary_name(target);
  if (!temporary) return "out of memory";
  const char *why = write(what, temporary);
  if (!why && system_rename(temporary, target) != 0) why = strerror(errno);
  if (why) remove(temporary);
  free(temporary);
  return why;
}

const char *output_replace(const char *path, output_writer *write, const void *what) {
  char *target = system_resolve(path); /* a link stays, and what it names is replaced */
  if (!target) return "out of memory";
  const system_file kind = system_file_kind(target);
  const bool replaces = kind == SYSTEM_FILE_NONE || kind == SYSTEM_FILE_REGULAR;
  const char *why = replaces ? write_beside(target, write, what) : write(what, path);
  free(target);
  return why;
}
