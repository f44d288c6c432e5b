#include "pattern_reader.h"

#include "inputs.h"
#include "npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool reader_refuse(reader *from, const char *at, const char *what) {
  const int place = (int)(at - from->text) + 1;
  if (*at == '\0') return fail(from->why, "%s: %s at its end, character %d", from->name, what, place);
  return fail(from->why, "%s: %s at character %d, '%.20s'", from->name, what, place, at);
}

void reader_skip_space(reader *from) {
  while (from->separator ? *from->at == from->separator : isspace((unsigned char)*from->at)) from->at++;
}

bool reader_take(reader *from, char wanted) {
  reader_skip_space(from);
  if (*from->at != wanted) return false;
  from->at++;
  return true;
}

static bool ends_word(const reader *from, char c) {
  if (from->separator) return c == '\0' || c == from->separator;
  return c == '\0' || isspace((unsigned char)c) || strchr("&|!()", c) != NULL;
}

bool reader_has_word(reader *from) {
  reader_skip_space(from);
  return !ends_word(from, *from->at);
}

bool reader_word(reader *from, const char *needed) {
  char what[128];
  snprintf(what, sizeof what, "%s is needed", needed);
  if (!reader_has_word(from)) return reader_refuse(from, from->at, what);
  from->word_at = from->at;
  const char quote = *from->at == '\'' || *from->at == '"' ? *from->at : '\0';
  const char *first = from->at + (quote != '\0'), *end = first;
  while (quote != '\0' ? *end != '\0' && *end != quote : !ends_word(from, *end)) end++;
  if (quote != '\0' && *end != quote) return reader_refuse(from, from->at, "a quote that does not end");
  if ((size_t)(end - first) >= sizeof from->word) return reader_refuse(from, from->at, "a word that is too long");
  memcpy(from->word, first, (size_t)(end - first));
  from->word[end - first] = '\0';
  from->at = end + (quote != '\0');
  return true;
}

/* ---- Numbers */

/* Reads a decimal integer. Moves *at after it. */
static bool parse_integer(const char **at, int64_t *number) {
  const char *digits = **at == '-' ? *at + 1 : *at;
  char *end;
  if (!isdigit((unsigned char)*digits)) return false;
  errno = 0;
  const long long parsed = strtoll(*at, &end, 10);
  *number = parsed;
  *at = end;
  return errno == 0;
}

bool reader_number(reader *from, const char *needed, int64_t *number) {
  if (!reader_word(from, needed)) return false;
  const char *at = from->word;
  return (parse_integer(&at, number) && *at == '\0') || reader_refuse(from, from->word_at, "no number");
}

bool reader_has_number(reader *from) {
  reader_skip_space(from);
  return isdigit((unsigned char)*from->at) || (*from->at == '-' && isdigit((unsigned char)from->at[1]));
}

bool reader_optional(reader *from, int64_t otherwise, int64_t *number) {
  *number = otherwise;
  return !reader_has_number(from) || reader_number(from, "a number", number);
}

bool reader_range(reader *from, int64_t *begin, int64_t *end) {
  if (!reader_word(from, "a range A:B")) return false;
  const char *at = from->word;
  if (parse_integer(&at, begin) && *at++ == ':' && parse_integer(&at, end) && *at == '\0') return true;
  return reader_refuse(from, from->word_at, "no range A:B");
}

int reader_lengths(reader *from, const char *needed, int64_t lengths[FOVEA_RULE_AXES]) {
  if (!reader_word(from, needed)) return 0;
  const char *at = from->word;
  int count = 0;
  while (count < FOVEA_RULE_AXES && parse_integer(&at, &lengths[count])) {
    count++;
    if (*at == '\0') return count;
    if (*at++ != 'x') break;
  }
  reader_refuse(from, from->word_at, "no lengths like 14x14, of one to three axes,");
  return 0;
}

/* ---- Arrays */

int64_t *reader_keep_array(reader *from, int64_t count) {
  if (from->arrays->count == READER_ARRAYS) {
    reader_refuse(from, from->word_at, "too many arrays");
    return NULL;
  }
  const bool fits = count >= 0 && (uint64_t)count < SIZE_MAX / sizeof(int64_t);
  int64_t *numbers = fits ? malloc((size_t)(count > 0 ? count : 1) * sizeof *numbers) : NULL;
  if (!numbers) {
    fail(from->why, "%s: out of memory", from->name);
    return NULL;
  }
  from->arrays->of[from->arrays->count++] = numbers;
  return numbers;
}

/* Reads the file that the last word names: one axis of integers. */
static bool load_array(reader *from, int_array *array) {
  npy_array file;
  failure why;
  const unsigned types = NPY_SET(NPY_I32) | NPY_SET(NPY_I64);
  if (!input_load(from->word, types, &file, &why))
    return fail(from->why, "%s: at character %d: %.900s", from->name, (int)(from->word_at - from->text) + 1,
                why.text);
  const int rank = file.rank;
  int64_t *numbers = rank == 1 ? reader_keep_array(from, file.count) : NULL;
  for (int64_t i = 0; numbers && i < file.count; i++)
    numbers[i] = file.type == NPY_I32 ? ((const int32_t *)file.data)[i] : ((const int64_t *)file.data)[i];
  *array = (int_array){numbers, file.count};
  npy_free(&file);
  if (rank != 1) return reader_refuse(from, from->word_at, "a file with one axis of integers is needed");
  return numbers != NULL;
}

bool reader_file(reader *from, const char *needed, int_array *array) {
  return reader_word(from, needed) && load_array(from, array);
}

bool reader_list(reader *from, int_array *array) {
  if (!reader_has_number(from)) return reader_file(from, "a list of numbers or a file", array);
  if (!reader_word(from, "a list")) return false;
  int64_t count = 1, used = 0;
  for (const char *at = from->word; *at; at++) count += *at == ',';
  int64_t *numbers = reader_keep_array(from, count);
  if (!numbers) return false;
  for (const char *at = from->word; parse_integer(&at, &numbers[used]); at++) {
    used++;
    if (*at == ',') continue;
    if (*at != '\0') break;
    *array = (int_array){numbers, used};
    return true;
  }
  return reader_refuse(from, from->word_at, "no list of numbers");
}

bool reader_lists(reader *from, int_array *starts, int_array *items) {
  if (!reader_file(from, "a file indptr.npy", starts) || !reader_file(from, "a file indices.npy", items))
    return false;
  if (starts->count == 0)
    return reader_refuse(from, from->word_at, "indptr has no number; one more than rows is needed,");
  for (int64_t i = 0; i < starts->count; i++) {
    if (starts->numbers[i] >= 0 && starts->numbers[i] <= items->count) continue;
    return fail(from->why, "%s: at character %d: indptr[%lld] is %lld, but indices has %lld numbers", from->name,
                (int)(from->word_at - from->text) + 1, (long long)i, (long long)starts->numbers[i],
                (long long)items->count);
  }
  return true;
}

bool reader_take_keyword(reader *from, const char *word) {
  const size_t length = strlen(word);
  reader_skip_space(from);
  if (strncmp(from->at, word, length) != 0 || !ends_word(from, from->at[length])) return false;
  from->at += length;
  return true;
}
