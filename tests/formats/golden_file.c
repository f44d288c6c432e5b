#include "golden_file.h"

#include "support/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *end_of(struct golden_text text) {
  return text.data + text.length;
}

/* Takes a line: its first word, and what follows. */
static bool take_line(const char **next, struct golden_text *word, struct golden_text *rest) {
  const char *line = *next;
  if (*line == 0) return false;
  const size_t length = strcspn(line, "\r\n"), first = strcspn(line, " \r\n");
  *word = (struct golden_text){line, first};
  *rest = (struct golden_text){line + first + (first < length), length - first - (first < length)};
  *next = line + length + strspn(line + length, "\r\n");
  return true;
}

bool golden_is(struct golden_text text, const char *word) {
  return text.data && text.length == strlen(word) && memcmp(text.data, word, text.length) == 0;
}

bool golden_open(struct golden_file *file, const char *directory, const char *name) {
  char path[1024];
  memset(file, 0, sizeof *file);
  if (snprintf(path, sizeof path, "%s/%s.txt", directory, name) >= (int)sizeof path) return false;
  FILE *stream = fopen(path, "rb");
  if (!stream) return false;
  fseek(stream, 0, SEEK_END);
  const long size = ftell(stream);
  rewind(stream);
  if (size > 0) file->text = calloc(1, (size_t)size + 1);
  const bool whole = file->text && fread(file->text, 1, (size_t)size, stream) == (size_t)size;
  fclose(stream);
  if (!whole) {
    golden_close(file);
    return false;
  }
  struct golden_text word, rest;
  file->next = file->text;
  for (const char *line = file->next; take_line(&line, &word, &rest) && !golden_is(word, "case");
       file->next = line) {
    if (golden_is(word, "preset")) file->preset = rest;
    if (golden_is(word, "dim")) file->dim = rest;
    if (golden_is(word, "keys")) file->keys = rest;
    if (golden_is(word, "group")) file->group = rest;
  }
  return true;
}

void golden_close(struct golden_file *file) {
  free(file->text);
  memset(file, 0, sizeof *file);
}

bool golden_next(struct golden_file *file, struct golden_case *read) {
  struct golden_text word, rest;
  memset(read, 0, sizeof *read);
  if (!take_line(&file->next, &word, &rest) || !golden_is(word, "case")) return false;
  read->name = rest;
  for (const char *line = file->next; take_line(&line, &word, &rest) && !golden_is(word, "case");
       file->next = line) {
    if (golden_is(word, "input")) read->input = rest;
    if (golden_is(word, "scales")) read->scales = rest;
    if (golden_is(word, "bytes")) read->bytes = rest;
    if (golden_is(word, "values")) read->values = rest;
    if (golden_is(word, "output")) read->output = rest;
  }
  return true;
}

int64_t golden_number(struct golden_text text) {
  int64_t number = 0;
  for (const char *c = text.data; text.data && c < end_of(text); c++) number = 10 * number + (*c - '0');
  return number;
}

static int digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int64_t golden_bytes(struct golden_text text, uint8_t **bytes) {
  *bytes = malloc(text.length / 2 + 1);
  if (!*bytes || text.length % 2 != 0) return -1;
  for (size_t i = 0; i < text.length / 2; i++) {
    const int high = digit(text.data[2 * i]), low = digit(text.data[2 * i + 1]);
    if (high < 0 || low < 0) return -1;
    (*bytes)[i] = (uint8_t)(16 * high + low);
  }
  return (int64_t)(text.length / 2);
}

int64_t golden_floats(struct golden_text text, float **numbers) {
  uint8_t *bytes = NULL;
  const int64_t size = golden_bytes(text, &bytes), count = size % 4 == 0 ? size / 4 : -1;
  *numbers = malloc(size > 0 ? (size_t)size : 1);
  for (int64_t i = 0; *numbers && i < count; i++) {
    const uint8_t *b = bytes + 4 * i;
    (*numbers)[i] = from_bits((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3]);
  }
  free(bytes);
  return *numbers ? count : -1;
}
