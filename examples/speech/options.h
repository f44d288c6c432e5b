/* The command line. */
#ifndef SPEECH_OPTIONS_H
#define SPEECH_OPTIONS_H

#include "../stories/failure.h"

#include <stdint.h>

struct options {
  bool help;
  const char *file;
  const char *isa; /* NULL: the best */
  int64_t left, right, chunk, layers, threads;
};

extern const char options_help[];

bool options_read(struct options *options, int count, char **arguments, struct failure *failure);

#endif
