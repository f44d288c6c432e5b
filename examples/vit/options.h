/* The command line. */
#ifndef VIT_OPTIONS_H
#define VIT_OPTIONS_H

#include "../stories/failure.h"

#include <stdint.h>

enum command { COMMAND_HELP, COMMAND_CHECK, COMMAND_SHOW };

struct options {
  enum command command;
  int64_t number;   /* of the image that is shown */
  const char *data; /* the directory of model.safetensors and digits.safetensors */
  const char *isa;  /* NULL: the best */
  const char *png;  /* NULL: none */
  int64_t threads, batch;
};

extern const char options_help[];

bool options_read(struct options *options, int count, char **arguments, struct failure *failure);

#endif
