#include "options.h"

#include "../stories/words.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_LIMIT = 4096 };

const char options_help[] =
    "Usage: fovea_minilm embed FILE\n"
    "       fovea_minilm search FILE QUESTION\n"
    "       fovea_minilm draw TEXT PICTURE\n"
    "\n"
    "embed writes a vector for each line of a text file. search writes the lines that are closest in meaning to a\n"
    "question, with the cosines of the angles. draw makes a picture of what each token of a text attends\n"
    "to: a PNG if the name ends in .png, a PDF if in .pdf, else an SVG.\n"
    "\n"
    "  --model DIR        has model.safetensors and vocab.txt (default: $FOVEA_MINILM_DIR)\n"
    "  --best N           how many lines search writes (5)\n"
    "  --draw PICTURE     search also draws the best line\n"
    "  --layer N          of the picture, from 0 on (5)\n"
    "  --head N           of the picture, from 0 on (10)\n"
    "  --batch N          lines that go through the model at once (32)\n"
    "  --threads N        0: as many as there are CPUs (default)\n"
    "  --isa NAME         an instruction set that `fovea info` lists\n"
    "\n"
    "No option but --model changes a bit of the vectors.\n"
    "Exit status 0, or 2 with one line on stderr that says what was wrong.\n";

static bool read_option(struct options *options, const char *name, const char *word, struct failure *failure) {
  const struct {
    const char *name;
    int64_t least, *value;
  } numbers[] = {{"--best", 1, &options->best},
                 {"--layer", 0, &options->layer},
                 {"--head", 0, &options->head},
                 {"--batch", 1, &options->batch},
                 {"--threads", 0, &options->threads}};
  const struct {
    const char *name, **value;
  } texts[] = {{"--model", &options->model}, {"--isa", &options->isa}, {"--draw", &options->picture}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (strcmp(name, numbers[i].name) == 0)
      return words_whole(name, word, numbers[i].least, NUMBER_LIMIT, numbers[i].value, failure);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp(name, texts[i].name) == 0) {
      *texts[i].value = word;
      return true;
    }
  return refuse(failure, "there is no option %s; --help lists what there is", name);
}

static bool read_command(struct options *options, const char *word, int *wanted, struct failure *failure) {
  static const struct {
    const char *word;
    enum command command;
    int wanted;
  } commands[] = {{"embed", COMMAND_EMBED, 1}, {"search", COMMAND_SEARCH, 2}, {"draw", COMMAND_DRAW, 2}};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    if (strcmp(word, commands[i].word) == 0) {
      options->command = commands[i].command;
      *wanted = commands[i].wanted;
      return true;
    }
  return refuse(failure, "there is no command '%s'; --help lists what there is", word);
}

static bool check(const struct options *options, int given, int wanted, struct failure *failure) {
  if (options->command == COMMAND_HELP) return refuse(failure, "it needs a command; --help tells more");
  if (given < wanted) return refuse(failure, "it needs %d words after the command; --help says which", wanted);
  if (options->picture && options->command != COMMAND_SEARCH)
    return refuse(failure, "--draw is for search; here it would not be used");
  const bool draws = options->command == COMMAND_DRAW || options->picture;
  if (options->best > 0 && options->command != COMMAND_SEARCH)
    return refuse(failure, "--best is for search; here it would not be used");
  if ((options->layer >= 0 || options->head >= 0) && !draws)
    return refuse(failure, "--%s is for a picture; here it would not be used",
                  options->layer >= 0 ? "layer" : "head");
  if (options->batch > 0 && options->command == COMMAND_DRAW)
    return refuse(failure, "--batch is for lines; here it would not be used");
  if (!options->model) return refuse(failure, "it needs --model DIR, or FOVEA_MINILM_DIR in the environment");
  return true;
}

static void set_defaults(struct options *options) {
  if (options->best == 0) options->best = 5;
  if (options->layer < 0) options->layer = 5;
  if (options->head < 0) options->head = 10;
  if (options->batch == 0) options->batch = 32;
}

bool options_read(struct options *options, int count, char **arguments, struct failure *failure) {
  int given = 0, wanted = 0;
  *options = (struct options){.layer = -1, .head = -1};
  for (int i = 1; i < count; i++) {
    const char *name = arguments[i];
    if (strcmp(name, "--help") == 0) {
      options->command = COMMAND_HELP;
      return true;
    }
    if (strncmp(name, "--", 2) == 0) {
      if (++i == count) return refuse(failure, "%s wants something after it; --help says what", name);
      if (!read_option(options, name, arguments[i], failure)) return false;
    } else if (options->command == COMMAND_HELP) {
      if (!read_command(options, name, &wanted, failure)) return false;
    } else if (given < wanted) {
      options->words[given++] = name;
    } else {
      return refuse(failure, "'%s' is one word too many; a text of several needs quotes", name);
    }
  }
  if (!options->model) options->model = getenv("FOVEA_MINILM_DIR");
  if (!check(options, given, wanted, failure)) return false;
  set_defaults(options);
  return true;
}
