#include "options.h"

#include "words.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_LIMIT = 1 << 24, THREAD_LIMIT = 4096, PAGE_DEFAULT = 16 };

const char options_help[] =
    "Usage: fovea_stories MODEL TOKENIZER [PROMPT] [OPTIONS]\n"
    "\n"
    "Continues the prompt, by a checkpoint and a tokenizer of llama2.c.\n"
    "\n"
    "  --steps N          tokens to write, at most (256)\n"
    "  --temperature X    0: always the likeliest token (default); 1: as the model has it; from 1e-6 to 1e6\n"
    "  --seed N           of the generator, for other temperatures than 0 (1)\n"
    "  --cache KIND       contiguous (default), paged or ring\n"
    "  --type TYPE        of the cache: f32 (default), f16 or bf16\n"
    "  --format NAME      of the cache, in 8 bits or less: q8_0, e4m3, ... as `fovea cache --list` prints them;\n"
    "                     two for keys and values: kivi_k4,kivi_v4. The newest keys of an unfinished group are "
    "f32\n"
    "  --scale X          of formats whose keys all share one (0.25 for int8, 2 for int4, else 1)\n"
    "  --keys LAYOUT      of the cache: rows (default) or panels\n"
    "  --bf16             attention in bf16 mode, on AMX if this machine has it and no --isa is given\n"
    "  --int8             attention in int8 mode\n"
    "  --page N           positions of a page of --cache paged (16)\n"
    "  --window N         a token sees the N latest, itself included; 0: all (default)\n"
    "  --chunk N          tokens of the prompt that go through the layers at once (64)\n"
    "  --threads N        0: as many as there are CPUs (default)\n"
    "  --isa NAME         an instruction set that `fovea info` lists\n"
    "  --stats            lines on stderr: how many tokens, tokens a second, and how large the cache is\n"
    "  --compare          reads the text again, token by token, beside exact mode with a cache in f32; a line on\n"
    "                     stderr: how often the likeliest next token is another\n"
    "\n"
    "Only the model, the prompt, --type, --format, --scale, --bf16, --int8, --window, --temperature and --seed\n"
    "change the text.\n"
    "Exit status 0, or 2 with one line on stderr that says what was wrong.\n";

static const struct choice kinds[] = {
    {"contiguous", CACHE_CONTIGUOUS}, {"paged", CACHE_PAGED}, {"ring", CACHE_RING}, {NULL, 0}};
static const struct choice types[] = {{"f32", FOVEA_F32}, {"f16", FOVEA_F16}, {"bf16", FOVEA_BF16}, {NULL, 0}};
static const struct choice layouts[] = {{"rows", FOVEA_KEYS_IN_ROWS}, {"panels", FOVEA_KEYS_IN_PANELS}, {NULL, 0}};

static bool read_scale(const char *word, double *value, struct failure *failure) {
  char *end;
  *value = strtod(word, &end);
  if (end != word && !*end && *value >= FLT_MIN && *value <= FLT_MAX) return true;
  return refuse(failure, "--scale is '%s'; it must be a number above 0", word);
}

/* "q8_0", or "kivi_k4,kivi_v4" for keys and values. */
static bool read_formats(struct options *options, const char *word, struct failure *failure) {
  const size_t length = strlen(word);
  if (length >= sizeof options->formats) return refuse(failure, "there is no format '%s'", word);
  memcpy(options->formats, word, length + 1);
  char *comma = strchr(options->formats, ',');
  if (comma) *comma = 0;
  options->session.narrow.k = options->formats;
  options->session.narrow.v = comma ? comma + 1 : options->formats;
  return true;
}

