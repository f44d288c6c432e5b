#include "vocabulary.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

static int compare_texts(const void *a, const void *b) {
  const struct token *left = a, *right = b;
  const int32_t shorter = left->length < right->length ? left->length : right->length;
  const int order = memcmp(left->text, right->text, (size_t)shorter);
  return order ? order : left->length - right->length;
}

/* Equal texts in the order of their lines: qsort() has none of its own. */
static int compare_tokens(const void *a, const void *b) {
  const int difference = compare_texts(a, b);
  return difference != 0 ? difference : ((const struct token *)a)->number - ((const struct token *)b)->number;
}

static bool is_text(const struct token *token) {
  const char *next = token->text, *end = next + token->length;
  uint32_t point;
  while (next < end)
    if (!utf8_read(&next, end, &point) || point == 0) return false;
  return true;
}

static int64_t count_lines(const struct file *file) {
  int64_t lines = file->size > 0 && file->bytes[file->size - 1] != '\n';
  for (size_t i = 0; i < file->size; i++) lines += file->bytes[i] == '\n';
  return lines;
}

static bool read_lines(struct vocabulary *vocabulary, const char *path, struct failure *failure) {
  const char *next = vocabulary->file.bytes, *end = next + vocabulary->file.size;
  for (int32_t i = 0; i < vocabulary->count; i++) {
    const char *line_end = memchr(next, '\n', (size_t)(end - next));
    if (!line_end) line_end = end;
    const int64_t length = line_end - next - (line_end > next && line_end[-1] == '\r');
    if (length < 1 || length > TOKEN_LENGTH_LIMIT)
      return refuse(failure, "%s: line %d has %lld bytes; a token has 1 to %d", path, (int)i + 1, (long long)length,
                    TOKEN_LENGTH_LIMIT);
    vocabulary->tokens[i] = (struct token){next, (int32_t)length, i};
    if (!is_text(&vocabulary->tokens[i])) return refuse(failure, "%s: line %d is not UTF-8", path, (int)i + 1);
    next = line_end < end ? line_end + 1 : end;
  }
  return true;
}

static bool sort(struct vocabulary *vocabulary, const char *path, struct failure *failure) {
  const size_t count = (size_t)vocabulary->count;
  memcpy(vocabulary->sorted, vocabulary->tokens, count * sizeof *vocabulary->sorted);
  qsort(vocabulary->sorted, count, sizeof *vocabulary->sorted, compare_tokens);
  for (size_t i = 1; i < count; i++)
    if (compare_texts(&vocabulary->sorted[i - 1], &vocabulary->sorted[i]) == 0)
      return refuse(failure, "%s: lines %d and %d are the same", path, (int)vocabulary->sorted[i - 1].number + 1,
                    (int)vocabulary->sorted[i].number + 1);
  return true;
}

static bool find_specials(struct vocabulary *vocabulary, const char *path, struct failure *failure) {
  static const char *const names[] = {"[UNK]", "[CLS]", "[SEP]"};
  int32_t *const numbers[] = {&vocabulary->unknown, &vocabulary->begin, &vocabulary->end};
  for (int i = 0; i < 3; i++) {
    *numbers[i] = vocabulary_find(vocabulary, names[i], strlen(names[i]));
    if (*numbers[i] < 0) return refuse(failure, "%s: there is no token %s", path, names[i]);
  }
  return true;
}

bool vocabulary_read(struct vocabulary *vocabulary, const char *path, struct failure *failure) {
  *vocabulary = (struct vocabulary){.count = 0};
  if (!file_read(&vocabulary->file, path, failure)) return false;
  const int64_t lines = count_lines(&vocabulary->file);
  bool read = lines >= 1 && lines <= VOCABULARY_LIMIT;
  if (!read) refuse(failure, "%s: %lld lines; a vocabulary has 1 to %d", path, (long long)lines, VOCABULARY_LIMIT);
  if (read) {
    vocabulary->count = (int32_t)lines;
    vocabulary->tokens = calloc((size_t)lines, sizeof *vocabulary->tokens);
    vocabulary->sorted = calloc((size_t)lines, sizeof *vocabulary->sorted);
    read = vocabulary->tokens && vocabulary->sorted;
    if (!read) refuse(failure, "no memory for %d tokens", (int)lines);
  }
  read = read && read_lines(vocabulary, path, failure) && sort(vocabulary, path, failure) &&
         find_specials(vocabulary, path, failure);
  if (!read) vocabulary_free(vocabulary);
  return read;
}

void vocabulary_free(struct vocabulary *vocabulary) {
  free(vocabulary->tokens);
  free(vocabulary->sorted);
  file_free(&vocabulary->file);
  *vocabulary = (struct vocabulary){.count = 0};
}

int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t length) {
  if (length > TOKEN_LENGTH_LIMIT) return -1;
  const struct token wanted = {.text = text, .length = (int32_t)length};
  const struct token *found =
      bsearch(&wanted, vocabulary->sorted, (size_t)vocabulary->count, sizeof wanted, compare_texts);
  return found ? found->number : -1;
}
