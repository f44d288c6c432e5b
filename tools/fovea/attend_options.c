#include "attend_options.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_TYPE, OPTION_LIST } option_kind;

/* Every option: its name, the field it fills, and for lists how many numbers it takes (0: any). */
static const struct option {
  const char *name;
  option_kind kind;
  size_t field;
  int64_t count;
  const char *form;
} known[] = {
    {"--q", OPTION_TEXT, offsetof(attend_options, q), 0, "a path"},
    {"--k", OPTION_TEXT, offsetof(attend_options, k), 0, "a path"},
    {"--v", OPTION_TEXT, offsetof(attend_options, v), 0, "a path"},
    {"--out", OPTION_TEXT, offsetof(attend_options, out), 0, "a path"},
    {"--lse", OPTION_TEXT, offsetof(attend_options, lse), 0, "a path"},
    {"--weights", OPTION_TEXT, offsetof(attend_options, weights), 0, "a path"},
    {"--weights-type", OPTION_TYPE, offsetof(attend_options, weights_type), 0, "f32, f16 or bf16"},
    {"--mask", OPTION_TEXT, offsetof(attend_options, mask), 0, "a path"},
    {"--mask-begin", OPTION_LIST, offsetof(attend_options, mask_begin), 1, "a number"},
    {"--sinks", OPTION_TEXT, offsetof(attend_options, sinks), 0, "a path, or zero"},
    {"--causal", OPTION_FLAG, offsetof(attend_options, causal), 0, ""},
    {"--window", OPTION_LIST, offsetof(attend_options, window), 2, "two numbers LEFT,RIGHT"},
    {"--chunk", OPTION_LIST, offsetof(attend_options, chunk), 3, "three numbers SIZE,LEFT,RIGHT"},
    {"--offset", OPTION_LIST, offsetof(attend_options, offset), 0, "a number, or one per batch entry"},
    {"--q-lens", OPTION_LIST, offsetof(attend_options, q_lens), 0, "a number per batch entry"},
    {"--kv-lens", OPTION_LIST, offsetof(attend_options, kv_lens), 0, "a number per batch entry"},
    {"--scale", OPTION_NUMBER, offsetof(attend_options, scale), 0, "a number"},
    {"--softcap", OPTION_NUMBER, offsetof(attend_options, softcap), 0, "a number"},
    {"--cast", OPTION_TYPE, offsetof(attend_options, cast), 0, "f32, f16 or bf16"},
    {"--out-type", OPTION_TYPE, offsetof(attend_options, out_type), 0, "f32, f16 or bf16"},
    {"--threads", OPTION_LIST, offsetof(attend_options, threads), 1, "a number"},
    {"--isa", OPTION_TEXT, offsetof(attend_options, isa), 0, "a name"},
};

#define KNOWN_COUNT (sizeof known / sizeof known[0])

/* Reads a decimal integer without spaces around it. Moves *at behind it. */
static bool parse_integer(const char **at, int64_t *number) {
  const char *digits = **at == '-' ? *at + 1 : *at;
  if (!isdigit((unsigned char)*digits)) return false;
  char *end;
  errno = 0;
  long long parsed = strtoll(*at, &end, 10);
  if (errno != 0) return false;
  *number = parsed;
  *at = end;
  return true;
}

static bool parse_list(number_list *list, const char *text) {
  size_t count = 1;
  for (const char *at = text; *at; at++) count += *at == ',';
  list->numbers = malloc(count * sizeof *list->numbers);
  if (!list->numbers) return false;
  for (const char *at = text;; at++) {
    if (!parse_integer(&at, &list->numbers[list->count++])) return false;
    if (*at == '\0') return true;
    if (*at != ',') return false;
  }
}

static bool parse_real(real_number *number, const char *text) {
  char *end;
  *number = (real_number){true, strtod(text, &end)};
  return end != text && *end == '\0' && !isspace((unsigned char)*text);
}

