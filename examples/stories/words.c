#include "words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool words_choose(const char *name, const char *word, const struct choice *choices, int *value,
                  struct failure *failure) {
  for (; choices->word; choices++)
    if (strcmp(choices->word, word) == 0) {
      *value = choices->value;
      return true;
    }
  return refuse(failure, "%s has no '%s'; --help lists what there is", name, word);
}

bool words_whole(const char *name, const char *word, int64_t least, int64_t most, int64_t *value,
                 struct failure *failure) {
  char *end;
  errno = 0;
  const long long number = strtoll(word, &end, 10);
  if (end == word || *end || errno || number < least || number > most)
    return refuse(failure, "%s is '%s'; it must be a whole number from %lld to %lld", name, word, (long long)least,
                  (long long)most);
  *value = number;
  return true;
}

bool words_temperature(const char *word, double *value, struct failure *failure) {
  char *end;
  *value = strtod(word, &end);
  const bool can_draw = *value >= TEMPERATURE_LEAST && *value <= TEMPERATURE_MOST;
  if (end != word && !*end && (*value == 0 || can_draw)) return true;
  return refuse(failure, "--temperature is '%s'; it must be 0, or from 1e-6 to 1e6", word);
}
