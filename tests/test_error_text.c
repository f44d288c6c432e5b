/* The texts of errors: numbers at the ends of their ranges, in every locale, and texts that are cut off. */
#include "src/base/error.h"
#include "src/base/groups.h"
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
  write_text(text, sizeof text, "%g, %g, %g, %g", 1e-300, 1e300, 9.9999999e-5, 9.99e-5);
  assert_string_equal(text, "1.000000e-300, 1.000000e300, 1.000000e-4, 9.990000e-5");
  write_text(text, sizeof text, "%g, %g, %g", (double)NAN, (double)INFINITY, (double)-INFINITY);
  assert_string_equal(text, "nan, inf, -inf");
  write_text(text, sizeof text, "%d%%, %d", -7, 2147483647);
  assert_string_equal(text, "-7%, 2147483647");
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
  assert_int_equal(fovea_fail(NULL, FOVEA_ERROR_ARGUMENT, "%s", "nobody reads this"), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_fail(&error, FOVEA_ERROR_ARGUMENT, "%s is %jd", "heads", INT64_C(0)),
                   FOVEA_ERROR_ARGUMENT);
  assert_int_equal(error.status, FOVEA_ERROR_ARGUMENT);
  assert_string_equal(error.text, "heads is 0");
  assert_string_equal(error.field, "heads");
}

static void assert_field(const char *field, const char *text) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  fovea_fail(&error, FOVEA_ERROR_ARGUMENT, "%s", text);
  assert_string_equal(error.field, field);
  assert_string_equal(error.text, text);
}

/* The field is the name that a text begins with, as C writes it. */
static void test_fields(void **state) {
  (void)state;
  assert_field("q", "q is NULL");
  assert_field("kv_lens[3]", "kv_lens[3] is -1; it must be from 0 to 5");
  assert_field("mask.strides.row", "mask.strides.row is 3");
  assert_field("sequences[0].segments[12].k", "sequences[0].segments[12].k: the elements reach too far");
  assert_field("streams[1]", "streams[1]: No memory");
  assert_field("", "No memory for a plan of 7 batch elements");
  assert_field("", "This CPU has no AMX");
  assert_field("", "");
}

/* A name that is too long is cut off, in the field only. */
static void test_long_fields(void **state) {
  (void)state;
  fovea_error error;
  char name[sizeof error.field + 2], text[sizeof name + 20];
  for (size_t length = sizeof error.field - 2; length <= sizeof error.field + 1; length++) {
    memset(name, 'a', length);
    name[length] = '\0';
    strcat(strcpy(text, name), " is NULL");
    fovea_fail(&error, FOVEA_ERROR_ARGUMENT, "%s is NULL", name);
    assert_string_equal(error.text, text);
    assert_int_equal(strlen(error.field), length < sizeof error.field ? length : sizeof error.field - 1);
    assert_memory_equal(error.field, name, strlen(error.field));
  }
}

/* The name of what has the field comes before it. A text about no field stays as it is. */
static void test_within(void **state) {
  (void)state;
  fovea_error error;
  fovea_fail(&error, FOVEA_ERROR_UNUSED, "in is 0; it must be from 1 to 9");
  assert_int_equal(fovea_fail_within("query", FOVEA_OK, &error), FOVEA_OK);
  assert_string_equal(error.text, "in is 0; it must be from 1 to 9");
  assert_int_equal(fovea_fail_within("query", FOVEA_ERROR_UNUSED, NULL), FOVEA_ERROR_UNUSED);
  assert_int_equal(fovea_fail_within("query", FOVEA_ERROR_UNUSED, &error), FOVEA_ERROR_UNUSED);
  assert_int_equal(fovea_fail_within("self", FOVEA_ERROR_UNUSED, &error), FOVEA_ERROR_UNUSED);
  assert_int_equal(error.status, FOVEA_ERROR_UNUSED);
  assert_string_equal(error.field, "self.query.in");
  assert_string_equal(error.text, "self.query.in is 0; it must be from 1 to 9");
  fovea_fail(&error, FOVEA_ERROR_MEMORY, "No memory for a plan");
  assert_int_equal(fovea_fail_within("query", FOVEA_ERROR_MEMORY, &error), FOVEA_ERROR_MEMORY);
  assert_string_equal(error.text, "No memory for a plan");
}

/* What a build leaves out is refused with the switch that leaves it out. */
static void test_groups(void **state) {
  (void)state;
  fovea_library_info info;
  fovea_library_info_init(&info);
  assert_int_equal(fovea_info(&info), FOVEA_OK);
  for (int i = 0; i < info.group_count; i++) {
    fovea_error error;
    const fovea_group_report *group = &info.groups[i];
    assert_int_equal(fovea_fail_left_out(i, &error), FOVEA_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "");
    assert_non_null(strstr(error.text, group->what));
    assert_non_null(strstr(error.text, group->without));
    assert_int_equal(fovea_refuse_group("pattern", 1u << i | 1u << (info.group_count - 1), &error),
                     FOVEA_ERROR_UNSUPPORTED);
    assert_string_equal(error.field, "pattern");
    assert_non_null(strstr(error.text, group->without));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_locale),
                                     cmocka_unit_test(test_sizes),   cmocka_unit_test(test_status),
                                     cmocka_unit_test(test_fields),  cmocka_unit_test(test_long_fields),
                                     cmocka_unit_test(test_within),  cmocka_unit_test(test_groups)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
