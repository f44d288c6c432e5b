#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads in pieces, each as large as all before: a file's size is known only at its end. */
static bool read_all(struct file *file, FILE *stream) {
  size_t room = 0;
  do {
    room = room ? 2 * room : 1 << 16;
    char *larger = realloc(file->bytes, room);
    if (!larger) return false;
    file->bytes = larger;
    file->size += fread(file->bytes + file->size, 1, room - file->size, stream);
  } while (file->size == room);
  return ferror(stream) == 0;
}

bool file_read(struct file *file, const char *path, struct failure *failure) {
  *file = (struct file){NULL, 0};
  FILE *stream = fopen(path, "rb");
  if (!stream) return refuse(failure, "%s: %s", path, strerror(errno));
  const bool complete = read_all(file, stream);
  const int reason = errno;
  fclose(stream);
  if (complete) return true;
  file_free(file);
  return refuse(failure, "%s: %s", path, strerror(reason));
}

void file_free(struct file *file) {
  free(file->bytes);
  *file = (struct file){NULL, 0};
}
