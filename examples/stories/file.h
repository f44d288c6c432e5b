/* A whole file in memory, whose bytes may be written: that does not change the file. Numbers in it are little-endian, as
 * is every machine that this runs on. */
#ifndef STORIES_FILE_H
#define STORIES_FILE_H

#include "failure.h"

#include <stddef.h>

struct file {
  char *bytes; /* aligned for any number */
  size_t size;
  bool mapped; /* by the system: large files, where it can, so that it may take their memory back */
};

bool file_read(struct file *file, const char *path, struct failure *failure);
void file_free(struct file *file);

#endif
