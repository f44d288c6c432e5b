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

/* Of --temperature: 0, or one that chances.h takes. */
#define TEMPERATURE_LEAST 1e-6
#define TEMPERATURE_MOST  1e6
bool words_temperature(const char *word, double *value, struct failure *failure);

#endif
