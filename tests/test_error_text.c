/* The texts of errors: numbers at the ends of their ranges, in every locale, and texts that are cut off. */
#include "src/base/error.h"
#include "support/check.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

FOVEA_PRINTF(3, 4)
static void write_text(char *to, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fovea_write_text(to, size, format, &arguments);
  va_end(arguments);
}

static void assert_numbers(void) {
  char text[200];
  write_text(text, sizeof text, "%s: %jd, %jd, %ju", "rows", INT64_MIN, INT64_MAX, UINT64_MAX);
  assert_string_equal(text, "rows: -9223372036854775808, 9223372036854775807, 18446744073709551615");
  write_text(text, sizeof text, "%g, %g, %g, %g", 0.5, -1024.0, 1.5e20, 0.0);
  assert_string_equal(text, "0.500000, -1024.000000, 1.500000e20, 0.000000");
  write_text(text, sizeof text, "%g, %g, %g", (double)NAN, (double)INFINITY, (double)-INFINITY);
  assert_string_equal(text, "nan, inf, -inf");
}

static void test_numbers(void **state) {
  (void)state;
  assert_numbers();
}

/* The point stays a point where a locale writes a comma. */
static void test_locale(void **state) {
  (void)state;
  static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "German"};
  for (size_t i = 0; i < sizeof locales / sizeof locales[0]; i++)
    if (setlocale(LC_ALL, locales[i]) != NULL) assert_numbers();
  setlocale(LC_ALL, "C");
}

/* A text is cut off where its memory ends, and no byte after it is written. */
static void test_sizes(void **state) {
  (void)state;
  static const char whole[] = "q_len is -12; it must be 0 or more";
  for (size_t size = 1; size <= sizeof whole; size++) {
    char text[sizeof whole + 1];
    memset(text, '?', sizeof text);
    write_text(text, size, "%s is %jd; it must be 0 or more", "q_len", INT64_C(-12));
    assert_int_equal(strlen(text), size - 1);
    assert_memory_equal(text, whole, size - 1);
    assert_int_equal(text[size], '?');
  }
}

/* The status comes back with a text or without one. */
static void test_status(void **state) {
  (void)state;
  fovea_error error = {.status = FOVEA_OK};
  assert_int_equal(fovea_fail(NULL, FOVEA_ERROR_SIZE, "%s", "nobody reads this"), FOVEA_ERROR_SIZE);
  assert_int_equal(fovea_fail(&error, FOVEA_ERROR_SIZE, "%s is %jd", "heads", INT64_C(0)), FOVEA_ERROR_SIZE);
  assert_int_equal(error.status, FOVEA_ERROR_SIZE);
  assert_string_equal(error.text, "heads is 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_locale),
                                     cmocka_unit_test(test_sizes), cmocka_unit_test(test_status)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
