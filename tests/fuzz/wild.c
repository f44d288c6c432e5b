#include "wild.h"

#include "src/base/validate.h"

#include <string.h>

int64_t wild_number(struct bytes *bytes) {
  static const int64_t edges[] = {0,         -1,        INT64_MIN,          INT64_MAX,
                                  INT32_MIN, INT32_MAX, FOVEA_LENGTH_LIMIT, INT64_C(1) << 57};
  const int64_t kind = bytes_below(bytes, 4);
  if (kind == 0) return bytes_number(bytes);
  if (kind == 1) return bytes_below(bytes, 512) - 256;
  const int64_t step = bytes_below(bytes, 8) - 4;
  int64_t number = INT64_C(1) << bytes_below(bytes, 63);
  if (kind == 2) number = edges[bytes_below(bytes, (int64_t)(sizeof edges / sizeof edges[0]))];
  return (int64_t)((uint64_t)number + (uint64_t)step); /* wraps around on overflow */
}

void wild_edit(void *object, const struct field *fields, size_t count, struct bytes *bytes) {
  for (int64_t edits = bytes_below(bytes, 5); edits > 0; edits--) {
    const struct field *field = &fields[bytes_below(bytes, (int64_t)count)];
    const int64_t number = wild_number(bytes);
    const int integer = (int)number;
    double real = (double)number;
    if (bytes_one_in(bytes, 2)) memcpy(&real, &number, sizeof real);
    char *to = (char *)object + field->offset;
    if (field->kind == FIELD_INTEGER) memcpy(to, &integer, sizeof integer);
    if (field->kind == FIELD_LONG) memcpy(to, &number, sizeof number);
    if (field->kind == FIELD_REAL) memcpy(to, &real, sizeof real);
  }
}
