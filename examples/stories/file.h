/* A whole file in memory. Numbers in it are little-endian, as is every machine that this runs on. */
#ifndef STORIES_FILE_H
#define STORIES_FILE_H

#include "failure.h"

#include <stddef.h>

struct file {
  char *bytes; /* aligned for any number */
  size_t size;
};

bool file_read(struct file *file, const char *path, struct failure *failure);
void file_free(struct file *file);

#endif
