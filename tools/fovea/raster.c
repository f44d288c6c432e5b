#include "raster.h"

#include "font.h"

#include <stdlib.h>

bool raster_create(raster *raster, int width, int height) {
  raster->width = width;
  raster->height = height;
  raster->pixels = calloc((size_t)width * (size_t)height, 1);
  return raster->pixels != NULL;
}

void raster_fill(raster *raster, int left, int top, int width, int height, uint8_t colour) {
  const int right = left + width < raster->width ? left + width : raster->width;
  const int bottom = top + height < raster->height ? top + height : raster->height;
  if (left < 0) left = 0;
  if (top < 0) top = 0;
  for (int y = top; y < bottom; y++)
    for (int x = left; x < right; x++) raster->pixels[(size_t)y * (size_t)raster->width + (size_t)x] = colour;
}

void raster_frame(raster *raster, int left, int top, int width, int height, uint8_t colour) {
  raster_fill(raster, left - 1, top - 1, width + 2, 1, colour);
  raster_fill(raster, left - 1, top + height, width + 2, 1, colour);
  raster_fill(raster, left - 1, top, 1, height, colour);
  raster_fill(raster, left + width, top, 1, height, colour);
}

/* A dot of a letter: so many dots along the line of text, and above the base line. */
static void draw_dot(raster *raster, int x, int y, int along, int above, const raster_style *style) {
  const int dot = style->dot;
  if (style->upwards)
    raster_fill(raster, x - (above + 1) * dot, y - (along + 1) * dot, dot, dot, style->colour);
  else
    raster_fill(raster, x + along * dot, y - (above + 1) * dot, dot + style->bold, dot, style->colour);
}

static void draw_letter(raster *raster, int x, int y, uint32_t character, const raster_style *style) {
  const char *dots = font_dots(character);
  for (int row = 0; row < FONT_HEIGHT; row++)
    for (int column = 0; column < FONT_WIDTH; column++)
      if (dots[row * FONT_WIDTH + column] == '#') draw_dot(raster, x, y, column, FONT_ASCENT - 1 - row, style);
}

void raster_text(raster *raster, int x, int y, svg_text text, int limit, raster_style style) {
  bool begun = false;
  for (uint32_t c; (c = svg_next(&text, &begun, &limit)) != 0;) {
    draw_letter(raster, x, y, c, &style);
    *(style.upwards ? &y : &x) += (style.upwards ? -1 : 1) * svg_letters(c) * style.letter;
  }
}
