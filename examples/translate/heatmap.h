/* Draws an alignment as a picture: a row for each symbol written, a column for each letter read. */
#ifndef TRANSLATE_HEATMAP_H
#define TRANSLATE_HEATMAP_H

#include "translator.h"

/* Writes an SVG. */
bool heatmap_write(const struct translation *translation, const char *path, struct failure *failure);

#endif
