/* The options of the command line. */
#ifndef LLM_OPTIONS_H
#define LLM_OPTIONS_H

#include "engine.h"

struct options {
  const char *model;
  const char *weights; /* a safetensors file in the place of the model's matrices; NULL: none */
  char **prompts;      /* of the command line: an array of its own */
  int64_t prompt_count, steps;
  int64_t bench;                /* tokens of a made prompt, in the place of prompts; 0: none */
  struct engine_options engine; /* all fields but `longest` */
  fovea_mode mode;              /* of layers with quantised weights: exact, or int8 */
  uint64_t seed;
  const char *logits; /* a file to write; NULL: none */
  bool has_seed, check, stats, help;
};

extern const char options_help[];

/* Moves the prompts to the begin of `arguments`. */
bool options_read(struct options *options, int count, char **arguments, struct failure *failure);

#endif