static bool parse_type(type_name *type, const char *text) {
  static const char *const names[] = {[FOVEA_F32] = "f32", [FOVEA_F16] = "f16", [FOVEA_BF16] = "bf16"};
  for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *type = (type_name){true, (fovea_type)i};
    return true;
  }
  return false;
}

static bool set_option(attend_options *options, const struct option *option, const char *value, failure *why) {
  void *field = (char *)options + option->field;
  bool understood = true;
  switch (option->kind) {
  case OPTION_FLAG:
    *(bool *)field = true;
    break;
  case OPTION_TEXT:
    *(const char **)field = value;
    break;
  case OPTION_NUMBER:
    understood = parse_real(field, value);
    break;
  case OPTION_TYPE:
    understood = parse_type(field, value);
    break;
  case OPTION_LIST: {
    number_list *list = field;
    understood = parse_list(list, value) && (option->count == 0 || list->count == option->count);
    break;
  }
  }
  return understood || fail(why, "%s takes %s, not '%s'", option->name, option->form, value);
}

/* Finds the option that an argument names, as --name or --name=value; *value is then the text after the sign. */
static const struct option *find_option(const char *argument, const char **value) {
  size_t length = strcspn(argument, "=");
  *value = argument[length] == '=' ? argument + length + 1 : NULL;
  for (size_t i = 0; i < KNOWN_COUNT; i++)
    if (strlen(known[i].name) == length && memcmp(known[i].name, argument, length) == 0) return &known[i];
  return NULL;
}

static bool parse_argument(attend_options *options, bool *given, char **arguments, int *next, failure *why) {
  const char *argument = arguments[*next], *value;
  *next += 1;
  const struct option *option = find_option(argument, &value);
  if (!option && argument[0] == '-') return fail(why, "unknown option '%s' (see fovea attend --help)", argument);
  if (!option) return fail(why, "unexpected argument '%s' (see fovea attend --help)", argument);
  if (given[option - known]) return fail(why, "%s is given twice", option->name);
  given[option - known] = true;

  if (option->kind == OPTION_FLAG && value) return fail(why, "%s takes no value", option->name);
  if (option->kind != OPTION_FLAG && !value && arguments[*next] && strncmp(arguments[*next], "--", 2) != 0)
    value = arguments[(*next)++];
  if (option->kind != OPTION_FLAG && (!value || !*value))
    return fail(why, "%s needs %s after it", option->name, option->form);
  return set_option(options, option, value, why);
}

static bool check_differ(const char *name, const char *path, const char *other_name, const char *other,
                         failure *why) {
  return !path || !other || strcmp(path, other) != 0 ||
         fail(why, "%s and %s name the same file '%s'", name, other_name, path);
}

static bool check_required(const attend_options *options, failure *why) {
  const char *missing = !options->q     ? "--q"
                        : !options->k   ? "--k"
                        : !options->v   ? "--v"
                        : !options->out ? "--out"
                                        : NULL;
  if (missing) return fail(why, "%s is missing (see fovea attend --help)", missing);
  if (options->weights_type.given && !options->weights) return fail(why, "--weights-type needs --weights");
  return check_differ("--out", options->out, "--lse", options->lse, why) &&
         check_differ("--out", options->out, "--weights", options->weights, why) &&
         check_differ("--lse", options->lse, "--weights", options->weights, why);
}

bool attend_options_parse(attend_options *options, int argument_count, char **arguments, failure *why) {
  *options = (attend_options){.help = false};
  for (int i = 0; i < argument_count; i++)
    if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) return options->help = true;

  bool given[KNOWN_COUNT] = {false};
  for (int next = 0; next < argument_count;)
    if (!parse_argument(options, given, arguments, &next, why)) return false;
  return check_required(options, why);
}

void attend_options_free(attend_options *options) {
  number_list *lists[] = {&options->window,  &options->chunk,      &options->offset, &options->q_lens,
                          &options->kv_lens, &options->mask_begin, &options->threads};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    free(lists[i]->numbers);
    *lists[i] = (number_list){.count = 0};
  }
}
