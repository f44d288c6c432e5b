#include "heatmap_tokens.h"

#include "inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_READ 4096
#define LIMIT      ((size_t)64 << 20) /* bytes of a file; a larger one holds no tokens */

/* Reads in growing pieces, since the file may be a pipe. */
static bool read_all(FILE *stream, const char *path, char **bytes, size_t *length, failure *why) {
  size_t capacity = FIRST_READ;
  for (*length = 0; *length <= LIMIT; capacity *= 2) {
    char *larger = realloc(*bytes, capacity);
    if (!larger) return fail(why, "%s: out of memory", path);
    *bytes = larger;
    errno = 0;
    *length += fread(larger + *length, 1, capacity - *length, stream);
    if (ferror(stream)) return fail(why, "%s: cannot read: %s", path, strerror(errno));
    if (*length < capacity) return true;
  }
  return fail(why, "%s: has more than %zu bytes", path, LIMIT);
}

static bool split(token_list *list, size_t length, const char *path, failure *why) {
  size_t lines = 1;
  for (size_t i = 0; i < length; i++) lines += list->bytes[i] == '\n';
  list->tokens = malloc(lines * sizeof *list->tokens);
  if (!list->tokens) return fail(why, "%s: out of memory", path);
  const char *at = list->bytes, *end = at + length;
  while (at < end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    const char *next = line_end ? line_end + 1 : end;
    if (!line_end) line_end = end;
    if (line_end > at && line_end[-1] == '\r') line_end--;
    list->tokens[list->count++] = (text_span){at, (size_t)(line_end - at)};
    at = next;
  }
  return true;
}

bool tokens_load(token_list *list, const char *path, failure *why) {
  size_t length = 0;
  FILE *stream = input_open(path, why);
  if (!stream) return false;
  bool done = read_all(stream, path, &list->bytes, &length, why);
  fclose(stream);
  return done && split(list, length, path, why);
}

void tokens_free(token_list *list) {
  free(list->tokens);
  free(list->bytes);
  *list = (token_list){.count = 0};
}
