/* Writes PNG pictures (ISO/IEC 15948) with a palette. Uses only the C library. The same pixels give the same bytes
 * on every machine. */
#ifndef FOVEA_TOOLS_PNG_H
#define FOVEA_TOOLS_PNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PNG_COLOURS = 256 };

typedef struct png_palette {
  int count; /* 1 to PNG_COLOURS */
  uint8_t colours[PNG_COLOURS][3];
} png_palette;

/* Pixels are places in the palette, row by row. Width and height are from 1 to 2^20, with fewer than 2^30 pixels.
 * Returns false if the stream takes no more; errno then says why. */
bool png_write(FILE *stream, int width, int height, const uint8_t *pixels, const png_palette *palette);

#endif
