/* Command lines, read into the fields of a struct by a table of options. Checks only the form of the text. */
#ifndef FOVEA_TOOLS_OPTIONS_H
#define FOVEA_TOOLS_OPTIONS_H

#include "failure.h"
#include <fovea/fovea.h>

#include <stddef.h>
#include <stdint.h>

/* Numbers with commas between them; count 0 if the option was not given. */
typedef struct number_list {
  int64_t *numbers;
  int64_t count;
} number_list;

typedef struct real_number {
  bool given;
  double value;
} real_number;

typedef struct type_name {
  bool given;
  fovea_type type;
} type_name;

/* What an option's field is: a bool, const char *, real_number, type_name or number_list. */
typedef enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_TYPE, OPTION_LIST } option_kind;

typedef struct option {
  const char *name; /* without "--": an argument that stands alone, of kind OPTION_TEXT */
  option_kind kind;
  size_t field;     /* its place in the struct */
  int64_t count;    /* how many numbers a list has; 0: any */
  const char *form; /* "a path": what the option takes, for the texts of failures */
} option;

typedef struct option_table {
  const char *command;
  const option *options;
  size_t count;
  const option *more; /* options of several commands, of the same struct; they come after the others */
  size_t more_count;  /* all together at most 64 */
} option_table;

bool options_ask_help(int argument_count, char **arguments);

/* Fills the fields of options that are given. All fields must be zero before. */
bool options_parse(const option_table *table, void *fields, int argument_count, char **arguments, failure *why);

/* Frees the lists. Call it in any case. */
void options_free(const option_table *table, void *fields);

#endif
