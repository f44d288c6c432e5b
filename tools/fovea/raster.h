/* A picture of pixels, each a place in a palette: rectangles and text. What lies outside is not drawn. */
#ifndef FOVEA_TOOLS_RASTER_H
#define FOVEA_TOOLS_RASTER_H

#include "svg.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct raster {
  int width, height;
  uint8_t *pixels; /* row by row */
} raster;

/* Makes a picture of colour 0. Returns false if there is no memory. Free `pixels` in any case. */
bool raster_create(raster *raster, int width, int height);

void raster_fill(raster *raster, int left, int top, int width, int height, uint8_t colour);
/* Lines of one pixel around a rectangle, outside of it. */
void raster_frame(raster *raster, int left, int top, int width, int height, uint8_t colour);

/* How letters are drawn: their distance, and so many pixels for a dot of the font. */
typedef struct raster_style {
  int letter, dot;
  uint8_t colour;
  bool upwards, bold;
} raster_style;

/* Draws at most `limit` characters from a point on the base line on, to the right or upwards. Characters that the
 * font does not have are boxes. */
void raster_text(raster *raster, int x, int y, svg_text text, int limit, raster_style style);

#endif
