#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { THREAD_LIMIT = 4096 };

const char options_help[] =
    "Usage: fovea_graph [OPTION ...]\n"
    "\n"
    "Says which part of a club each member goes with when it splits, from who is friends with whom and from two "
    "members\n"
    "whose part is known.\n"
    "\n"
    "  --svg FILE         draws the club, its edges as thick as the weights of attention\n"
    "  --data DIR         has model.safetensors and club.safetensors (examples/graph/data)\n"
    "  --threads N        0: as many as there are CPUs (default)\n"
    "  --isa NAME         an instruction set that `fovea info` lists\n"
    "\n"
    "--threads and --isa change no bit of a result.\n"
    "Exit status 0, or 2 with one line on stderr that says what was wrong.\n";

static bool read_threads(const char *word, int64_t *value, struct failure *failure) {
  char *end;
  errno = 0;
  const long long number = strtoll(word, &end, 10);
  if (end == word || *end || errno || number < 0 || number > THREAD_LIMIT)
    return refuse(failure, "--threads is '%s'; it must be a whole number from 0 to %d", word, THREAD_LIMIT);
  *value = number;
  return true;
}

static bool read_option(struct options *options, const char *name, const char *word, struct failure *failure) {
  const struct {
    const char *name, **value;
  } texts[] = {{"--svg", &options->svg}, {"--data", &options->data}, {"--isa", &options->isa}};
  if (strcmp(name, "--threads") == 0) return read_threads(word, &options->threads, failure);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp(name, texts[i].name) == 0) {
      *texts[i].value = word;
      return true;
    }
  return refuse(failure, "there is no option %s; --help lists what there is", name);
}

bool options_read(struct options *options, int count, char **arguments, struct failure *failure) {
  *options = (struct options){.data = "examples/graph/data"};
  for (int i = 1; i < count; i++) {
    const char *name = arguments[i];
    if (strcmp(name, "--help") == 0) {
      options->help = true;
      return true;
    }
    if (strncmp(name, "--", 2) != 0) return refuse(failure, "'%s' is one word too many", name);
    if (++i == count) return refuse(failure, "%s wants something after it; --help says what", name);
    if (!read_option(options, name, arguments[i], failure)) return false;
  }
  return true;
}
