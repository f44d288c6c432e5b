/* The command line of a program with two commands, and how long it takes. */
#ifndef VERIFY_COMMAND_H
#define VERIFY_COMMAND_H

#include "../stories/words.h"

#include <fovea/fovea.h>

/* An option of one of the commands, or of both. One of the pointers says where its value goes. */
struct command_option {
  const char *name; /* NULL ends a list */
  int of;           /* the command, 0 or 1 */
  bool *flag;
  int64_t *number, least, most;
  double *temperature;
  const struct choice *choices;
  int *chosen;
};

/* What is read: which command, its words, and the options that every program has. */
struct command {
  int which;
  const char *words[3];
  bool help, stats;
  fovea_execution execution; /* --threads, --isa */
};

/* Lines of the help for the options that every program has. */
#define COMMAND_HELP                                                                                               \
  "  --threads N        0: as many as there are CPUs (default)\n"                                                  \
  "  --isa NAME         an instruction set that `fovea info` lists\n"                                              \
  "  --stats            lines on stderr: how long it took\n"

struct command_program {
  const char *name, *help;
  const char *commands[2];
  int words[2]; /* of each command */
};

bool command_read(struct command *command, const struct command_program *program, int count, char **arguments,
                  const struct command_option *options, struct failure *failure);

/* Prints what a program has to say at its end, and returns its status: 0; 1 if the answer is no; 2 after a failure. */
int command_end(const struct command_program *program, bool done, bool answer, const struct failure *failure);

/* Writes a file of two pieces, whole or not at all. */
bool command_write(const char *path, const void *first, size_t first_size, const void *second, size_t second_size,
                   struct failure *failure);

/* Seconds since some moment. */
double command_seconds(void);

#endif
