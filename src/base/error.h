/* Failures as values: a status, and a line of text in the caller's buffer. */
#ifndef FOVEA_SRC_BASE_ERROR_H
#define FOVEA_SRC_BASE_ERROR_H

#include "../../arch/strict_math.h"
#include <fovea/fovea.h>

#include <stdarg.h>

/* Writes the text and returns the status. The format knows %d (int64_t), %u (uint64_t, for sizes), %g (double) and
 * %s, since the library does not use stdio. `error` may be NULL. */
fovea_status fovea_fail(fovea_error *error, fovea_status status, const char *format, ...);

/* Writes a text of such a format into `size` bytes, at least 1, with the zero that ends it. */
void fovea_write_text(char *to, size_t size, const char *format, va_list *arguments);

#endif
