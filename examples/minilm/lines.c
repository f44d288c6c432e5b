#include "lines.h"

#include <stdlib.h>
#include <string.h>

static bool is_space(char sign) {
  return sign == ' ' || sign == '\t' || sign == '\r';
}

/* Cuts the file, and counts the lines; writes them unless `to` is NULL. */
static int64_t cut(const struct file *file, struct line *to) {
  const char *next = file->bytes, *end = next + file->size;
  int64_t count = 0;
  for (int64_t number = 1; next < end; number++) {
    const char *stop = memchr(next, '\n', (size_t)(end - next));
    const char *line_end = stop ? stop : end, *first = next, *last = line_end;
    while (first < last && is_space(*first)) first++;
    while (first < last && is_space(last[-1])) last--;
    if (first < last && to) to[count] = (struct line){first, (size_t)(last - first), number};
    count += first < last;
    next = stop ? stop + 1 : end;
  }
  return count;
}

bool lines_read(struct lines *lines, const char *path, struct failure *failure) {
  *lines = (struct lines){.count = 0};
  if (!file_read(&lines->file, path, failure)) return false;
  lines->count = cut(&lines->file, NULL);
  if (lines->count > 0) lines->all = calloc((size_t)lines->count, sizeof *lines->all);
  if (lines->all) {
    cut(&lines->file, lines->all);
    return true;
  }
  refuse(failure, "%s: %s", path, lines->count > 0 ? "no memory for its lines" : "there is no line of text in it");
  lines_free(lines);
  return false;
}

void lines_free(struct lines *lines) {
  free(lines->all);
  file_free(&lines->file);
  *lines = (struct lines){.count = 0};
}
