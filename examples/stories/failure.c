#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

bool refuse(struct failure *failure, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(failure->text, sizeof failure->text, format, arguments);
  va_end(arguments);
  for (char *at = failure->text; *at; at++)
    if ((unsigned char)*at < ' ' || *at == 0x7f) *at = '?';
  return false;
}
