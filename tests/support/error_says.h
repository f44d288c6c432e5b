/* What an error says: which argument or field is wrong, and words of its text. */
#ifndef FOVEA_TESTS_ERROR_SAYS_H
#define FOVEA_TESTS_ERROR_SAYS_H

#include "check.h"

#include <fovea/fovea.h>

#include <string.h>

/* The length of the name that a text begins with: of an argument, of a field, or of an element of one. */
static inline size_t error_name_length(const char *text) {
  return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.[]");
}

/* Every text is one line that begins with the field. Only texts about no argument have no field: about memory, and
 * about what the CPU lacks. */
static inline void assert_error_has_field(const fovea_error *error) {
  assert_non_null(memchr(error->text, '\0', sizeof error->text));
  assert_non_null(memchr(error->field, '\0', sizeof error->field));
  assert_null(strchr(error->text, '\n'));
  if (strncmp(error->text, error->field, strlen(error->field)) != 0)
    fail_msg("\"%s\" does not begin with \"%s\"", error->text, error->field);
  if (error->field[0] == '\0' && error->status != FOVEA_ERROR_MEMORY && error->status != FOVEA_ERROR_UNSUPPORTED)
    fail_msg("\"%s\" has no field", error->text);
}

/* Whether a name of `length` letters is the field, or a part of it between points: "row" or "o_strides" of
 * "o_strides.row". */
static inline int error_field_has(const char *field, const char *name, size_t length) {
  for (const char *part = field; part != NULL; part = strchr(part, '.')) {
    part += *part == '.';
    const char end = strncmp(part, name, length) == 0 ? part[length] : 'x';
    if (end == '\0' || end == '.' || end == '[') return 1;
  }
  return 0;
}

/* `says` begins with the field that is expected, or with a part of its name. What follows is in the text, too: after
 * the field, or, after a colon and a space, anywhere. */
static inline void assert_error_says(const fovea_error *error, const char *says) {
  const size_t length = error_name_length(says);
  const char *const words = strncmp(says + length, ": ", 2) == 0 ? says + length + 2 : says;
  assert_error_has_field(error);
  if (length == 0 ? error->field[0] != '\0' : !error_field_has(error->field, says, length))
    fail_msg("the field of \"%s\" is \"%s\", not the field of \"%s\"", error->text, error->field, says);
  if (strstr(error->text, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", error->text, words);
}

#endif
