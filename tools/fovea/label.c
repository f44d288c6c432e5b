#include "label.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define OPEN_BOX    0x2423
#define ELLIPSIS    0x2026
#define REPLACEMENT 0xfffd
#define FIRST_WIDE  0x1100 /* from here on most scripts have wide characters */

/* XML's characters, without controls. */
static bool is_allowed(uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  return !control && (c < 0xd800 || c > 0xdfff) && c != 0xfffe && c != 0xffff && c <= 0x10ffff;
}

/* Takes the next character of a text that is not empty. A byte that begins none is one replacement. */
static uint32_t take_character(text_span *text) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000}; /* shorter forms are required below */
  const unsigned char *bytes = (const unsigned char *)text->bytes;
  const unsigned char first = bytes[0];
  const size_t more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : 4;
  uint32_t c = more == 0 ? first : more < 4 ? first & (0x3fu >> more) : REPLACEMENT;
  bool whole = more < 4 && more < text->length;
  for (size_t i = 1; whole && i <= more; i++) {
    whole = bytes[i] >> 6 == 2;
    c = c << 6 | (bytes[i] & 0x3f);
  }
  const size_t taken = whole ? more + 1 : 1;
  text->bytes += taken;
  text->length -= taken;
  return whole && c >= least[more] && is_allowed(c) ? c : REPLACEMENT;
}

static bool is_blank(text_span text) {
  size_t blanks = 0;
  while (blanks < text.length && text.bytes[blanks] == ' ') blanks++;
  return blanks == text.length;
}

static char *put_character(char *to, uint32_t c) {
  const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t marks[] = {0, 0xc0, 0xe0, 0xf0};
  *to++ = (char)(marks[more] | c >> 6 * more);
  for (int i = more - 1; i >= 0; i--) *to++ = (char)(0x80 | (c >> 6 * i & 0x3f));
  return to;
}

static int columns_of(uint32_t c) {
  return c < FIRST_WIDE || c == OPEN_BOX || c == ELLIPSIS || c == REPLACEMENT ? 1 : 2;
}

label make_label(text_span text, int limit) {
  label label = {.columns = 0};
  char *to = label.text;
  for (bool begun = false; text.length > 0; limit--) {
    uint32_t c = limit > 0 ? take_character(&text) : ELLIPSIS;
    if (limit == 0) text.length = 0;
    begun |= c != ' ';
    if (c == ' ' && (!begun || is_blank(text))) c = OPEN_BOX;
    to = put_character(to, c);
    label.columns += columns_of(c);
  }
  return label;
}

label make_label_of(const char *text, int limit) {
  return make_label((text_span){text, strlen(text)}, limit);
}
