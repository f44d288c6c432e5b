#define _POSIX_C_SOURCE 200809L /* fstat(), mmap() */
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_TO_MAP = 1 << 20 };

/* False: it is no large file. */
static bool map(struct file *file, const char *path) {
  struct stat status;
  const int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) return false;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= LEAST_TO_MAP) {
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
    if (bytes != MAP_FAILED) *file = (struct file){bytes, (size_t)status.st_size, true};
  }
  close(descriptor);
  return file->mapped;
}

static void unmap(struct file *file) {
  munmap(file->bytes, file->size);
}
#else
static bool map(struct file *file, const char *path) {
  (void)file, (void)path;
  return false;
}

static void unmap(struct file *file) {
  (void)file;
}
#endif

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
  *file = (struct file){NULL, 0, false};
  if (map(file, path)) return true;
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
  if (file->mapped)
    unmap(file);
  else
    free(file->bytes);
  *file = (struct file){NULL, 0, false};
}
