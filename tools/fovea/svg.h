/* Text in SVG pictures: any bytes become well-formed XML. */
#ifndef FOVEA_TOOLS_SVG_H
#define FOVEA_TOOLS_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SVG_OPEN_BOX 0x2423 /* stands for a blank */
#define SVG_ELLIPSIS 0x2026

/* UTF-8, not ended by a zero byte. */
typedef struct svg_text {
  const char *bytes;
  size_t length;
} svg_text;

/* What is drawn next, of at most *limit characters, as its number in Unicode. Moves `text` after it. *begun: a
 * character that is no blank has been drawn. 0 at the end. */
uint32_t svg_next(svg_text *text, bool *begun, int *limit);

/* 1 or 2 letters. */
int svg_letters(uint32_t character);

/* Writes at most `limit` characters, and an ellipsis if there are more. Escapes what XML reserves; bytes that are
 * no UTF-8, and characters that XML forbids, become U+FFFD. Blanks at both ends are drawn as U+2423. */
void svg_write(FILE *stream, svg_text text, int limit);

/* How many letters wide svg_write()'s text is in a fixed-width font. Characters from U+1100 count as two. */
int svg_width(svg_text text, int limit);

#endif
