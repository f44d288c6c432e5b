#include "options.h"

#include "../stories/words.h"

#include <string.h>

enum { THREAD_LIMIT = 4096, BATCH_DEFAULT = 64, BATCH_LIMIT = 4096, NUMBER_LIMIT = 1 << 20 };

const char options_help[] =
    "Usage: fovea_vit check\n"
    "       fovea_vit show N\n"
    "\n"
    "check reads all held-out digits, says how many are right, and draws the others. show draws digit N, counted "
    "from\n"
    "0, with the probability of each answer.\n"
    "\n"
    "  --png FILE         show also writes a picture: the digit, and what the class token attends to\n"
    "  --data DIR         has model.safetensors and digits.safetensors (examples/vit/data)\n"
    "  --batch N          images that check takes at once (64)\n"
    "  --threads N        0: as many as there are CPUs (default)\n"
    "  --isa NAME         an instruction set that `fovea info` lists\n"
    "\n"
    "--batch, --threads and --isa change no bit of a result.\n"
    "Exit status 0, or 2 with one line on stderr that says what was wrong.\n";

static bool read_option(struct options *options, const char *name, const char *word, struct failure *failure) {
  const struct {
    const char *name, **value;
  } texts[] = {{"--png", &options->png}, {"--data", &options->data}, {"--isa", &options->isa}};
  if (strcmp(name, "--batch") == 0) return words_whole(name, word, 1, BATCH_LIMIT, &options->batch, failure);
  if (strcmp(name, "--threads") == 0) return words_whole(name, word, 0, THREAD_LIMIT, &options->threads, failure);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp(name, texts[i].name) == 0) {
      *texts[i].value = word;
      return true;
    }
  return refuse(failure, "there is no option %s; --help lists what there is", name);
}

/* The command, or the number after `show`. */
static bool read_word(struct options *options, const char *word, struct failure *failure) {
  if (options->command == COMMAND_SHOW && options->number < 0)
    return words_whole("the digit's number", word, 0, NUMBER_LIMIT, &options->number, failure);
  if (options->command != COMMAND_HELP) return refuse(failure, "'%s' is one word too many", word);
  if (strcmp(word, "check") == 0) options->command = COMMAND_CHECK;
  if (strcmp(word, "show") == 0) options->command = COMMAND_SHOW;
  return options->command != COMMAND_HELP ||
         refuse(failure, "there is no command '%s'; --help lists what there is", word);
}

static bool check(struct options *options, struct failure *failure) {
  if (options->command == COMMAND_HELP) return refuse(failure, "it needs a command; --help tells more");
  if (options->command == COMMAND_SHOW && options->number < 0)
    return refuse(failure, "show needs the number of a digit after it");
  if (options->command == COMMAND_SHOW && options->batch > 0)
    return refuse(failure, "--batch is for check; here it would not be used");
  if (options->command == COMMAND_CHECK && options->png)
    return refuse(failure, "--png is for show; here it would not be used");
  if (options->batch == 0) options->batch = BATCH_DEFAULT;
  return true;
}

bool options_read(struct options *options, int count, char **arguments, struct failure *failure) {
  *options = (struct options){.number = -1, .data = "examples/vit/data"};
  for (int i = 1; i < count; i++) {
    const char *name = arguments[i];
    if (strcmp(name, "--help") == 0) {
      options->command = COMMAND_HELP;
      return true;
    }
    if (strncmp(name, "--", 2) != 0) {
      if (!read_word(options, name, failure)) return false;
    } else if (++i == count) {
      return refuse(failure, "%s wants something after it; --help says what", name);
    } else if (!read_option(options, name, arguments[i], failure)) {
      return false;
    }
  }
  return check(options, failure);
}
