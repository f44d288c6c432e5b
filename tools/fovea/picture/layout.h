/* Where everything of a heat map lies. Lengths are whole units: a unit is a pixel of a PNG and of an SVG, a point of a
 * PDF. */
#ifndef FOVEA_TOOLS_PICTURE_LAYOUT_H
#define FOVEA_TOOLS_PICTURE_LAYOUT_H

#include "../heatmap_words.h"

#include <cairo.h>

enum {
  MARGIN = 16,
  TITLE_SIZE = 17, /* of letters */
  TITLE_HEIGHT = 30,
  LABEL_SIZE = 11,
  NAME_HEIGHT = 20, /* a panel's name */
  LABEL_STEP = 13,  /* least distance of labels beside each other */
  LABEL_GAP = 5,
  PANEL_GAP = 24,
  BAR_WIDTH = 14,
  BAR_LEAST = 100, /* height */
  BAR_TICKS = 4,
  BAR_LABELS = 70, /* their width */
  NOTE_HEIGHT = 16,
  WIDEST_CELL = 24
};

typedef struct axis {
  const text_span *tokens; /* NULL: numbers */
  int64_t cells, factor;
  int cell, length; /* of a cell; of all */
  int64_t step;     /* every so many cells have a label */
  int labels;       /* the width of the longest */
} axis;

typedef struct layout {
  axis rows, keys;
  int panel_width, panel_height; /* with labels and name */
  int panels_in_line;
  int left, top; /* of the first panel's grid */
  int bar_left, bar_height;
  int notes_top, note_count;
  label notes[NOTES];
  int width, height;
} layout;

/* `pen` has the font, and measures only. */
layout lay_out(const heatmap *map, cairo_t *pen);

/* How wide a text is, rounded up. */
int text_width(cairo_t *pen, double size, const char *text);

#endif
