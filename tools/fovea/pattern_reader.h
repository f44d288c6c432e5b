/* Words, numbers and arrays of a pattern's text. */
#ifndef FOVEA_TOOLS_PATTERN_READER_H
#define FOVEA_TOOLS_PATTERN_READER_H

#include "failure.h"
#include <fovea/pattern.h>

enum { READER_ARRAYS = 512, READER_WORD = 512 };

/* Arrays that rules point to. */
typedef struct reader_arrays {
  int64_t *of[READER_ARRAYS];
  int count;
} reader_arrays;

typedef struct pattern_rules pattern_rules; /* of pattern_text.h */

typedef struct reader {
  const char *name, *text; /* the option, and its text */
  const char *at;          /* the rest of the text */
  const char *word_at;     /* where the last word began */
  char word[READER_WORD];  /* the last word */
  char separator;          /* of words; '\0': the separators of the grammar */
  reader_arrays *arrays;
  pattern_rules *rules; /* that the text has said so far, and how deep brackets are: for pattern_text.c */
  int depth;
  failure *why;
} reader;

typedef struct int_array {
  const int64_t *numbers;
  int64_t count;
} int_array;

/* Refuses what begins at `at`, and returns false, as all that follow do after they have refused something. */
bool reader_refuse(reader *from, const char *at, const char *what);

void reader_skip_space(reader *from);
bool reader_has_word(reader *from);
bool reader_has_number(reader *from);

/* Takes a character, or a word, if it is the next. */
bool reader_take(reader *from, char wanted);
bool reader_take_keyword(reader *from, const char *word);

/* Takes the next word, without quotes around it. `needed` says in a refusal what it should be. */
bool reader_word(reader *from, const char *needed);
bool reader_number(reader *from, const char *needed, int64_t *number);
/* A number that may be left out. */
bool reader_optional(reader *from, int64_t otherwise, int64_t *number);
/* Two numbers A:B. */
bool reader_range(reader *from, int64_t *begin, int64_t *end);
/* Up to three numbers with an x between them. Returns how many, 0 on failure. */
int reader_lengths(reader *from, const char *needed, int64_t lengths[FOVEA_RULE_AXES]);

/* Memory for numbers that a rule points to. NULL: there is none. */
int64_t *reader_keep_array(reader *from, int64_t count);
/* A file with one axis of integers. */
bool reader_file(reader *from, const char *needed, int_array *array);
/* Numbers with commas between them, or a file. */
bool reader_list(reader *from, int_array *array);
/* The files of a CSR matrix. Ends of lists are checked: only the command knows how long the files are. */
bool reader_lists(reader *from, int_array *starts, int_array *items);

#endif
