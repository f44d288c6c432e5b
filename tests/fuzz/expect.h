/* What must hold, or else the fuzzer has found something. */
#ifndef FOVEA_TESTS_FUZZ_EXPECT_H
#define FOVEA_TESTS_FUZZ_EXPECT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                                                          \
  do {                                                                                                             \
    if (!(condition)) {                                                                                            \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                      \
      abort();                                                                                                     \
    }                                                                                                              \
  } while (0)

/* What libFuzzer, or replay.c, calls; always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
