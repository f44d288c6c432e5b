#include "inputs.h"

#include "system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was read, as the system tells files apart. One command runs in a process. */
static struct known_file {
  char *identity;
  struct known_file *next;
} * known_files;

static bool remember(const char *path, failure *why) {
  if (system_file_kind(path) != SYSTEM_FILE_REGULAR) return true;
  struct known_file *file = malloc(sizeof *file);
  char *identity = file ? system_identity(path) : NULL;
  if (!identity) {
    free(file);
    return fail(why, "%s: out of memory", path);
  }
  *file = (struct known_file){identity, known_files};
  known_files = file;
  return true;
}

FILE *input_open(const char *path, failure *why) {
  if (!remember(path, why)) return NULL;
  FILE *stream = fopen(path, "rb");
  if (!stream) fail(why, "%s: cannot open: %s", path, strerror(errno));
  return stream;
}

bool input_load(const char *path, unsigned types, npy_array *array, failure *why) {
  *array = (npy_array){.rank = 0};
  return remember(path, why) && npy_load_any(path, types, array, why->text, sizeof why->text);
}

bool input_has(const char *path) {
  if (!known_files || system_file_kind(path) != SYSTEM_FILE_REGULAR) return false;
  char *identity = system_identity(path);
  bool found = false;
  for (const struct known_file *file = known_files; file && !found && identity; file = file->next)
    found = strcmp(file->identity, identity) == 0;
  free(identity);
  return found;
}

void inputs_forget(void) {
  while (known_files) {
    struct known_file *file = known_files;
    known_files = file->next;
    free(file->identity);
    free(file);
  }
}
