/* The options of the command line. */
#ifndef STORIES_OPTIONS_H
#define STORIES_OPTIONS_H

#include "session.h"

struct options {
  const char *model, *tokenizer, *prompt;
  struct session_options session; /* all fields but `positions` */
  int64_t steps;
  double temperature; /* 0: greedy */
  uint64_t seed;
  char formats[64]; /* what `session.narrow` points into */
  bool has_seed, stats, compare, help;
};

extern const char options_help[];

bool options_read(struct options *options, int count, char **arguments, struct failure *failure);

#endif
