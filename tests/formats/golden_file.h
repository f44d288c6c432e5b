/* A file of golden/ (README.md there): what another project stored, as text. */
#ifndef FOVEA_TESTS_GOLDEN_FILE_H
#define FOVEA_TESTS_GOLDEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of a line after its first word; NULL data if the case has no such line. */
struct golden_text {
  const char *data;
  size_t length;
};

struct golden_file {
  char *text;
  const char *next; /* what is left to read */
  struct golden_text preset, dim, keys, group;
};

struct golden_case {
  struct golden_text name, input, scales, bytes, values, output;
};

/* False if there is no such file. */
bool golden_open(struct golden_file *file, const char *directory, const char *name);
void golden_close(struct golden_file *file);

/* The next case, or false. */
bool golden_next(struct golden_file *file, struct golden_case *read);

bool golden_is(struct golden_text text, const char *word);
int64_t golden_number(struct golden_text text); /* 0 without text */

/* Bytes, two digits each, and f32 numbers, eight each: their count, or -1 if the text is not that. The caller frees
 * what it gets. */
int64_t golden_bytes(struct golden_text text, uint8_t **bytes);
int64_t golden_floats(struct golden_text text, float **numbers);

#endif
