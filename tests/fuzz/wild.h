/* Nonsense: any number in any field of a struct. */
#ifndef FOVEA_TESTS_FUZZ_WILD_H
#define FOVEA_TESTS_FUZZ_WILD_H

#include "bytes.h"

#include <float.h>

/* Any number at all, most often near a limit. */
int64_t wild_number(struct bytes *bytes);

enum field_kind { FIELD_INTEGER, FIELD_LONG, FIELD_REAL };

struct field {
  enum field_kind kind;
  size_t offset;
};

/* Writes any number to any of the fields: once, a few times, or not at all. */
void wild_edit(void *object, const struct field *fields, size_t count, struct bytes *bytes);

/* Neither an infinity nor NaN. mingw's isfinite() takes a double for a float, with a warning. */
static inline int wild_is_finite(double x) {
  return x >= -DBL_MAX && x <= DBL_MAX;
}

#endif
