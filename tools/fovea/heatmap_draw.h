/* Draws heat maps: a panel for each head, labels, a colour bar, and notes. */
#ifndef FOVEA_TOOLS_HEATMAP_DRAW_H
#define FOVEA_TOOLS_HEATMAP_DRAW_H

#include "failure.h"
#include "heatmap_words.h"

#include <stdio.h>

/* Refuses if the program was built without cairo, which draws: the text says how to get it. */
bool heatmap_draws(failure *why);

/* Draws a PNG if the path ends in .png, a PDF if it ends in .pdf, else an SVG. */
bool heatmap_draw(const heatmap *map, const char *path, FILE *stream, failure *why);

#endif
