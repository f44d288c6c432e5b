/* Conditions that must hold; if one does not, the fuzzer has found a bug. */
#ifndef FOVEA_TESTS_FUZZ_EXPECT_H
#define FOVEA_TESTS_FUZZ_EXPECT_H

#include <fovea/fovea.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                                          \
  do {                                                                                                             \
    if (!(condition)) {                                                                                            \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                      \
      abort();                                                                                                     \
    }                                                                                                              \
  } while (0)

/* Expects a status, and a text that begins with the field. */
static inline void expect_failure(fovea_status status, const fovea_error *error) {
  EXPECT(status != FOVEA_OK && error->status == status);
  EXPECT(memchr(error->text, 0, sizeof error->text) != NULL && error->text[0] != 0);
  EXPECT(memchr(error->field, 0, sizeof error->field) != NULL);
  EXPECT(strncmp(error->text, error->field, strlen(error->field)) == 0);
  EXPECT(error->field[0] != 0 || status == FOVEA_ERROR_MEMORY || status == FOVEA_ERROR_UNSUPPORTED);
  EXPECT(fovea_status_text(status) != NULL);
}

/* libFuzzer, or replay.c, calls this. It always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