static bool read_option(struct options *options, const char *name, const char *word, struct failure *failure) {
  struct session_options *session = &options->session;
  const struct {
    const char *name;
    int64_t least, *value;
  } numbers[] = {{"--steps", 0, &options->steps},
                 {"--page", 1, &session->page_rows},
                 {"--window", 0, &session->window},
                 {"--chunk", 1, &session->chunk}};
  int64_t whole = 0;
  int choice = 0;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (strcmp(name, numbers[i].name) == 0)
      return words_whole(name, word, numbers[i].least, NUMBER_LIMIT, numbers[i].value, failure);
  if (strcmp(name, "--temperature") == 0) return words_temperature(word, &options->temperature, failure);
  if (strcmp(name, "--isa") == 0) {
    session->isa = word;
  } else if (strcmp(name, "--seed") == 0) {
    if (!words_whole(name, word, 0, NUMBER_LIMIT, &whole, failure)) return false;
    options->seed = (uint64_t)whole;
    options->has_seed = true;
  } else if (strcmp(name, "--threads") == 0) {
    if (!words_whole(name, word, 0, THREAD_LIMIT, &whole, failure)) return false;
    session->threads = (int)whole;
  } else if (strcmp(name, "--cache") == 0) {
    if (!words_choose(name, word, kinds, &choice, failure)) return false;
    session->cache = (enum cache_kind)choice;
  } else if (strcmp(name, "--type") == 0) {
    if (!words_choose(name, word, types, &choice, failure)) return false;
    session->type = (fovea_type)choice;
  } else if (strcmp(name, "--format") == 0) {
    return read_formats(options, word, failure);
  } else if (strcmp(name, "--scale") == 0) {
    return read_scale(word, &session->narrow.scale, failure);
  } else if (strcmp(name, "--keys") == 0) {
    if (!words_choose(name, word, layouts, &choice, failure)) return false;
    session->key_layout = (fovea_key_layout)choice;
  } else {
    return refuse(failure, "there is no option %s; --help lists what there is", name);
  }
  return true;
}

static bool read_mode(struct session_options *session, fovea_mode mode, struct failure *failure) {
  if (session->mode != FOVEA_MODE_EXACT && session->mode != mode)
    return refuse(failure, "--bf16 and --int8 exclude each other");
  session->mode = mode;
  return true;
}

/* Refuses what would not be used. */
static bool check(struct options *options, struct failure *failure) {
  if (options->session.page_rows > 0 && options->session.cache != CACHE_PAGED)
    return refuse(failure, "--page is for --cache paged; here it would not be used");
  if (options->has_seed && options->temperature == 0)
    return refuse(failure, "--seed is for another --temperature than 0; here it would not be used");
  const struct session_options *session = &options->session;
  if (session->narrow.k && session->type != FOVEA_F32)
    return refuse(failure, "--format stands in place of --type %s", session->type == FOVEA_F16 ? "f16" : "bf16");
  if (session->narrow.scale != 0 && !session->narrow.k)
    return refuse(failure, "--scale is for --format; here it would not be used");
  if (options->session.page_rows == 0) options->session.page_rows = PAGE_DEFAULT;
  if (!options->prompt) options->prompt = "";
  return true;
}

bool options_read(struct options *options, int count, char **arguments, struct failure *failure) {
  *options = (struct options){.steps = 256, .seed = 1, .session = {.chunk = 64}};
  const char **const words[] = {&options->model, &options->tokenizer, &options->prompt};
  size_t given = 0;
  for (int i = 1; i < count; i++) {
    const char *name = arguments[i];
    if (strcmp(name, "--help") == 0) {
      options->help = true;
      return true;
    }
    if (strcmp(name, "--stats") == 0) {
      options->stats = true;
    } else if (strcmp(name, "--compare") == 0) {
      options->compare = true;
    } else if (strcmp(name, "--bf16") == 0) {
      if (!read_mode(&options->session, FOVEA_MODE_BF16, failure)) return false;
    } else if (strcmp(name, "--int8") == 0) {
      if (!read_mode(&options->session, FOVEA_MODE_INT8, failure)) return false;
    } else if (strncmp(name, "--", 2) == 0) {
      if (++i == count) return refuse(failure, "%s wants something after it; --help says what", name);
      if (!read_option(options, name, arguments[i], failure)) return false;
    } else if (given < sizeof words / sizeof words[0]) {
      *words[given++] = name;
    } else {
      return refuse(failure, "'%s' is one word too many; a prompt of several needs quotes", name);
    }
  }
  if (given < 2) return refuse(failure, "it needs the paths of a model and of a tokenizer; --help tells more");
  return check(options, failure);
}
