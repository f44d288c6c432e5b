/* Draws a heat map as SVG or PNG: a panel for each head, labels, a colour bar, and notes. The same map gives the
 * same bytes on every machine. */
#ifndef FOVEA_TOOLS_HEATMAP_DRAW_H
#define FOVEA_TOOLS_HEATMAP_DRAW_H

#include "heatmap_panels.h"
#include "svg.h"

#include <stdio.h>

typedef struct heatmap {
  const panel_set *panels;
  const char *title;          /* NULL: none */
  const svg_text *row_tokens; /* one a row of the file's matrices; NULL: numbers */
  const svg_text *key_tokens; /* one a column; NULL: numbers */
  float full;                 /* the weight drawn darkest, positive; larger ones are drawn alike */
  bool of_pairs;              /* cells are shares of pairs that are visible, not weights */
  const char *const *names;   /* of the panels; NULL: the names of their heads */
  const char *note;           /* a line below the panels; NULL: none */
  bool marks;                 /* frames marked_row, a row of the file's matrices */
  int64_t marked_row;
} heatmap;

/* Each returns false if the stream takes no more; errno then says why. */
bool heatmap_draw_svg(const heatmap *map, FILE *stream);
bool heatmap_draw_png(const heatmap *map, FILE *stream);

/* The one that a path's ending names; SVG for any other. */
bool heatmap_draw(const heatmap *map, const char *path, FILE *stream);

#endif
