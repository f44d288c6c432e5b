#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char options_help[] =
    "Usage: fovea_translate TEXT [OPTIONS]\n"
    "       fovea_translate --check FILE [OPTIONS]\n"
    "\n"
    "Translates a date in words, as 'march 3rd, 2019', into 2019-03-03, by a recurrent network with attention.\n"
    "--check translates each line of a file, up to its tab, compares with what follows the tab, and counts.\n"
    "\n"
    "  --heatmap FILE     draws what each step of the answer looked at, as an SVG\n"
    "  --model FILE       the weights (examples/translate/model.safetensors)\n"
    "  --threads N        0: as many as there are CPUs; 1 is the fastest for so small a model (default)\n"
    "  --isa NAME         an instruction set that `fovea info` lists\n"
    "\n"
    "No option but --model changes a bit of any number.\n"
    "Exit status 0; 1 if --check found wrong answers; 2 with one line on stderr that says what was wrong.\n";

static bool read_threads(const char *word, int *threads, struct failure *failure) {
  char *end;
  errno = 0;
  const long number = strtol(word, &end, 10);
  if (end == word || *end || errno || number < 0 || number > 1024)
    return refuse(failure, "--threads is '%s'; it must be a whole number from 0 to 1024", word);
  *threads = (int)number;
  return true;
}

static bool read_option(struct options *options, const char *name, const char *word, struct failure *failure) {
  const struct {
    const char *name, **value;
  } texts[] = {{"--check", &options->check},
               {"--heatmap", &options->heatmap},
               {"--model", &options->model},
               {"--isa", &options->isa}};
  if (strcmp(name, "--threads") == 0) return read_threads(word, &options->threads, failure);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp(name, texts[i].name) == 0) {
      *texts[i].value = word;
      return true;
    }
  return refuse(failure, "there is no option %s; --help lists what there is", name);
}

bool options_read(struct options *options, int count, char **arguments, struct failure *failure) {
  *options = (struct options){.model = "examples/translate/model.safetensors", .threads = 1};
  for (int i = 1; i < count; i++) {
    const char *name = arguments[i];
    if (strcmp(name, "--help") == 0) {
      options->help = true;
      return true;
    }
    if (strncmp(name, "--", 2) == 0) {
      if (++i == count) return refuse(failure, "%s wants something after it; --help says what", name);
      if (!read_option(options, name, arguments[i], failure)) return false;
    } else if (!options->text) {
      options->text = name;
    } else {
      return refuse(failure, "'%s' is one word too many; a date of several needs quotes", name);
    }
  }
  if (!options->text && !options->check) return refuse(failure, "it needs a text, or --check; --help tells more");
  if (options->text && options->check) return refuse(failure, "with --check '%s' would not be used", options->text);
  if (options->check && options->heatmap)
    return refuse(failure, "--heatmap is for one text; with --check it would not be used");
  return true;
}
