/* Runs a target without a fuzzer: over a packed corpus (corpus.py), whose name ends in .hex, or over any other file
 * as one input. Prints which input runs, so that a crash names it. */
#include "expect.h"

#include <string.h>

enum { LONGEST_INPUT = 1 << 16 };

static int inputs;

/* The input has memory of exactly its size, so that a sanitizer sees each byte beyond it. */
static void replay(const uint8_t *data, size_t size, const char *name, int number) {
  uint8_t *exact = malloc(size + (size == 0));
  EXPECT(exact != NULL);
  memcpy(exact, data, size);
  fprintf(stderr, "%s: %d\n", name, number);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  inputs++;
}

static int digit_of(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void replay_lines(FILE *file, const char *name) {
  static char line[2 * LONGEST_INPUT + 2];
  static uint8_t data[LONGEST_INPUT];
  for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
    const size_t size = strcspn(line, "\r\n") / 2;
    for (size_t i = 0; i < size; i++) data[i] = (uint8_t)(digit_of(line[2 * i]) << 4 | digit_of(line[2 * i + 1]));
    replay(data, size, name, number);
  }
}

static void replay_whole(FILE *file, const char *name) {
  static uint8_t data[LONGEST_INPUT];
  replay(data, fread(data, 1, sizeof data, file), name, 1);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const size_t length = strlen(argv[i]);
    const int packed = length > 4 && strcmp(argv[i] + length - 4, ".hex") == 0;
    FILE *file = fopen(argv[i], "rb");
    EXPECT(file != NULL);
    (packed ? replay_lines : replay_whole)(file, argv[i]);
    fclose(file);
  }
  printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
