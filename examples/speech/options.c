#include "options.h"

#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char options_help[] =
    "Usage: fovea_speech [OPTION...] FILE\n"
    "\n"
    "Streams a WAV file (PCM of 16 bits) through an encoder with truncated self-attention, as if it was being "
    "spoken,\n"
    "and writes how long each chunk takes, and whether the result has the bits of the whole file at once. The "
    "encoder\n"
    "is not trained: its weights are random.\n"
    "\n"
    "  --left N       frames that a row sees before it (64); there are 100 a second\n"
    "  --right N      frames that a row sees after it (4)\n"
    "  --chunk N      frames that come at once (16)\n"
    "  --layers N     of 256 dims, 4 heads, 1,024 hidden (6)\n"
    "  --threads N    (1); 0: as many as there are CPUs\n"
    "  --isa NAME     an instruction set that `fovea info` lists\n"
    "\n"
    "--chunk, --threads and --isa change no bit of the result.\n"
    "Exit status 0; 1 if the bits differ; 2 with one line on stderr that says what was wrong.\n";

static bool read_option(struct options *options, const char *name, const char *word, struct failure *failure) {
  const struct {
    const char *name;
    int64_t least, most, *value;
  } numbers[] = {{"--left", 0, 100000, &options->left},
                 {"--right", 0, 10000, &options->right},
                 {"--chunk", 1, 10000, &options->chunk},
                 {"--layers", 1, MODEL_MOST_LAYERS, &options->layers},
                 {"--threads", 0, 1024, &options->threads}};
  if (strcmp(name, "--isa") == 0) {
    options->isa = word;
    return true;
  }
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (strcmp(name, numbers[i].name) != 0) continue;
    char *end;
    errno = 0;
    const long long number = strtoll(word, &end, 10);
    if (end == word || *end || errno || number < numbers[i].least || number > numbers[i].most)
      return refuse(failure, "%s is '%s'; it must be a whole number from %lld to %lld", name, word,
                    (long long)numbers[i].least, (long long)numbers[i].most);
    *numbers[i].value = number;
    return true;
  }
  return refuse(failure, "there is no option %s; --help lists what there is", name);
}

bool options_read(struct options *options, int count, char **arguments, struct failure *failure) {
  *options = (struct options){.left = 64, .right = 4, .chunk = 16, .layers = 6, .threads = 1};
  for (int i = 1; i < count; i++) {
    const char *name = arguments[i];
    if (strcmp(name, "--help") == 0) {
      options->help = true;
      return true;
    }
    if (strncmp(name, "--", 2) == 0) {
      if (++i == count) return refuse(failure, "%s wants something after it; --help says what", name);
      if (!read_option(options, name, arguments[i], failure)) return false;
    } else if (options->file) {
      return refuse(failure, "'%s' is one word too many; it takes one FILE", name);
    } else {
      options->file = name;
    }
  }
  return options->file || refuse(failure, "it needs a FILE; --help tells more");
}
