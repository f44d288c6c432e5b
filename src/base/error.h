/* Failures as values: a status, and a line of text in the caller's buffer. */
#ifndef FOVEA_SRC_BASE_ERROR_H
#define FOVEA_SRC_BASE_ERROR_H

#include "../../arch/strict_math.h"
#include <fovea/fovea.h>

#include <stdarg.h>

/* Lets the compiler check arguments against a format of printf. %jd and %ju are for int64_t and uint64_t here, which
 * are intmax_t and uintmax_t everywhere but on Apple's systems: there they are other types of the same size, and
 * nothing is checked. */
#if defined(__APPLE__) || !defined(__GNUC__)
#define FOVEA_PRINTF(at, first)
#elif defined(_WIN32) && !defined(__clang__)
#define FOVEA_PRINTF(at, first) __attribute__((format(gnu_printf, at, first)))
#else
#define FOVEA_PRINTF(at, first) __attribute__((format(printf, at, first)))
#endif

/* Writes the text and the field, and returns the status. A text begins with the name of the argument or field that is
 * wrong, as the caller would write it: "q is NULL", "kv_lens[3] is -1; ...". The letters (small ones), digits, _ . [
 * and ] that the text begins with become error->field. A text about no argument begins with a capital letter: "No
 * memory for ...", "This CPU ...". If `error` is NULL, nothing is written. Of printf's formats it knows %jd (int64_t),
 * %ju (uint64_t, for sizes), %d, %s, %% and %g (double, with a point in every locale), since the library does not use
 * stdio. */
FOVEA_PRINTF(3, 4)
fovea_status fovea_fail(fovea_error *error, fovea_status status, const char *format, ...);

/* Names the struct that has the field: with "query", "in is 0; ..." becomes "query.in is 0; ...". For a check of a part
 * that does not know where the part is. Returns the status. Nothing changes if it is FOVEA_OK, or if the text is about
 * no field. */
fovea_status fovea_fail_within(const char *name, fovea_status status, fovea_error *error);

/* Writes a text of such a format into `size` bytes, at least 1, with the zero that ends it. */
void fovea_write_text(char *to, size_t size, const char *format, va_list *arguments);

#endif
