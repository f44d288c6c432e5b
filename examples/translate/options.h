/* The command line. */
#ifndef TRANSLATE_OPTIONS_H
#define TRANSLATE_OPTIONS_H

#include "../stories/failure.h"

struct options {
  bool help;
  const char *text, *check; /* one of both */
  const char *model;
  const char *heatmap; /* NULL: none */
  const char *isa;     /* NULL: the best */
  int threads;
};

extern const char options_help[];

bool options_read(struct options *options, int count, char **arguments, struct failure *failure);

#endif
