/* The command line. */
#ifndef MINILM_OPTIONS_H
#define MINILM_OPTIONS_H

#include "../stories/failure.h"

#include <stdint.h>

enum command { COMMAND_HELP, COMMAND_EMBED, COMMAND_SEARCH, COMMAND_DRAW };

struct options {
  enum command command;
  const char *words[2]; /* after the command: FILE; FILE and QUESTION; TEXT and PICTURE */
  const char *model;    /* the directory of model.safetensors and vocab.txt */
  const char *isa;      /* NULL: the best */
  const char *picture;  /* of the best line; NULL: none */
  int64_t threads, batch, best, layer, head;
};

extern const char options_help[];

/* `model` without --model is the environment's FOVEA_MINILM_DIR. */
bool options_read(struct options *options, int count, char **arguments, struct failure *failure);

#endif
