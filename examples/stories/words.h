/* The values of a command line's options. `name` is the option's, for a refusal. */
#ifndef STORIES_WORDS_H
#define STORIES_WORDS_H

#include "failure.h"

#include <stdint.h>

/* A word that an option's value may be. */
struct choice {
  const char *word; /* NULL ends a list */
  int value;
};

bool words_choose(const char *name, const char *word, const struct choice *choices, int *value,
                  struct failure *failure);

bool words_whole(const char *name, const char *word, int64_t least, int64_t most, int64_t *value,
                 struct failure *failure);

/* Of --temperature: a number from 0 on. */
bool words_temperature(const char *word, double *value, struct failure *failure);

#endif
