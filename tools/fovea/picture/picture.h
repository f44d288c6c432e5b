/* Draws heat maps with cairo. */
#ifndef FOVEA_TOOLS_PICTURE_H
#define FOVEA_TOOLS_PICTURE_H

#include "../heatmap_words.h"

#include <stdio.h>

/* Draws a PNG, a PDF or an SVG, as the path ends. Returns NULL, or a text that says why not. */
const char *picture_draw(const heatmap *map, const char *path, FILE *stream);

#endif
