#include "error.h"

#include <math.h>
#include <string.h>

const char *fovea_status_text(fovea_status status) {
  switch (status) {
  case FOVEA_OK:
    return "ok";
  case FOVEA_ERROR_ARGUMENT:
    return "an argument or a field is missing, out of range, or does not fit the others";
  case FOVEA_ERROR_UNUSED:
    return "something is set that would not be used";
  case FOVEA_ERROR_UNSUPPORTED:
    return "this build or this CPU does not have what is asked for";
  case FOVEA_ERROR_SPACE:
    return "the caller's memory is too small or not aligned to FOVEA_SCRATCH_ALIGNMENT";
  case FOVEA_ERROR_MEMORY:
    return "an allocation failed, or a pool has too few free pages";
  }
  return "unknown status";
}

typedef struct text_buffer {
  char *next, *end; /* end: the last place for the terminating zero */
} text_buffer;

static void put_char(text_buffer *text, char c) {
  if (text->next < text->end) *text->next++ = c;
}

static void put_string(text_buffer *text, const char *string) {
  for (; *string; string++) put_char(text, *string);
}

static void put_unsigned(text_buffer *text, uint64_t value) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  while (count) put_char(text, digits[--count]);
}

static void put_integer(text_buffer *text, int64_t value) {
  if (value < 0) put_char(text, '-');
  put_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Writes six significant digits, as d.ddddde+x outside 1e-4 .. 1e15. That is enough to recognise a number. */
static void put_double(text_buffer *text, double value) {
  if (value != value || value - value != 0) {
    put_string(text, value != value ? "nan" : value > 0 ? "inf" : "-inf");
    return;
  }
  if (value < 0) put_char(text, '-');
  if (value < 0) value = -value;
  int exponent = 0;
  if (value != 0 && (value < 1e-4 || value >= 1e15)) {
    for (; value >= 10; exponent++) value /= 10;
    for (; value < 1; exponent--) value *= 10;
    if (value >= 9.9999995) value /= 10, exponent++; /* its digits would be 10.000000 */
  }
  int64_t whole = (int64_t)value;
  int64_t millionths = (int64_t)((value - (double)whole) * 1e6 + 0.5);
  put_integer(text, whole + millionths / 1000000);
  put_char(text, '.');
  for (int64_t digit = 100000; digit; digit /= 10) put_char(text, (char)('0' + millionths / digit % 10));
  if (exponent) {
    put_char(text, 'e');
    put_integer(text, exponent);
  }
}

void fovea_write_text(char *to, size_t size, const char *format, va_list *arguments) {
  text_buffer text = {to, to + size - 1};
  for (; *format; format++) {
    if (*format != '%') {
      put_char(&text, *format);
      continue;
    }
    switch (*++format) {
    case 'j':
      if (*++format == 'u')
        put_unsigned(&text, va_arg(*arguments, uint64_t));
      else
        put_integer(&text, va_arg(*arguments, int64_t));
      break;
    case 'd':
      put_integer(&text, va_arg(*arguments, int));
      break;
    case 'g':
      put_double(&text, va_arg(*arguments, double));
      break;
    case 's':
      put_string(&text, va_arg(*arguments, const char *));
      break;
    default: /* %% */
      put_char(&text, *format);
    }
  }
  *text.next = '\0';
}

static int is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '[' || c == ']';
}

/* Copies the name that a text begins with. */
static void write_field(char *to, size_t size, const char *text) {
  size_t length = 0;
  while (length < size - 1 && is_of_name(text[length])) length++;
  memcpy(to, text, length);
  to[length] = '\0';
}

fovea_status fovea_fail(fovea_error *error, fovea_status status, const char *format, ...) {
  if (!error) return status;
  va_list arguments;
  va_start(arguments, format);
  fovea_write_text(error->text, sizeof error->text, format, &arguments);
  va_end(arguments);
  write_field(error->field, sizeof error->field, error->text);
  error->status = status;
  return status;
}

fovea_status fovea_fail_within(const char *name, fovea_status status, fovea_error *error) {
  if (!status || !error || !error->field[0]) return status;
  const fovea_error part = *error;
  return fovea_fail(error, status, "%s.%s", name, part.text);
}
