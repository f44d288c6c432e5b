#include "text.h"

#include <string.h>

/* As in train.py. */
static const char known_letters[] = " ',-./0123456789abcdefghijlmnoprstuvwxy";
static const char known_symbols[] = "$0123456789-";

static bool is_blank(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

bool letters_read(struct letters *letters, const char *text, struct failure *failure) {
  size_t length = strlen(text), begin = 0;
  while (begin < length && is_blank(text[begin])) begin++;
  while (length > begin && is_blank(text[length - 1])) length--;
  letters->count = 0;
  if (begin == length) return refuse(failure, "the text is empty");
  if (length - begin > LETTERS_LIMIT)
    return refuse(failure, "the text has %zu characters; the limit is %d", length - begin, LETTERS_LIMIT);
  for (size_t i = begin; i < length; i++) {
    const char small = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    const char *found = strchr(known_letters, small);
    if (!found && small > ' ' && small < 0x7f)
      return refuse(failure, "character %zu is '%c', which no date has", i + 1, text[i]);
    if (!found)
      return refuse(failure, "byte %zu is 0x%02x, which no date has", i + 1, (unsigned)(unsigned char)text[i]);
    letters->ids[letters->count++] = (int32_t)(found - known_letters);
  }
  return true;
}

char letter_of(int32_t id) {
  return known_letters[id];
}

char symbol_of(int32_t id) {
  return known_symbols[id];
}

static int digits(const char *text, int count) {
  int number = 0;
  for (int i = 0; i < count; i++) number = 10 * number + (text[i] - '0');
  return number;
}

bool is_date(const char *text) {
  static const char form[] = "0000-00-00";
  static const int days_of[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (strlen(text) != sizeof form - 1) return false;
  for (int i = 0; form[i]; i++)
    if (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  const int year = digits(text, 4), month = digits(text + 5, 2), day = digits(text + 8, 2);
  if (month < 1 || month > 12) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day >= 1 && day <= days_of[month - 1] + (month == 2 && leap);
}
