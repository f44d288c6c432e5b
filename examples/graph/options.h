/* The command line. */
#ifndef GRAPH_OPTIONS_H
#define GRAPH_OPTIONS_H

#include "../stories/failure.h"

#include <stdint.h>

struct options {
  bool help;
  const char *data; /* the directory of model.safetensors and club.safetensors */
  const char *isa;  /* NULL: the best */
  const char *svg;  /* NULL: none */
  int64_t threads;
};

extern const char options_help[];

bool options_read(struct options *options, int count, char **arguments, struct failure *failure);

#endif
