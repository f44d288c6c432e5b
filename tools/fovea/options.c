#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads a decimal integer without spaces around it. Moves *at after it. */
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

static bool set_option(void *fields, const option *option, const char *value, failure *why) {
  void *field = (char *)fields + option->field;
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

static size_t option_count(const option_table *table) {
  return table->count + table->more_count;
}

static const option *option_at(const option_table *table, size_t i) {
  return i < table->count ? &table->options[i] : &table->more[i - table->count];
}

/* Finds the option that an argument names, as --name or --name=value; *value is then the text after the sign. An
 * argument that stands alone is the value of the first such option that is not given yet. */
static size_t find_option(const option_table *table, uint64_t given, const char *argument, const char **value) {
  const bool alone = argument[0] != '-';
  size_t length = strcspn(argument, "=");
  *value = alone ? argument : argument[length] == '=' ? argument + length + 1 : NULL;
  size_t i = 0;
  for (; i < option_count(table); i++) {
    const char *name = option_at(table, i)->name;
    const bool free_place = name[0] != '-' && !(given >> i & 1);
    if (alone ? free_place : strlen(name) == length && memcmp(name, argument, length) == 0) break;
  }
  return i;
}

static bool parse_argument(const option_table *table, void *fields, uint64_t *given, char **arguments, int *next,
                           failure *why) {
  const char *argument = arguments[*next], *value;
  *next += 1;
  const size_t found = find_option(table, *given, argument, &value);
  if (found == option_count(table))
    return fail(why, "%s '%s' (see fovea %s --help)", argument[0] == '-' ? "unknown option" : "unexpected argument",
                argument, table->command);
  const option *option = option_at(table, found);
  const uint64_t place = UINT64_C(1) << found;
  if (*given & place) return fail(why, "%s is given twice", option->name);
  *given |= place;

  if (option->kind == OPTION_FLAG && value) return fail(why, "%s takes no value", option->name);
  if (option->kind != OPTION_FLAG && !value && arguments[*next] && strncmp(arguments[*next], "--", 2) != 0)
    value = arguments[(*next)++];
  if (option->kind != OPTION_FLAG && (!value || !*value))
    return fail(why, "%s needs %s after it", option->name, option->form);
  return set_option(fields, option, value, why);
}

bool options_ask_help(int argument_count, char **arguments) {
  for (int i = 0; i < argument_count; i++)
    if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) return true;
  return false;
}

bool options_parse(const option_table *table, void *fields, int argument_count, char **arguments, failure *why) {
  uint64_t given = 0;
  for (int next = 0; next < argument_count;)
    if (!parse_argument(table, fields, &given, arguments, &next, why)) return false;
  return true;
}

void options_free(const option_table *table, void *fields) {
  for (size_t i = 0; i < option_count(table); i++) {
    const option *option = option_at(table, i);
    if (option->kind != OPTION_LIST) continue;
    number_list *list = (void *)((char *)fields + option->field);
    free(list->numbers);
    *list = (number_list){.count = 0};
  }
}
