#include "attend_normaliser.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The place of a name in a list; -1 if it is not there. */
static int place_of(const char *name, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

/* A divisor is a word or a number. */
static bool set_divisor(fovea_problem *problem, const char *text, failure *why) {
  static const char *const words[] = {"none", "keys", "sum"};
  static const fovea_divisor divisors[] = {FOVEA_DIVISOR_NONE, FOVEA_DIVISOR_KEYS, FOVEA_DIVISOR_SUM};
  const int word = place_of(text, words, 3);
  char *end;
  if (word >= 0) {
    problem->normaliser.divisor = divisors[word];
    return true;
  }
  problem->normaliser.divisor = FOVEA_DIVISOR_CONSTANT;
  problem->normaliser.divisor_value = strtod(text, &end);
  return (end != text && *end == '\0' && !isspace((unsigned char)*text)) ||
         fail(why, "--divisor takes none, keys, sum or a number, not '%s'", text);
}

bool set_normaliser(fovea_problem *problem, const attend_options *options, failure *why) {
  static const char *const names[] = {[FOVEA_NORMALISER_SOFTMAX] = "softmax",
                                      [FOVEA_NORMALISER_RELU] = "relu",
                                      [FOVEA_NORMALISER_RELU_SQUARED] = "relu-squared",
                                      [FOVEA_NORMALISER_SIGMOID] = "sigmoid"};
  const int normaliser = options->normaliser ? place_of(options->normaliser, names, 4) : FOVEA_NORMALISER_SOFTMAX;
  if (normaliser < 0)
    return fail(why, "--normaliser takes softmax, relu, relu-squared or sigmoid, not '%s'", options->normaliser);
  problem->normaliser.kind = (fovea_normaliser)normaliser;
  problem->normaliser.sigmoid_bias = options->sigmoid_bias.value; /* 0 if none is given */
  if (normaliser != FOVEA_NORMALISER_SOFTMAX && options->lse)
    return fail(why, "--lse needs the softmax: with --normaliser %s there is none", options->normaliser);
  return !options->divisor || set_divisor(problem, options->divisor, why);
}
