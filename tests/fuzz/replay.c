/* Runs a target without a fuzzer, over the kept corpus or over anything that a fuzzer found: every file that is
 * named, and every file of a directory that is named. */
#include "expect.h"

#include <dirent.h>
#include <string.h>

enum { LONGEST_INPUT = 1 << 16, LONGEST_PATH = 4096 };

static int inputs;

static void replay_file(const char *path) {
  static uint8_t data[LONGEST_INPUT];
  FILE *file = fopen(path, "rb");
  if (file == NULL) return;
  const size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  uint8_t *exact = malloc(size + (size == 0));
  EXPECT(exact != NULL);
  memcpy(exact, data, size);
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  inputs++;
}

static void replay_directory(DIR *directory, const char *name) {
  for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    char path[LONGEST_PATH];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
    replay_file(path);
  }
  closedir(directory);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    DIR *directory = opendir(argv[i]);
    if (directory != NULL)
      replay_directory(directory, argv[i]);
    else
      replay_file(argv[i]);
  }
  printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
