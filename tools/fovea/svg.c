#include "svg.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLACEMENT 0xfffd
#define OPEN_BOX    0x2423 /* stands for a blank */
#define ELLIPSIS    0x2026
#define FIRST_WIDE  0x1100 /* from here on most scripts have wide characters */

/* XML's characters, without controls. */
static bool is_allowed(uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  return !control && (c < 0xd800 || c > 0xdfff) && c != 0xfffe && c != 0xffff && c <= 0x10ffff;
}

/* Takes the next character of a text that is not empty. A byte that begins none is one replacement. */
static uint32_t take_character(svg_text *text) {
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

/* What is drawn next, of at most *limit characters. 0 at the end. */
static uint32_t next_drawn(svg_text *text, bool *begun, int *limit) {
  if (text->length == 0) return 0;
  if ((*limit)-- == 0) {
    text->length = 0;
    return ELLIPSIS;
  }
  const uint32_t c = take_character(text);
  if (c != ' ') *begun = true;
  if (c == ' ' && !*begun) return OPEN_BOX;
  if (c == ' ') {
    size_t blanks = 0;
    while (blanks < text->length && text->bytes[blanks] == ' ') blanks++;
    if (blanks == text->length) return OPEN_BOX;
  }
  return c;
}

static void write_character(FILE *stream, uint32_t c) {
  if (c == '&' || c == '<' || c == '>' || c == '"')
    fprintf(stream, "&#%u;", (unsigned)c);
  else if (c < 0x80)
    fputc((int)c, stream);
  else if (c < 0x800)
    fprintf(stream, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
  else if (c < 0x10000)
    fprintf(stream, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
  else
    fprintf(stream, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3f)),
            (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
}

void svg_write(FILE *stream, svg_text text, int limit) {
  bool begun = false;
  for (uint32_t c = next_drawn(&text, &begun, &limit); c; c = next_drawn(&text, &begun, &limit))
    write_character(stream, c);
}

int svg_width(svg_text text, int limit) {
  bool begun = false;
  int width = 0;
  for (uint32_t c = next_drawn(&text, &begun, &limit); c; c = next_drawn(&text, &begun, &limit))
    width += c < FIRST_WIDE || c == OPEN_BOX || c == ELLIPSIS || c == REPLACEMENT ? 1 : 2;
  return width;
}
