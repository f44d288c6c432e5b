#include "svg.h"

#define REPLACEMENT 0xfffd
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

uint32_t svg_next(svg_text *text, bool *begun, int *limit) {
  if (text->length == 0) return 0;
  if ((*limit)-- == 0) {
    text->length = 0;
    return SVG_ELLIPSIS;
  }
  const uint32_t c = take_character(text);
  if (c != ' ') *begun = true;
  if (c == ' ' && !*begun) return SVG_OPEN_BOX;
  if (c == ' ') {
    size_t blanks = 0;
    while (blanks < text->length && text->bytes[blanks] == ' ') blanks++;
    if (blanks == text->length) return SVG_OPEN_BOX;
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
  for (uint32_t c = svg_next(&text, &begun, &limit); c; c = svg_next(&text, &begun, &limit))
    write_character(stream, c);
}

int svg_letters(uint32_t c) {
  return c < FIRST_WIDE || c == SVG_OPEN_BOX || c == SVG_ELLIPSIS || c == REPLACEMENT ? 1 : 2;
}

int svg_width(svg_text text, int limit) {
  bool begun = false;
  int width = 0;
  for (uint32_t c = svg_next(&text, &begun, &limit); c; c = svg_next(&text, &begun, &limit))
    width += svg_letters(c);
  return width;
}
