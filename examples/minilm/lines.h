/* The lines of a text file that hold more than white space. */
#ifndef MINILM_LINES_H
#define MINILM_LINES_H

#include "../stories/file.h"

#include <stdint.h>

struct line {
  const char *text; /* not terminated */
  size_t length;
  int64_t number; /* in the file, from 1 on */
};

struct lines {
  struct file file;
  struct line *all;
  int64_t count;
};

/* A file without such a line is refused. */
bool lines_read(struct lines *lines, const char *path, struct failure *failure);
void lines_free(struct lines *lines);

#endif
