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

/* `names` and `counts`: of both commands, the name and how many words it wants. */
bool command_read(struct command *command, int count, char **arguments, const char *const names[2],
                  const int counts[2], const struct command_option *options, struct failure *failure);

/* Seconds since some moment. */
double command_seconds(void);

#endif
